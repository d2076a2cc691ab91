#include "runtime/executor/executor.hpp"

#include <algorithm>
#include <chrono>
#include <string>
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

void Executor::move(int step) {
  const auto s = static_cast<std::size_t>(step);
  std::byte* const from = now(bound_[s].from, bound_[s].last_from);
  std::byte* const to = now(bound_[s].to, bound_[s].last_to);
  if (!is_unmoved(from) && !is_unmoved(to)) {
    if (!combiners_.empty() && combines(plan_->steps[s])) [[unlikely]]
      combine(*combiners_[static_cast<std::size_t>(plan_->steps[s].combination)], plan_->steps[s].runs, from, to);
    else
      programs_[s].run(from, to);
  }
  if constexpr (simulated) {
    const SimulatedCosts& costs = simulated_costs();
    const Step& what = plan_->steps[s];
    if (is_gate(what) || what.kind == StepKind::event) return;
    pass(is_copy(what) ? simulated_seconds(what.runs, costs.copy)
                       : costs.shared + simulated_seconds(what.runs, costs.shared_byte));
  }
}

template <bool traced>
void Executor::begin_on_device(int step) {
  if constexpr (traced) trace_->begin(step);
  const BoundStep& bound = bound_[static_cast<std::size_t>(step)];
  const Step& what = plan_->steps[static_cast<std::size_t>(step)];
  Borrowed* const borrowed = borrows(what) ? &buffers_.borrowed.of(what.peer, *memory_, buffers_.worker) : nullptr;
  std::byte* const from = borrowed != nullptr ? borrowed->base : now(bound.from, bound.last_from);
  lnw_device_event const after =
      borrowed != nullptr ? borrowed->ready_in(device_->stream_of(step), memory_->exchange) : nullptr;
  device_->begin(step, from, now(bound.to, bound.last_to), after, [this](int each) { end<traced>(each); });
}

/// Of what a step does by itself.
template <bool traced>
void Executor::end(int step) {
  const BoundStep& bound = bound_[static_cast<std::size_t>(step)];
  if (bound.raise.first != nullptr) {
    raise(now(bound.raise, bound.last_raise), memory_->exchange);
    if (bound.event == of_puts) [[unlikely]]
      return put(step);
  } else if (bound.event != none) {
    announce(bound);
  }
  complete<traced>(step);
}

/// Only begins it, so that puts to several ranks are under way together, and no start waits for a rank.
void Executor::put(int step) {
  const auto s = static_cast<std::size_t>(step);
  const Step& what = plan_->steps[s];
  const BoundStep& bound = bound_[s];
  if (what.kind == StepKind::move) {
    const std::int64_t place = what.span.offset + bound.to.distance * static_cast<std::int64_t>(turn_ & bound.last_to);
    puts_->put(what.peer, at(bound.to.first, place), place, what.span.bytes);
  }
  put_.push_back(step);
}

/// A word goes when what it is about has arrived, and its step is complete when the word has arrived, too.
template <bool traced>
void Executor::end_puts() {
  const std::size_t n = put_.size();
  if (n == 0) return;
  const auto peer_of = [&](std::size_t i) { return plan_->steps[static_cast<std::size_t>(put_[i])].peer; };
  for (std::size_t i = 0; i < n; ++i) puts_->flush(peer_of(i));
  for (std::size_t i = 0; i < n; ++i) {
    const BoundStep& bound = bound_[static_cast<std::size_t>(put_[i])];
    const Word& word = *plan_->steps[static_cast<std::size_t>(put_[i])].raise;
    puts_->raise(peer_of(i), now(bound.raise, bound.last_raise),
                 word.offset + bound.raise.distance * static_cast<std::int64_t>(turn_ & bound.last_raise));
  }
  for (std::size_t i = 0; i < n; ++i) puts_->flush(peer_of(i));
  fruitless_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    complete<traced>(put_[i]);
    drain<traced>();
  }
  put_.erase(put_.begin(), put_.begin() + static_cast<std::ptrdiff_t>(n));
}

/// Unless it has come in.
void Executor::announce(const BoundStep& bound) {
  if (bound.waits_for != WaitsFor::nothing) return;
  if (bound.event == of_stream) return device_->hand_over();
  events_.announce(bound.event);
}

bool Executor::passes(int step) const {
  const BoundStep& bound = bound_[static_cast<std::size_t>(step)];
  switch (bound.waits_for) {
    case WaitsFor::word:
      return seen(now(bound.await, bound.last_await)) + bound.lag >= memory_->exchange;
    case WaitsFor::event:
      return events_.has_come(bound.event);
    case WaitsFor::readers:
      if (!memory_->arena->ready(memory_->exchange, bound.lag)) return false;
      raise(now(bound.await, bound.last_await), memory_->exchange);
      return true;
    case WaitsFor::stream:
      return device_->user_is_done();
    case WaitsFor::nothing:
      break;
  }
  return true;
}

