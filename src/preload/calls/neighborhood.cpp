#include "preload/calls/neighborhood.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "communicator/datatypes/operators.hpp"
#include "operations/neighborhood/graph.hpp"
#include "operations/neighborhood/neighborhood.hpp"
#include "operations/neighborhood/routes.hpp"
#include "operations/request/request.hpp"
#include "preload/adopted.hpp"
#include "preload/calls/fixed.hpp"
#include "preload/calls/requests.hpp"
#include "preload/more_hints.hpp"
#include "preload/settings.hpp"

extern "C" int laneway_next_MPI_Dist_graph_create_adjacent(MPI_Comm, int, const int[], const int[], int, const int[],
                                                           const int[], MPI_Info, int, MPI_Comm*);
extern "C" int laneway_next_MPI_Neighbor_alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);

namespace laneway::interpose {

namespace {

constexpr const char* by_hand = "LANEWAY_DISABLE is set";
constexpr const char* not_adopted = "the communicator was not made by MPI_Dist_graph_create or _create_adjacent";
constexpr const char* nothing_to_relay =
    "there is nothing to combine between nodes: one node, or a strategy that relays nothing";
constexpr const char* may_change =
    "counts may change from call to call; LANEWAY_FIXED_COUNTS=1 promises that they do not";
constexpr const char* cannot_progress =
    "this MPI library does not let relayed data progress in its own calls; see LANEWAY_PROGRESS";
constexpr const char* other_order =
    "some rank has a neighbor twice, and this MPI library has an order of its own for what goes there";
constexpr const char* no_world = "MPI_Init has not been called, or MPI_Finalize has";
constexpr const char* no_topology = "the communicator has no topology";
// What would become of calls, under LANEWAY_DISABLE=count.
constexpr const char* would_be_taken = "would be taken over";
constexpr const char* would_be_combined =
    "would be taken over where ranks are on several nodes and something can be combined between them";
constexpr const char* would_be_planned = "would be tried under the promise of LANEWAY_FIXED_COUNTS=1";

/// Whether the MPI library delivers what one rank sends another along several edges in the order of the edges, as MPI
/// says. What its programs are used to shall not change.
bool delivers_in_order() {
  static const bool in_order = [] {
    const int itself[2] = {0, 0};
    const int send[2] = {1, 2};
    int receive[2] = {0, 0};
    MPI_Comm graph = MPI_COMM_NULL;
    if (laneway_next_MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 2, itself, MPI_UNWEIGHTED, 2, itself, MPI_UNWEIGHTED,
                                                    MPI_INFO_NULL, 0, &graph) != MPI_SUCCESS)
      return false;
    const int code = laneway_next_MPI_Neighbor_alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, graph);
    PMPI_Comm_free(&graph);
    return code == MPI_SUCCESS && receive[0] == 1;
  }();
  return in_order;
}

/// Of blocking and nonblocking operations, where nothing is known but what MPI says of `comm`.
const char* what_would_be(MPI_Comm comm, Kind kind) {
  int topology = MPI_UNDEFINED;
  if (comm == MPI_COMM_NULL || PMPI_Topo_test(comm, &topology) != MPI_SUCCESS || topology != MPI_DIST_GRAPH)
    return not_adopted;
  return has_equal_edges(kind) ? would_be_combined : would_be_planned;
}

/// Null if an operation that can agree on nothing is taken over on `comm`.
const char* reason_against(MPI_Comm comm, Communicator* adopted, Kind kind) {
  if (only_counts()) return what_would_be(comm, kind);
  if (!enabled()) return by_hand;
  if (adopted == nullptr) return not_adopted;
  if (!sends_same(kind) && adopted->attachment<Adopted>().repeated_edges && !delivers_in_order()) return other_order;
  if (!has_equal_edges(kind)) return plans_of_calls(*adopted).fixed_counts ? nullptr : may_change;
  return plans_of_calls(*adopted).routes ? nullptr : nothing_to_relay;
}

const char* reason_against_nonblocking(MPI_Comm comm, Communicator* adopted, Kind kind) {
  if (const char* const reason = reason_against(comm, adopted, kind)) return reason;
  return adopted->attachment<Adopted>().progresses ? nullptr : cannot_progress;
}

