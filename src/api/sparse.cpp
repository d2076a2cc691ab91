#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "api/barrier.hpp"
#include "base/failure.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "mpi/check.hpp"
#include "operations/halo/one_side.hpp"
#include "operations/sparse/sparse.hpp"

using namespace laneway;

namespace {

Arrivals& arrivals_at(LNW_Arrivals handle) {
  require(handle != LNW_ARRIVALS_NULL, ErrorKind::argument, "arrivals is LNW_ARRIVALS_NULL");
  return *reinterpret_cast<Arrivals*>(handle);
}

LNW_Arrivals handle_of(std::unique_ptr<Arrivals> arrivals) {
  return reinterpret_cast<LNW_Arrivals>(arrivals.release());
}

/// For `guarded`: errors of a handle go to the error handler of its communicator.
struct Of {
  LNW_Arrivals arrivals;
};

int raise_on(const Of& where, const char* call) noexcept {
  if (where.arrivals == LNW_ARRIVALS_NULL || is_too_late()) return laneway::raise_on(MPI_COMM_WORLD, call);
  const Arrivals& arrivals = *reinterpret_cast<Arrivals*>(where.arrivals);
  const int code = error_code(call, arrivals.rank());
  arrivals.call_error_handler(code);
  return code;
}

template <class Body>
int guarded_of(const char* call, LNW_Arrivals arrivals, Body&& body) noexcept {
  try {
    require_running();
    progress_all();
    std::forward<Body>(body)();
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on(Of{arrivals}, call);
  }
}

SparseCall call_of(SparseSet set, bool fixed_count, MPI_Info info, const void* output, const char* name) {
  SparseCall call;
  call.sets.push_back(set);
  call.fixed_count = fixed_count;
  call.info = info;
  call.failure = failure_of([&] { require_pointer(output, name); });
  return call;
}

SparseCall call_of(SparseSet set, bool fixed_count, MPI_Info info, const LNW_Arrivals* arrivals) {
  return call_of(set, fixed_count, info, arrivals, "arrivals");
}

void run(MPI_Comm comm, SparseCall call, LNW_Arrivals* arrivals) {
  auto found = exchange_sparsely(Communicator::of(comm), std::move(call));
  *arrivals = handle_of(std::move(found.front()));
}

void start(MPI_Comm comm, SparseCall call, LNW_Arrivals* arrivals, LNW_Request* request) {
  if (!call.failure) call.failure = failure_of([&] { require_pointer(request, "request"); });
  auto started = start_sparse_exchange(
      Communicator::of(comm), std::move(call),
      [arrivals](std::vector<std::unique_ptr<Arrivals>> found) { *arrivals = handle_of(std::move(found.front())); });
  if (request != nullptr)
    *request = handle_of(std::move(started));
  else  // nobody could wait for the error that all ranks get
    started->wait();
}

SparseSet equal(int n, const int* destinations, const void* buffer, MPI_Count count, MPI_Datatype type) {
  return {.degree = n, .destinations = destinations, .count = count, .type = type, .buffer = buffer};
}

SparseSet counted(int n, const int* destinations, const void* buffer, Integers counts, Integers displacements,
                  MPI_Datatype type) {
  return {.degree = n,
          .destinations = destinations,
          .counts = counts,
          .displacements = displacements,
          .type = type,
          .buffer = buffer};
}

}  // namespace

int LNW_Sparse_alltoall(int ndestinations, const int destinations[], const void* sendbuf, int sendcount,
                        MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals) {
  return guarded(__func__, comm, [&] {
    run(comm, call_of(equal(ndestinations, destinations, sendbuf, sendcount, sendtype), true, info, arrivals),
        arrivals);
  });
}

int LNW_Sparse_alltoall_c(int ndestinations, const int destinations[], const void* sendbuf, MPI_Count sendcount,
                          MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals) {
  return guarded(__func__, comm, [&] {
    run(comm, call_of(equal(ndestinations, destinations, sendbuf, sendcount, sendtype), true, info, arrivals),
        arrivals);
  });
}

