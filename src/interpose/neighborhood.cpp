// The neighborhood operations: which of them are taken over. The decision depends only on what all ranks of the
// communicator know: how it was created, the hints that they have agreed on, and the form of the operation.
#include <mpi.h>

#include "c/operation.hpp"
#include "interpose/adopted.hpp"
#include "interpose/fixed.hpp"
#include "interpose/more_hints.hpp"
#include "interpose/next.hpp"
#include "interpose/report.hpp"
#include "interpose/requests.hpp"
#include "interpose/settings.hpp"
#include "operate/graph.hpp"
#include "operate/routes.hpp"
#ifdef LANEWAY_HAS_EXTENSION_PERSISTENT
#include <mpi-ext.h>
#endif

extern "C" int laneway_next_MPI_Dist_graph_create_adjacent(MPI_Comm, int, const int[], const int[], int, const int[],
                                                           const int[], MPI_Info, int, MPI_Comm*);
extern "C" int laneway_next_MPI_Neighbor_alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);

namespace laneway::interpose {

namespace {

/// Whether all edges of an operation have one size.
enum class Edges { equal, varying };
/// Whether a rank sends the same to all.
enum class Sends { same, different };

struct Form {
  Edges edges;
  Sends sends;
};
constexpr Form allgather_form{Edges::equal, Sends::same};
constexpr Form allgatherv_form{Edges::varying, Sends::same};
constexpr Form alltoall_form{Edges::equal, Sends::different};
constexpr Form alltoallv_form{Edges::varying, Sends::different};
constexpr Form alltoallw_form{Edges::varying, Sends::different};

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
const char* reason_against(MPI_Comm comm, Form form) {
  if (!enabled()) return by_hand;
  Communicator* const adopted = find_adopted(comm);
  if (adopted == nullptr) return not_adopted;
  if (form.sends == Sends::different && adopted->attachment<Adopted>().repeated_edges && !delivers_in_order())
    return other_order;
  if (form.edges == Edges::varying) return plans_of_calls(*adopted).fixed_counts ? nullptr : may_change;
  return plans_of_calls(*adopted).routes ? nullptr : nothing_to_relay;
}

const char* reason_against_nonblocking(MPI_Comm comm, Form form) {
  if (const char* const reason = reason_against(comm, form)) return reason;
  return find_adopted(comm)->attachment<Adopted>().progresses ? nullptr : cannot_progress;
}

/// `reason`, or what speaks against this call of `operation()` alone.
template <class MakeOperation>
const char* or_against_call(const char* reason, MPI_Comm comm, Form form, const MakeOperation& operation) {
  if (reason != nullptr) return reason;
  if (form.edges == Edges::equal) return count_exchanges(1, std::nullopt), nullptr;
  Communicator* const adopted = find_adopted(comm);
  return adopted->idle ? nullptr : reason_against_plan(*adopted, operation());
}

const char* reason_against_persistent(MPI_Comm comm, Form form) {
  if (!enabled()) return by_hand;
  if (!has_world()) return no_world;
  int inter = 0;
  int kind = MPI_UNDEFINED;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter ||
      PMPI_Topo_test(comm, &kind) != MPI_SUCCESS || kind == MPI_UNDEFINED)
    return no_topology;
  if (form.sends == Sends::different && kind != MPI_CART && !delivers_in_order()) {
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

/// Makes a call that is left to the MPI library, for `reason`, null if it speaks against this call alone. `call(comm)`
/// passes it on. Ranks without neighbours know nothing of such reasons, and others take part in no call of theirs.
template <class Call>
int leave(MPI_Comm comm, const char* reason, const Call& call) {
  const Communicator* const adopted = reason == nullptr ? find_adopted(comm) : nullptr;
  if (adopted == nullptr || !adopted->partial) return call(comm);
  const MPI_Comm graph = adopted->graph();
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &handler);
  PMPI_Comm_set_errhandler(graph, handler);
  PMPI_Errhandler_free(&handler);
  return call(graph);
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

}  // namespace laneway::interpose

using namespace laneway::interpose;

#define UNWRAP(...) __VA_ARGS__

#define BLOCKING(NAME, OPERATION, PARAMETERS, ARGUMENTS)                                                        \
  INTERPOSE(NAME, (UNWRAP PARAMETERS, MPI_Comm comm), (UNWRAP ARGUMENTS, comm)) {                               \
    const auto operation = [&] { return laneway::OPERATION ARGUMENTS; };                                        \
    const char* const reason = reason_against(comm, OPERATION##_form);                                          \
    if (!takes(#NAME, or_against_call(reason, comm, OPERATION##_form, operation)))                              \
      return leave(comm, reason, [&](MPI_Comm where) { return laneway_pass_##NAME(UNWRAP ARGUMENTS, where); }); \
    return is_idle(comm) ? MPI_SUCCESS : laneway::blocking(#NAME, comm, operation());                           \
  }

#define NONBLOCKING(NAME, OPERATION, PARAMETERS, ARGUMENTS)                                                       \
  INTERPOSE(NAME, (UNWRAP PARAMETERS, MPI_Comm comm, MPI_Request * request), (UNWRAP ARGUMENTS, comm, request)) { \
    const auto operation = [&] { return laneway::OPERATION ARGUMENTS; };                                          \
    const char* const reason = reason_against_nonblocking(comm, OPERATION##_form);                                \
    if (!takes(#NAME, or_against_call(reason, comm, OPERATION##_form, operation)))                                \
      return leave(comm, reason,                                                                                  \
                   [&](MPI_Comm where) { return laneway_pass_##NAME(UNWRAP ARGUMENTS, where, request); });        \
    if (is_idle(comm)) return give_handle(LNW_REQUEST_NULL, false, request);                                      \
    LNW_Request made = LNW_REQUEST_NULL;                                                                          \
    const int code = laneway::nonblocking(#NAME, comm, &made, operation());                                       \
    return finish(code, made, false, request);                                                                    \
  }

#define PERSISTENT(NAME, OPERATION, PARAMETERS, ARGUMENTS)                                               \
  INTERPOSE(NAME, (UNWRAP PARAMETERS, MPI_Comm comm, MPI_Info info, MPI_Request * request),              \
            (UNWRAP ARGUMENTS, comm, info, request)) {                                                   \
    if (!takes(#NAME, reason_against_persistent(comm, OPERATION##_form)))                                \
      return laneway_pass_##NAME(UNWRAP ARGUMENTS, comm, info, request);                                 \
    if (is_idle(comm)) return give_handle(LNW_REQUEST_NULL, true, request);                              \
    LNW_Request made = LNW_REQUEST_NULL;                                                                 \
    const PersistentHints hints(comm, info);                                                             \
    const int code = laneway::persistent(#NAME, comm, hints.get(), &made, laneway::OPERATION ARGUMENTS); \
    return finish(code, made, true, request);                                                            \
  }

#define ALLGATHER(COUNT, PLACE, BYTES) \
  (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, COUNT recvcount, MPI_Datatype recvtype)
#define ALLGATHERV(COUNT, PLACE, BYTES)                                                                  \
  (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, const COUNT recvcounts[], \
   const PLACE displs[], MPI_Datatype recvtype)
#define ALLTOALLV(COUNT, PLACE, BYTES)                                                                         \
  (const void* sendbuf, const COUNT sendcounts[], const PLACE sdispls[], MPI_Datatype sendtype, void* recvbuf, \
   const COUNT recvcounts[], const PLACE rdispls[], MPI_Datatype recvtype)
#define ALLTOALLW(COUNT, PLACE, BYTES)                                                                   \
  (const void* sendbuf, const COUNT sendcounts[], const BYTES sdispls[], const MPI_Datatype sendtypes[], \
   void* recvbuf, const COUNT recvcounts[], const BYTES rdispls[], const MPI_Datatype recvtypes[])
#define ALLGATHER_ARGUMENTS (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)
#define ALLGATHERV_ARGUMENTS (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype)
#define ALLTOALLV_ARGUMENTS (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype)
#define ALLTOALLW_ARGUMENTS (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes)

#define AT_ONCE(OPERATION, SUFFIX, PARAMETERS, ARGUMENTS)                      \
  BLOCKING(MPI_Neighbor_##OPERATION##SUFFIX, OPERATION, PARAMETERS, ARGUMENTS) \
  NONBLOCKING(MPI_Ineighbor_##OPERATION##SUFFIX, OPERATION, PARAMETERS, ARGUMENTS)

#define ALL_AT_ONCE(SUFFIX, ...)                                             \
  AT_ONCE(allgather, SUFFIX, ALLGATHER(__VA_ARGS__), ALLGATHER_ARGUMENTS)    \
  AT_ONCE(alltoall, SUFFIX, ALLGATHER(__VA_ARGS__), ALLGATHER_ARGUMENTS)     \
  AT_ONCE(allgatherv, SUFFIX, ALLGATHERV(__VA_ARGS__), ALLGATHERV_ARGUMENTS) \
  AT_ONCE(alltoallv, SUFFIX, ALLTOALLV(__VA_ARGS__), ALLTOALLV_ARGUMENTS)    \
  AT_ONCE(alltoallw, SUFFIX, ALLTOALLW(__VA_ARGS__), ALLTOALLW_ARGUMENTS)

#define ALL_PERSISTENT(PREFIX, SUFFIX, ...)                                                                        \
  PERSISTENT(PREFIX##_Neighbor_allgather_init##SUFFIX, allgather, ALLGATHER(__VA_ARGS__), ALLGATHER_ARGUMENTS)     \
  PERSISTENT(PREFIX##_Neighbor_alltoall_init##SUFFIX, alltoall, ALLGATHER(__VA_ARGS__), ALLGATHER_ARGUMENTS)       \
  PERSISTENT(PREFIX##_Neighbor_allgatherv_init##SUFFIX, allgatherv, ALLGATHERV(__VA_ARGS__), ALLGATHERV_ARGUMENTS) \
  PERSISTENT(PREFIX##_Neighbor_alltoallv_init##SUFFIX, alltoallv, ALLTOALLV(__VA_ARGS__), ALLTOALLV_ARGUMENTS)     \
  PERSISTENT(PREFIX##_Neighbor_alltoallw_init##SUFFIX, alltoallw, ALLTOALLW(__VA_ARGS__), ALLTOALLW_ARGUMENTS)

ALL_AT_ONCE(, int, int, MPI_Aint)
#ifdef LANEWAY_HAS_LARGE_COUNT
ALL_AT_ONCE(_c, MPI_Count, MPI_Aint, MPI_Aint)
#endif
#ifdef LANEWAY_HAS_PERSISTENT
ALL_PERSISTENT(MPI, , int, int, MPI_Aint)
#endif
#ifdef LANEWAY_HAS_PERSISTENT_LARGE_COUNT
ALL_PERSISTENT(MPI, _c, MPI_Count, MPI_Aint, MPI_Aint)
#endif
#ifdef LANEWAY_HAS_EXTENSION_PERSISTENT
ALL_PERSISTENT(MPIX, , int, int, MPI_Aint)
#endif
