#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "runtime/carriers/bound_carrier.hpp"
#include "runtime/carriers/memory.hpp"
#include "runtime/executor/combine.hpp"
#include "runtime/executor/copy.hpp"

namespace laneway {

/// What steps move between memory that this rank reaches, and the words there that they await and raise.
class MemorySteps {
 public:
  static constexpr int no_event = -1;

  /// `plan` must outlive the object.
  MemorySteps(const Plan& plan, Combiners combiners) : plan_(plan), combiners_(std::move(combiners)) {}

  /// Finds all that no carrier has taken.
  void bind(const PlanBinding& binding);

  /// Places are used in turn.
  void begin(std::uint64_t turn) { turn_ = turn; }
  [[nodiscard]] const std::uint64_t& turn() const { return turn_; }
  [[nodiscard]] const Combiners& combiners() const { return combiners_; }

  void move(int step) const;

  /// Whether the step waits for a word, and not for an event, a carrier, or readers of the rank's staging memory.
  [[nodiscard]] bool awaits_word(int step) const { return of(step).waits_for == WaitsFor::word; }
  [[nodiscard]] bool word_has_come(int step, std::uint64_t exchange) const {
    const Bound& bound = of(step);
    return seen(in(bound.await, bound.last_await)) + bound.lag >= exchange;
  }
  /// Where it awaits readers: whether they are done. Then it raises the word that it awaits.
  [[nodiscard]] bool readers_are_done(int step, const PlanMemory& memory) const;

  /// The event that the step is; none: it is no event.
  [[nodiscard]] int event_of(int step) const { return of(step).event; }
  [[nodiscard]] bool raises_word(int step) const { return of(step).raise.first != nullptr; }
  void raise(int step, std::uint64_t exchange) const {
    const Bound& bound = of(step);
    laneway::raise(in(bound.raise, bound.last_raise), exchange);
  }

  [[nodiscard]] std::int64_t metadata_bytes() const;

 private:
  /// RingPlaces, the number of the last of which is apart, because together they take a third more memory.
  struct Evenly {
    std::byte* first = nullptr;
    std::int64_t distance = 0;
  };
  enum class WaitsFor : std::uint8_t { word, other };
  struct Bound {
    Evenly from;
    Evenly to;
    Evenly await;
    Evenly raise;  // or null
    std::uint64_t lag = 0;
    int event = no_event;
    WaitsFor waits_for = WaitsFor::other;
    std::uint8_t last_from = 0;
    std::uint8_t last_to = 0;
    std::uint8_t last_await = 0;
    std::uint8_t last_raise = 0;
  };
  static_assert(sizeof(Bound) == 88);

  static void set(Evenly& evenly, std::uint8_t& last, const RingPlaces& places) {
    evenly = {places.first, places.distance};
    last = places.last;
  }
  [[nodiscard]] std::byte* in(const Evenly& places, std::uint8_t last) const {
    return at(places.first, places.distance * static_cast<std::int64_t>(turn_ & last));
  }
  [[nodiscard]] const Bound& of(int step) const { return bound_[static_cast<std::size_t>(step)]; }

  void add(const PlanBinding& binding, int step);

  const Plan& plan_;
  Combiners combiners_;
  std::uint64_t turn_ = 0;
  std::vector<Bound> bound_;           // by step
  std::vector<CopyProgram> programs_;  // the same
};

}  // namespace laneway