int LNW_Sparse_alltoallv(int ndestinations, const int destinations[], const void* sendbuf, const int sendcounts[],
                         const int sdispls[], MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info,
                         LNW_Arrivals* arrivals) {
  return guarded(__func__, comm, [&] {
    const SparseSet set = counted(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype);
    run(comm, call_of(set, false, info, arrivals), arrivals);
  });
}

int LNW_Sparse_alltoallv_c(int ndestinations, const int destinations[], const void* sendbuf,
                           const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype, MPI_Comm comm,
                           MPI_Info info, LNW_Arrivals* arrivals) {
  return guarded(__func__, comm, [&] {
    const SparseSet set = counted(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype);
    run(comm, call_of(set, false, info, arrivals), arrivals);
  });
}

int LNW_Sparse_alltoallv_sets(int nsets, const LNW_Sparse_set sets[], MPI_Comm comm, MPI_Info info,
                              LNW_Arrivals arrivals[]) {
  return guarded(__func__, comm, [&] {
    SparseCall call;
    call.info = info;
    call.failure = failure_of([&] {
      require(nsets >= 0, ErrorKind::argument, "nsets is " + std::to_string(nsets));
      if (nsets > 0) require_pointer(sets, "sets");
      if (nsets > 0) require_pointer(arrivals, "arrivals");
    });
    for (int i = 0; !call.failure && i < nsets; ++i) {
      const LNW_Sparse_set& set = sets[i];
      call.sets.push_back(
          counted(set.ndestinations, set.destinations, set.sendbuf, set.sendcounts, set.sdispls, set.sendtype));
    }
    auto found = exchange_sparsely(Communicator::of(comm), std::move(call));
    for (std::size_t i = 0; i < found.size(); ++i) arrivals[i] = handle_of(std::move(found[i]));
  });
}

int LNW_Isparse_alltoall(int ndestinations, const int destinations[], const void* sendbuf, int sendcount,
                         MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals,
                         LNW_Request* request) {
  return guarded(__func__, comm, [&] {
    start(comm, call_of(equal(ndestinations, destinations, sendbuf, sendcount, sendtype), true, info, arrivals),
          arrivals, request);
  });
}

int LNW_Isparse_alltoall_c(int ndestinations, const int destinations[], const void* sendbuf, MPI_Count sendcount,
                           MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals,
                           LNW_Request* request) {
  return guarded(__func__, comm, [&] {
    start(comm, call_of(equal(ndestinations, destinations, sendbuf, sendcount, sendtype), true, info, arrivals),
          arrivals, request);
  });
}

int LNW_Isparse_alltoallv(int ndestinations, const int destinations[], const void* sendbuf, const int sendcounts[],
                          const int sdispls[], MPI_Datatype sendtype, MPI_Comm comm, MPI_Info info,
                          LNW_Arrivals* arrivals, LNW_Request* request) {
  return guarded(__func__, comm, [&] {
    const SparseSet set = counted(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype);
    start(comm, call_of(set, false, info, arrivals), arrivals, request);
  });
}

int LNW_Isparse_alltoallv_c(int ndestinations, const int destinations[], const void* sendbuf,
                            const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                            MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals, LNW_Request* request) {
  return guarded(__func__, comm, [&] {
    const SparseSet set = counted(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype);
    start(comm, call_of(set, false, info, arrivals), arrivals, request);
  });
}

int LNW_Answer_append(LNW_Answer answer, const void* data, MPI_Count bytes) {
  return guarded_of(__func__, LNW_ARRIVALS_NULL, [&] {
    require_pointer(answer, "answer");
    require(bytes >= 0, ErrorKind::count, "bytes is " + std::to_string(bytes));
    if (bytes > 0) require_pointer(data, "data");
    const auto* const begin = static_cast<const std::byte*>(data);
    Bytes& to = *reinterpret_cast<Bytes*>(answer);
    to.insert(to.end(), begin, begin + bytes);
  });
}

