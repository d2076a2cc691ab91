/// Exchanges run backwards, with sums of numbers of 8 bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/lowering/lower.hpp"
#include "algorithms/lowering/transpose.hpp"
#include "base/error.hpp"
#include "plan/pattern.hpp"

namespace laneway::bench {

inline Combination sums() {
  return {"MPI_SUM", "MPI_DOUBLE", static_cast<std::int64_t>(sizeof(double)), false};
}

inline void check_back(std::int64_t bytes) {
  require(bytes % sums().element_bytes == 0, ErrorKind::argument, "--back: what is added are numbers of 8 bytes");
}

/// What brings an exchange back: what its receivers hold is added to what they have copies of.
inline RankPattern backwards(const RankPattern& exchange) {
  return {exchange.in, exchange.out};
}

inline Pattern backwards(const Pattern& exchange) {
  Pattern back;
  for (const RankPattern& rank : exchange) back.push_back(backwards(rank));
  return back;
}

/// The same number of elements; at least one.
inline std::int64_t in_elements(std::int64_t bytes) {
  return std::max<std::int64_t>(1, bytes / sums().element_bytes);
}
inline LoweringOptions lowering_in_elements() {
  LoweringOptions lowering;
  for (std::int64_t* const bytes :
       {&lowering.direct_message_bytes, &lowering.relay_message_bytes, &lowering.network_message_bytes})
    *bytes = in_elements(*bytes);
  return lowering;
}

}  // namespace laneway::bench
