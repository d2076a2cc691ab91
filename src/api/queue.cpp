#include "operations/queue/queue.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <vector>

#include "api/barrier.hpp"
#include "base/simulated.hpp"

using namespace laneway;

/// Never freed, so that a handle of a queue that was freed is told from others.
struct LNW_Queue_s {
  std::atomic<Queue*> queue{nullptr};
};

namespace {

LNW_Queue new_handle() {
  static std::mutex mutex;
  static auto* const handles = new std::deque<LNW_Queue_s>;
  const std::lock_guard lock(mutex);
  return &handles->emplace_back();
}

Queue& queue_of(LNW_Queue handle) {
  require(handle != LNW_QUEUE_NULL, ErrorKind::argument, "queue is LNW_QUEUE_NULL");
  Queue* const queue = handle->queue.load(std::memory_order_acquire);
  require(queue != nullptr, ErrorKind::argument, "queue has been freed");
  return *queue;
}

Request& enqueued(LNW_Request request) {
  require(request != LNW_REQUEST_NULL, ErrorKind::request, "request is LNW_REQUEST_NULL");
  return request_of(request);
}

/// As guarded, but advances nothing: to enqueue costs the same whatever is under way.
template <class Where, class Body>
int at_once(const char* call, Where where, Body&& body) noexcept {
  try {
    require_running();
    body();
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on(where, call);
  }
}

LNW_Request enqueued_at(const LNW_Request* request) {
  return request != nullptr ? *request : LNW_REQUEST_NULL;
}

/// Those that are not null, in a list of this thread. Unless `skips_null`, a null one is an error.
std::vector<Request*>& enqueued(int count, const LNW_Request requests[], bool skips_null) {
  thread_local std::vector<Request*> list;
  require(count >= 0, ErrorKind::count, [&] { return "count is " + std::to_string(count); });
  if (count > 0) require_pointer(requests, "array_of_requests");
  list.clear();
  for (int i = 0; i < count; ++i) {
    if (requests[i] != LNW_REQUEST_NULL) {
      list.push_back(&request_of(requests[i]));
      continue;
    }
    require(skips_null, ErrorKind::request,
            [&] { return "array_of_requests[" + std::to_string(i) + "] is LNW_REQUEST_NULL"; });
  }
  return list;
}

std::unique_ptr<QueueStream> stream_of(int kind, void* stream) {
  const int of_stream = kind & ~LNW_QUEUE_PROGRESS_BY_HOST;
  if (of_stream == LNW_QUEUE_HOST) {
    require(stream == nullptr, ErrorKind::argument, "stream is given to a queue of host tasks, which has none");
    require(!simulated, ErrorKind::unsupported, "a simulated rank has no threads for a queue of host tasks");
    return host_stream();
  }
  std::string kinds = "neither LNW_QUEUE_HOST";
  for (const DeviceVendor& vendor : device_vendors()) {
    if (vendor.queue_kind == of_stream) return device_stream(vendor.name, stream);
    kinds += (&vendor == &device_vendors().back() ? " nor _" : ", _") + std::string(vendor.queue);
  }
  throw Error(ErrorKind::argument, "kind is " + std::to_string(kind) + ": " + kinds);
}

}  // namespace

int LNW_Queue_init(LNW_Queue* queue, int kind, void* stream) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(queue, "queue");
    const bool by_host = (kind & LNW_QUEUE_PROGRESS_BY_HOST) != 0;
    require(by_host || !single_threaded(), ErrorKind::unsupported,
            "a queue needs MPI_THREAD_MULTIPLE, which MPI_Init_thread has not provided; with "
            "LNW_QUEUE_PROGRESS_BY_HOST, LNW_Queue_progress and LNW_Queue_wait advance it instead");
    auto made =
        std::make_unique<Queue>(stream_of(kind, stream), by_host ? QueueProgress::by_host : QueueProgress::by_thread);
    LNW_Queue const handle = new_handle();
    handle->queue.store(made.release(), std::memory_order_release);
    *queue = handle;
  });
}

