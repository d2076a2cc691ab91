#include "operations/channel/partitioned.hpp"

#include <memory>
#include <string>
#include <utility>

#include "api/barrier.hpp"
#include "base/simulated.hpp"
#include "communicator/arguments/held.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "operations/neighborhood/neighborhood.hpp"
#include "operations/request/ready_words.hpp"
#include "runtime/executor/now_and_then.hpp"

using namespace laneway;

namespace {

void check_tag(int tag) {
  require(tag >= 0, ErrorKind::argument, [&] { return "tag is " + std::to_string(tag); });
}

const char* peer_name(const PartitionedArguments& arguments) {
  return arguments.is_send ? "dest" : "source";
}

std::unique_ptr<Request> make_partitioned(PartitionedArguments arguments, MPI_Comm comm, HintTexts texts);

/// Between the same two ranks; where the other is gone, with none.
class PairOrigin final : public Origin {
 public:
  PairOrigin(const PartitionedArguments& arguments, HintTexts hints)
      : arguments_(arguments), type_(arguments.datatype), hints_(std::move(hints)) {}

  [[nodiscard]] std::string text() const override { return "partitions between two ranks"; }
  [[nodiscard]] std::int64_t bytes() const override { return sizeof *this; }
  void set_buffers(Buffers) override {}  // which it keeps
  [[nodiscard]] Remake among(const RankTranslation& ranks, const EdgePartitions*) const override {
    PartitionedArguments arguments = arguments_;
    arguments.datatype = type_.get();
    if (arguments.peer != MPI_PROC_NULL) arguments.peer = ranks(arguments.peer);
    return [this, arguments](MPI_Comm comm) { return make_partitioned(arguments, comm, hints_); };
  }
  void check_fits(Communicator&) const override {
    throw Error(ErrorKind::request, "request is partitioned between two ranks: LNW_Request_rebuild makes it again");
  }
  [[nodiscard]] std::unique_ptr<Request> on(Communicator& topology, const EdgePartitions*) const override {
    check_fits(topology);
    return nullptr;
  }