/// Whether there is a communicator on which the MPI library's own may be timed.
bool may_compare(Communicator& adopted) {
  return (!adopted.partial || adopted.graph() != MPI_COMM_NULL) && may_sample(adopted);
}

/// Against a call whose plan follows from the graph: that it is one of those by which the answer stays alive.
const char* reason_against_sample(Communicator& adopted, Row& row, const Call& call) {
  if (!row.is_prepared) {
    row.is_prepared = true;
    if (may_compare(adopted)) {
      row.samples.emplace(samples_of_calls, seed_of(row));
      row.sampling.emplace(seed_of(row));
    }
  }
  if (!row.sampling || !has_good_arguments(call, adopted.topology())) return nullptr;
  return row.sampling->next(*row.samples) == Way::mpi ? kept_alive_by_samples : nullptr;
}

/// What speaks against this call alone, where nothing speaks against all of its kind.
const char* reason_against_call(Communicator& adopted, const Call& call, const std::shared_ptr<Row>& row) {
  if (adopted.idle) return nullptr;
  if (!has_equal_edges(call.kind)) return reason_against_plan(adopted, call, row);
  try {
    return reason_against_sample(adopted, *row, call);
  } catch (const std::exception&) {
    return nullptr;  // the call itself says what is wrong
  }
}

const char* reason_against_persistent(MPI_Comm comm, Kind kind) {
  if (!enabled() && !only_counts()) return by_hand;
  if (!has_world()) return no_world;
  int inter = 0;
  int topology = MPI_UNDEFINED;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter ||
      PMPI_Topo_test(comm, &topology) != MPI_SUCCESS || topology == MPI_UNDEFINED)
    return no_topology;
  if (!sends_same(kind) && topology != MPI_CART && !delivers_in_order()) {
    Communicator* const adopted = find_adopted(comm);
    if (adopted == nullptr || adopted->attachment<Adopted>().repeated_edges) return other_order;
  }
  return only_counts() ? would_be_taken : nullptr;
}

/// Of a persistent operation. Where relayed data would not progress in the MPI library's calls, nothing is relayed, and
/// all messages are on their way when it has been started.
class PersistentHints : public MoreHints {
 public:
  PersistentHints(MPI_Comm comm, MPI_Info given) : MoreHints(given) {
    Communicator* const adopted = find_adopted(comm);
    if (adopted != nullptr ? adopted->attachment<Adopted>().progresses : split_phase() != SplitPhase::unsafe) return;
    set("lnw_progress", "strict");
    set("lnw_transport", "p2p");
  }
};

/// On which communicator a call is left to the MPI library, for `reason`, null if it speaks against this call alone.
/// Ranks without neighbours know nothing of such reasons, and others take part in no call of theirs.
MPI_Comm comm_to_leave_on(MPI_Comm comm, const char* reason) {
  const Communicator* const adopted = reason == nullptr ? find_adopted(comm) : nullptr;
  if (adopted == nullptr || !adopted->partial) return comm;
  const MPI_Comm graph = adopted->graph();
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &handler);
  PMPI_Comm_set_errhandler(graph, handler);
  PMPI_Errhandler_free(&handler);
  return graph;
}

Decision decide(const char* name, MPI_Comm comm, Communicator* adopted, const char* reason, const Call& call) {
  Decision made{{}, shared_row(adopted, comm, name, call, reason == nullptr)};
  count_bytes(*made.row, adopted, call);
  const char* const against = reason != nullptr ? reason : reason_against_call(*adopted, call, made.row);
  if (against == nullptr) {
    made.row->count_taken();
  } else {
    made.row->count_left(against);
    made.left = comm_to_leave_on(comm, reason);
  }
  return made;
}

/// Whether this rank has nothing to do in operations on `comm`, which are taken over.
bool is_idle(MPI_Comm comm) {
  Communicator* const adopted = find_adopted(comm);
  return adopted != nullptr && adopted->idle;
}

/// There is a Communicator of `comm` by now.
std::shared_ptr<Row> row_of_persistent(const char* name, MPI_Comm comm, const Call& call) {
  return shared_row(Communicator::find(comm), comm, name, call, true);
}

constexpr const char* agreed_before = "chosen when the graph was made or in the first blocking call";

