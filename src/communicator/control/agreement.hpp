#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>

#include "algorithms/planner/planner.hpp"
#include "base/bytes/types.hpp"
#include "communicator/communicator.hpp"
#include "communicator/hints/hints.hpp"

namespace laneway {

using Flags = std::array<bool, 4>;

struct Agreement {
  Flags flags{};                 ///< which are true on all ranks
  bool knows_nodes = false;      ///< nodes follow by translation on all ranks
  bool have_helpers = true;      ///< has_helper, of all ranks; not known of simulated ones
  std::map<Rank, Rank> regions;  ///< of all ranks, if they are few and know their own; else none
  bool edges_match = true;       ///< the sum of what the ranks gave as `edges` is 0
  std::optional<Round> round;    ///< the next one of the planners, if all ranks had one that `lets_first_choose`
};

/// The ranks learn whether any of them failed and whether their hints agree: few from the first of them, which hears
/// from all and answers; many by a reduction. Rethrows `failure` where there is one; throws Error(argument) naming a
/// rank that failed on the others, Error(info) on all where the hints differ. `region`: the id of this rank's, if that
/// is known. `planner`: one whose first round, `control messages`, lets the first rank choose; what it asks and is told
/// travels with the rest. `edges`: on all ranks or on none; see edge_sum. When it returns, all ranks have entered the
/// call.
Agreement agree(const ControlComm& comm, std::exception_ptr failure, const Hints& hints, const Flags& flags = {},
                std::optional<Rank> region = {}, std::optional<std::uint64_t> edges = {}, Planner* planner = nullptr,
                const std::vector<ControlMessage>& control_messages = {});

/// What the ranks know about their nodes. Collective.
[[nodiscard]] Agreement agree_on_nodes(Communicator& communicator, const Hints& hints);

/// Runs a planner's rounds over `comm`, from the one that it asks for now, and remembers what it finds out about the
/// communicator.
void carry_out(Planner& planner, Round round, Communicator& communicator, const ControlComm& comm, const Hints& hints);

}  // namespace laneway
