#include "exec/executor.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/relax.hpp"
#include "core/simulated.hpp"
#include "exec/remains.hpp"

namespace laneway {

namespace {

/// Sends of up to this size are on their way before the receives are posted, which costs the receives nothing when
/// both take less time than a message; larger ones find their receives posted, and need no copy. Simulated messages
/// only begin to move when both are there.
constexpr std::int64_t eager_send_bytes = 4096;

/// Where a rank's send buffer is, in its window.
struct LentRecord {
  std::uint64_t generation = 0;  ///< counts bindings
  std::int64_t offset = 0;       ///< of the memory in the send buffer
  SharedDeviceMemory memory;
  lnw_ipc_event ready{};           ///< comes before what may be read, if `has_event`
  lnw_device_event own = nullptr;  ///< the same in its own process
  bool has_event = false;
};
static_assert(sizeof(LentRecord) <= lent_record_bytes);

bool is_device_aware(const BufferMemory& where) {
  return where.device_aware && where.on_device().any();
}

bool lends_or_borrows(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return lends(step) || borrows(step); });
}

}  // namespace

bool starts_all_messages(const Plan& plan) {
  std::vector<bool> runs_in_start(plan.steps.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const bool at_once =
        std::ranges::all_of(step.after, [&](int before) { return runs_in_start[static_cast<std::size_t>(before)]; });
    if (step.kind == StepKind::copy)
      runs_in_start[s] = at_once;
    else if (!at_once)
      return false;
  }
  return true;
}

Executor::Executor(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport,
                   std::shared_ptr<NodeMemory> memory)
    : Executor(plan, buffers, glance_at(buffers, *plan), transport, std::move(memory)) {}

Executor::Executor(std::shared_ptr<const Plan> plan, Buffers buffers, const BufferMemory& where, Transport& transport,
                   std::shared_ptr<NodeMemory> memory)
    : plan_(std::move(plan)),
      memory_(memory && (plan_->window_bytes > 0 || memory->arena) ? std::move(memory) : nullptr),
      where_(where),
      device_aware_(is_device_aware(where)) {
  look_through_remains();
  LANEWAY_ASSERT(1, memory_ || plan_->window_bytes == 0);
  LANEWAY_ASSERT(1, !memory_ || !device_aware_);
  LANEWAY_ASSERT(1, goes_through_host(*plan_, where_.behind_host()));
  uses_device_ = where_.on_device().any() || lends_or_borrows(*plan_);
  bind(buffers, transport);

  const std::vector<Step>& steps = plan_->steps;
  std::size_t dependencies = 0;
  std::size_t run_here = 0;
  std::size_t words = 0;
  unmet_at_start_.reserve(steps.size());
  for (const Step& step : steps) {
    unmet_at_start_.push_back(static_cast<int>(step.after.size()));
    dependencies += step.after.size();
    run_here += step.kind == StepKind::copy || step.kind == StepKind::put;
    words += step.kind == StepKind::take || step.kind == StepKind::gate;
  }
  // Peers wait for the end of this exchange before they write shared staging memory in the next one.
  independent_ = dependencies == 0 && !(memory_ && memory_->arena) && !uses_device_;
  only_messages_wait_ = independent_ && words == 0 && !memory_;
  if (!independent_)
    for (const std::unique_ptr<Endpoint>& endpoint : endpoints_)
      if (endpoint) endpoint->expect_poll();
  has_more_than_messages_ = !independent_ || run_here + words > 0;
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
  if (has_more_than_messages_)
    for (const Step& step : steps) programs_.emplace_back(step.runs);
  places_.resize(programs_.size());
  for (std::size_t s = 0; s < places_.size(); ++s) {
    place(s);
    if (step_message_[s] < 0 && steps[s].after.empty()) initial_steps_.push_back(static_cast<int>(s));
  }
  if (uses_device_) add_device_copies();
  ready_.reserve(run_here);
  waiting_.reserve(words);
  completed_.resize(message_step_.size());
}

Executor::~Executor() {
  if (remaining_ > 0) give_up();
}

