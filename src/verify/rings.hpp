#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace laneway::verification {

/// Places that exchanges use in turn, evenly apart, of which there is a power of two. The odd ones may be in the memory
/// of another rank. Exchanges are counted from 1.
struct Ring {
  Rank home = 0;
  Rank across = 0;
  std::int64_t distance = 0;
  std::int64_t last = 0;

  [[nodiscard]] Rank rank(std::int64_t exchange) const { return ((exchange & last) & 1) != 0 ? across : home; }
  [[nodiscard]] std::int64_t shift(std::int64_t exchange) const { return distance * (exchange & last); }
  /// After so many exchanges a place is used again.
  [[nodiscard]] int period() const { return home == across && distance == 0 ? 1 : static_cast<int>(last + 1); }
};

/// What a step reads or writes: a buffer of the ranks of a ring, whose places are added to those of the step.
struct Operand {
  Buffer buffer = Buffer::staging;
  Ring ring;
};

/// Of the word that a put raises, or a take waits for.
[[nodiscard]] Ring word_ring(Rank rank, const Step& step);

/// What a copy, put or take copies from and to.
[[nodiscard]] Operand source(const Plan& plan, const Step& step);
[[nodiscard]] Operand target(const Plan& plan, const Step& step);
/// Where those bytes of a message are, or come to, that are in `buffer`.
[[nodiscard]] Operand message_place(const Plan& plan, Buffer buffer);

/// Whether a step waits until a word of a peer's, or of its own rank, has come so far.
[[nodiscard]] inline bool awaits_event(const Step& step) {
  return step.kind == StepKind::gate;
}
/// Whether it raises the word of its rank that says that shared staging memory may be written.
[[nodiscard]] inline bool opens_staging(const Plan& plan, const Step& step) {
  return step.kind == StepKind::gate && step.flag == ready_word && step.peer == plan.rank;
}

}  // namespace laneway::verification
