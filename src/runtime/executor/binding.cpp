#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "plan/stream_event.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/remains.hpp"

// How an executor finds out where everything is.

namespace laneway {

namespace {

/// Sends of up to this size are on their way before the receives are posted, which costs the receives nothing when
/// both take less time than a message; larger ones find their receives posted, and need no copy. Simulated messages
/// only begin to move when both are there.
constexpr std::int64_t eager_send_bytes = 4096;

bool is_device_aware(const BufferMemory& where) {
  return where.device_aware && where.on_device().any();
}

bool lends_or_borrows(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return lends(step) || borrows(step); });
}

}  // namespace

Executor::Executor(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport,
                   std::shared_ptr<NodeMemory> memory)
    : Executor(plan, buffers, glance_at(buffers, *plan), transport, std::move(memory)) {}

Executor::Executor(std::shared_ptr<const Plan> plan, Buffers buffers, const BufferMemory& where, Transport& transport,
                   std::shared_ptr<NodeMemory> memory, Combiners combiners)
    : plan_(std::move(plan)),
      combiners_(std::move(combiners)),
      memory_(memory && (plan_->window_bytes > 0 || memory->arena) ? std::move(memory) : nullptr),
      events_(*plan_),
      order_(plan_->steps) {
  buffers_.where = where;
  buffers_.device_aware = is_device_aware(where);
  look_through_remains();
  LANEWAY_ASSERT(memory_ || plan_->window_bytes == 0);
  LANEWAY_ASSERT(!memory_ || !buffers_.device_aware);
  LANEWAY_ASSERT(goes_through_host(*plan_, buffers_.where.behind_host()));
  LANEWAY_ASSERT(combiners_.size() == plan_->combinations.size());
  mode_.uses_device = buffers_.where.on_device().any() || lends_or_borrows(*plan_);
  LANEWAY_ASSERT(combiners_.empty() || !buffers_.device_aware);
  bind(buffers, transport);

  trace_ = Trace::of(plan_, transport, mode_.uses_device);
  order();
  const std::vector<Step>& steps = plan_->steps;
  if (mode_.has_more_than_messages)
    for (const Step& step : steps)
      programs_.emplace_back(combines(step) ? std::span<const CopyRun>() : std::span(step.runs));
  bound_.resize(programs_.size());
  for (std::size_t s = 0; s < bound_.size(); ++s) {
    bind_step(s);
    if (messages_.of_step[s] < 0 && steps[s].after.empty()) initial_steps_.push_back(static_cast<int>(s));
  }
  // What nobody waits for, as copies from this rank to itself, is done while messages are on their way.
  std::stable_partition(initial_steps_.begin(), initial_steps_.end(), [&](int step) {
    const auto s = static_cast<std::size_t>(step);
    return !order_.after(step).empty() || bound_[s].raise.first != nullptr || steps[s].kind == StepKind::event;
  });
  if (mode_.uses_device) add_device_copies();
  find_ways();
}

/// What is to be looked at in an exchange, and how much may wait at a time.
void Executor::order() {
  std::size_t run_here = 0;
  std::size_t waits = 0;
  for (const Step& step : plan_->steps) {
    if (step.kind == StepKind::send || step.kind == StepKind::receive) continue;
    ++(step.await || (step.kind == StepKind::event && !step.goes_out) ? waits : run_here);
  }
  // A trace shows when each message is complete. Peers wait for the end of this exchange before they write shared
  // staging memory in the next one.
  mode_.independent = order_.empty() && !(memory_ && memory_->arena) && !mode_.uses_device && !trace_;
  mode_.only_messages_wait = mode_.independent && waits == 0 && !memory_;
  if (!mode_.independent)
    for (const std::unique_ptr<Endpoint>& endpoint : messages_.endpoints)
      if (endpoint) endpoint->expect_poll();
  mode_.has_more_than_messages = !mode_.independent || run_here + waits > 0;
  ready_.reserve(run_here);
  waiting_.reserve(waits);
  if (memory_ && memory_->puts) {
    puts_ = memory_->puts.get();
    put_.reserve(run_here + waits);
  }
  messages_.completed.resize(messages_.steps.size());
}

void Executor::allocate(Buffers buffers) {
  const bool shares = memory_ != nullptr;
  const OnDevice on_device = buffers_.where.on_device();
  const auto staging_bytes = static_cast<std::size_t>(shares ? 0 : plan_->staging_bytes);
  if (mode_.uses_device) {
    buffers_.worker = on_device.send      ? Device(buffers_.where.send)
                      : on_device.receive ? Device(buffers_.where.receive)
                                          : all_devices().at(0);
    if (shares) memory_->pin(buffers_.worker);
    buffers_.device_staging =
        DeviceMemory(buffers_.worker, staging_bytes, buffers_.device_aware ? MemoryKind::device : MemoryKind::pinned);
    buffers_.shadow = DeviceMemory(buffers_.worker, static_cast<std::size_t>(plan_->shadow_bytes), MemoryKind::pinned);
  } else if (staging_bytes > 0) {
    buffers_.staging = BlockMemory(staging_bytes);
  }
  buffers_.bases = {static_cast<std::byte*>(const_cast<void*>(buffers.send)), static_cast<std::byte*>(buffers.receive),
                    shares                    ? memory_->own.staging
                    : buffers_.staging.data() ? buffers_.staging.data()
                                              : buffers_.device_staging.data(),
                    shares ? memory_->own.window : nullptr, buffers_.shadow.data()};
}

