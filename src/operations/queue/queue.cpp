#include "operations/queue/queue.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/process/relax.hpp"
#include "operations/queue/worker.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

[[noreturn]] void refuse(WorkState state) {
  throw Error(ErrorKind::request, std::string("request ") + text_of(state));
}

}  // namespace

Queue::Queue(std::unique_ptr<QueueStream> stream, QueueProgress progress)
    : stream_(std::move(stream)),
      progress_(progress),
      triggered_word_(stream_->word()),
      completed_word_(stream_->word()) {
  if (progress_ == QueueProgress::by_thread) hire(*this);
}

Queue::~Queue() {
  if (progress_ == QueueProgress::by_thread) dismiss(*this, !recorded_starts_.empty());
  for (Request* request : entered_) request->leave();
}

void Queue::check(const Request& request) const {
  require(!request.nonblocking(), ErrorKind::request, "request is nonblocking; only persistent requests are enqueued");
  const InQueue* const queued = request.queued();
  if (queued != nullptr && queued->queue == this) return;
  require(queued == nullptr, ErrorKind::request,
          "request is in another queue, to which it belongs until LNW_Queue_wait of that one has returned");
  if (const WorkState state = request.state(); state != WorkState::inactive && state != WorkState::blocked)
    refuse(state);
  const Device buffers = request.work().device();
  const Device mine = stream_->device();
  require(!buffers || !mine || buffers == mine, ErrorKind::argument, [&] {
    return "request has buffers on device " + std::to_string(buffers.number()) + " of " + buffers.plugin().vendor() +
           ", and the queue's stream is of device " + std::to_string(mine.number()) + " of " + mine.plugin().vendor();
  });
}

void Queue::check_starts(std::span<Request* const> requests) const {
  const bool is_recording = stream_->is_recording();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    check(*requests[i]);
    const InQueue* const queued = requests[i]->queued();
    require(queued == nullptr || !(is_recording ? queued->started_in_graph != nullptr : queued->is_open),
            ErrorKind::request, "request has been started in this queue already, and not been waited for");
    require(std::find(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(i), requests[i]) ==
                requests.begin() + static_cast<std::ptrdiff_t>(i),
            ErrorKind::request, "request appears twice");
  }
}

void Queue::check_waits(std::span<Request* const> requests) const {
  const bool is_recording = stream_->is_recording();
  for (Request* const request : requests) {
    check(*request);
    const InQueue* const queued = request->queued();
    require(queued != nullptr && (is_recording ? queued->started_in_graph != nullptr : queued->is_open),
            ErrorKind::request,
            "request has not been started in this queue since it was waited for: call LNW_Enqueue_start before");
  }
}

void Queue::count(std::int64_t items) {
  unfinished_.fetch_add(items, std::memory_order_relaxed);
  if (progress_ == QueueProgress::by_thread) give_work(static_cast<int>(items));
}

void Queue::finish(std::int64_t items) {
  unfinished_.fetch_sub(items, std::memory_order_release);
  if (progress_ == QueueProgress::by_thread) take_work(static_cast<int>(items));
}

/// The word is told to the stream first: where that fails, nothing has been enqueued.
void Queue::trigger(std::span<Item> items) {
  if (items.empty()) return;
  items.back().is_last = true;
  if (stream_->is_recording()) {
    QueueStream::Word* const word = stream_->word();
    stream_->write(word, 1);
    record(word, items);
  } else {
    stream_->write(triggered_word_, ++last_trigger_);
    for (Item& item : items) {
      item.value = last_trigger_;
      triggered_.push(item);
    }
    count(static_cast<std::int64_t>(items.size()));
  }
  ++triggers_;
}

void Queue::complete(std::span<Item> items) {
  if (items.empty()) return;
  if (stream_->is_recording()) {
    QueueStream::Word* const word = stream_->word();
    stream_->wait(word, 1);
    stream_->write(word, 0);
    record(word, items);
  } else {
    stream_->wait(completed_word_, ++last_completion_);
    for (Item& item : items) {
      item.value = last_completion_;
      awaited_.push(item);
    }
    count(static_cast<std::int64_t>(items.size()));
  }
  ++completions_;
}