void Executor::allocate(Buffers buffers) {
  const bool shares = memory_ != nullptr;
  const OnDevice on_device = where_.on_device();
  const auto staging_bytes = static_cast<std::size_t>(shares ? 0 : plan_->staging_bytes);
  if (uses_device_) {
    worker_ = on_device.send ? Device(where_.send) : on_device.receive ? Device(where_.receive) : all_devices().at(0);
    if (shares) memory_->pin(worker_);
    device_staging_ = DeviceMemory(worker_, staging_bytes, device_aware_ ? MemoryKind::device : MemoryKind::pinned);
    shadow_ = DeviceMemory(worker_, static_cast<std::size_t>(plan_->shadow_bytes), MemoryKind::pinned);
  } else if (staging_bytes > 0) {
    staging_ = BlockMemory(staging_bytes);
  }
  bases_ = {static_cast<std::byte*>(const_cast<void*>(buffers.send)), static_cast<std::byte*>(buffers.receive),
            shares            ? memory_->own.staging
            : staging_.data() ? staging_.data()
                              : device_staging_.data(),
            shares ? memory_->own.window : nullptr, shadow_.data()};
}

void Executor::bind(Buffers buffers, Transport& transport) {
  allocate(buffers);
  const std::vector<Step>& steps = plan_->steps;
  step_message_.assign(steps.size(), -1);
  std::vector<Message> messages;
  bool uses_staging = false;
  auto add_messages = [&](StepKind kind, bool initial) {
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const Step& step = steps[s];
      if (step.kind != kind || step.after.empty() != initial) continue;
      step_message_[s] = static_cast<int>(messages.size());
      message_step_.push_back(static_cast<int>(s));
      uses_staging = uses_staging || step.span.buffer == Buffer::staging;
      const bool in_user_buffer = step.span.buffer == Buffer::send || step.span.buffer == Buffer::receive;
      messages.push_back({kind == StepKind::send, step.peer, step.channel,
                          at(bases_[static_cast<std::size_t>(step.span.buffer)], step.span.offset), step.span.bytes,
                          in_user_buffer});
    }
  };
  const bool eager = !simulated && std::none_of(steps.begin(), steps.end(), [](const Step& step) {
    return step.kind == StepKind::send && step.after.empty() && step.span.bytes > eager_send_bytes;
  });
  add_messages(eager ? StepKind::send : StepKind::receive, true);
  add_messages(eager ? StepKind::receive : StepKind::send, true);
  initial_messages_ = static_cast<int>(messages.size());
  add_messages(StepKind::receive, false);
  add_messages(StepKind::send, false);
  endpoints_[0] = transport.bind(messages);
  endpoint_ = endpoints_[0].get();
  if (plan_->staging_alternate == 0 || !uses_staging) return;
  for (std::size_t m = 0; m < messages.size(); ++m)
    if (steps[static_cast<std::size_t>(message_step_[m])].span.buffer == Buffer::staging)
      messages[m].data += plan_->staging_alternate;
  endpoints_[1] = transport.bind(messages);
}

void Executor::place(std::size_t s) {
  const Step& step = plan_->steps[s];
  Place& place = places_[s];
  if (copies(step.kind)) {
    const auto places = [&](Buffer buffer) {
      return Places{bases_[static_cast<std::size_t>(buffer)], buffer == Buffer::staging ? plan_->staging_alternate : 0,
                    1};
    };
    place.from = places(step.from);
    place.to = places(step.to);
  }
  if (!signals(step.kind)) return;
  const NodeMemory::Part& own = memory_->own;
  const NodeMemory::Part& peer = memory_->peers.at(step.peer);
  place.is_own_ready = step.kind == StepKind::gate && step.peer == plan_->rank && step.flag == ready_word;
  place.lag = static_cast<std::uint64_t>(step.lag);
  if (step.kind == StepKind::gate) {
    place.word.first = peer.words + step.flag;
    return;
  }
  const bool puts = step.kind == StepKind::put;
  const Buffer reached = puts ? step.to : step.from;
  std::byte* const here = puts ? peer.window : own.window;
  place.word = {here, 0, 0};
  if (reached == Buffer::window) {
    std::byte* const across = puts ? own.window : peer.window;
    const auto sideways =
        step.crosses ? reinterpret_cast<std::intptr_t>(across) - reinterpret_cast<std::intptr_t>(here) : 0;
    place.word = {here, step.alternate + sideways, static_cast<std::uint64_t>(step.slots) - 1};
    (puts ? place.to : place.from) = place.word;
  } else if (reached == Buffer::staging) {
    (puts ? place.to : place.from) = {peer.staging, step.alternate, 1};
  }
  place.word.first += step.flag;
}

