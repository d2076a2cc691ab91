#include <utility>

#include "base/error.hpp"
#include "runtime/carriers/bound_carrier.hpp"

namespace laneway {

namespace {

RingPlaces in_turn(const Reached& reached, std::int64_t offset, const Ring& ring) {
  const auto sideways =
      ring.crosses ? reinterpret_cast<std::intptr_t>(reached.across) - reinterpret_cast<std::intptr_t>(reached.here)
                   : 0;
  LANEWAY_ASSERT(std::in_range<std::uint8_t>(ring.places - 1));
  return {at(reached.here, offset), ring.distance + sideways, static_cast<std::uint8_t>(ring.places - 1)};
}

}  // namespace

RingPlaces PlanBinding::find(const Operand& operand, Rank peer) const {
  const Buffer buffer = operand.buffer;
  if (!operand.of_peer && buffer != Buffer::window)
    return {bases[static_cast<std::size_t>(buffer)], buffer == Buffer::staging ? plan.staging_alternate : 0, 1};
  const std::optional<Reached> reached = memory->reach(operand, peer);
  LANEWAY_ASSERT(reached);
  return in_turn(*reached, 0, operand.ring);
}

RingPlaces PlanBinding::find(const Word& word, Rank peer) const {
  if (word.sign != Sign::flag) {
    std::byte* const words = word.of_peer ? memory->words_of(peer) : memory->words;
    LANEWAY_ASSERT(words != nullptr);
    return {at(words, place_of(word.sign)), 0, 0};
  }
  const std::optional<Reached> reached = memory->reach({Buffer::window, word.of_peer}, peer);
  LANEWAY_ASSERT(reached);
  return in_turn(*reached, word.offset, word.ring);
}

void PlanBinding::take(int step, TakenPart part) {
  StepRun& run = runs[static_cast<std::size_t>(step)];
  LANEWAY_ASSERT(run.carrier == StepRun::executor);
  run.carrier = carrier;
  run.starts_at_once = part == TakenPart::run_at_once;
  if (part == TakenPart::run_and_raise) run.raises = false;
}

void PlanBinding::let_pass(int step) {
  StepRun& run = runs[static_cast<std::size_t>(step)];
  LANEWAY_ASSERT(run.carrier == carrier);
  run.waits = run.passes_by_carrier = true;
}

}  // namespace laneway