void Queue::record(QueueStream::Word* word, std::span<const Item> items) {
  for (int turns = 0;; relax(turns)) {
    const std::unique_lock advancing(lock_, std::try_to_lock);
    if (!advancing) continue;
    const bool waits = items.front().kind == Item::Kind::wait;
    if (!waits && recorded_starts_.empty() && progress_ == QueueProgress::by_thread) give_work(1);
    Recorded recorded{word, {items.begin(), items.end()}};
    for (Item& item : recorded.items) {
      InQueue& queued = *item.request->queued();
      if (item.kind == Item::Kind::start) {
        queued.started_in_graph = &replays_.emplace_back(0);
        queued.is_recorded = true;
      }
      item.replays = queued.started_in_graph;
      if (waits) queued.started_in_graph = nullptr;
    }
    (waits ? recorded_waits_ : recorded_starts_).push_back(std::move(recorded));
    return;
  }
}

void Queue::start(std::span<Request* const> requests) {
  check_starts(requests);
  const bool is_recording = stream_->is_recording();
  items_.clear();
  for (Request* const request : requests)
    items_.push_back({.request = request, .kind = Item::Kind::start, .is_last = false});
  for (Request* const request : requests) {
    if (request->queued() != nullptr) continue;
    request->enter(this);
    entered_.push_back(request);
  }
  trigger(items_);
  if (is_recording) return;
  for (Request* const request : requests) {
    InQueue& queued = *request->queued();
    queued.is_open = true;
    ++queued.started;
    open_.push_back(request);
  }
}

void Queue::wait(std::span<Request* const> requests) {
  check_waits(requests);
  const bool is_recording = stream_->is_recording();
  items_.clear();
  for (Request* const request : requests)
    items_.push_back({.request = request,
                      .round = request->queued()->started,
                      .kind = Item::Kind::wait,
                      .is_last = request == requests.back()});
  complete(items_);
  if (is_recording) return;
  for (Request* const request : requests) request->queued()->is_open = false;
  std::erase_if(open_, [](const Request* request) { return !request->queued()->is_open; });
}

void Queue::wait_for_all_started() {
  const bool is_recording = stream_->is_recording();
  std::vector<Request*> requests;
  if (is_recording)
    std::copy_if(entered_.begin(), entered_.end(), std::back_inserter(requests),
                 [](const Request* request) { return request->queued()->started_in_graph != nullptr; });
  else
    requests.swap(open_);
  wait(requests);
  if (is_recording) return;
  requests.clear();
  open_.swap(requests);  // keeps its memory
}

void Queue::ready(Request& request, int partition) {
  Request* const one = &request;
  check_waits({&one, 1});
  require(request.work().has_partitions(), ErrorKind::request,
          "request was made by neither LNW_Psend_init nor LNW_Precv_init");
  Item item{.request = &request, .partition = partition, .kind = Item::Kind::ready};
  trigger({&item, 1});
}

void Queue::ready_edge(Request& request, int edge, int partition) {
  Request* const one = &request;
  check_waits({&one, 1});
  const EdgePartitions* const partitions = request.work().edge_partitions();
  require(partitions != nullptr, ErrorKind::request, "request has no edges with partitions");
  (void)partitions->event_of_sent(edge, partition);
  Item item{.request = &request, .edge = edge, .partition = partition, .kind = Item::Kind::ready_edge};
  trigger({&item, 1});
}

void Queue::call(void (*function)(void*), void* argument) {
  stream_->call(function, argument);
  if (stream_->is_advanced()) count(1);
}

void Queue::release() {
  std::erase_if(entered_, [](Request* request) {
    InQueue& queued = *request->queued();
    if (queued.is_recorded) {
      queued.is_open = false;
      return false;
    }
    request->leave();
    return true;
  });
  open_.clear();
}

