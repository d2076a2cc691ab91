#include "runtime/executor/progress.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/simulated.hpp"
#include "runtime/executor/now_and_then.hpp"

namespace laneway {

namespace {

constexpr int set_size = 64;

constexpr std::uint64_t bit(int index) {
  return std::uint64_t{1} << index;
}

}  // namespace

/// Slots whose state one word each has: bit i is of slot i.
struct ProgressSet {
  std::atomic<std::uint64_t> active{0};
  std::atomic<std::uint64_t> taken{0};
  ProgressSlots* slots = nullptr;  // which this is the `index`-th set of
  int index = 0;
  std::array<ProgressSlot, set_size> all;

  void activate(const ProgressSlot& slot);
  void deactivate(const ProgressSlot& slot);
  void release(const ProgressSlot& slot);
  [[nodiscard]] std::uint64_t bit_of(const ProgressSlot& slot) const {
    return bit(static_cast<int>(&slot - all.data()));
  }
};

/// Sets of slots. Their state is only as good as a hint that is never forgotten: a set that has no active slot may be
/// among `active`, and one that has a free slot among `full`, until somebody has looked; the opposite lasts no longer
/// than the call that brings it about. Whoever changes a set's word looks at the hint next, and whoever changes the
/// hint looks at the set's word once more; since both happen in one order, one of the two sees the other.
struct ProgressSlots {
  std::atomic<std::uint64_t> active{0};
  std::atomic<std::uint64_t> full{0};
  std::array<std::atomic<ProgressSet*>, set_size> sets{};
  std::atomic<ProgressSlots*> next{nullptr};

  /// Null if all slots are taken.
  [[nodiscard]] ProgressSlot* take(ProgressSet*& set);
  int advance();

 private:
  [[nodiscard]] ProgressSet& set(int index);
};

namespace {

/// What `place` points to, made by whoever comes first.
template <class T, class Made>
T& find_or_make(std::atomic<T*>& place, const Made& make) {
  T* known = place.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  std::unique_ptr<T> made = make();
  if (place.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel, std::memory_order_acquire))
    return *made.release();
  return *known;
}

}  // namespace

void ProgressSet::activate(const ProgressSlot& slot) {
  active.fetch_or(bit_of(slot));
  if ((slots->active.load() & bit(index)) == 0) slots->active.fetch_or(bit(index));
}

/// The set remains among the active ones, where the slot's next activation finds it.
void ProgressSet::deactivate(const ProgressSlot& slot) {
  active.fetch_and(~bit_of(slot));
}

void ProgressSet::release(const ProgressSlot& slot) {
  taken.fetch_and(~bit_of(slot));
  if ((slots->full.load() & bit(index)) != 0) slots->full.fetch_and(~bit(index));
}

ProgressSet& ProgressSlots::set(int index) {
  return find_or_make(sets[static_cast<std::size_t>(index)], [&] {
    auto made = std::make_unique<ProgressSet>();
    made->slots = this;
    made->index = index;
    return made;
  });
}

ProgressSlot* ProgressSlots::take(ProgressSet*& from) {
  for (int s = std::countr_one(full.load()); s < set_size; ++s) {
    ProgressSet& set = this->set(s);
    for (std::uint64_t taken = set.taken.load(); ~taken != 0;) {
      const int free = std::countr_one(taken);
      if (!set.taken.compare_exchange_weak(taken, taken | bit(free))) continue;
      from = &set;
      return &set.all[static_cast<std::size_t>(free)];
    }
    full.fetch_or(bit(s));
    if (~set.taken.load() != 0) full.fetch_and(~bit(s));
  }
  return nullptr;
}

int ProgressSlots::advance() {
  int looks = 0;
  for (std::uint64_t left = active.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    const int s = std::countr_zero(left);
    ProgressSet& set = *sets[static_cast<std::size_t>(s)].load(std::memory_order_acquire);
    ++looks;
    std::uint64_t slots = set.active.load(std::memory_order_acquire);
    if (slots == 0) {
      active.fetch_and(~bit(s));
      if (set.active.load() != 0) active.fetch_or(bit(s));
    }
    for (; slots != 0; slots &= slots - 1, ++looks)
      set.all[static_cast<std::size_t>(std::countr_zero(slots))].advance();
  }
  return looks;
}

