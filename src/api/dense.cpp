#include "api/dense.hpp"

#include "operations/collective/collective.hpp"
#include "operations/request/request_counters.hpp"

namespace laneway {

namespace {

CollectiveCall with_request(CollectiveCall call, const LNW_Request* request) {
  if (request == nullptr) call.fault = "request is NULL";
  return call;
}

}  // namespace

int dense_blocking(const char* name, MPI_Comm comm, const CollectiveCall& call) noexcept {
  try {
    require_running_for(comm);
    progress_all();
    Communicator* known = Communicator::find_any(comm);
    const int code = run_dense(comm, known, call);
    if (code != MPI_SUCCESS) return code;
    if (known == nullptr) known = Communicator::find_any(comm);
    count_blocking(known != nullptr ? &known->known_private_comm() : nullptr);
    return code;
  } catch (...) {
    return raise_on(comm, name);
  }
}

int dense_nonblocking(const char* name, MPI_Comm comm, LNW_Request* request, const CollectiveCall& call) noexcept {
  return guarded(name, comm, [&] { *request = handle_of(start_dense(comm, with_request(call, request))); });
}

int dense_persistent(const char* name, MPI_Comm comm, MPI_Info info, LNW_Request* request,
                     const CollectiveCall& call) noexcept {
  return guarded(name, comm, [&] { *request = handle_of(make_dense(comm, info, with_request(call, request))); });
}

}  // namespace laneway