/// A step that is no message, when all that it depends on is complete.
template <bool traced>
void Executor::begin(int step) {
  if (bound_[static_cast<std::size_t>(step)].waits_for != WaitsFor::nothing) {
    if constexpr (traced) trace_->begin(step);
    waiting_.push_back(step);
  } else if (device_ && device_->has(step)) {
    begin_on_device<traced>(step);
  } else {
    ready_.push_back(step);
  }
}

template <bool traced>
void Executor::complete(int step) {
  if constexpr (traced) trace_->end(step);
  --remaining_;
  order_.complete(step, [this](int next) {
    const int message = messages_.of_step[static_cast<std::size_t>(next)];
    if (message < 0) return begin<traced>(next);
    if constexpr (traced) trace_->begin(next);
    messages_.endpoint->start(message, 1);
  });
}

template <bool traced>
void Executor::drain() {
  while (!ready_.empty()) {
    const int step = ready_.back();
    ready_.pop_back();
    if constexpr (traced) trace_->begin(step);
    move(step);
    end<traced>(step);
  }
}

void Executor::start_otherwise() {
  if (events_.any()) events_.start();
  if (device_) device_->begin_exchange(staging());
  if (!trace_) return start_steps();
  trace_->start();
  for (int message = 0; message < messages_.initial; ++message)
    trace_->begin(messages_.steps[static_cast<std::size_t>(message)]);
  if (messages_.initial > 0) messages_.endpoint->start(0, messages_.initial);
  start_rest<true>();
}

void Executor::begin_exchange() {
  memory_->begin_exchange();
  turn_ = memory_->turn;
  messages_.endpoint = messages_.endpoints[in_second_place() && messages_.endpoints[1] ? 1 : 0].get();
}

template <bool traced>
void Executor::start_rest() {
  if (memory_) raise(memory_->own.words + started_word, memory_->exchange);
  remaining_ = static_cast<int>(plan_->steps.size());
  waiting_.clear();
  if (!mode_.independent) order_.restart();
  for (int step : initial_steps_) {
    begin<traced>(step);
    drain<traced>();
  }
  if (!mode_.independent) poll_words<traced>();
  if (remaining_ == 0) finish<traced>();
}

template void Executor::start_rest<false>();  // which start() calls

template <bool traced>
void Executor::poll_words() {
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
    if (device_ && device_->has(step)) {
      begin_on_device<traced>(step);
      drain<traced>();
      continue;
    }
    move(step);
    end<traced>(step);
    drain<traced>();
  }
}

/// Whether none was under way, so that MPI was not called.
template <bool traced>
bool Executor::poll_messages(Patience patience) {
  if (mode_.independent) {
    if (messages_.complete) return true;
    if (patience == Patience::some)
      messages_.endpoint->wait_all();
    else if (!messages_.endpoint->test_all())
      return false;
    messages_.complete = true;
    remaining_ -= messages_.initial;
    return true;
  }
  const int n = patience == Patience::some ? messages_.endpoint->wait_some(messages_.completed)
                                           : messages_.endpoint->poll(messages_.completed);
  if (n < 0) return true;
  if (simulated && n > 0) simulated_wait_.end_by_message();
  for (int i = 0; i < n; ++i) {
    complete<traced>(messages_.steps[static_cast<std::size_t>(messages_.completed[static_cast<std::size_t>(i)])]);
    drain<traced>();
  }
  return false;
}

bool Executor::progress() {
  try {
    return progress_steps();
  } catch (...) {
    fail();
  }
}

bool Executor::progress_steps() {
  if (remaining_ == 0) return true;
  if (mode_.advances_otherwise) [[unlikely]]
    return advance_otherwise();
  return advance<false>();
}

bool Executor::advance_otherwise() {
  if (device_)
    device_->poll([this](int step) {
      if (trace_) {
        end<true>(step);
        drain<true>();
      } else {
        end<false>(step);
        drain<false>();
      }
    });
  return trace_ ? advance<true>() : advance<false>();
}

template <bool traced>
bool Executor::advance() {
  if (puts_ != nullptr) [[unlikely]] {
    puts_->advance();
    end_puts<traced>();
  }
  if (!waiting_.empty()) poll_words<traced>();
  // Other messages of this rank, which peers may wait for, need progress even where these are complete.
  constexpr unsigned turns_before_advance = 64;
  if (poll_messages<traced>() && remaining_ > 0 && ++fruitless_ % turns_before_advance == 0)
    messages_.endpoint->advance();
  if (remaining_ > 0) {
    if constexpr (simulated) pass(simulated_costs().flag);
    return false;
  }
  finish<traced>();
  return true;
}

