#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "api/barrier.hpp"
#include "operations/choose/reasons.hpp"
#include "plan/plan.hpp"
#include "runtime/device/buffers.hpp"
#include "runtime/device/memory.hpp"

using namespace laneway;

namespace {

/// Of a request that has just become inactive, if it was active: then MPI_ERROR stays as it is, as MPI has it where one
/// request is completed.
void set_status(LNW_Request request, bool was_active, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  if (!was_active) status->MPI_ERROR = MPI_SUCCESS;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  if (was_active && request != LNW_REQUEST_NULL) request_of(request).work().fill(*status);
}

/// One of several, each of which has its MPI_ERROR.
MPI_Status* status_at(MPI_Status statuses[], std::size_t i) {
  if (statuses == MPI_STATUSES_IGNORE) return MPI_STATUS_IGNORE;
  statuses[i].MPI_ERROR = MPI_SUCCESS;
  return &statuses[i];
}

LNW_Request where(const LNW_Request* request) {
  return request != nullptr ? *request : LNW_REQUEST_NULL;
}

std::span<LNW_Request> checked_array(int count, LNW_Request requests[], const char* count_name = "count") {
  require(count >= 0, ErrorKind::count, [&] { return std::string(count_name) + " is " + std::to_string(count); });
  if (count > 0) require_pointer(requests, "array_of_requests");
  return {requests, static_cast<std::size_t>(count)};
}

void check_outputs(int incount, const int* outcount, const int indices[]) {
  require_pointer(outcount, "outcount");
  if (incount > 0) require_pointer(indices, "array_of_indices");
}

/// The name of an argument, spelled out only for an error.
struct Argument {
  const char* name = "request";
  int index = -1;

  [[nodiscard]] std::string text() const {
    return index < 0 ? name : std::string(name) + "[" + std::to_string(index) + "]";
  }
};

Request& not_null(LNW_Request request, Argument argument = {}) {
  require(request != LNW_REQUEST_NULL, ErrorKind::request, [&] { return argument.text() + " is LNW_REQUEST_NULL"; });
  return request_of(request);
}

/// Throws unless the request is in the state that is wanted; `wanted` takes a state.
template <class Wanted>
Request& in_state(LNW_Request request, Argument argument, Wanted&& wanted) {
  Request& found = not_null(request, argument);
  const WorkState state = found.state();
  require(wanted(state), ErrorKind::request, [&] { return argument.text() + " " + text_of(state); });
  return found;
}

Request& inactive(LNW_Request request) {
  return in_state(request, {}, [](WorkState state) {
    return state != WorkState::active && state != WorkState::in_queue && state != WorkState::calling;
  });
}

Request& startable(LNW_Request request, Argument argument = {}) {
  require(!not_null(request, argument).nonblocking(), ErrorKind::request,
          [&] { return argument.text() + " is nonblocking; only persistent requests are started"; });
  return in_state(request, argument, [](WorkState state) { return state == WorkState::inactive; });
}

bool share_staging(LNW_Request one, LNW_Request other) {
  const StagingArena* const arena = request_of(one).work().shared_staging();
  return arena != nullptr && arena == request_of(other).work().shared_staging();
}

/// Makes the i-th of these, after those before it, the caller's.
void claim(std::span<const LNW_Request> requests, std::size_t i) {
  const LNW_Request request = requests[i];
  if (request != LNW_REQUEST_NULL && request_of(request).claim()) return;
  // Slow: some argument is bad, and is to be named.
  const auto argument = [](std::size_t index) { return Argument{"array_of_requests", static_cast<int>(index)}; };
  const auto before = requests.first(i);
  require(std::find(before.begin(), before.end(), request) == before.end(), ErrorKind::request,
          [&] { return argument(i).text() + " appears twice"; });
  for (std::size_t j = 0; request != LNW_REQUEST_NULL && j < i; ++j)
    require(!share_staging(request, before[j]), ErrorKind::request, [&] {
      return argument(i).text() + " shares its staging memory (lnw_shared_staging) with " + argument(j).text();
    });
  (void)startable(request, argument(i));
  internal_error("a request that can be started cannot be claimed", __FILE__, __LINE__);
}

/// Each once, and no two with staging memory in common. They are claimed one after another, and given back if one of
/// them cannot be, so that then none is started.
void start_together(std::span<const LNW_Request> requests) {
  std::size_t claimed = 0;
  std::size_t started = 0;
  try {
    for (; claimed < requests.size(); ++claimed) claim(requests, claimed);
    const ContinuationsHeld held;
    while (started < claimed) request_of(requests[started++]).start_claimed();
  } catch (...) {
    while (started < claimed) request_of(requests[started++]).unclaim();
    throw;
  }
}

Request& persistent(LNW_Request request) {
  Request& found = not_null(request);
  require(!found.nonblocking(), ErrorKind::request, "request is nonblocking");
  return found;
}

[[gnu::noinline]] void free_request(LNW_Request& request) {
  delete &request_of(request);
  request = LNW_REQUEST_NULL;
}

/// Frees a complete request that is nonblocking.
inline void retire(LNW_Request& request) {
  if (request_of(request).nonblocking()) [[unlikely]]
    free_request(request);
}

bool is_active(LNW_Request request) {
  return request != LNW_REQUEST_NULL && request_of(request).active();
}

bool any_is_active(std::span<const LNW_Request> requests) {
  return std::any_of(requests.begin(), requests.end(), is_active);
}

/// Whether the request is complete; then it is inactive or null.
bool test(LNW_Request& request) {
  if (request == LNW_REQUEST_NULL) return true;
  if (!request_of(request).test()) return false;
  retire(request);
  return true;
}

/// The same; waits for it.
bool await(LNW_Request& request) {
  if (request == LNW_REQUEST_NULL) return true;
  request_of(request).wait();
  retire(request);
  return true;
}

/// Calls one of the two, and sets the status of what it completes.
template <bool by(LNW_Request&)>
[[gnu::always_inline]] inline bool complete_by(LNW_Request& request, MPI_Status* status) {
  const bool was_active = status != MPI_STATUS_IGNORE && is_active(request);
  if (!by(request)) return false;
  set_status(request, was_active, status);
  return true;
}

/// Completes one active request, if any is complete; its index, also if it fails, or MPI_UNDEFINED.
void complete_any(std::span<LNW_Request> requests, int& index) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!is_active(requests[i])) continue;
    index = static_cast<int>(i);
    if (test(requests[i])) return;
  }
  index = MPI_UNDEFINED;
}