void Executor::bind(Buffers buffers, Transport& transport) {
  allocate(buffers);
  const std::vector<Step>& steps = plan_->steps;
  messages_.of_step.assign(steps.size(), -1);
  std::vector<Message> messages;
  bool uses_staging = false;
  auto add_messages = [&](StepKind kind, bool initial) {
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const Step& step = steps[s];
      if (step.kind != kind || step.after.empty() != initial) continue;
      messages_.of_step[s] = static_cast<int>(messages.size());
      messages_.steps.push_back(static_cast<int>(s));
      uses_staging = uses_staging || step.span.buffer == Buffer::staging;
      const bool in_user_buffer = step.span.buffer == Buffer::send || step.span.buffer == Buffer::receive;
      messages.push_back({kind == StepKind::send, step.peer, step.channel,
                          at(buffers_.bases[static_cast<std::size_t>(step.span.buffer)], step.span.offset),
                          step.span.bytes, in_user_buffer});
    }
  };
  const bool eager = !simulated && std::none_of(steps.begin(), steps.end(), [](const Step& step) {
    return step.kind == StepKind::send && step.after.empty() && step.span.bytes > eager_send_bytes;
  });
  add_messages(eager ? StepKind::send : StepKind::receive, true);
  add_messages(eager ? StepKind::receive : StepKind::send, true);
  messages_.initial = static_cast<int>(messages.size());
  add_messages(StepKind::receive, false);
  add_messages(StepKind::send, false);
  messages_.endpoints[0] = transport.bind(messages);
  messages_.endpoint = messages_.endpoints[0].get();
  if (plan_->staging_alternate == 0 || !uses_staging) return;
  for (std::size_t m = 0; m < messages.size(); ++m)
    if (steps[static_cast<std::size_t>(messages_.steps[m])].span.buffer == Buffer::staging)
      messages[m].data += plan_->staging_alternate;
  messages_.endpoints[1] = transport.bind(messages);
}

namespace {

/// `across`: the other rank's memory of the same kind.
template <class Places, class LastPlace>
Places in_turn(std::byte* here, std::byte* across, std::int64_t offset, const Ring& ring, LastPlace& last) {
  const auto sideways =
      ring.crosses ? reinterpret_cast<std::intptr_t>(across) - reinterpret_cast<std::intptr_t>(here) : 0;
  LANEWAY_ASSERT(std::in_range<LastPlace>(ring.places - 1));
  last = static_cast<LastPlace>(ring.places - 1);
  return {at(here, offset), ring.distance + sideways};
}

}  // namespace

Executor::Places Executor::find(const Operand& operand, Rank peer, LastPlace& last) const {
  const Buffer buffer = operand.buffer;
  if (!operand.of_peer && buffer != Buffer::window) {
    last = 1;
    return {buffers_.bases[static_cast<std::size_t>(buffer)], buffer == Buffer::staging ? plan_->staging_alternate : 0};
  }
  for (const Carrier& carrier : carriers()) {
    if (carrier.bind == nullptr) continue;
    if (const std::optional<Reached> reached = carrier.bind(*memory_, operand, peer))
      return in_turn<Places>(reached->here, reached->across, 0, operand.ring, last);
  }
  LANEWAY_ASSERT(false);
}

Executor::Places Executor::find(const Word& word, Rank peer, LastPlace& last) const {
  const NodeMemory::Part& other = memory_->peers.at(peer);
  const NodeMemory::Part& here = word.of_peer ? other : memory_->own;
  if (word.sign != Sign::flag) return {at(here.words, place_of(word.sign)), 0};
  std::byte* const own = memory_->own_window(peer);
  return in_turn<Places>(word.of_peer ? other.window : own, word.of_peer ? own : other.window, word.offset, word.ring,
                         last);
}