template <bool traced>
void Executor::finish() {
  if constexpr (traced) trace_->complete();
  if (memory_) raise(memory_->own.words + completed_word, memory_->exchange);
}

/// Called while an exception is handled.
void Executor::fail() {
  give_up();
  try {
    throw;
  } catch (const MessageError& error) {
    explain(error);
  }
}

/// Says which message it is of.
void Executor::explain(const MessageError& error) const {
  const int index = messages_.steps.at(static_cast<std::size_t>(error.index()));
  const Step& step = plan_->steps[static_cast<std::size_t>(index)];
  const bool is_send = step.kind == StepKind::send;
  const std::string bytes = std::to_string(step.span.bytes) + " bytes";
  const std::string peer = std::to_string(step.peer);
  if (step.stage != Stage::direct)
    throw Error(ErrorKind::mpi,
                std::string("message of the stage ") + name(step.stage) + (is_send ? " to" : " from") + " rank " +
                    peer + ", " + bytes + ": " + error.what(),
                error.mpi_class());
  const auto number = 1 + std::count_if(plan_->steps.begin(), plan_->steps.begin() + index, [&](const Step& other) {
                        return other.kind == step.kind && other.stage == step.stage && other.peer == step.peer;
                      });
  const std::string own = std::to_string(plan_->rank);
  throw Error(ErrorKind::mpi,
              "edge " + (is_send ? own + " -> " + peer : peer + " -> " + own) + " (message " + std::to_string(number) +
                  " between these two), " + (is_send ? "sendcounts and sendtype" : "recvcounts and recvtype") +
                  " say " + bytes + ": " + error.what() +
                  "; the _init form of this operation compares both sides of all edges",
              error.mpi_class());
}

/// Cancels and waits for what uses the user's buffers, and keeps memory that may still be used. MPI promises that a
/// receive ends soon once it has been cancelled. A send ends when its peer receives it, which may be never.
void Executor::give_up() {
  remaining_ = 0;
  waiting_.clear();
  put_.clear();
  if (!messages_.endpoints[0]) return;
  Remains remains{std::move(messages_.endpoints), std::move(buffers_.staging), std::move(buffers_.device_staging),
                  std::move(buffers_.shadow),     std::move(buffers_.lent),    memory_};
  messages_.endpoint = nullptr;
  const auto abandon = [&] {
    Left left = Left::nothing;
    for (const std::unique_ptr<Endpoint>& endpoint : remains.endpoints)
      if (endpoint) left = std::max(left, endpoint->abandon());
    return left;
  };
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(100);
  int turns = 0;
  Left left = abandon();
  for (; left == Left::receives || (left == Left::sends && Clock::now() < end); left = abandon()) relax(turns);
  if (device_) device_.reset();  // waits for copies that are in streams
  if (remains.abandon()) keep(std::move(remains));
}

std::int64_t Executor::metadata_bytes() const {
  std::size_t bytes = sizeof *this + bound_.capacity() * sizeof(BoundStep) + events_.metadata_bytes() +
                      order_.metadata_bytes() + programs_.capacity() * sizeof(CopyProgram);
  for (const std::vector<int>* table :
       {&messages_.steps, &messages_.of_step, &messages_.completed, &initial_steps_, &ready_, &waiting_, &put_})
    bytes += table->capacity() * sizeof(int);
  auto total = static_cast<std::int64_t>(bytes);
  for (const CopyProgram& program : programs_) total += program.metadata_bytes();
  if (device_) total += device_->metadata_bytes();
  return total;
}

/// What comes by messages alone is waited for in MPI, where no time is lost between looks.
void Executor::wait_in_virtual_time() {
  while (remaining_ > 0) {
    const int before = remaining_;
    if (!waiting_.empty()) poll_words<false>();
    if (remaining_ == before) poll_messages<false>(waiting_.empty() ? Patience::some : Patience::none);
    if (remaining_ == before) simulated_wait_.pause();
  }
  finish<false>();
}

void Executor::wait_for_steps() {
  if constexpr (simulated) return wait_in_virtual_time();
  if (mode_.independent) return wait_for_words_first();
  for (int turns = 0; !progress();) relax(turns);
}

/// Messages go on without this executor, and a look at them costs much more than one at words, which ranks that share
/// a core with this one pay for.
void Executor::wait_for_words_first() {
  constexpr int looks_before_messages = 32;
  constexpr int looks_before_advance = 256;
  for (int turns = impatient_turns, looks = 1;; ++looks) {
    poll_words<false>();
    if (waiting_.empty()) break;
    if (looks % looks_before_messages == 0 && poll_messages<false>() && looks % looks_before_advance == 0)
      messages_.endpoint->advance();
    relax(turns);
  }
  if (!messages_.complete) messages_.endpoint->wait_all();
  remaining_ = 0;
  finish<false>();
}

}  // namespace laneway
