#include "exec/executor.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/address.hpp"
#include "core/error.hpp"
#include "core/relax.hpp"

namespace laneway {

namespace {

/// Sends of up to this size are on their way before the receives are posted, which costs the receives nothing when
/// both take less time than a message; larger ones find their receives posted, and need no copy.
constexpr std::int64_t eager_send_bytes = 4096;

}  // namespace

Executor::Executor(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport)
    : plan_(std::move(plan)),
      staging_(plan_->staging_bytes > 0 ? new std::byte[static_cast<std::size_t>(plan_->staging_bytes)] : nullptr),
      bases_{static_cast<std::byte*>(const_cast<void*>(buffers.send)), static_cast<std::byte*>(buffers.receive),
             staging_.get()} {
  const std::vector<Step>& steps = plan_->steps;
  step_message_.assign(steps.size(), -1);
  std::vector<Message> messages;
  auto add_messages = [&](StepKind kind, bool initial) {
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const Step& step = steps[s];
      if (step.kind != kind || step.after.empty() != initial) continue;
      step_message_[s] = static_cast<int>(messages.size());
      message_step_.push_back(static_cast<int>(s));
      messages.push_back({kind == StepKind::send, step.peer, step.channel,
                          at(bases_[static_cast<std::size_t>(step.span.buffer)], step.span.offset), step.span.bytes});
    }
  };
  const bool eager = std::none_of(steps.begin(), steps.end(), [](const Step& step) {
    return step.kind == StepKind::send && step.after.empty() && step.span.bytes > eager_send_bytes;
  });
  add_messages(eager ? StepKind::send : StepKind::receive, true);
  add_messages(eager ? StepKind::receive : StepKind::send, true);
  initial_messages_ = static_cast<int>(messages.size());
  add_messages(StepKind::receive, false);
  add_messages(StepKind::send, false);
  endpoint_ = transport.bind(messages);

  std::size_t dependencies = 0;
  std::size_t copies = 0;
  unmet_at_start_.reserve(steps.size());
  for (const Step& step : steps) {
    unmet_at_start_.push_back(static_cast<int>(step.after.size()));
    dependencies += step.after.size();
    copies += step.kind == StepKind::copy;
  }
  independent_ = dependencies == 0;
  has_more_than_messages_ = !independent_ || copies > 0;
  unmet_ = unmet_at_start_;
  next_begin_.assign(steps.size() + 1, 0);
  for (const Step& step : steps)
    for (int before : step.after) ++next_begin_[static_cast<std::size_t>(before) + 1];
  for (std::size_t s = 0; s < steps.size(); ++s) next_begin_[s + 1] += next_begin_[s];
  next_.resize(dependencies);
  std::vector<int> fill(next_begin_.begin(), next_begin_.end() - 1);
  for (std::size_t s = 0; s < steps.size(); ++s)
    for (int before : steps[s].after)
      next_[static_cast<std::size_t>(fill[static_cast<std::size_t>(before)]++)] = static_cast<int>(s);
  for (std::size_t s = 0; s < steps.size(); ++s)
    if (steps[s].kind == StepKind::copy && steps[s].after.empty()) initial_copies_.push_back(static_cast<int>(s));
  ready_copies_.reserve(copies);
  if (copies > 0)
    for (const Step& step : steps) copies_.emplace_back(step.runs);
  completed_.resize(messages.size());
}

void Executor::run_copy(int step) {
  const auto s = static_cast<std::size_t>(step);
  const Step& copy = plan_->steps[s];
  copies_[s].run(bases_[static_cast<std::size_t>(copy.from)], bases_[static_cast<std::size_t>(copy.to)]);
}

void Executor::complete(int step) {
  --remaining_;
  const auto s = static_cast<std::size_t>(step);
  for (int n = next_begin_[s]; n < next_begin_[s + 1]; ++n) {
    const int next = next_[static_cast<std::size_t>(n)];
    if (--unmet_[static_cast<std::size_t>(next)] > 0) continue;
    const int message = step_message_[static_cast<std::size_t>(next)];
    if (message >= 0)
      endpoint_->start(message, 1);
    else
      ready_copies_.push_back(next);
  }
}

void Executor::drain() {
  while (!ready_copies_.empty()) {
    const int step = ready_copies_.back();
    ready_copies_.pop_back();
    run_copy(step);
    complete(step);
  }
}

void Executor::start_rest() {
  if (independent_) {
    for (int step : initial_copies_) run_copy(step);
    return;
  }
  std::memcpy(unmet_.data(), unmet_at_start_.data(), unmet_.size() * sizeof(int));
  remaining_ = static_cast<int>(plan_->steps.size());
  for (int step : initial_copies_) {
    run_copy(step);
    complete(step);
  }
  drain();
}

bool Executor::progress() {
  if (remaining_ == 0) return true;
  if (independent_) {
    if (endpoint_->test_all()) remaining_ = 0;
    return remaining_ == 0;
  }
  const int n = endpoint_->poll(completed_);
  for (int i = 0; i < n; ++i) {
    complete(message_step_[static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)])]);
    drain();
  }
  return remaining_ == 0;
}

void Executor::wait_for_steps() {
  for (int turns = 0; !progress();) relax(turns);
}

}  // namespace laneway
