#pragma once

#include <memory>

#include "algorithms/rendezvous/finder.hpp"

namespace laneway {

/// A finder whose way between nodes is NodeWay::steps.
[[nodiscard]] std::unique_ptr<Finder> make_by_steps(Messenger& messenger, const RoundSetting& setting);
/// Its seconds.
[[nodiscard]] double cost_of_steps(const NodeRoute& route, const RoundFacts& facts, const MessageCosts& costs);

/// The least number whose power by `steps` is at least `nodes`; at least 2.
[[nodiscard]] Rank radix_of(Rank nodes, int steps);

}  // namespace laneway
