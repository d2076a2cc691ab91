// Calls that complete requests. While operations that were taken over are active they advance these, so that also a
// waiting call is a loop of tests; otherwise they cost one more jump.
#include <mpi.h>

#include "base/process/relax.hpp"
#include "mpi/quirks.hpp"
#include "preload/calls/requests.hpp"
#include "preload/next.hpp"
#include "preload/p2p/point_to_point.hpp"
#include "preload/settings.hpp"
#include "runtime/executor/progress.hpp"

using namespace laneway::interpose;
namespace p2p = laneway::interpose::p2p;

extern "C" int laneway_next_MPI_Request_get_status(MPI_Request, int*, MPI_Status*);

namespace {

bool none_active() {
  return active_operations.load(std::memory_order_relaxed) == 0;
}

/// Whether the MPI library's own waiting loops advance what is active, and give way to other processes besides.
bool mpi_waits_well() {
  return laneway::quirks.waits_well && split_phase() == SplitPhase::hooked;
}

/// Advances what is active until all of `requests` are complete, without completing them: a tool is to see the call.
void advance_until_complete(int count, const MPI_Request requests[]) {
  const laneway::Attendance attendance;
  for (int i = 0; i < count; ++i) {
    int flag = requests[i] == MPI_REQUEST_NULL;
    for (int turns = 0; !flag; laneway::relax(turns)) {
      advance();
      if (laneway_next_MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    }
  }
}

int with_failure(int code) {
  return code == MPI_SUCCESS ? take_failure() : code;
}

/// Repeats `test(flag)` until it sets the flag or fails, or lets `wait` do the same.
template <class Wait, class Test>
int complete(const Wait& wait, const Test& test) {
  const laneway::Attendance attendance;
  if (mpi_waits_well()) return with_failure(wait());
  for (int turns = 0;; laneway::relax(turns)) {
    advance();
    int flag = 0;
    if (const int code = test(&flag); code != MPI_SUCCESS) return code;
    if (flag) return take_failure();
  }
}

/// One test. A failure is returned once something is complete.
template <class Test>
int once(const int* flag, const Test& test) {
  advance();
  const int code = test();
  return code == MPI_SUCCESS && *flag ? take_failure() : code;
}

int wait_for_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  int flag = 0;
  const int code = p2p::all(count, requests, &flag, statuses, true);
  return with_failure(code);
}

}  // namespace

#define REQUESTS int count, MPI_Request requests[]

INTERPOSE(MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status)) {
  if (p2p::has(request))
    return p2p::all(1, request, flag, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status, false);
  if (none_active()) return laneway_pass_MPI_Test(request, flag, status);
  return once(flag, [&] { return laneway_pass_MPI_Test(request, flag, status); });
}