/// Completes the active requests that are complete, up to the first that fails, which is counted.
void complete_some(std::span<LNW_Request> requests, int indices[], int& count) {
  count = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!is_active(requests[i])) continue;
    indices[count++] = static_cast<int>(i);
    if (!test(requests[i])) --count;
  }
}

LNW_Request request_at(std::span<const LNW_Request> requests, int index) {
  return index == MPI_UNDEFINED ? LNW_REQUEST_NULL : requests[static_cast<std::size_t>(index)];
}

/// Of the requests that have been completed. `count` may be MPI_UNDEFINED, which is negative.
void set_statuses(std::span<const LNW_Request> requests, int count, const int indices[], MPI_Status statuses[]) {
  for (int i = 0; i < count; ++i)
    set_status(request_at(requests, indices[i]), true, status_at(statuses, static_cast<std::size_t>(i)));
}

}  // namespace

int LNW_Start(LNW_Request* request) {
  return guarded(__func__, where(request), [&] {
    if (request != nullptr && *request != LNW_REQUEST_NULL && request_of(*request).start()) return;
    require_pointer(request, "request");
    (void)startable(*request).start();
  });
}

int LNW_Startall(int count, LNW_Request array_of_requests[]) {
  return guarded(__func__, Requests{count, array_of_requests},
                 [&] { start_together(checked_array(count, array_of_requests)); });
}

int LNW_Test(LNW_Request* request, int* flag, MPI_Status* status) {
  return guarded(__func__, where(request), [&] {
    require_pointer(request, "request");
    require_pointer(flag, "flag");
    *flag = complete_by<test>(*request, status);
  });
}

int LNW_Wait(LNW_Request* request, MPI_Status* status) {
  return guarded(__func__, where(request), [&] {
    require_pointer(request, "request");
    (void)complete_by<await>(*request, status);
  });
}

int LNW_Testall(int count, LNW_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  return guarded(__func__, Requests{count, array_of_requests}, [&] {
    const std::span requests = checked_array(count, array_of_requests);
    require_pointer(flag, "flag");
    *flag = std::all_of(requests.begin(), requests.end(),
                        [](LNW_Request request) { return request == LNW_REQUEST_NULL || request_of(request).done(); });
    if (!*flag) return;
    for (std::size_t i = 0; i < requests.size(); ++i)
      (void)complete_by<test>(requests[i], status_at(array_of_statuses, i));
  });
}

int LNW_Waitall(int count, LNW_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  return guarded(__func__, Requests{count, array_of_requests}, [&] {
    const std::span requests = checked_array(count, array_of_requests);
    for (std::size_t i = 0; i < requests.size(); ++i)
      (void)complete_by<await>(requests[i], status_at(array_of_statuses, i));
  });
}

int LNW_Testany(int count, LNW_Request array_of_requests[], int* index, int* flag, MPI_Status* status) {
  return guarded(__func__, Requests{count, array_of_requests}, [&] {
    const std::span requests = checked_array(count, array_of_requests);
    require_pointer(index, "index");
    require_pointer(flag, "flag");
    *flag = 0;
    const bool active = any_is_active(requests);
    *index = MPI_UNDEFINED;
    if (active) complete_any(requests, *index);
    *flag = !active || *index != MPI_UNDEFINED;
    if (*flag) set_status(request_at(requests, *index), active, status);
  });
}