/// Who waits has nothing else to do: it advances the queue as it advances a request that it waits for, and wakes
/// nobody. It sleeps only where nothing has happened for so long that being late matters little.
bool Queue::wait() {
  constexpr int turns_before_sleep = 10000;
  constexpr std::chrono::microseconds sleep{50};
  std::optional<QueueAttendance> attendance;
  if (progress_ == QueueProgress::by_thread && !finished()) attendance.emplace();
  // A device needs no core, but its driver, or what simulates it, has threads that do: who waits for it yields at once.
  const int first = stream_->device() ? patient_turns : 0;
  for (int turns = first; !finished();) {
    progress_all();
    if (attendance ? advance_queues() : advance())
      turns = first;
    else if (!simulated && turns > turns_before_sleep)
      std::this_thread::sleep_for(sleep);
    else
      relax(turns);
  }
  release();
  return failure_ == nullptr;
}

void Queue::rethrow_failure() {
  failed_ = nullptr;
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Queue::fail(const Request& request) noexcept {
  if (failure_) return;
  failed_ = &request;
  failure_ = std::current_exception();
}

void Queue::run(const Item& item) {
  Request& request = *item.request;
  auto& work = request.work();
  try {
    if (item.kind == Item::Kind::start) {
      exchanges_.fetch_add(1, std::memory_order_relaxed);
      running_.push_back({&request, item.replays});
      if (!work.start()) refuse(work.state());
      request.count_start();
    } else if (item.kind == Item::Kind::ready) {
      work.ready(item.partition);
    } else {
      if (work.state() == WorkState::failed) refuse(WorkState::failed);
      work.edge_partitions()->ready(item.edge, item.partition, [&](int event) { return work.fire_once(event); });
    }
  } catch (...) {
    fail(request);
  }
  if (item.replays == nullptr && item.kind != Item::Kind::start) finish(1);
}

bool Queue::run_triggered() {
  bool something = false;
  const Item* item = triggered_.front();
  if (item == nullptr) return false;
  for (const std::uint64_t now = value_of(triggered_word_); item != nullptr && item->value <= now;
       item = triggered_.front()) {
    run(*item);
    triggered_.pop();
    something = true;
  }
  return something;
}

bool Queue::run_recorded() {
  bool something = false;
  for (const Recorded& recorded : recorded_starts_) {
    if (value_of(recorded.word) == 0) continue;
    stream_->post(recorded.word, 0);
    for (const Item& item : recorded.items) run(item);
    something = true;
  }
  return something;
}

bool Queue::test_running() {
  const auto is_complete = [&](const Running& running) {
    bool complete = true;  // also if it fails
    try {
      complete = running.request->work().test();
    } catch (...) {
      fail(*running.request);
    }
    if (!complete) return false;
    if (running.replays != nullptr) {
      ++*running.replays;
      return true;
    }
    ++running.request->queued()->completed;
    finish(1);
    return true;
  };
  return std::erase_if(running_, is_complete) > 0;
}

bool Queue::post_completed() {
  bool something = false;
  for (const Item* item = awaited_.front(); item != nullptr; item = awaited_.front()) {
    if (item->request->queued()->completed < item->round) break;
    if (item->is_last) stream_->post(completed_word_, item->value);
    awaited_.pop();
    finish(1);
    something = true;
  }
  for (Recorded& recorded : recorded_waits_) {
    const auto is_complete = [&](const Item& item) { return *item.replays > recorded.replays; };
    if (!std::all_of(recorded.items.begin(), recorded.items.end(), is_complete)) continue;
    ++recorded.replays;
    stream_->post(recorded.word, 1);
    something = true;
  }
  return something;
}

bool Queue::advance() {
  const std::unique_lock advancing(lock_, std::try_to_lock);
  if (!advancing) return false;
  bool something = false;
  if (const int calls = stream_->advance(); calls > 0) {
    finish(calls);
    something = true;
  }
  if (run_triggered()) something = true;
  if (!recorded_starts_.empty() && run_recorded()) something = true;
  if (!running_.empty() && test_running()) something = true;
  if (post_completed()) something = true;
  if (something) {
    const int calls = stream_->advance();
    if (calls > 0) finish(calls);
  }
  return something;
}

}  // namespace laneway
