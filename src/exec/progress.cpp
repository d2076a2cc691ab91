#include "exec/progress.hpp"

#include <utility>

#include "core/error.hpp"

namespace laneway {

namespace {

std::atomic<ProgressSlot*> first_slot{nullptr};

}  // namespace

ProgressSlot* ProgressSlot::acquire(Executor& executor, bool exclusive) {
  for (ProgressSlot* slot = first_slot.load(std::memory_order_acquire); slot; slot = slot->next_) {
    State expected = State::free;
    if (!slot->state_.compare_exchange_strong(expected, State::busy, std::memory_order_acquire)) continue;
    slot->executor_ = &executor;
    slot->exclusive_ = exclusive;
    slot->failure_ = nullptr;
    slot->state_.store(State::idle, std::memory_order_release);
    return slot;
  }
  auto* slot = new ProgressSlot;
  slot->executor_ = &executor;
  slot->exclusive_ = exclusive;
  slot->state_.store(State::idle, std::memory_order_relaxed);
  slot->next_ = first_slot.load(std::memory_order_relaxed);
  while (!first_slot.compare_exchange_weak(slot->next_, slot, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return slot;
}

void ProgressSlot::release() {
  executor_ = nullptr;
  state_.store(State::free, std::memory_order_release);
}

/// False if another thread holds the slot or it is not active.
bool ProgressSlot::advance() {
  State expected = State::active;
  if (!state_.compare_exchange_strong(expected, State::busy, std::memory_order_acquire)) return false;
  bool complete = false;
  try {
    complete = executor_->progress();
  } catch (...) {
    failure_ = std::current_exception();
    complete = true;
  }
  state_.store(complete ? State::complete : State::active, std::memory_order_release);
  return true;
}

void ProgressSlot::finish() {
  count_active(-1);
  state_.store(State::idle, std::memory_order_release);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

bool ProgressSlot::test() {
  if (!active()) return true;
  progress_all();
  if (state_.load(std::memory_order_acquire) != State::complete) return false;
  finish();
  return true;
}

void ProgressSlot::wait_alone() {
  try {
    executor_->wait();
  } catch (...) {
    failure_ = std::current_exception();
  }
  finish();
}

void ProgressSlot::wait_with_others() {
  if (!active()) return;
  progress_until([&] { return state_.load(std::memory_order_acquire) == State::complete; });
  finish();
}

void progress_all() {
  for (ProgressSlot* slot = first_slot.load(std::memory_order_acquire); slot; slot = slot->next_) slot->advance();
}

}  // namespace laneway
