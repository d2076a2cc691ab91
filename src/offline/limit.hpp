#pragma once

#include "algorithms/cost/load.hpp"
#include "machine/machine.hpp"
#include "machine/parameters.hpp"
#include "plan/pattern.hpp"

namespace laneway {

/// Seconds that no plan for the pattern can beat by the model, on nodes whose ranks share memory, as long as data goes
/// straight from its node to those that need it: of the node where they are most. What is counted:
///
/// - different bytes of a source cross to a node once, and no node injects or receives faster than its limit; the
///   latency is the least of any protocol;
/// - a node gathers, if some rank hands over data for other nodes, scatters, if some data changes rank after it has
///   arrived, does both or neither: the least of the four. Each takes a hop;
/// - without gathering, a rank sends a message to each node that needs anything of it. With it, a rank either does that
///   or hands over one message, and together they send at least one to each node; in the same way for what arrives;
/// - where other nodes do not scatter, these messages are one for each rank there that needs anything; where they do,
/// no
///   exchange takes less than one of them then does. In the same way if they do not gather;
/// - the busiest rank works no less than the mean, nor than any rank on its own, nor than one who gathers: it waits for
///   what it is handed and sends, and for what it needs itself; or one who scatters;
/// - whoever receives anything waits once.
///
/// Nobody need reach it: work is spread evenly otherwise, and the bytes of hops inside are not counted.
[[nodiscard]] double least_seconds(const Pattern& pattern, const Machine& machine, const Parameters& parameters,
                                   ModelKind kind);

}  // namespace laneway
