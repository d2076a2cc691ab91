#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace laneway::verification {

/// Places that exchanges use in turn, evenly apart, of which there is a power of two. The odd ones may be in the memory
/// of another rank. Exchanges are counted from 1.
struct Places {
  Rank home = 0;
  Rank across = 0;
  std::int64_t distance = 0;
  std::int64_t last = 0;

  [[nodiscard]] Rank rank(std::int64_t exchange) const { return ((exchange & last) & 1) != 0 ? across : home; }
  [[nodiscard]] std::int64_t shift(std::int64_t exchange) const { return distance * (exchange & last); }
  /// After so many exchanges a place is used again.
  [[nodiscard]] int period() const { return home == across && distance == 0 ? 1 : static_cast<int>(last + 1); }
};

/// What a step reads or writes: a buffer of some ranks, whose places are added to those of the step.
struct Located {
  Buffer buffer = Buffer::staging;
  Places places;
};

/// Where a word of a step is.
[[nodiscard]] Places places_of(const Plan& plan, const Step& step, const Word& word);

/// What a move copies from and to.
[[nodiscard]] Located source(const Plan& plan, const Step& step);
[[nodiscard]] Located target(const Plan& plan, const Step& step);
/// Where those bytes of a message are, or come to, that are in `buffer`.
[[nodiscard]] Located message_place(const Plan& plan, Buffer buffer);

/// Whether a step reaches into the staging memory of its peer.
[[nodiscard]] inline bool reaches_staging(const Operand& operand) {
  return operand.of_peer && operand.buffer == Buffer::staging;
}
/// Whether it raises the word of its rank that says that shared staging memory may be written.
[[nodiscard]] inline bool opens_staging(const Step& step) {
  return step.await && step.await->sign == Sign::ready && !step.await->of_peer;
}

}  // namespace laneway::verification