 private:
  PartitionedArguments arguments_;
  HeldType type_;
  HintTexts hints_;
};

std::unique_ptr<Request> make_partitioned(PartitionedArguments arguments, MPI_Comm comm, HintTexts texts) {
  const std::shared_ptr<PairComm> pairs = PairComm::of(comm);
  if (arguments.peer != MPI_PROC_NULL) pairs->check_rank(arguments.peer, peer_name(arguments));
  check_tag(arguments.tag);
  require(arguments.partitions >= 0, ErrorKind::count,
          [&] { return "partitions is " + std::to_string(arguments.partitions); });
  require(arguments.count >= 0, ErrorKind::count, [&] { return "count is " + std::to_string(arguments.count); });
  require(arguments.datatype != MPI_DATATYPE_NULL, ErrorKind::type, "datatype is MPI_DATATYPE_NULL");
  require(arguments.buf != MPI_IN_PLACE, ErrorKind::buffer, "buf is MPI_IN_PLACE");
  const bool is_used = arguments.partitions > 0 && arguments.peer != MPI_PROC_NULL;
  require(arguments.buf != nullptr || !is_used || !lie_nowhere(arguments.count, arguments.datatype, 0, false),
          ErrorKind::buffer, "buf is NULL");
  require(arguments.buf != LNW_NOT_CONTIGUOUS, ErrorKind::buffer, "buf is not contiguous");
  const Communicator* const known = Communicator::find(comm);
  if (known != nullptr) texts.insert(known->hints.begin(), known->hints.end());
  const Hints hints = resolve_hints(texts, {});
  arguments.may_share = arguments.peer == MPI_PROC_NULL || why_no_memory(comm, hints, arguments.peer).empty();
  auto work = std::make_unique<Partitioned>(pairs, arguments, hints);
  auto request =
      std::make_unique<Request>(pairs->comm(), pairs->error_handler(), std::move(work), Reasons{.strategy = "direct"});
  request->keep(std::make_unique<PairOrigin>(arguments, std::move(texts)));
  return request;
}

int init_partitioned(const char* name, const PartitionedArguments& arguments, MPI_Comm comm, MPI_Info info,
                     LNW_Request* request) {
  return guarded(name, comm, [&] {
    require_pointer(request, "request");
    *request = handle_of(make_partitioned(arguments, comm, hints_in(info)));
  });
}

Request& some_request(LNW_Request request) {
  require(request != LNW_REQUEST_NULL, ErrorKind::request, "request is LNW_REQUEST_NULL");
  return request_of(request);
}

Work& work_of(LNW_Request request) {
  Work& work = some_request(request).work();
  require(work.has_partitions(), ErrorKind::request, "request was made by neither LNW_Psend_init nor LNW_Precv_init");
  return work;
}

const EdgePartitions& partitions_of(LNW_Request request) {
  const EdgePartitions* const partitions = some_request(request).work().edge_partitions();
  require(partitions != nullptr, ErrorKind::request, "request has no edges with partitions");
  return *partitions;
}

template <class Counts, class Displacements>
Call call_of(const void* sendbuf, Counts sendcounts, Displacements sdispls, MPI_Datatype sendtype, void* recvbuf,
             Counts recvcounts, Displacements rdispls, MPI_Datatype recvtype) {
  return {Kind::alltoallv,
          sendbuf,
          recvbuf,
          {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
          {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
}

template <class Counts>
Call indexed_call_of(const void* sendbuf, MPI_Count sendsize, Counts sendcounts, const MPI_Count* sendindices,
                     MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize, Counts recvcounts,
                     const MPI_Count* recvindices, MPI_Datatype recvtype) {
  return {Kind::alltoallv_indexed,
          sendbuf,
          recvbuf,
          {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
          {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype}};
}

/// Arguments are looked at by all ranks together: what is wrong on one is told there.
template <class Where>
int init_edges(const char* name, Where where, MPI_Info info, LNW_Request* request, Call call,
               const int sendpartitions[], const int recvpartitions[]) noexcept {
  return guarded(name, where, [&] {
    call.is_persistent = true;
    Communicator& communicator = [&]() -> Communicator& {
      if constexpr (std::is_same_v<Where, MPI_Comm>)
        return Communicator::of(where);
      else
        return topology_of(where);
    }();
    std::string fault;
    CallEvents events;
    try {
      const Topology& topology = communicator.topology();
      if (request == nullptr) fault = "request is NULL";
      if (fault.empty()) fault = fault_in_partitions("sendpartitions", sendpartitions, topology.outdegree);
      if (fault.empty()) fault = fault_in_partitions("recvpartitions", recvpartitions, topology.indegree);
      if (fault.empty())
        events = events_of(topology, call, {sendpartitions, static_cast<std::size_t>(topology.outdegree)},
                           {recvpartitions, static_cast<std::size_t>(topology.indegree)});
    } catch (const Error&) {
      // make_neighborhood finds the same, and tells the others.
    }
    if (!fault.empty()) call.fault = fault.c_str();
    *request = handle_of(make_neighborhood(communicator, info, call, std::move(events)));
  });
}

/// Of a partition of an edge, or of a message between two ranks.
uint64_t* word_of(LNW_Request request, EdgePartition partition, bool of_edge, uint64_t* const* word) {
  require_pointer(word, "word");
  if (of_edge)
    (void)partitions_of(request);
  else
    (void)work_of(request);
  Request& given = some_request(request);
  const WorkState state = given.state();
  require(state == WorkState::inactive || state == WorkState::unbound, ErrorKind::request,
          [&] { return std::string("request ") + text_of(state); });
  return given.give_words().word(partition);
}

/// Who looks for one partition looks for others, too: what has come costs a look at its word.
template <class Look>
bool has_arrived(Look&& look) {
  if (look()) return true;
  progress_now_and_then();
  return look();
}

}  // namespace

int LNW_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return init_partitioned(__func__, {const_cast<void*>(buf), partitions, count, datatype, dest, tag, true}, comm, info,
                          request);
}

int LNW_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return init_partitioned(__func__, {buf, partitions, count, datatype, source, tag, false}, comm, info, request);
}

int LNW_Pready(int partition, LNW_Request request) {
  return guarded_alone(__func__, request, [&] {
    work_of(request).ready(partition);
    progress_all();
  });
}

int LNW_Pready_range(int partition_low, int partition_high, LNW_Request request) {
  return guarded_alone(__func__, request, [&] {
    Work& work = work_of(request);
    for (int partition = partition_low; partition <= partition_high; ++partition) work.ready(partition);
    progress_all();
  });
}

int LNW_Pready_list(int length, const int array_of_partitions[], LNW_Request request) {
  return guarded_alone(__func__, request, [&] {
    require(length >= 0, ErrorKind::count, [&] { return "length is " + std::to_string(length); });
    if (length > 0) require_pointer(array_of_partitions, "array_of_partitions");
    Work& work = work_of(request);
    for (int i = 0; i < length; ++i) work.ready(array_of_partitions[i]);
    progress_all();
  });
}

int LNW_Parrived(LNW_Request request, int partition, int* flag) {
  return guarded_alone(__func__, request, [&] {
    require_pointer(flag, "flag");
    // As MPI has it: of nothing, all has arrived.
    *flag = request == LNW_REQUEST_NULL || has_arrived([&] { return work_of(request).arrived(partition); });
  });
}

int LNW_Neighbor_alltoallv_init_partitioned(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                            MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                            const int rdispls[], MPI_Datatype recvtype, const int sendpartitions[],
                                            const int recvpartitions[], MPI_Comm comm, MPI_Info info,
                                            LNW_Request* request) {
  return init_edges(__func__, comm, info, request,
                    call_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
                    sendpartitions, recvpartitions);
}

int LNW_Neighbor_alltoallv_init_partitioned_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                     const int rdispls[], MPI_Datatype recvtype,
                                                     const int sendpartitions[], const int recvpartitions[],
                                                     LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return init_edges(__func__, topology, info, request,
                    call_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
                    sendpartitions, recvpartitions);
}

int LNW_Neighbor_alltoallv_init_partitioned_c(const void* sendbuf, const MPI_Count sendcounts[],
                                              const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                              const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                              MPI_Datatype recvtype, const int sendpartitions[],
                                              const int recvpartitions[], MPI_Comm comm, MPI_Info info,
                                              LNW_Request* request) {
  return init_edges(__func__, comm, info, request,
                    call_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
                    sendpartitions, recvpartitions);
}

int LNW_Neighbor_alltoallv_init_partitioned_topology_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                       const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                       const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                       MPI_Datatype recvtype, const int sendpartitions[],
                                                       const int recvpartitions[], LNW_Topology topology, MPI_Info info,
                                                       LNW_Request* request) {
  return init_edges(__func__, topology, info, request,
                    call_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
                    sendpartitions, recvpartitions);
}

