#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes/sort_unique.hpp"
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
  /// Whether something may go now that the event has come in: all that some step waits for have. Of threads that say so
  /// at the same time, each after its event, at least one finds it.
  [[nodiscard]] bool lets_go(int event) const;
  [[nodiscard]] bool has_come(int event) const {
    return of(come_in_, event).load(std::memory_order_acquire) >= exchanges_.load(std::memory_order_relaxed);
  }
  void announce(int event) { of(gone_out_, event).fetch_add(1, std::memory_order_release); }
  [[nodiscard]] bool reached(int event) const {
    return of(gone_out_, event).load(std::memory_order_acquire) == exchanges_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t exchanges() const { return exchanges_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t metadata_bytes() const {
    std::size_t bytes = (come_in_.capacity() + gone_out_.capacity()) * sizeof(Count);
    for (const std::vector<int>& waits : waited_for_together_) bytes += waits.capacity() * sizeof(int);
    for (const std::vector<int>& sets : sets_of_) bytes += sets.capacity() * sizeof(int);
    return bytes;
  }

 private:
  [[nodiscard]] static std::size_t number(const Plan& plan, bool goes_out);
  [[nodiscard]] bool have_all_come(const std::vector<int>& events, int event) const;

  std::vector<Count> come_in_;  // by event
  std::vector<Count> gone_out_;
  std::vector<std::vector<int>> waited_for_together_;  // sets of events that come in, each of which some step waits for
  std::vector<std::vector<int>> sets_of_;              // by event that comes in: those that it is in
  std::atomic<std::uint64_t> exchanges_{0};            // started
};

inline std::size_t ExchangeEvents::number(const Plan& plan, bool goes_out) {
  int count = 0;
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::event && step.goes_out == goes_out) count = std::max(count, step.event + 1);
  return static_cast<std::size_t>(count);
}

inline ExchangeEvents::ExchangeEvents(const Plan& plan)
    : come_in_(number(plan, false)), gone_out_(number(plan, true)), sets_of_(come_in_.size()) {
  if (come_in_.empty()) return;
  std::set<std::vector<int>> known;
  for (const Step& step : plan.steps) {
    std::vector<int> events;
    for (const int before : step.after) {
      const Step& waits_for = plan.steps[static_cast<std::size_t>(before)];
      if (waits_for.kind == StepKind::event && !waits_for.goes_out) events.push_back(waits_for.event);
    }
    sort_unique(events);
    if (!events.empty()) known.insert(std::move(events));
  }
  for (const std::vector<int>& events : known) {
    for (const int event : events)
      sets_of_[static_cast<std::size_t>(event)].push_back(static_cast<int>(waited_for_together_.size()));
    waited_for_together_.push_back(events);
  }
}

/// From the event on to both sides: threads make neighbours ready one after another, up or down.
inline bool ExchangeEvents::have_all_come(const std::vector<int>& events, int event) const {
  auto after = std::ranges::upper_bound(events, event);
  auto before = std::ranges::lower_bound(events, event);
  while (after != events.end() || before != events.begin()) {
    if (after != events.end() && !has_come(*after++)) return false;
    if (before != events.begin() && !has_come(*--before)) return false;
  }
  return true;
}

inline bool ExchangeEvents::lets_go(int event) const {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // who looks at this event has seen it, or is seen
  return std::ranges::any_of(sets_of_[static_cast<std::size_t>(event)], [&](int set) {
    return have_all_come(waited_for_together_[static_cast<std::size_t>(set)], event);
  });
}

}  // namespace laneway