namespace {

int query(const char* name, const SparseSet& requests, LNW_Answer_function* answer_function, void* extra_state,
          MPI_Comm comm, MPI_Info info, LNW_Arrivals* answers) {
  return guarded(name, comm, [&] {
    SparseCall call = call_of(requests, false, info, answers, "answers");
    if (!call.failure)
      call.failure =
          failure_of([&] { require_pointer(reinterpret_cast<const void*>(answer_function), "answer_function"); });
    call.answerer = [&](Rank source, std::span<const std::byte> request, Bytes& answer) {
      const int code = answer_function(source, request.data(), static_cast<MPI_Count>(request.size()), extra_state,
                                       reinterpret_cast<LNW_Answer>(&answer));
      require(code == MPI_SUCCESS, ErrorKind::argument,
              "answer_function returned " + std::to_string(code) + " for a request of rank " + std::to_string(source));
    };
    run(comm, std::move(call), answers);
  });
}

}  // namespace

int LNW_Sparse_query(int ndestinations, const int destinations[], const void* sendbuf, const int sendcounts[],
                     const int sdispls[], MPI_Datatype sendtype, LNW_Answer_function* answer_function,
                     void* extra_state, MPI_Comm comm, MPI_Info info, LNW_Arrivals* answers) {
  return query(__func__, counted(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype), answer_function,
               extra_state, comm, info, answers);
}

int LNW_Sparse_query_c(int ndestinations, const int destinations[], const void* sendbuf, const MPI_Count sendcounts[],
                       const MPI_Aint sdispls[], MPI_Datatype sendtype, LNW_Answer_function* answer_function,
                       void* extra_state, MPI_Comm comm, MPI_Info info, LNW_Arrivals* answers) {
  return query(__func__, counted(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype), answer_function,
               extra_state, comm, info, answers);
}

int LNW_Arrivals_get_count(LNW_Arrivals arrivals, int* nsources) {
  return guarded_of(__func__, arrivals, [&] {
    require_pointer(nsources, "nsources");
    *nsources = static_cast<int>(arrivals_at(arrivals).sources.size());
  });
}

int LNW_Arrivals_get_sources(LNW_Arrivals arrivals, const int** sources, const MPI_Count** counts,
                             const MPI_Count** offsets) {
  return guarded_of(__func__, arrivals, [&] {
    const Arrivals& found = arrivals_at(arrivals);
    if (sources != nullptr) *sources = found.sources.data();
    if (counts != nullptr) *counts = found.counts.data();
    if (offsets != nullptr) *offsets = found.offsets.data();
  });
}

int LNW_Arrivals_get_data(LNW_Arrivals arrivals, void** data, MPI_Count* bytes) {
  return guarded_of(__func__, arrivals, [&] {
    Arrivals& found = arrivals_at(arrivals);
    if (data != nullptr) *data = found.data.data();
    if (bytes != nullptr) *bytes = static_cast<MPI_Count>(found.data.size());
  });
}

int LNW_Arrivals_copy(LNW_Arrivals arrivals, int maxsources, int sources[], MPI_Count recvcounts[], MPI_Count rdispls[],
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype) {
  return guarded_of(__func__, arrivals, [&] {
    const Arrivals& found = arrivals_at(arrivals);
    const auto entries = static_cast<MPI_Count>(found.sources.size());
    const auto truncates = [](const std::string& text) { throw Error(ErrorKind::mpi, text, MPI_ERR_TRUNCATE); };
    const bool wants_entries = sources != nullptr || recvcounts != nullptr || rdispls != nullptr;
    if (wants_entries && maxsources < entries)
      truncates("maxsources is " + std::to_string(maxsources) + " for " + std::to_string(entries) + " entries");
    check_buffers(nullptr, recvbuf);
    if (recvbuf != nullptr) {
      require(recvtype != MPI_DATATYPE_NULL, ErrorKind::type, "recvtype is MPI_DATATYPE_NULL");
      const auto map = type_map(recvtype);
      require(map->ranges.bytes() == found.element_bytes, ErrorKind::type,
              "recvtype has " + std::to_string(map->ranges.bytes()) + " bytes, the senders' datatype " +
                  std::to_string(found.element_bytes));
      MPI_Count elements = 0;
      for (const MPI_Count count : found.counts) elements += count;
      if (recvcount < elements)
        truncates("recvcount is " + std::to_string(recvcount) + " for " + std::to_string(elements) + " elements");
      const std::byte* from = found.data.data();
      map->elements(elements, 0).for_each([&](Range range) {
        std::memcpy(static_cast<std::byte*>(recvbuf) + range.offset, from, static_cast<std::size_t>(range.bytes));
        from += range.bytes;
      });
    }
    if (sources != nullptr) std::ranges::copy(found.sources, sources);
    if (recvcounts != nullptr) std::ranges::copy(found.counts, recvcounts);
    if (rdispls != nullptr) std::ranges::copy(found.offsets, rdispls);
  });
}