int LNW_Neighbor_alltoallv_init_indexed_partitioned(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                                    const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                                    MPI_Count recvsize, const int recvcounts[],
                                                    const MPI_Count recvindices[], MPI_Datatype recvtype,
                                                    const int sendpartitions[], const int recvpartitions[],
                                                    MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return init_edges(__func__, comm, info, request,
                    indexed_call_of(sendbuf, sendsize, sendcounts, sendindices, sendtype, recvbuf, recvsize, recvcounts,
                                    recvindices, recvtype),
                    sendpartitions, recvpartitions);
}

int LNW_Neighbor_alltoallv_init_indexed_partitioned_topology(const void* sendbuf, MPI_Count sendsize,
                                                             const int sendcounts[], const MPI_Count sendindices[],
                                                             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                             const int recvcounts[], const MPI_Count recvindices[],
                                                             MPI_Datatype recvtype, const int sendpartitions[],
                                                             const int recvpartitions[], LNW_Topology topology,
                                                             MPI_Info info, LNW_Request* request) {
  return init_edges(__func__, topology, info, request,
                    indexed_call_of(sendbuf, sendsize, sendcounts, sendindices, sendtype, recvbuf, recvsize, recvcounts,
                                    recvindices, recvtype),
                    sendpartitions, recvpartitions);
}

int LNW_Neighbor_alltoallv_init_indexed_partitioned_c(const void* sendbuf, MPI_Count sendsize,
                                                      const MPI_Count sendcounts[], const MPI_Count sendindices[],
                                                      MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                      const MPI_Count recvcounts[], const MPI_Count recvindices[],
                                                      MPI_Datatype recvtype, const int sendpartitions[],
                                                      const int recvpartitions[], MPI_Comm comm, MPI_Info info,
                                                      LNW_Request* request) {
  return init_edges(__func__, comm, info, request,
                    indexed_call_of(sendbuf, sendsize, sendcounts, sendindices, sendtype, recvbuf, recvsize, recvcounts,
                                    recvindices, recvtype),
                    sendpartitions, recvpartitions);
}

int LNW_Neighbor_alltoallv_init_indexed_partitioned_topology_c(
    const void* sendbuf, MPI_Count sendsize, const MPI_Count sendcounts[], const MPI_Count sendindices[],
    MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize, const MPI_Count recvcounts[],
    const MPI_Count recvindices[], MPI_Datatype recvtype, const int sendpartitions[], const int recvpartitions[],
    LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return init_edges(__func__, topology, info, request,
                    indexed_call_of(sendbuf, sendsize, sendcounts, sendindices, sendtype, recvbuf, recvsize, recvcounts,
                                    recvindices, recvtype),
                    sendpartitions, recvpartitions);
}

int LNW_Pready_word(LNW_Request request, int partition, uint64_t** word) {
  return guarded_alone(__func__, request, [&] { *word = word_of(request, {0, partition}, false, word); });
}

int LNW_Pready_edge_word(LNW_Request request, int edge, int partition, uint64_t** word) {
  return guarded_alone(__func__, request, [&] { *word = word_of(request, {edge, partition}, true, word); });
}

int LNW_Pready_edge(LNW_Request request, int edge, int partition) {
  return guarded_alone(__func__, request, [&] {
    const EdgePartitions& partitions = partitions_of(request);
    Work& work = request_of(request).work();
    const std::shared_ptr<const ExchangeEvents> events = work.events();
    bool is_worth_progress = false;
    // Once an event has come in, another thread may free the request.
    partitions.ready(edge, partition, [&](int event) {
      require(work.active(), ErrorKind::request, [&] {
        return EdgePartitions::text(edge, partition) + " of a request that is not active: call LNW_Start before";
      });
      const bool is_first = work.fire_once(event);
      is_worth_progress = is_worth_progress || (is_first && events->lets_go(event));
      return is_first;
    });
    if (is_worth_progress) progress_all();
  });
}

int LNW_Parrived_edge(LNW_Request request, int edge, int partition, int* flag) {
  return guarded_alone(__func__, request, [&] {
    require_pointer(flag, "flag");
    *flag = 1;
    if (request == LNW_REQUEST_NULL) return;
    const int event = partitions_of(request).event_of_received(edge, partition);
    const Work& work = request_of(request).work();
    *flag = has_arrived([&] { return !work.active() || work.reached(event); });
  });
}