INTERPOSE(MPI_Wait, (MPI_Request * request, MPI_Status* status), (request, status)) {
  if (p2p::has(request)) return wait_for_all(1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
  if (none_active()) return laneway_pass_MPI_Wait(request, status);
  if (laneway_tool_MPI_Wait() != nullptr && !mpi_waits_well() && request != nullptr) {
    advance_until_complete(1, request);
    return with_failure(laneway_pass_MPI_Wait(request, status));
  }
  return complete([&] { return laneway_pass_MPI_Wait(request, status); },
                  [&](int* flag) { return laneway_next_MPI_Test(request, flag, status); });
}

INTERPOSE(MPI_Testall, (REQUESTS, int* flag, MPI_Status statuses[]), (count, requests, flag, statuses)) {
  if (p2p::on && p2p::has_any(count, requests)) return p2p::all(count, requests, flag, statuses, false);
  if (none_active()) return laneway_pass_MPI_Testall(count, requests, flag, statuses);
  return once(flag, [&] { return laneway_pass_MPI_Testall(count, requests, flag, statuses); });
}

INTERPOSE(MPI_Waitall, (REQUESTS, MPI_Status statuses[]), (count, requests, statuses)) {
  if (p2p::on && p2p::has_any(count, requests)) return wait_for_all(count, requests, statuses);
  if (none_active()) return laneway_pass_MPI_Waitall(count, requests, statuses);
  if (laneway_tool_MPI_Waitall() != nullptr && !mpi_waits_well() && requests != nullptr) {
    advance_until_complete(count, requests);
    return with_failure(laneway_pass_MPI_Waitall(count, requests, statuses));
  }
  return complete([&] { return laneway_pass_MPI_Waitall(count, requests, statuses); },
                  [&](int* flag) { return laneway_next_MPI_Testall(count, requests, flag, statuses); });
}

INTERPOSE(MPI_Testany, (REQUESTS, int* index, int* flag, MPI_Status* status), (count, requests, index, flag, status)) {
  if (p2p::on && p2p::has_any(count, requests)) return p2p::any(count, requests, index, flag, status, false);
  if (none_active()) return laneway_pass_MPI_Testany(count, requests, index, flag, status);
  return once(flag, [&] { return laneway_pass_MPI_Testany(count, requests, index, flag, status); });
}

INTERPOSE(MPI_Waitany, (REQUESTS, int* index, MPI_Status* status), (count, requests, index, status)) {
  if (p2p::on && p2p::has_any(count, requests)) return p2p::wait_for_any(count, requests, index, status);
  if (none_active()) return laneway_pass_MPI_Waitany(count, requests, index, status);
  return complete([&] { return laneway_pass_MPI_Waitany(count, requests, index, status); },
                  [&](int* flag) { return laneway_next_MPI_Testany(count, requests, index, flag, status); });
}

INTERPOSE(MPI_Testsome, (REQUESTS, int* outcount, int indices[], MPI_Status statuses[]),
          (count, requests, outcount, indices, statuses)) {
  if (p2p::on && p2p::has_any(count, requests)) return p2p::some(count, requests, outcount, indices, statuses, false);
  if (none_active()) return laneway_pass_MPI_Testsome(count, requests, outcount, indices, statuses);
  return once(outcount, [&] { return laneway_pass_MPI_Testsome(count, requests, outcount, indices, statuses); });
}

INTERPOSE(MPI_Waitsome, (REQUESTS, int* outcount, int indices[], MPI_Status statuses[]),
          (count, requests, outcount, indices, statuses)) {
  if (p2p::on && p2p::has_any(count, requests)) return p2p::some(count, requests, outcount, indices, statuses, true);
  if (none_active()) return laneway_pass_MPI_Waitsome(count, requests, outcount, indices, statuses);
  return complete([&] { return laneway_pass_MPI_Waitsome(count, requests, outcount, indices, statuses); },
                  [&](int* flag) {
                    const int code = laneway_next_MPI_Testsome(count, requests, outcount, indices, statuses);
                    *flag = *outcount != 0;  // also MPI_UNDEFINED
                    return code;
                  });
}

INTERPOSE(MPI_Request_get_status, (MPI_Request request, int* flag, MPI_Status* status), (request, flag, status)) {
  if (p2p::has(&request)) return p2p::get_status(request, flag, status);
  advance();
  return laneway_pass_MPI_Request_get_status(request, flag, status);
}

#ifdef LANEWAY_HAS_STATUS_OF_SEVERAL
INTERPOSE(MPI_Request_get_status_all, (int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]),
          (count, requests, flag, statuses)) {
  advance();
  return laneway_pass_MPI_Request_get_status_all(count, requests, flag, statuses);
}

INTERPOSE(MPI_Request_get_status_any,
          (int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status),
          (count, requests, index, flag, status)) {
  advance();
  return laneway_pass_MPI_Request_get_status_any(count, requests, index, flag, status);
}

INTERPOSE(MPI_Request_get_status_some,
          (int count, const MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]),
          (count, requests, outcount, indices, statuses)) {
  advance();
  return laneway_pass_MPI_Request_get_status_some(count, requests, outcount, indices, statuses);
}
#endif

// Programs wait for a word in shared memory by calling this again and again. No engine runs in it.
INTERPOSE(MPI_Win_sync, (MPI_Win window), (window)) {
  advance();
  return laneway_pass_MPI_Win_sync(window);
}