int LNW_Arrivals_get_info(LNW_Arrivals arrivals, MPI_Info* info) {
  return guarded_of(__func__, arrivals, [&] {
    const SparseReasons& reasons = arrivals_at(arrivals).reasons;
    require_pointer(info, "info");
    MPI_Info made = MPI_INFO_NULL;
    check_mpi(MPI_Info_create(&made), "MPI_Info_create");
    const auto set = [&](const std::string& key, const std::string& value) {
      MPI_Info_set(made, key.c_str(), value.c_str());
    };
    set("lnw_find", reasons.finder->name);
    set("lnw_messages", std::to_string(reasons.messages));
    if (reasons.chosen) set("lnw_parameters", reasons.parameters);
    for (const auto& [finder, predicted] : reasons.seconds) {
      std::ostringstream seconds;
      seconds << predicted;
      set(std::string("lnw_find_cost_") + finder->name, seconds.str());
    }
    *info = made;
  });
}

int LNW_Arrivals_free(LNW_Arrivals* arrivals) {
  if (is_too_late()) {
    if (arrivals != nullptr && *arrivals != LNW_ARRIVALS_NULL) delete &arrivals_at(*arrivals);
    if (arrivals != nullptr) *arrivals = LNW_ARRIVALS_NULL;
    return MPI_SUCCESS;
  }
  return guarded_of(__func__, arrivals != nullptr ? *arrivals : LNW_ARRIVALS_NULL, [&] {
    require_pointer(arrivals, "arrivals");
    delete &arrivals_at(*arrivals);
    *arrivals = LNW_ARRIVALS_NULL;
  });
}

int LNW_Topology_from_arrivals(LNW_Arrivals arrivals, MPI_Info info, LNW_Topology* topology) {
  return guarded_of(__func__, arrivals, [&] {
    require_pointer(topology, "topology");
    *topology = laneway::handle_of(topology_of(arrivals_at(arrivals), info, false));
  });
}

int LNW_Topology_from_arrivals_reversed(LNW_Arrivals arrivals, MPI_Info info, LNW_Topology* topology) {
  return guarded_of(__func__, arrivals, [&] {
    require_pointer(topology, "topology");
    *topology = laneway::handle_of(topology_of(arrivals_at(arrivals), info, true));
  });
}

namespace {

int create_from(const char* name, MPI_Comm comm, const KnownSide& known, MPI_Info info, LNW_Topology* topology,
                LNW_Arrivals* arrivals) {
  return guarded(name, comm, [&] {
    std::unique_ptr<Arrivals> weights;
    auto made = create_topology_from(comm, known, info, topology != nullptr, &weights);
    *topology = laneway::handle_of(std::move(made));
    if (arrivals != nullptr) *arrivals = handle_of(std::move(weights));
  });
}

}  // namespace

int LNW_Topology_create_from_destinations(MPI_Comm comm, int outdegree, const int destinations[],
                                          const int* destweights, MPI_Info info, LNW_Topology* topology,
                                          LNW_Arrivals* arrivals) {
  const GraphSide side{outdegree, destinations, destweights, "outdegree", "destinations", "destweights"};
  return create_from(__func__, comm, {side, true}, info, topology, arrivals);
}

int LNW_Topology_create_from_sources(MPI_Comm comm, int indegree, const int sources[], const int* sourceweights,
                                     MPI_Info info, LNW_Topology* topology, LNW_Arrivals* arrivals) {
  const GraphSide side{indegree, sources, sourceweights, "indegree", "sources", "sourceweights"};
  return create_from(__func__, comm, {side, false}, info, topology, arrivals);
}

int LNW_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
                          const int* weights, MPI_Info info, int reorder, MPI_Comm* comm_dist_graph) {
  return guarded(__func__, comm_old, [&] {
    create_graph_from_edges(comm_old, {n, sources, degrees, destinations, weights}, info, reorder, comm_dist_graph);
  });
}
