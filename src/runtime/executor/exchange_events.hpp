#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace laneway {

/// The events of a plan that is run again and again: those that come in, and those that go out. They are counted, so
/// that an exchange need not set anything back. Called by any thread; nothing here takes a lock or allocates.
class ExchangeEvents {
  struct alignas(cache_line) Count {
    std::atomic<std::uint64_t> count{0};
  };
  template <class Counts>
  [[nodiscard]] static auto& of(Counts& counts, int event) {
    return counts[static_cast<std::size_t>(event)].count;
  }

 public:
  explicit ExchangeEvents(const Plan& plan);

  [[nodiscard]] bool any() const { return !come_in_.empty() || !gone_out_.empty(); }
  /// A new exchange begins.
  void start() { exchanges_.fetch_add(1, std::memory_order_relaxed); }
  void fire(int event) { of(come_in_, event).fetch_add(1, std::memory_order_release); }
  /// Unless it has come in for this exchange already: then false.
  [[nodiscard]] bool fire_once(int event) {
    const std::uint64_t now = exchanges_.load(std::memory_order_relaxed);
    std::uint64_t before = now - 1;
    return of(come_in_, event)
        .compare_exchange_strong(before, now, std::memory_order_release, std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_come(int event) const {
    return of(come_in_, event).load(std::memory_order_acquire) >= exchanges_.load(std::memory_order_relaxed);
  }
  void announce(int event) { of(gone_out_, event).fetch_add(1, std::memory_order_release); }
  [[nodiscard]] bool reached(int event) const {
    return of(gone_out_, event).load(std::memory_order_acquire) == exchanges_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t exchanges() const { return exchanges_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t metadata_bytes() const {
    return (come_in_.capacity() + gone_out_.capacity()) * sizeof(Count);
  }

 private:
  [[nodiscard]] static std::size_t number(const Plan& plan, bool goes_out);

  std::vector<Count> come_in_;  // by event
  std::vector<Count> gone_out_;
  std::atomic<std::uint64_t> exchanges_{0};  // started
};

inline std::size_t ExchangeEvents::number(const Plan& plan, bool goes_out) {
  int count = 0;
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::event && step.goes_out == goes_out) count = std::max(count, step.event + 1);
  return static_cast<std::size_t>(count);
}

inline ExchangeEvents::ExchangeEvents(const Plan& plan)
    : come_in_(number(plan, false)), gone_out_(number(plan, true)) {}

}  // namespace laneway
