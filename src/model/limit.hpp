#pragma once

#include "machine/machine.hpp"
#include "machine/parameters.hpp"
#include "model/load.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

/// Seconds that no plan for the pattern can beat by the model, on nodes whose ranks share memory: of the node where
/// they are most. What is counted:
///
/// - different bytes of a source cross to a node once, and no node injects or receives faster than its limit;
/// - a message goes to each other node that needs anything, and takes the least latency of any protocol;
/// - either no data for other nodes changes rank inside this one, and each rank has a message of its own for each node
///   that it sends to or receives from; or some does, which takes a hop, and then messages, bytes and work are spread
///   evenly over all ranks, of which those without a message between nodes hand over or receive one inside;
/// - whoever receives anything waits once.
///
/// Nobody need reach it: hops that an even spread takes, and the copies in them, are not counted.
[[nodiscard]] double least_seconds(const Pattern& pattern, const Machine& machine, const Parameters& parameters,
                                   ModelKind kind);

}  // namespace laneway
