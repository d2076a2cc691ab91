// A program that opens sessions: one after another, side by side, and before and after MPI_Init. As long as that has
// not been called there is neither MPI_COMM_WORLD nor MPI_COMM_SELF, and what MPI has made for the library is gone with
// the last session.
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "laneway/laneway.h"

#ifdef MPI_SESSION_NULL

namespace {

void expect(bool good, const char* what) {
  if (!good) std::printf("wrong: %s\n", what);
}

bool has_world = false;
int communicators = 0;  // that the library has made and not freed

void exchange(MPI_Comm comm, int rank, int size) {
  const std::array<int, 2> sources{(rank + size - 1) % size, (rank + 1) % size};
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  expect(LNW_Topology_create(comm, 2, sources.data(), MPI_UNWEIGHTED, 2, sources.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                             &topology) == MPI_SUCCESS,
         "LNW_Topology_create");
  int sent = 10 + rank;
  const std::array<int, 2> expected{10 + sources[0], 10 + sources[1]};
  std::array<int, 2> received{};
  expect(LNW_Neighbor_allgather_topology(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, topology) == MPI_SUCCESS &&
             received == expected,
         "blocking");
  LNW_Request request = LNW_REQUEST_NULL;
  received = {};
  expect(LNW_Ineighbor_allgather_topology(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, topology, &request) ==
                 MPI_SUCCESS &&
             LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && received == expected,
         "nonblocking");
  for (const char* strategy : {"direct", "auto"}) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "lnw_strategy", strategy);
    received = {};
    expect(LNW_Neighbor_allgather_init_topology(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, topology, info,
                                                &request) == MPI_SUCCESS &&
               LNW_Start(&request) == MPI_SUCCESS && LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               received == expected && LNW_Request_free(&request) == MPI_SUCCESS,
           strategy);
    MPI_Info_free(&info);
  }
  if (has_world) {
    expect(LNW_Topology_free(&topology) == MPI_SUCCESS, "LNW_Topology_free");
    return;
  }
  // What needs MPI_COMM_WORLD says so.
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_machine", "node:* rank:1");
  expect(LNW_Neighbor_allgather_init_topology(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, topology, info,
                                              &request) != MPI_SUCCESS,
         "lnw_machine");
  MPI_Info_free(&info);
  LNW_Request null = LNW_REQUEST_NULL;
  expect(LNW_Start(&null) != MPI_SUCCESS, "LNW_Start of a null request");
  expect(LNW_Topology_free(&topology) == MPI_SUCCESS, "LNW_Topology_free");
}

void channel(MPI_Comm comm, int mine, int next, int prev) {
  LNW_Channel send = LNW_CHANNEL_NULL, receive = LNW_CHANNEL_NULL;
  void* data = nullptr;
  MPI_Count bytes = 0;
  expect(
      LNW_Channel_create(comm, next, LNW_CHANNEL_SEND, sizeof mine, 2, MPI_INFO_NULL, &send) == MPI_SUCCESS &&
          LNW_Channel_create(comm, prev, LNW_CHANNEL_RECEIVE, sizeof mine, 2, MPI_INFO_NULL, &receive) == MPI_SUCCESS &&
          LNW_Channel_put(send, 0, &mine, sizeof mine) == MPI_SUCCESS &&
          LNW_Channel_wait(receive, 0, &data, &bytes) == MPI_SUCCESS && *static_cast<int*>(data) == prev + 1,
      "channel");
  // The second word is on its way when both ends are freed, if the other one has not been freed before.
  (void)LNW_Channel_put(send, 1, &mine, sizeof mine);
  LNW_Channel_free(&send);
  LNW_Channel_free(&receive);
}

void bag(MPI_Comm comm, int mine, int next, int prev) {
  LNW_Bag bag = LNW_BAG_NULL;
  int source = -1, flag = 0;
  void* data = nullptr;
  MPI_Count bytes = 0;
  expect(LNW_Bag_create(comm, MPI_INFO_NULL, &bag) == MPI_SUCCESS &&
             LNW_Bag_send(bag, next, &mine, sizeof mine) == MPI_SUCCESS && LNW_Bag_flush(bag) == MPI_SUCCESS &&
             LNW_Bag_next(bag, &source, &data, &bytes, &flag) == MPI_SUCCESS && flag != 0 && source == prev &&
             *static_cast<int*>(data) == prev + 1,
         "bag");
  expect(LNW_Bag_free(&bag) == MPI_SUCCESS, "LNW_Bag_free");
}

void halo_and_distributor(MPI_Comm comm, int mine, int next, int prev) {
  std::array<int, 2> array{mine, -1};
  const MPI_Count ghost = next;
  LNW_Halo halo = LNW_HALO_NULL;
  LNW_Request request = LNW_REQUEST_NULL;
  expect(LNW_Halo_create(comm, mine - 1, 1, 1, &ghost, MPI_INFO_NULL, &halo) == MPI_SUCCESS &&
             LNW_Halo_init(halo, array.data(), MPI_INT, MPI_INFO_NULL, &request) == MPI_SUCCESS &&
             LNW_Start(&request) == MPI_SUCCESS && LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
             array[1] == next + 1,
         "halo");
  LNW_Request_free(&request);
  LNW_Halo_free(&halo);
  LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
  int got = -1;
  expect(LNW_Distributor_create(comm, 1, &next, MPI_INFO_NULL, &distributor) == MPI_SUCCESS &&
             LNW_Distributor_exchange(distributor, &mine, &got, MPI_INT) == MPI_SUCCESS && got == prev + 1,
         "distributor");
  LNW_Distributor_free(&distributor);
}