void Executor::bind_step(std::size_t s) {
  const Step& step = plan_->steps[s];
  BoundStep& bound = bound_[s];
  if (step.kind == StepKind::move) {
    bound.from = find(step.from, step.peer, bound.last_from);
    bound.to = find(step.to, step.peer, bound.last_to);
  }
  if (step.raise) {
    bound.raise = find(*step.raise, step.peer, bound.last_raise);
    if (memory_->is_far(step.peer)) bound.event = of_puts;
  }
  if (step.await) {
    bound.await = find(*step.await, step.peer, bound.last_await);
    bound.lag = static_cast<std::uint64_t>(step.await->lag);
    bound.waits_for = step.await->sign == Sign::ready && !step.await->of_peer ? WaitsFor::readers : WaitsFor::word;
  }
  if (step.kind != StepKind::event) return;
  bound.event = is_of_stream(step) ? of_stream : step.event;
  if (!step.goes_out) bound.waits_for = is_of_stream(step) ? WaitsFor::stream : WaitsFor::event;
}

/// Of the plan: that the user's stream has come so far; -1: there is none.
int Executor::stream_step() const {
  const auto found =
      std::ranges::find_if(plan_->steps, [](const Step& step) { return is_of_stream(step) && !step.goes_out; });
  return found != plan_->steps.end() ? static_cast<int>(found - plan_->steps.begin()) : -1;
}

/// Whether a copy is waited for by the user's stream alone.
bool Executor::trails(int step) const {
  const std::span<const int> after = order_.after(step);
  return after.size() == 1 && is_of_stream(plan_->steps[static_cast<std::size_t>(after.front())]);
}

/// Those of a few bytes that can all begin at once share a kernel.
void Executor::add_device_copies() {
  device_ = std::make_unique<DeviceCopies>(buffers_.where, buffers_.bases, plan_->steps.size());
  const OnDevice on_device = buffers_.where.on_device();
  std::array<std::vector<int>, 2> together;  // by whether they write to a device
  std::array<std::int64_t, 2> bytes{};
  if (buffers_.device_aware || lends_or_borrows(*plan_)) device_->use(buffers_.worker);
  buffers_.borrowed = BorrowedBuffers(*plan_);
  if (on_device.combines) device_->set_combining(combiners_.front()->on_device().value());
  lend();
  const auto touches_device = [&](const Step& step) {
    if (step.kind != StepKind::move) return false;
    const bool staged_there = buffers_.device_aware && (step.from == Buffer::staging || step.to == Buffer::staging);
    return (on_device.send && step.from == Buffer::send) ||
           (on_device.receive && (step.to == Buffer::receive || step.from == Buffer::receive)) || staged_there ||
           borrows(step);
  };
  const int stream = stream_step();
  if (stream >= 0) device_->has_event_of_stream();
  const auto begins_at_once = [&](const Step& step) {
    return std::ranges::all_of(step.after, [&](int before) { return before == stream; });
  };
  const auto flush = [&](std::size_t writes) {
    if (!together[writes].empty()) device_->add(*plan_, std::exchange(together[writes], {}), false);
    bytes[writes] = 0;
  };
  for (int s = 0; s < static_cast<int>(plan_->steps.size()); ++s) {
    const Step& step = plan_->steps[static_cast<std::size_t>(s)];
    if (!touches_device(step)) continue;
    const auto at = static_cast<std::size_t>(s);
    if (!is_copy(step) || combines(step) || !begins_at_once(step) || trails(s)) {
      device_->add(*plan_, {s}, trails(s));
      continue;
    }
    const std::size_t writes = uses_receive_buffer(step) ? 1 : 0;
    const std::int64_t moved = programs_[at].bytes();
    if (bytes[writes] + moved > device_copy_bytes) flush(writes);
    together[writes].push_back(s);
    bytes[writes] += moved;
  }
  flush(0);
  flush(1);
  device_->prepare();
}

/// Those that can lend at once do so together.
void Executor::lend() {
  std::vector<int> together;
  std::vector<int> later;
  for (int s = 0; s < static_cast<int>(plan_->steps.size()); ++s) {
    const Step& step = plan_->steps[static_cast<std::size_t>(s)];
    if (lends(step)) (step.after.empty() ? together : later).push_back(s);
  }
  if (together.empty() && later.empty()) return;
  std::byte* const begin = at(buffers_.bases[static_cast<std::size_t>(Buffer::send)], plan_->lent_offset);
  buffers_.lent = laneway::lend(*plan_, *memory_, buffers_.worker, begin, !buffers_.where.on_device().send);
  if (buffers_.lent.mirror.data() != nullptr)
    device_->set_mirror(begin, buffers_.lent.mirror.data(), plan_->lent_bytes);
  const Event* const ready = buffers_.lent.ready ? &buffers_.lent.ready : nullptr;
  if (!together.empty()) device_->add_lending(std::move(together), ready);
  for (int s : later) device_->add_lending({s}, ready);
}

void Executor::open_lent() {
  if (memory_) buffers_.borrowed.open_all(*memory_, buffers_.worker);
}

void Executor::set_stream(std::optional<lnw_device_stream> stream) {
  if (!device_ && stream) device_ = std::make_unique<DeviceCopies>(buffers_.where, buffers_.bases, plan_->steps.size());
  if (device_) device_->set_stream(stream);
  find_ways();
}

}  // namespace laneway
