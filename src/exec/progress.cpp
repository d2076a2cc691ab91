#include "exec/progress.hpp"

#include <utility>

#include "core/simulated.hpp"

namespace laneway {

ProgressSlot* ProgressList::acquire(Progressive& work) {
  for (ProgressSlot* slot = first_.load(std::memory_order_acquire); slot; slot = slot->next_) {
    if (!slot->change(ProgressSlot::State::free, ProgressSlot::State::busy)) continue;
    slot->hold(work);
    return slot;
  }
  auto* slot = new ProgressSlot(*this);
  slot->hold(work);
  slot->next_ = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(slot->next_, slot, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return slot;
}

void ProgressList::advance() {
  for (ProgressSlot* slot = first_.load(std::memory_order_acquire); slot; slot = slot->next_) slot->advance();
}

void ProgressSlot::hold(Progressive& work) {
  work_ = &work;
  failure_ = nullptr;
  state_.store(State::idle, std::memory_order_release);
}

void ProgressSlot::release() {
  work_ = nullptr;
  state_.store(State::free, std::memory_order_release);
}

void ProgressSlot::activate() {
  list_.begin();
  state_.store(State::active, std::memory_order_release);
}

void ProgressSlot::advance() {
  if (state() != State::active || !change(State::active, State::busy)) return;
  bool complete = true;  // also if it fails
  try {
    complete = work_->progress();
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (complete) list_.end();
  state_.store(complete ? State::complete : State::active, std::memory_order_release);
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
