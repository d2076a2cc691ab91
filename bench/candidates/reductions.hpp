#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "candidates/candidates.hpp"

namespace laneway::bench {

/// The exchange of a task backwards: what the receive buffer holds is added to the elements of the send buffer of which
/// it holds copies. Elements are MPI_DOUBLE, any number of them each.
///
/// By the library, and by hand: a message for each edge, then a loop that adds.
[[nodiscard]] std::unique_ptr<Candidate> make_reduction(const std::string& strategy, const Task& task);
[[nodiscard]] std::unique_ptr<Candidate> make_reduction_by_hand(const Task& task);

/// Runs a candidate that goes backwards on whole numbers never sent before; whether all sums on all ranks are what the
/// labels say. Collective.
[[nodiscard]] bool adds_up(const Task& task, std::uint64_t salt, Candidate& candidate);

}  // namespace laneway::bench