namespace {

/// Whether this thread is advancing something. In MPI calls that it makes meanwhile the engine may call
/// progress_in_engine.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool is_advancing = false;

class Advancing {
 public:
  Advancing() : before_(std::exchange(is_advancing, true)) {}
  ~Advancing() { is_advancing = before_; }
  Advancing(const Advancing&) = delete;
  Advancing& operator=(const Advancing&) = delete;

 private:
  bool before_;
};

}  // namespace

void progress_now_and_then() {
  using Clock = std::chrono::steady_clock;
  constexpr auto least = std::chrono::duration_cast<Clock::duration>(std::chrono::microseconds(1)).count();
  static std::atomic<Clock::rep> next{0};
  const auto now = [] { return Clock::now().time_since_epoch().count(); };
  if (simulated) return progress_all();
  const Clock::rep begin = now();
  if (begin < next.load(std::memory_order_relaxed)) return;
  progress_all();
  const Clock::rep end = now();
  next.store(end + std::max(least, end - begin), std::memory_order_relaxed);
}

int progress_in_engine() {
  const int before = active_work();
  if (before == 0 || is_advancing || progress_list(Progress::by_thread).attended()) return 0;
  progress_all();
  return std::max(0, before - active_work());
}

ProgressSlot* ProgressList::acquire(Progressive& work) {
  for (std::atomic<ProgressSlots*>* place = &first_;;) {
    ProgressSlots& slots = find_or_make(*place, [] { return std::make_unique<ProgressSlots>(); });
    ProgressSet* set = nullptr;
    if (ProgressSlot* const slot = slots.take(set)) {
      slot->hold(work, *this, *set);
      return slot;
    }
    place = &slots.next;
  }
}

int ProgressList::advance() {
  int looks = 0;
  for (ProgressSlots* slots = first_.load(std::memory_order_acquire); slots;
       slots = slots->next.load(std::memory_order_acquire))
    looks += slots->advance();
  return looks;
}

void ProgressSlot::hold(Progressive& work, ProgressList& list, ProgressSet& set) {
  list_ = &list;
  set_ = &set;
  work_ = &work;
  failure_ = nullptr;
  state_.store(State::idle, std::memory_order_relaxed);
}

void ProgressSlot::release() {
  work_ = nullptr;
  set_->release(*this);
}

void ProgressSlot::activate() {
  list_->begin();
  set_->activate(*this);
  state_.store(State::active, std::memory_order_release);
}

void ProgressSlot::advance() {
  if (state() != State::active || !change(State::active, State::busy)) return;
  bool complete = true;  // also if it fails
  try {
    const Advancing advancing;
    complete = work_->progress();
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (!complete) return state_.store(State::active, std::memory_order_release);
  set_->deactivate(*this);
  list_->end();
  state_.store(State::complete, std::memory_order_release);
}

bool ProgressSlot::test() {
  if (!done()) return false;
  state_.store(State::idle, std::memory_order_release);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

Activity::~Activity() {
  if (slot_ != nullptr) slot_->release();
}

bool Activity::test(Executor* executor) {
  if (slot_ != nullptr) return slot_->test();
  if (!active_) return true;
  active_ = false;
  active_ = !executor->progress();
  return !active_;
}

bool Activity::done(Executor* executor) {
  if (slot_ != nullptr) return slot_->done();
  if (!active_) return true;
  active_ = false;
  const bool complete = executor->progress();
  active_ = true;
  return complete;
}

void Activity::wait_with_others(Executor* executor) {
  if constexpr (simulated)
    if (executor != nullptr && progress_list(Progress::in_calls).active() == 1 && slot_ != nullptr) executor->wait();
  if (test(executor)) return;
  const Attendance attendance;
  for (int turns = 0;; relax(turns)) {
    // Usually nothing else is active. The slots of all others would be far away in memory.
    if (slot_ != nullptr && active_work() == 1)
      slot_->advance();
    else
      progress_all();
    if (test(executor)) return;
  }
}

}  // namespace laneway
