#include "interpose/neighborhood.hpp"

#include "interpose/adopted.hpp"
#include "interpose/fixed.hpp"
#include "interpose/more_hints.hpp"
#include "interpose/report.hpp"
#include "interpose/requests.hpp"
#include "interpose/settings.hpp"
#include "operate/graph.hpp"
#include "operate/routes.hpp"

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

/// Null if an operation that can agree on nothing is taken over on `comm`.
const char* reason_against(MPI_Comm comm, Kind kind) {
  if (!enabled()) return by_hand;
  Communicator* const adopted = find_adopted(comm);
  if (adopted == nullptr) return not_adopted;
  if (!sends_same(kind) && adopted->attachment<Adopted>().repeated_edges && !delivers_in_order()) return other_order;
  if (!has_equal_edges(kind)) return plans_of_calls(*adopted).fixed_counts ? nullptr : may_change;
  return plans_of_calls(*adopted).routes ? nullptr : nothing_to_relay;
}

const char* reason_against_nonblocking(MPI_Comm comm, Kind kind) {
  if (const char* const reason = reason_against(comm, kind)) return reason;
  return find_adopted(comm)->attachment<Adopted>().progresses ? nullptr : cannot_progress;
}

/// What speaks against this call alone, where nothing speaks against all of its kind.
const char* reason_against_call(MPI_Comm comm, const Call& call) {
  if (has_equal_edges(call.kind)) return count_exchanges(1, std::nullopt), nullptr;
  Communicator* const adopted = find_adopted(comm);
  return adopted->idle ? nullptr : reason_against_plan(*adopted, call);
}

const char* reason_against_persistent(MPI_Comm comm, Kind kind) {
  if (!enabled()) return by_hand;
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
  return nullptr;
}

/// Counts the call; true if it is taken over.
bool takes(const char* call, const char* reason_against) {
  if (reason_against == nullptr)
    count_taken(call);
  else
    count_passed(call, reason_against);
  return reason_against == nullptr;
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

std::optional<MPI_Comm> left_on(const char* name, MPI_Comm comm, const char* reason, const Call& call) {
  if (takes(name, reason != nullptr ? reason : reason_against_call(comm, call))) return std::nullopt;
  return comm_to_leave_on(comm, reason);
}

/// Whether this rank has nothing to do in operations on `comm`, which are taken over.
bool is_idle(MPI_Comm comm) {
  Communicator* const adopted = find_adopted(comm);
  return adopted != nullptr && adopted->idle;
}

int finish(int code, LNW_Request operation, bool is_persistent, MPI_Request* request) {
  return code == MPI_SUCCESS ? give_handle(operation, is_persistent, request) : code;
}

}  // namespace

std::optional<MPI_Comm> blocking_left_on(const char* name, MPI_Comm comm, const Call& call) {
  return left_on(name, comm, reason_against(comm, call.kind), call);
}

std::optional<MPI_Comm> nonblocking_left_on(const char* name, MPI_Comm comm, const Call& call) {
  return left_on(name, comm, reason_against_nonblocking(comm, call.kind), call);
}

bool takes_persistent(const char* name, MPI_Comm comm, const Call& call) {
  return takes(name, reason_against_persistent(comm, call.kind));
}

int run_blocking(const char* name, MPI_Comm comm, const Call& call) {
  return is_idle(comm) ? MPI_SUCCESS : blocking(name, comm, call);
}

int make_nonblocking(const char* name, MPI_Comm comm, MPI_Request* request, const Call& call) {
  if (is_idle(comm)) return give_handle(LNW_REQUEST_NULL, false, request);
  LNW_Request made = LNW_REQUEST_NULL;
  const int code = nonblocking(name, comm, &made, call);
  return finish(code, made, false, request);
}

int make_persistent(const char* name, MPI_Comm comm, MPI_Info info, MPI_Request* request, const Call& call) {
  if (is_idle(comm)) return give_handle(LNW_REQUEST_NULL, true, request);
  LNW_Request made = LNW_REQUEST_NULL;
  const PersistentHints hints(comm, info);
  const int code = persistent(name, comm, hints.get(), &made, call);
  return finish(code, made, true, request);
}

}  // namespace laneway::interpose