int LNW_Waitany(int count, LNW_Request array_of_requests[], int* index, MPI_Status* status) {
  return guarded(__func__, Requests{count, array_of_requests}, [&] {
    const std::span requests = checked_array(count, array_of_requests);
    require_pointer(index, "index");
    *index = MPI_UNDEFINED;
    if (any_is_active(requests))
      progress_until([&] {
        complete_any(requests, *index);
        return *index != MPI_UNDEFINED;
      });
    set_status(request_at(requests, *index), *index != MPI_UNDEFINED, status);
  });
}

int LNW_Testsome(int incount, LNW_Request array_of_requests[], int* outcount, int array_of_indices[],
                 MPI_Status array_of_statuses[]) {
  return guarded(__func__, Requests{incount, array_of_requests}, [&] {
    const std::span requests = checked_array(incount, array_of_requests, "incount");
    check_outputs(incount, outcount, array_of_indices);
    *outcount = MPI_UNDEFINED;
    if (any_is_active(requests)) complete_some(requests, array_of_indices, *outcount);
    set_statuses(requests, *outcount, array_of_indices, array_of_statuses);
  });
}

int LNW_Waitsome(int incount, LNW_Request array_of_requests[], int* outcount, int array_of_indices[],
                 MPI_Status array_of_statuses[]) {
  return guarded(__func__, Requests{incount, array_of_requests}, [&] {
    const std::span requests = checked_array(incount, array_of_requests, "incount");
    check_outputs(incount, outcount, array_of_indices);
    *outcount = MPI_UNDEFINED;
    if (any_is_active(requests))
      progress_until([&] {
        complete_some(requests, array_of_indices, *outcount);
        return *outcount > 0;
      });
    set_statuses(requests, *outcount, array_of_indices, array_of_statuses);
  });
}

int LNW_Request_free(LNW_Request* request) {
  if (is_too_late()) {
    if (request != nullptr && *request != LNW_REQUEST_NULL) free_request(*request);
    return MPI_SUCCESS;
  }
  return guarded(__func__, where(request), [&] {
    require_pointer(request, "request");
    inactive(*request);
    free_request(*request);
  });
}

int LNW_Request_set_buffers(LNW_Request request, const void* sendbuf, void* recvbuf) {
  return guarded(__func__, request, [&] {
    (void)persistent(request);
    inactive(request).set_buffers({sendbuf, recvbuf});
  });
}

int LNW_Request_set_stream(LNW_Request request, void* stream) {
  return guarded(__func__, request, [&] {
    (void)persistent(request);
    inactive(request).set_stream(stream == LNW_STREAM_NONE ? std::nullopt : std::optional(stream));
  });
}

int LNW_Stream_synchronize(const void* buffer, void* stream) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    if (stream == LNW_STREAM_NONE) return;
    const MemoryInfo memory = memory_at(buffer);
    user_stream(memory.kind == MemoryKind::host ? Device() : Device(memory), stream).synchronize();
  });
}

int LNW_Request_get_statistics_sized(LNW_Request request, size_t size, LNW_Request_statistics* statistics) {
  // Errors name what the program has written.
  return guarded("LNW_Request_get_statistics", request, [&] {
    require_pointer(statistics, "statistics");
    Statistics found = persistent(request).work().statistics();
    if (const Origin* const origin = request_of(request).origin()) found.metadata_bytes += origin->bytes();
    fill(statistics, size, found);
  });
}

int(LNW_Request_get_statistics)(LNW_Request request, LNW_Request_statistics* statistics) {
  constexpr std::size_t first_bytes = offsetof(LNW_Request_statistics, metadata_bytes) + sizeof(MPI_Count);
  return LNW_Request_get_statistics_sized(request, first_bytes, statistics);
}

int LNW_Request_get_info(LNW_Request request, MPI_Info* info) {
  return guarded(__func__, request, [&] {
    require_pointer(info, "info");
    *info = info_of(not_null(request).reasons());
  });
}

int LNW_Request_get_strategy(LNW_Request request, const char** name) {
  return guarded(__func__, request, [&] {
    require_pointer(name, "name");
    *name = not_null(request).strategy().c_str();
  });
}

int LNW_Request_get_plan(LNW_Request request, char* text, MPI_Count size, MPI_Count* length) {
  return guarded(__func__, request, [&] {
    require_pointer(length, "length");
    const std::string json = to_json(not_null(request).plan());
    *length = static_cast<MPI_Count>(json.size());
    if (size <= 0) return;
    require_pointer(text, "text");
    const std::size_t copied = std::min(json.size(), static_cast<std::size_t>(size) - 1);
    std::memcpy(text, json.data(), copied);
    text[copied] = '\0';
  });
}