/// Calls of other families; datatypes have attributes, and errors codes, of the MPI library that is there.
void other_families(MPI_Comm comm, int rank, int size) {
  const int next = (rank + 1) % size, prev = (rank + size - 1) % size;
  int mine = rank + 1, sum = 0, got = 0;
  expect(LNW_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size * (size + 1) / 2,
         "LNW_Allreduce");
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  std::vector<int> sent(static_cast<std::size_t>(4 * size), rank), received(sent.size(), -1);
  expect(LNW_Alltoall(sent.data(), 1, type, received.data(), 1, type, comm) == MPI_SUCCESS && received[0] == 0,
         "LNW_Alltoall of a datatype");
  MPI_Type_free(&type);
  LNW_Request send = LNW_REQUEST_NULL, receive = LNW_REQUEST_NULL;
  expect(LNW_Psend_init(&mine, 1, 1, MPI_INT, next, 0, comm, MPI_INFO_NULL, &send) == MPI_SUCCESS &&
             LNW_Precv_init(&got, 1, 1, MPI_INT, prev, 0, comm, MPI_INFO_NULL, &receive) == MPI_SUCCESS &&
             LNW_Start(&receive) == MPI_SUCCESS && LNW_Start(&send) == MPI_SUCCESS &&
             LNW_Pready(0, send) == MPI_SUCCESS && LNW_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
             LNW_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == prev + 1,
         "partitioned");
  LNW_Request_free(&send);
  LNW_Request_free(&receive);
  LNW_Arrivals arrivals{};
  const int one = 1, zero = 0;
  void* data = nullptr;
  MPI_Count bytes = 0;
  expect(LNW_Sparse_alltoallv(1, &next, &mine, &one, &zero, MPI_INT, comm, MPI_INFO_NULL, &arrivals) == MPI_SUCCESS &&
             LNW_Arrivals_get_data(arrivals, &data, &bytes) == MPI_SUCCESS && *static_cast<int*>(data) == prev + 1,
         "sparse");
  LNW_Arrivals_free(&arrivals);
  channel(comm, mine, next, prev);
  bag(comm, mine, next, prev);
  halo_and_distributor(comm, mine, next, prev);
  const int code = LNW_Psend_init(&mine, 1, 1, MPI_INT, size, 0, comm, MPI_INFO_NULL, &send);
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  expect(code != MPI_SUCCESS && std::strstr(text.data(), "dest is") != nullptr, "the text of an error");
}

/// With Intel MPI it comes with the first session.
void look_for_world() {
  int is_there = 0;
  MPI_Initialized(&is_there);
  has_world = is_there != 0;
  if (has_world) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

struct Session {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  static inline int open = 0;

  explicit Session(const char* name) {
    ++open;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    look_for_world();
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  ~Session() {
    PMPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    // With MPI_COMM_WORLD, or other sessions, all wait for the end of those.
    expect(--open > 0 || has_world || communicators == 0, "a communicator of the session is left");
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  void use() const {
    exchange(comm, rank, size);
    other_families(comm, rank, size);
  }
};

void use_world() {
  MPI_Init(nullptr, nullptr);
  look_for_world();
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  exchange(MPI_COMM_WORLD, rank, size);
  other_families(MPI_COMM_WORLD, rank, size);
  Session("after").use();
  exchange(MPI_COMM_WORLD, rank, size);
  MPI_Finalize();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
#define MAKES(name, parameters, arguments)           \
  int MPI_##name parameters {                        \
    const int code = PMPI_##name arguments;          \
    communicators += *made != MPI_COMM_NULL ? 1 : 0; \
    return code;                                     \
  }
MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made), (comm, group, tag, made))
MAKES(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made))
MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made), (comm, type, key, info, made))
MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
MAKES(Comm_idup, (MPI_Comm comm, MPI_Comm* made, MPI_Request* request), (comm, made, request))
int MPI_Comm_free(MPI_Comm* comm) {
  --communicators;
  return PMPI_Comm_free(comm);
}
}
#pragma GCC visibility pop

/// `one` or `several` sessions; with `world`, MPI_Init comes after several.
int main(int count, char** words) {
  if (std::strcmp(words[1], "one") == 0) {
    if (count > 2) return std::puts("SKIP: this MPI library fails at a second session"), 0;
    Session("only").use();
    return std::puts("good"), 0;
  }
  for (const char* const name : {"first", "second", "third"}) Session(name).use();
  {
    const Session one("one"), other("other");
    one.use();
    other.use();
    one.use();
  }
  if (count > 2) use_world();
  std::puts("good");
}

#else

int main() {
  std::puts("SKIP: this MPI library has no sessions");
}

#endif