/// Those of a few bytes that can all begin at once share a kernel.
void Executor::add_device_copies() {
  device_ = std::make_unique<DeviceCopies>(where_, bases_, plan_->steps.size());
  const OnDevice on_device = where_.on_device();
  std::array<std::vector<int>, 2> together;  // by whether they write to a device
  std::array<std::int64_t, 2> bytes{};
  if (device_aware_ || lends_or_borrows(*plan_)) device_->use(worker_);
  lend();
  const auto touches_device = [&](const Step& step) {
    if (!copies(step.kind) || lends(step)) return false;
    const bool staged_there = device_aware_ && (step.from == Buffer::staging || step.to == Buffer::staging);
    return (on_device.send && step.from == Buffer::send) || (on_device.receive && step.to == Buffer::receive) ||
           staged_there || borrows(step);
  };
  const auto flush = [&](std::size_t writes) {
    if (!together[writes].empty()) device_->add(*plan_, std::exchange(together[writes], {}), false);
    bytes[writes] = 0;
  };
  for (int s = 0; s < static_cast<int>(plan_->steps.size()); ++s) {
    const Step& step = plan_->steps[static_cast<std::size_t>(s)];
    if (!touches_device(step)) continue;
    const auto at = static_cast<std::size_t>(s);
    const bool is_last = next_begin_[at] == next_begin_[at + 1];
    const bool from_own =
        step.from == Buffer::send || step.from == Buffer::shadow || (step.from == Buffer::staging && !memory_);
    const bool to_own = step.to == Buffer::receive && on_device.receive;
    const bool may_trail = step.kind == StepKind::copy && to_own && is_last && from_own;
    if (step.kind != StepKind::copy || !step.after.empty() || may_trail) {
      device_->add(*plan_, {s}, may_trail);
      continue;
    }
    const std::size_t writes = step.to == Buffer::receive ? 1 : 0;
    const std::int64_t moved = programs_[at].bytes();
    if (bytes[writes] + moved > device_copy_bytes) flush(writes);
    together[writes].push_back(s);
    bytes[writes] += moved;
  }
  flush(0);
  flush(1);
  device_->prepare();
}

/// Writes where the send buffer is, for peers that take from it once they have been told that they may.
void Executor::lend() {
  std::vector<int> together;
  std::vector<int> later;
  for (int s = 0; s < static_cast<int>(plan_->steps.size()); ++s) {
    const Step& step = plan_->steps[static_cast<std::size_t>(s)];
    if (borrows(step)) borrowed_.try_emplace(step.peer);
    if (lends(step)) (step.after.empty() ? together : later).push_back(s);
  }
  if (together.empty() && later.empty()) return;
  std::byte* const begin = at(bases_[static_cast<std::size_t>(Buffer::send)], plan_->lent_offset);
  const bool mirrors = !where_.on_device().send;
  if (mirrors) {
    mirror_ = DeviceMemory(worker_, static_cast<std::size_t>(plan_->lent_bytes));
    device_->set_mirror(begin, mirror_.data(), plan_->lent_bytes);
  }
  LentRecord record{++memory_->lent_generation, plan_->lent_offset,
                    share_device_memory(mirrors ? mirror_.data() : begin)};
  if (worker_.has(LNW_DEVICE_HAS_IPC_EVENTS)) {
    lent_ready_ = Event(worker_, Event::Use::between_processes);
    record.ready = lent_ready_.share();
    record.own = lent_ready_.handle();
    record.has_event = true;
  }
  const Event* const ready = record.has_event ? &lent_ready_ : nullptr;
  if (!together.empty()) device_->add_lending(std::move(together), ready);
  for (int s : later) device_->add_lending({s}, ready);
  std::memcpy(memory_->own.window + lent_record, &record, sizeof record);
}

