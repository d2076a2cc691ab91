#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/rendezvous/finder.hpp"
#include "operations/sparse/sparse.hpp"

namespace laneway {

/// What a rank says to each of its destinations, with all that the sets have for it, ascending by rank. Throws Error
/// for arguments that are bad.
[[nodiscard]] std::vector<Payload> payloads_of(const std::vector<SparseSet>& sets, Rank ranks, bool fixed_count);

/// What must be the same on all ranks. Throws Error(type).
[[nodiscard]] std::uint64_t shape_of(const std::vector<SparseSet>& sets, bool fixed_count, bool asks);

/// What payloads, ascending by source, say in each set.
[[nodiscard]] std::vector<std::unique_ptr<Arrivals>> arrivals_of(const std::vector<Payload>& payloads,
                                                                 std::size_t sets);

/// Answers to all requests in a payload, in their order, as one payload.
[[nodiscard]] Bytes answer_payload(const Payload& payload, const Answerer& answerer);
/// The answers, from the payloads of those who were asked, ascending, in the order of `destinations`.
[[nodiscard]] std::unique_ptr<Arrivals> answers_of(const std::vector<Payload>& payloads, const SparseSet& requests);

}  // namespace laneway