int LNW_Enqueue_start(LNW_Queue queue, LNW_Request* request) {
  return at_once(__func__, enqueued_at(request), [&] {
    Queue& found = queue_of(queue);
    require_pointer(request, "request");
    Request* const one = &enqueued(*request);
    found.start({&one, 1});
  });
}

int LNW_Enqueue_startall(LNW_Queue queue, int count, LNW_Request array_of_requests[]) {
  return at_once(__func__, Requests{count, array_of_requests}, [&] {
    Queue& found = queue_of(queue);
    found.start(enqueued(count, array_of_requests, false));
  });
}

int LNW_Enqueue_wait(LNW_Queue queue, LNW_Request* request) {
  return at_once(__func__, enqueued_at(request), [&] {
    Queue& found = queue_of(queue);
    require_pointer(request, "request");
    Request* const one = &enqueued(*request);
    found.wait({&one, 1});
  });
}

int LNW_Enqueue_waitall(LNW_Queue queue, int count, LNW_Request array_of_requests[]) {
  const bool all = count == LNW_QUEUE_ALL_STARTED;
  return at_once(__func__, Requests{all ? 0 : count, array_of_requests}, [&] {
    Queue& found = queue_of(queue);
    if (all) return found.wait_for_all_started();
    found.wait(enqueued(count, array_of_requests, true));
  });
}

int LNW_Enqueue_ready(LNW_Queue queue, LNW_Request request, int partition) {
  return at_once(__func__, request, [&] { queue_of(queue).ready(enqueued(request), partition); });
}

int LNW_Enqueue_ready_edge(LNW_Queue queue, LNW_Request request, int edge, int partition) {
  return at_once(__func__, request, [&] { queue_of(queue).ready_edge(enqueued(request), edge, partition); });
}

int LNW_Enqueue_call(LNW_Queue queue, void (*function)(void*), void* argument) {
  return at_once(__func__, MPI_COMM_WORLD, [&] {
    Queue& found = queue_of(queue);
    if (function == nullptr) throw_null("function");
    found.call(function, argument);
  });
}

int LNW_Match(int count, LNW_Request array_of_requests[]) {
  return guarded(__func__, Requests{count, array_of_requests}, [&] { (void)enqueued(count, array_of_requests, true); });
}

int LNW_Queue_wait(LNW_Queue queue) {
  LNW_Request failed = LNW_REQUEST_NULL;
  try {
    require_running();
    Queue& found = queue_of(queue);
    if (found.wait()) return MPI_SUCCESS;
    failed = reinterpret_cast<LNW_Request>(const_cast<Request*>(found.failed()));
    found.rethrow_failure();
  } catch (...) {
    return raise_on(failed, __func__);
  }
}

int LNW_Queue_progress(LNW_Queue queue, int* flag) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    Queue& found = queue_of(queue);
    (void)found.advance();
    if (flag != nullptr) *flag = found.finished() ? 1 : 0;
  });
}

int LNW_Queue_free(LNW_Queue* queue) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(queue, "queue");
    Queue& found = queue_of(*queue);
    require(found.finished(), ErrorKind::argument, "queue has work that is not done: call LNW_Queue_wait before");
    (*queue)->queue.store(nullptr, std::memory_order_release);
    delete &found;
    *queue = LNW_QUEUE_NULL;
  });
}

int LNW_Queue_get_statistics_sized(LNW_Queue queue, size_t size, LNW_Queue_statistics* statistics) {
  return at_once("LNW_Queue_get_statistics", MPI_COMM_WORLD, [&] {
    Queue& found = queue_of(queue);
    require_pointer(statistics, "statistics");
    fill(statistics, size,
         LNW_Queue_statistics{found.exchanges(), found.triggers(), found.completions(), found.unfinished()});
  });
}
