#include "runtime/executor/executor.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/process/relax.hpp"
#include "base/simulated.hpp"
#include "runtime/executor/remains.hpp"

namespace laneway {

bool starts_all_messages(const Plan& plan) {
  std::vector<bool> runs_in_start(plan.steps.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const bool at_once =
        std::ranges::all_of(step.after, [&](int before) { return runs_in_start[static_cast<std::size_t>(before)]; });
    if (step.kind == StepKind::event && step.goes_out) continue;
    if (is_copy(step))
      runs_in_start[s] = at_once;
    else if (!at_once)
      return false;
  }
  return true;
}

Executor::~Executor() {
  if (remaining_ > 0) give_up();
}

bool Executor::passes_otherwise(int step) const {
  const StepRun& run = runs_[static_cast<std::size_t>(step)];
  if (run.passes_by_carrier) return carriers_[run.carrier]->passes(step);
  if (const int event = steps_.event_of(step); event != MemorySteps::no_event) return events_->has_come(event);
  return steps_.readers_are_done(step, *memory_);
}

/// A step, when all that it depends on is complete.
template <bool traced>
void Executor::begin(int step) {
  const StepRun& run = runs_[static_cast<std::size_t>(step)];
  if (run.waits) {
    if constexpr (traced) trace_->begin(step);
    waiting_.push_back(step);
  } else if (run.carrier == StepRun::executor) {
    ready_.push_back(step);
  } else {
    start_by_carrier<traced>(step, run.carrier);
  }
}

template <bool traced>
void Executor::start_by_carrier(int step, std::uint8_t carrier) {
  if constexpr (traced) trace_->begin(step);
  for (const int complete : carriers_[carrier]->start(step)) end<traced>(complete);
}

/// Of a step that has been run.
template <bool traced>
void Executor::end(int step) {
  if (runs_[static_cast<std::size_t>(step)].raises) {
    if (steps_.raises_word(step))
      steps_.raise(step, memory_->exchange);
    else
      events_->announce(steps_.event_of(step));
  }
  if constexpr (traced) trace_->end(step);
  --remaining_;
  order_.complete(step, [this](int next) { begin<traced>(next); });
}

template <bool traced>
void Executor::drain() {
  while (!ready_.empty()) {
    const int step = ready_.back();
    ready_.pop_back();
    if constexpr (traced) trace_->begin(step);
    steps_.move(step);
    end<traced>(step);
  }
}

template <bool traced>
void Executor::start_rest() {
  if (memory_) raise(memory_->words + started_word, memory_->exchange);
  remaining_ = static_cast<int>(plan_->steps.size());
  waiting_.clear();
  if (mode_.together == nullptr) order_.restart();
  for (int step : initial_steps_) {
    begin<traced>(step);
    drain<traced>();
  }
  if (mode_.together == nullptr) poll_waiting<traced>();
  if (remaining_ == 0) finish<traced>();
}

void Executor::start_steps() {
  if (memory_) {
    memory_->begin_exchange();
    steps_.begin(memory_->turn);
  }
  if (mode_.begins_otherwise) [[unlikely]]
    return start_otherwise();
  begin_carriers();
  if (mode_.has_own_steps) start_rest<false>();
}

void Executor::start_otherwise() {
  if (events_->any()) events_->start();
  if (trace_) {
    trace_->start();
    for (std::size_t s = 0; s < runs_.size(); ++s)
      if (runs_[s].starts_at_once) trace_->begin(static_cast<int>(s));
    begin_carriers();
    return start_rest<true>();
  }
  begin_carriers();
  if (mode_.has_own_steps) start_rest<false>();
}

template <bool traced>
void Executor::poll_waiting() {
  for (std::size_t i = 0; i < waiting_.size();) {
    const int step = waiting_[i];
    if (!passes(step)) {
      ++i;
      continue;
    }
    if constexpr (simulated) simulated_wait_.end_by_word();
    waiting_[i] = waiting_.back();
    waiting_.pop_back();
    fruitless_ = 0;
    questions_ = {};
    if (const std::uint8_t carrier = runs_[static_cast<std::size_t>(step)].carrier; carrier != StepRun::executor) {
      start_by_carrier<traced>(step, carrier);
    } else {
      steps_.move(step);
      end<traced>(step);
    }
    drain<traced>();
  }
}

/// Whether all steps that the carrier completes together are complete, so that it need not be called.
bool Executor::poll_together(Patience patience) {
  if (left_together_ == 0) return true;
  if (patience == Patience::some)
    mode_.together->wait_all();
  else if (!mode_.together->test_all())
    return false;
  remaining_ -= std::exchange(left_together_, 0);
  return true;
}

template <bool traced>
void Executor::poll_carriers(Patience patience) {
  for (const std::unique_ptr<BoundCarrier>& carrier : carriers_) {
    const std::span<const int> completed = patience == Patience::some ? carrier->wait_some() : carrier->poll();
    if (simulated && !completed.empty()) simulated_wait_.end_by_message();
    for (const int step : completed) {
      end<traced>(step);
      drain<traced>();
    }
  }
}

bool Executor::progress() {
  if (remaining_ == 0) return true;
  try {
    return trace_ ? advance<true>() : advance<false>();
  } catch (...) {
    fail();
  }
}

template <bool traced>
bool Executor::advance() {
  if (!waiting_.empty()) poll_waiting<traced>();
  if (mode_.together != nullptr)
    poll_together();
  else
    poll_carriers<traced>();
  // What else this rank has under way, for which peers may wait, needs progress even where nothing comes here.
  constexpr unsigned turns_before_advance = 64;
  if (remaining_ > 0) {
    if (++fruitless_ % turns_before_advance == 0 && left_together_ == 0)
      for (const std::unique_ptr<BoundCarrier>& carrier : carriers_) carrier->advance();
    if (memory_ && questions_.are_due()) memory_->require_all_running();
    if constexpr (simulated) pass(simulated_costs().flag);
    return false;
  }
  finish<traced>();
  return true;
}

template <bool traced>
void Executor::finish() {
  if constexpr (traced) trace_->complete();
  if (memory_) raise(memory_->words + completed_word, memory_->exchange);
}

/// Called while an exception is handled. Who waits for this rank in memory of the node hears of it there.
void Executor::fail() {
  std::exception_ptr failure = std::current_exception();
  for (const std::unique_ptr<BoundCarrier>& carrier : carriers_) failure = carrier->explain(std::move(failure));
  if (memory_) memory_->give_up(failure);
  give_up();
  std::rethrow_exception(failure);
}

/// Cancels and waits for what uses the user's buffers, and keeps memory that may still be used. MPI promises that a
/// receive ends soon once it has been cancelled. A send ends when its peer receives it, which may be never.
void Executor::give_up() {
  remaining_ = 0;
  waiting_.clear();
  if (carriers_.empty()) return;
  Remains remains{memory_, std::move(staging_), std::exchange(carriers_, {})};
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(100);
  int turns = 0;
  Left left = remains.abandon();
  for (; left == Left::receives || (left == Left::sends && Clock::now() < end); left = remains.abandon()) relax(turns);
  if (left != Left::nothing) keep(std::move(remains));
}

std::int64_t Executor::metadata_bytes() const {
  std::int64_t total = static_cast<std::int64_t>(sizeof *this + events_->metadata_bytes() + order_.metadata_bytes() +
                                                 runs_.capacity() * sizeof(StepRun)) +
                       steps_.metadata_bytes();
  for (const std::vector<int>* table : {&initial_steps_, &ready_, &waiting_})
    total += static_cast<std::int64_t>(table->capacity() * sizeof(int));
  for (const std::unique_ptr<BoundCarrier>& carrier : carriers_) total += carrier->metadata_bytes();
  return total;
}

/// What comes from carriers alone is waited for there, where no time is lost between looks.
void Executor::wait_in_virtual_time() {
  while (remaining_ > 0) {
    const int before = remaining_;
    if (!waiting_.empty()) poll_waiting<false>();
    if (remaining_ == before) {
      const Patience patience = waiting_.empty() ? Patience::some : Patience::none;
      if (mode_.together != nullptr)
        poll_together(patience);
      else
        poll_carriers<false>(patience);
    }
    if (remaining_ == before) simulated_wait_.pause();
  }
  finish<false>();
}

void Executor::wait_for_steps() {
  if constexpr (simulated) return wait_in_virtual_time();
  if (mode_.together != nullptr) return wait_for_words_first();
  for (int turns = 0; !progress();) relax(turns);
}

/// What the carrier has under way goes on without this executor, and a look at it costs much more than one at words,
/// which ranks that share a core with this one pay for.
void Executor::wait_for_words_first() {
  constexpr unsigned looks_before_carrier = 32;
  constexpr unsigned looks_before_advance = 256;
  unsigned looks = 1;
  for (int turns = impatient_turns;; ++looks) {
    poll_waiting<false>();
    if (waiting_.empty()) break;
    if (looks % looks_before_carrier == 0 && poll_together() && looks % looks_before_advance == 0)
      mode_.together->advance();
    if (memory_ && questions_.are_due()) memory_->require_all_running();
    relax(turns);
  }
  if (left_together_ > 0) mode_.together->wait_all();
  remaining_ = 0;
  finish<false>();
}

}  // namespace laneway
