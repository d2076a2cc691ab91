#include "exec/progress.hpp"

#include <utility>

namespace laneway {

namespace {

std::atomic<ProgressSlot*> first_slot{nullptr};

}  // namespace

ProgressSlot* ProgressSlot::acquire(Progressive& work) {
  for (ProgressSlot* slot = first_slot.load(std::memory_order_acquire); slot; slot = slot->next_) {
    State expected = State::free;
    if (!slot->state_.compare_exchange_strong(expected, State::busy, std::memory_order_acquire)) continue;
    slot->work_ = &work;
    slot->failure_ = nullptr;
    slot->state_.store(State::idle, std::memory_order_release);
    return slot;
  }
  auto* slot = new ProgressSlot;
  slot->work_ = &work;
  slot->state_.store(State::idle, std::memory_order_relaxed);
  slot->next_ = first_slot.load(std::memory_order_relaxed);
  while (!first_slot.compare_exchange_weak(slot->next_, slot, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return slot;
}

void ProgressSlot::release() {
  work_ = nullptr;
  state_.store(State::free, std::memory_order_release);
}

void ProgressSlot::activate() {
  active_slots_.fetch_add(1, std::memory_order_relaxed);
  state_.store(State::active, std::memory_order_release);
}

/// False if another thread holds the slot or it is not active.
bool ProgressSlot::advance() {
  State expected = State::active;
  if (!state_.compare_exchange_strong(expected, State::busy, std::memory_order_acquire)) return false;
  bool complete = false;
  try {
    complete = work_->progress();
  } catch (...) {
    failure_ = std::current_exception();
    complete = true;
  }
  state_.store(complete ? State::complete : State::active, std::memory_order_release);
  return true;
}

bool ProgressSlot::test() {
  if (!active()) return true;
  progress_all();
  if (state_.load(std::memory_order_acquire) != State::complete) return false;
  active_slots_.fetch_sub(1, std::memory_order_relaxed);
  state_.store(State::idle, std::memory_order_release);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

bool ProgressSlot::done() {
  progress_all();
  const State state = state_.load(std::memory_order_acquire);
  return state == State::complete || state == State::idle;
}

void progress_all() {
  for (ProgressSlot* slot = first_slot.load(std::memory_order_acquire); slot; slot = slot->next_) slot->advance();
}

Activity::~Activity() {
  if (slot_ != nullptr) slot_->release();
}

bool Activity::test(Executor* executor) {
  if (slot_ != nullptr) return slot_->test();
  if (!active_) return true;
  progress_all();
  active_ = false;
  active_ = !executor->progress();
  return !active_;
}

bool Activity::done(Executor* executor) {
  if (slot_ != nullptr) return slot_->done();
  if (!active_) return true;
  progress_all();
  active_ = false;
  const bool complete = executor->progress();
  active_ = true;
  return complete;
}

void Activity::wait_with_others(Executor* executor) {
  for (int turns = 0; !test(executor); relax(turns)) {
  }
}

}  // namespace laneway
