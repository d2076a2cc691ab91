#include "api/operation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "communicator/arguments/topology.hpp"
#include "communicator/datatypes/operators.hpp"
#include "laneway/operation.h"
#include "operations/neighborhood/neighbor_mpi.hpp"
#include "operations/neighborhood/neighborhood.hpp"
#include "operations/request/request_counters.hpp"

namespace laneway {

namespace {

Communicator& communicator_of(MPI_Comm comm) {
  return Communicator::of(comm);
}
Communicator& communicator_of(LNW_Topology topology) {
  return topology_of(topology);
}
/// As in run_blocking: a rank meets no other in its first call on a communicator before it knows its arguments good.
void check_first(MPI_Comm comm, const Call& call) {
  if (Communicator::find(comm) == nullptr) check_call(call, read_topology(comm));
}
void check_first(LNW_Topology, const Call&) {}

std::unique_ptr<Request> start(MPI_Comm comm, const Call& call) {
  if (is_left_to_mpi(comm, call)) return start_by_mpi(comm, call);
  check_first(comm, call);
  return start_neighborhood(Communicator::of_nonblocking(comm), call);
}
std::unique_ptr<Request> start(LNW_Topology topology, const Call& call) {
  return start_neighborhood(topology_of(topology), call);
}

/// A call without a place for the request is told where all arguments are looked at.
Call with_request(Call call, const LNW_Request* request) {
  if (request == nullptr) call.fault = "request is NULL";
  return call;
}

constexpr std::size_t first_call_bytes = offsetof(LNW_Call, recvtypes) + sizeof(LNW_Call::recvtypes);
/// More than any version will have: a size that was never set.
constexpr std::size_t most_call_bytes = 4096;

bool ends_in_zeros(const LNW_Call& given) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  for (std::size_t i = sizeof given; i < given.size; ++i)
    if (bytes[i] != 0) return false;
  return true;
}

const char* fault_in(const LNW_Call* given) {
  if (given == nullptr) return "call is NULL";
  if (given->size < first_call_bytes || given->size > most_call_bytes)
    return "call->size is that of no version of LNW_Call";
  if (!ends_in_zeros(*given)) return "call has members that this version of the library does not know";
  const KindRow* const row = find_row(given->kind);
  if (row == nullptr) return "call->kind is none of LNW_Kind";
  return row->reduces ? "call->kind reduces, and LNW_Call has no operator: call its own function" : nullptr;
}

Integers integers(const void* values, bool is_wide) {
  return is_wide ? Integers(static_cast<const std::int64_t*>(values)) : Integers(static_cast<const int*>(values));
}

Call call_of(const LNW_Call* pointer) {
  Call call{.kind = Kind::allgather, .send = {}, .receive = {}, .fault = fault_in(pointer)};
  if (call.fault != nullptr) return call;
  LNW_Call known = {};
  std::memcpy(&known, pointer, std::min(pointer->size, sizeof known));
  const LNW_Call* const given = &known;
  call.kind = static_cast<Kind>(given->kind);
  call.sendbuf = given->sendbuf;
  call.recvbuf = given->recvbuf;
  const KindRow& row = row_of(call.kind);
  const auto displacements = [&](const void* values, const SideRow& side) {
    return integers(values, given->is_large != 0 || side.blocks == BlockForm::typed);
  };
  call.send = {row.send.size != nullptr ? given->sendsize : given->sendcount,
               integers(given->sendcounts, given->is_large != 0),
               displacements(given->sdispls, row.send),
               given->sendindices,
               given->sendtype,
               given->sendtypes};
  call.receive = {row.receive.size != nullptr ? given->recvsize : given->recvcount,
                  integers(given->recvcounts, given->is_large != 0),
                  displacements(given->rdispls, row.receive),
                  given->recvindices,
                  given->recvtype,
                  given->recvtypes};
  return call;
}

}  // namespace

template <class Where>
int blocking(const char* name, Where where, const Call& call) noexcept {
  return guarded(name, where, [&] {
    check_first(where, call);
    Communicator& communicator = communicator_of(where);
    run_blocking(communicator, call);
    count_blocking(&communicator.known_private_comm());
  });
}
template int blocking(const char*, MPI_Comm, const Call&) noexcept;
template int blocking(const char*, LNW_Topology, const Call&) noexcept;

template <class Where>
int nonblocking(const char* name, Where where, LNW_Request* request, const Call& call) noexcept {
  return guarded(name, where, [&] { *request = handle_of(start(where, with_request(call, request))); });
}
template int nonblocking(const char*, MPI_Comm, LNW_Request*, const Call&) noexcept;
template int nonblocking(const char*, LNW_Topology, LNW_Request*, const Call&) noexcept;

template <class Where>
int persistent(const char* name, Where where, MPI_Info info, LNW_Request* request, const Call& call) noexcept {
  return guarded(name, where, [&] {
    Call checked = with_request(call, request);
    checked.is_persistent = true;
    *request = handle_of(make_neighborhood(communicator_of(where), info, checked));
  });
}
template int persistent(const char*, MPI_Comm, MPI_Info, LNW_Request*, const Call&) noexcept;
template int persistent(const char*, LNW_Topology, MPI_Info, LNW_Request*, const Call&) noexcept;

}  // namespace laneway

using namespace laneway;

int LNW_Operation_init(const LNW_Call* call, LNW_Place place, MPI_Info info, LNW_Request* request) {
  return place.topology != LNW_TOPOLOGY_NULL ? persistent(__func__, place.topology, info, request, call_of(call))
                                             : persistent(__func__, place.comm, info, request, call_of(call));
}