/// Opening another process's memory allocates. That is done once for each binding of the peer, if it has one.
Executor::Borrowed& Executor::borrowed_from(Rank peer) {
  Borrowed& borrowed = borrowed_.at(peer);
  LentRecord record;
  std::memcpy(&record, memory_->peers.at(peer).window + lent_record, sizeof record);
  if (record.generation != borrowed.generation) {
    borrowed.mapping = IpcMapping(worker_, record.memory);
    borrowed.base = at(borrowed.mapping.data(), -record.offset);
    const bool in_this_process = record.ready.process == getpid();
    borrowed.opened = record.has_event && !in_this_process ? Event(worker_, record.ready) : Event();
    borrowed.ready = in_this_process ? record.own : borrowed.opened.handle();
    borrowed.generation = record.generation;
  }
  return borrowed;
}

void Executor::open_lent() {
  for (const auto& [peer, borrowed] : borrowed_) (void)borrowed_from(peer);
}

void Executor::set_stream(std::optional<lnw_device_stream> stream) {
  if (!device_ && stream) device_ = std::make_unique<DeviceCopies>(where_, bases_, plan_->steps.size());
  if (device_) device_->set_stream(stream);
}

void Executor::move(int step) {
  const auto s = static_cast<std::size_t>(step);
  std::byte* const from = now(places_[s].from);
  std::byte* const to = now(places_[s].to);
  if (!is_unmoved(from) && !is_unmoved(to)) programs_[s].run(from, to);
  if constexpr (simulated) {
    const SimulatedCosts& costs = simulated_costs();
    const Step& what = plan_->steps[s];
    if (what.kind == StepKind::gate) return;
    pass(what.kind == StepKind::copy ? simulated_seconds(what.runs, costs.copy)
                                     : costs.shared + simulated_seconds(what.runs, costs.shared_byte));
  }
}

void Executor::begin_on_device(int step) {
  const Place& place = places_[static_cast<std::size_t>(step)];
  const Step& what = plan_->steps[static_cast<std::size_t>(step)];
  Borrowed* const borrowed = borrows(what) ? &borrowed_from(what.peer) : nullptr;
  std::byte* const from = borrowed != nullptr ? borrowed->base : now(place.from);
  // What comes later in the stream comes after the event, too.
  const bool is_first = borrowed != nullptr && std::exchange(borrowed->ordered_in[device_->stream_of(step)],
                                                             memory_->exchange) != memory_->exchange;
  device_->begin(step, from, now(place.to), is_first ? borrowed->ready : nullptr, [this](int each) {
    if (plan_->steps[static_cast<std::size_t>(each)].kind == StepKind::put) raise_flag(each);
    complete(each);
  });
}

void Executor::complete_on_device(int step) {
  if (plan_->steps[static_cast<std::size_t>(step)].kind == StepKind::put) raise_flag(step);
  complete(step);
  drain();
}

void Executor::raise_flag(int step) {
  raise(now(places_[static_cast<std::size_t>(step)].word), memory_->exchange);
}

bool Executor::passes(int step) const {
  const Place& place = places_[static_cast<std::size_t>(step)];
  if (place.is_own_ready) {
    if (!memory_->arena->ready(memory_->exchange, place.lag)) return false;
    raise(now(place.word), memory_->exchange);
    return true;
  }
  return seen(now(place.word)) + place.lag >= memory_->exchange;
}

/// A step that is no message, when all that it depends on is complete.
void Executor::begin(int step) {
  const StepKind kind = plan_->steps[static_cast<std::size_t>(step)].kind;
  if (kind != StepKind::copy && kind != StepKind::put)
    waiting_.push_back(step);
  else if (device_ && device_->has(step))
    begin_on_device(step);
  else
    ready_.push_back(step);
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
      begin(next);
  }
}

void Executor::drain() {
  while (!ready_.empty()) {
    const int step = ready_.back();
    ready_.pop_back();
    move(step);
    if (plan_->steps[static_cast<std::size_t>(step)].kind == StepKind::put) raise_flag(step);
    complete(step);
  }
}

/// Messages touch buffers that what is in the user's stream may still touch. Whoever advances the exchange sees when
/// that is done.
void Executor::start_on_device() {
  device_->begin_exchange(staging());
  deferred_ = device_aware_ && !device_->user_is_done();
  if (deferred_)
    remaining_ = 1;
  else
    start_steps();
}