/// What a blocking call has just used.
void note_plan_of(Row& row, Communicator& adopted, const Call& call) {
  if (!has_equal_edges(call.kind) || !plans_of_calls(adopted).routes) return;
  if (const std::string strategy = strategy_of_blocking(adopted, call); !strategy.empty())
    note_plan(row, strategy, agreed_before);
}

}  // namespace

bool has_good_arguments(const Call& call, const Topology& topology) {
  try {
    const bool is_short = has_equal_edges(call.kind) && call.sendbuf != nullptr && call.recvbuf != nullptr;
    if (!is_short) return check_call(call, topology), true;
    check_buffers(call.sendbuf, call.recvbuf);
    return call.fault == nullptr && std::min(call.send.count, call.receive.count) >= 0 &&
           call.send.type != MPI_DATATYPE_NULL && call.receive.type != MPI_DATATYPE_NULL;
  } catch (const std::exception&) {
    return false;
  }
}

Decision decide_blocking(const char* name, MPI_Comm comm, const Call& call) {
  Communicator* const adopted = find_adopted(comm);
  return decide(name, comm, adopted, reason_against(comm, adopted, call.kind), call);
}

Decision decide_nonblocking(const char* name, MPI_Comm comm, const Call& call) {
  Communicator* const adopted = find_adopted(comm);
  return decide(name, comm, adopted, reason_against_nonblocking(comm, adopted, call.kind), call);
}

std::optional<MPI_Comm> persistent_left_on(const char* name, MPI_Comm comm, const Call& call) {
  const char* const reason = reason_against_persistent(comm, call.kind);
  if (reason == nullptr) return std::nullopt;
  row_of(find_adopted(comm), comm, name, call, false).count_left(reason);
  return comm;
}

int run_blocking(const char* name, MPI_Comm comm, const Call& call, Row& row) {
  if (is_idle(comm)) return MPI_SUCCESS;
  const int code = blocking(name, comm, call);
  if (row.strategy.empty() && code == MPI_SUCCESS) note_plan_of(row, *find_adopted(comm), call);
  return code;
}

int make_nonblocking(const char* name, MPI_Comm comm, MPI_Request* request, const Call& call, Row& row) {
  if (is_idle(comm)) return give_handle(LNW_REQUEST_NULL, std::nullopt, request);
  LNW_Request made = LNW_REQUEST_NULL;
  const int code = nonblocking(name, comm, &made, call);
  if (code != MPI_SUCCESS) return code;
  note_plan(row, reinterpret_cast<Request*>(made)->strategy(), agreed_before);
  return give_handle(made, std::nullopt, request);
}

int make_persistent(const char* name, MPI_Comm comm, MPI_Info info, MPI_Request* request, const Call& call) {
  if (is_idle(comm)) return give_handle(LNW_REQUEST_NULL, Starts{row_of_persistent(name, comm, call)}, request);
  LNW_Request made = LNW_REQUEST_NULL;
  const PersistentHints hints(comm, info);
  const int code = persistent(name, comm, hints.get(), &made, call);
  if (code != MPI_SUCCESS) return code;
  Starts starts{row_of_persistent(name, comm, call)};
  note_plan(*starts.row, reinterpret_cast<Request*>(made)->reasons());
  if (wants_rows()) {
    const Topology& topology = Communicator::find(comm)->topology();
    starts.bytes = bytes_sent(call, topology);
    starts.messages = static_cast<std::int64_t>(topology.destinations.size());
  }
  return give_handle(made, std::move(starts), request);
}

std::optional<MPI_Comm> compared_on(const char* name, MPI_Comm comm, const Call& call) {
  Communicator* const adopted = find_adopted(comm);
  if (adopted == nullptr || adopted->idle) return std::nullopt;
  Row& row = row_of(adopted, comm, name, call, true);
  if (!row.has_communicator() || adopted->attachment<Adopted>().repeated_edges) return std::nullopt;
  if (call.kind == Kind::alltoallw) return std::nullopt;  // MPICH 4.0 takes the number of sources for the other
  try {
    if (!may_compare(*adopted)) return std::nullopt;
    if (!row.samples) row.samples.emplace(samples_of_calls, seed_of(row));
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return comm_to_leave_on(comm, nullptr);
}

}  // namespace laneway::interpose
