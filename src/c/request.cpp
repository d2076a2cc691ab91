#include <algorithm>
#include <cstring>

#include "c/barrier.hpp"
#include "mpi/operations.hpp"
#include "plan/plan.hpp"

using namespace laneway;

namespace {

void set_empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
}

LNW_Request where(const LNW_Request* request) {
  return request != nullptr ? *request : LNW_REQUEST_NULL;
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

Request& inactive(LNW_Request request, Argument argument = {}) {
  Request& found = not_null(request, argument);
  require(!found.active(), ErrorKind::request, [&] { return argument.text() + " is active"; });
  return found;
}

Request& startable(LNW_Request request, Argument argument = {}) {
  Request& ready = inactive(request, argument);
  require(ready.bound(), ErrorKind::request,
          [&] { return argument.text() + " has no buffers yet: call LNW_Request_set_buffers first"; });
  return ready;
}

}  // namespace

int LNW_Start(LNW_Request* request) {
  return guarded(__func__, where(request), [&] {
    if (request != nullptr && *request != LNW_REQUEST_NULL && request_of(*request).startable())
      return request_of(*request).start();
    require_pointer(request, "request");
    startable(*request).start();
  });
}

int LNW_Startall(int count, LNW_Request array_of_requests[]) {
  return guarded(__func__, count > 0 ? where(array_of_requests) : LNW_REQUEST_NULL, [&] {
    require(count >= 0, ErrorKind::count, [&] { return "count is " + std::to_string(count); });
    if (count > 0) require_pointer(array_of_requests, "array_of_requests");
    for (int i = 0; i < count; ++i) {
      require(std::find(array_of_requests, array_of_requests + i, array_of_requests[i]) == array_of_requests + i,
              ErrorKind::request, [&] {
                return Argument{"array_of_requests", i}.text() + " appears twice";
              });
      startable(array_of_requests[i], {"array_of_requests", i});
    }
    for (int i = 0; i < count; ++i) request_of(array_of_requests[i]).start();
  });
}

int LNW_Test(LNW_Request* request, int* flag, MPI_Status* status) {
  return guarded(__func__, where(request), [&] {
    require_pointer(request, "request");
    require_pointer(flag, "flag");
    *flag = *request == LNW_REQUEST_NULL || request_of(*request).test();
    if (*flag) set_empty(status);
  });
}

int LNW_Wait(LNW_Request* request, MPI_Status* status) {
  return guarded(__func__, where(request), [&] {
    require_pointer(request, "request");
    if (*request != LNW_REQUEST_NULL) request_of(*request).wait();
    set_empty(status);
  });
}

int LNW_Waitall(int count, LNW_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  return guarded(__func__, count > 0 ? where(array_of_requests) : LNW_REQUEST_NULL, [&] {
    require(count >= 0, ErrorKind::count, [&] { return "count is " + std::to_string(count); });
    if (count > 0) require_pointer(array_of_requests, "array_of_requests");
    for (int i = 0; i < count; ++i) {
      if (array_of_requests[i] != LNW_REQUEST_NULL) request_of(array_of_requests[i]).wait();
      if (array_of_statuses != MPI_STATUSES_IGNORE) set_empty(&array_of_statuses[i]);
    }
  });
}

int LNW_Request_free(LNW_Request* request) {
  return guarded(__func__, where(request), [&] {
    require_pointer(request, "request");
    inactive(*request);
    delete &request_of(*request);
    *request = LNW_REQUEST_NULL;
  });
}

int LNW_Request_set_buffers(LNW_Request request, const void* sendbuf, void* recvbuf) {
  return guarded(__func__, request, [&] {
    Request& idle = inactive(request);
    check_buffers(sendbuf, recvbuf);
    idle.set_buffers({sendbuf, recvbuf});
  });
}

int LNW_Request_get_statistics(LNW_Request request, LNW_Request_statistics* statistics) {
  return guarded(__func__, request, [&] {
    require_pointer(statistics, "statistics");
    const Statistics s = not_null(request).statistics();
    *statistics = {s.messages, s.bytes, s.net_messages, s.net_bytes, s.copied_bytes, s.staging_bytes};
  });
}

int LNW_Request_get_strategy(LNW_Request request, const char** name) {
  return guarded(__func__, request, [&] {
    require_pointer(name, "name");
    *name = not_null(request).strategy().data();
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