void Executor::begin_exchange() {
  memory_->begin_exchange();
  turn_ = memory_->turn;
  endpoint_ = endpoints_[in_second_place() && endpoints_[1] ? 1 : 0].get();
}

void Executor::start_rest() {
  if (memory_) raise(memory_->own.words + started_word, memory_->exchange);
  remaining_ = static_cast<int>(plan_->steps.size());
  waiting_.clear();
  if (!independent_) std::copy(unmet_at_start_.begin(), unmet_at_start_.end(), unmet_.begin());
  for (int step : initial_steps_) {
    begin(step);
    drain();
  }
  if (!independent_) poll_words();
  if (remaining_ == 0) finish();
}

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
      begin_on_device(step);
      continue;
    }
    move(step);
    complete(step);
    drain();
  }
}

bool Executor::poll_messages(Patience patience) {
  if (independent_) {
    if (messages_complete_) return true;
    if (patience == Patience::some)
      endpoint_->wait_all();
    else if (!endpoint_->test_all())
      return false;
    messages_complete_ = true;
    remaining_ -= initial_messages_;
    return true;
  }
  const int n = patience == Patience::some ? endpoint_->wait_some(completed_) : endpoint_->poll(completed_);
  if (simulated && n > 0) simulated_wait_.end_by_message();
  for (int i = 0; i < n; ++i) {
    complete(message_step_[static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)])]);
    drain();
  }
  return completed_.empty();
}

bool Executor::progress() {
  try {
    return progress_steps();
  } catch (...) {
    fail();
  }
}

bool Executor::progress_steps() {
  if (deferred_ && device_->user_is_done()) {
    deferred_ = false;
    start_steps();
  }
  if (remaining_ == 0) return true;
  if (deferred_) return false;
  if (!waiting_.empty()) poll_words();
  if (device_) device_->poll([this](int step) { complete_on_device(step); });
  // Other messages of this rank, which peers may wait for, need progress even where these are complete.
  constexpr unsigned turns_before_advance = 64;
  if (poll_messages() && remaining_ > 0 && ++fruitless_ % turns_before_advance == 0) endpoint_->advance();
  if (remaining_ > 0) {
    if constexpr (simulated) pass(simulated_costs().flag);
    return false;
  }
  finish();
  return true;
}

void Executor::finish() {
  if (device_) device_->end_exchange();
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
  const int index = message_step_.at(static_cast<std::size_t>(error.index()));
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
  deferred_ = false;
  waiting_.clear();
  if (!endpoints_[0]) return;
  Remains remains{std::move(endpoints_),
                  std::move(staging_),
                  std::move(device_staging_),
                  std::move(shadow_),
                  std::move(mirror_),
                  std::move(lent_ready_),
                  memory_};
  endpoint_ = nullptr;
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
  std::size_t bytes = sizeof *this + places_.capacity() * sizeof(Place) + programs_.capacity() * sizeof(CopyProgram);
  for (const std::vector<int>* table : {&message_step_, &step_message_, &initial_steps_, &unmet_at_start_, &unmet_,
                                        &next_begin_, &next_, &ready_, &waiting_, &completed_})
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
    if (!waiting_.empty()) poll_words();
    if (remaining_ == before) poll_messages(waiting_.empty() ? Patience::some : Patience::none);
    if (remaining_ == before) simulated_wait_.pause();
  }
  finish();
}

void Executor::wait_for_steps() {
  if constexpr (simulated) return wait_in_virtual_time();
  if (independent_) return wait_for_words_first();
  for (int turns = 0; !progress();) relax(turns);
}

/// Messages go on without this executor, and a look at them costs much more than one at words, which ranks that share
/// a core with this one pay for.
void Executor::wait_for_words_first() {
  constexpr int looks_before_messages = 32;
  constexpr int looks_before_advance = 256;
  for (int turns = impatient_turns, looks = 1;; ++looks) {
    poll_words();
    if (waiting_.empty()) break;
    if (looks % looks_before_messages == 0 && poll_messages() && looks % looks_before_advance == 0)
      endpoint_->advance();
    relax(turns);
  }
  if (!messages_complete_) endpoint_->wait_all();
  remaining_ = 0;
  finish();
}

}  // namespace laneway
