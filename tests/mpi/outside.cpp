// Calls before MPI_Init, in functions that MPI_Finalize calls, and after it: what can be done is done, and the rest
// returns an error with a text that names the call.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "laneway/laneway.hpp"

namespace {

int rank = 0, size = 0;
int sent = 0, received = -1;
LNW_Topology topology = LNW_TOPOLOGY_NULL;
LNW_Request request = LNW_REQUEST_NULL;
MPI_Comm graph = MPI_COMM_NULL;

void expect(bool good, const char* what) {
  if (!good) std::printf("wrong: %s\n", what);
}

int create(MPI_Comm comm, LNW_Topology* made) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  return LNW_Topology_create(comm, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, made);
}

int init() {
  return LNW_Neighbor_allgather_init_topology(&sent, 1, MPI_INT, &received, 1, MPI_INT, topology, MPI_INFO_NULL,
                                              &request);
}

void make_all() {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  create(MPI_COMM_WORLD, &topology);
  init();
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
}

void before() {
  size = 1;
  int major = -1, minor = -1, patch = -1;
  expect(LNW_Get_version(&major, &minor, &patch) == MPI_SUCCESS && major == LNW_VERSION_MAJOR, "LNW_Get_version");
  expect(create(MPI_COMM_WORLD, &topology) != MPI_SUCCESS, "LNW_Topology_create");
  expect(create(MPI_COMM_NULL, &topology) != MPI_SUCCESS, "LNW_Topology_create on MPI_COMM_NULL");
  expect(LNW_Neighbor_allgather(&sent, 1, MPI_INT, &received, 1, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS, "blocking");
  expect(LNW_Start(&request) != MPI_SUCCESS, "LNW_Start");
  expect(init() != MPI_SUCCESS, "init");
}

void exchange_and_free(const char* when) {
  received = -1;
  expect(LNW_Start(&request) == MPI_SUCCESS && LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, when);
  expect(received == 100 + (rank + size - 1) % size, when);
  received = -1;
  expect(LNW_Neighbor_allgather(&sent, 1, MPI_INT, &received, 1, MPI_INT, graph) == MPI_SUCCESS, when);
  expect(received == 100 + (rank + size - 1) % size, when);
  expect(LNW_Request_free(&request) == MPI_SUCCESS && LNW_Topology_free(&topology) == MPI_SUCCESS, when);
}

/// Rank 0 has freed what others still have when they end, and comes later: it has heard by then that the communicator
/// of that is not freed.
void end_behind_others() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  LNW_Topology apart = LNW_TOPOLOGY_NULL;
  expect(create(comm, &apart) == MPI_SUCCESS, "LNW_Topology_create");
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  LNW_Topology_free(&apart);
  const double begin = MPI_Wtime();
  const int self = 0;
  while (MPI_Wtime() - begin < 0.3) {
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    expect(LNW_Topology_create(comm, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, &apart) ==
               MPI_SUCCESS,
           "on MPI_COMM_SELF");
    LNW_Topology_free(&apart);
    MPI_Comm_free(&comm);
  }
}

/// Where agreements of rank 1 seem to last longer than those of rank 0.
bool is_slow = false;
std::vector<MPI_Request> slow;
double slow_until = 0;

/// A channel by messages leaves a communicator that is looked after in MPI_Finalize.
bool slows = true;
void use_channel() {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_transport", "p2p");
  LNW_Channel channel = LNW_CHANNEL_NULL;
  const int role = rank == 0 ? LNW_CHANNEL_SEND : LNW_CHANNEL_RECEIVE;
  expect(LNW_Channel_create(MPI_COMM_WORLD, 1 - rank, role, sizeof sent, 1, info, &channel) == MPI_SUCCESS, "channel");
  void* data = nullptr;
  MPI_Count bytes = 0;
  expect((rank == 0 ? LNW_Channel_put(channel, 0, &sent, sizeof sent) : LNW_Channel_wait(channel, 0, &data, &bytes)) ==
             MPI_SUCCESS,
         "put, or wait");
  LNW_Channel_free(&channel);
  MPI_Info_free(&info);
  MPI_Barrier(MPI_COMM_WORLD);
  is_slow = rank == 1 && slows;
}

/// Steps of setup that this rank makes alone fail, each at another call of MPI. What it has with others does not know.
int until_failure = 0;
void fail_alone() {
  int failed = 0;
  for (int nth = 1; nth <= 12; ++nth) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int self = 0;
    LNW_Topology apart = LNW_TOPOLOGY_NULL;
    LNW_Request alone = LNW_REQUEST_NULL;
    until_failure = nth;
    const int code =
        LNW_Topology_create(comm, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, &apart);
    const bool is_made =
        code == MPI_SUCCESS && LNW_Neighbor_allgather_init_topology(&sent, 1, MPI_INT, &received, 1, MPI_INT, apart,
                                                                    MPI_INFO_NULL, &alone) == MPI_SUCCESS;
    until_failure = 0;
    failed += is_made ? 0 : 1;
    if (is_made) LNW_Request_free(&alone);
    if (apart != LNW_TOPOLOGY_NULL) LNW_Topology_free(&apart);
    MPI_Comm_free(&comm);
  }
  expect(failed > 0, "no step has failed");
}

int callbacks = 0;
int in_finalize(MPI_Comm, int, void* first, void*) {
  ++callbacks;
  if (first != nullptr) {
    exchange_and_free("in a callback that was set before the first call");
  } else {
    expect(create(MPI_COMM_WORLD, &topology) == MPI_SUCCESS && init() == MPI_SUCCESS, "init in a callback");
    exchange_and_free("in a callback that was set after the first call");
    make_all();
  }
  return MPI_SUCCESS;
}

void call_in_finalize(bool first) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, in_finalize, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, first ? &callbacks : nullptr);
}

void after() {
  LNW_Topology made = LNW_TOPOLOGY_NULL;
  expect(LNW_Start(&request) != MPI_SUCCESS, "LNW_Start");
  expect(LNW_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS, "LNW_Wait");
  expect(create(MPI_COMM_WORLD, &made) != MPI_SUCCESS, "LNW_Topology_create");
  expect(LNW_Neighbor_allgather(&sent, 1, MPI_INT, &received, 1, MPI_INT, graph) != MPI_SUCCESS, "blocking");
  expect(init() != MPI_SUCCESS, "init");
}

/// What C++ programs keep in `main`, with MPI_Finalize at its end.
struct Owners {
  laneway::Hints hints{{"lnw_strategy", "direct"}};
  laneway::Graph graph;
  laneway::Topology topology;
  laneway::Persistent operation;
  laneway::Persistent active;

  Owners(const std::vector<int>& sources, const std::vector<int>& destinations)
      : graph(MPI_COMM_WORLD, sources, destinations, hints), topology(MPI_COMM_WORLD, sources, destinations) {
    operation = laneway::neighbor_allgather_init<int>(graph.get(), {&sent, 1}, {&received, 1}, hints);
    active = laneway::neighbor_allgather_init<int>(graph.get(), {&sent, 1}, {&received, 1});
    operation.run();
    active.run();
  }
};

}  // namespace

// In place of MPI's.
extern "C" int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request* started) {
  const int code = PMPI_Iallreduce(from, to, count, type, op, comm, started);
  if (is_slow) slow.push_back(*started);
  slow_until = PMPI_Wtime() + 0.2;
  return code;
}
extern "C" int MPI_Type_size(MPI_Datatype type, int* bytes) {
  return until_failure > 0 && --until_failure == 0 ? MPI_ERR_OTHER : PMPI_Type_size(type, bytes);
}
extern "C" int MPI_Comm_size(MPI_Comm comm, int* size) {
  return until_failure > 0 && --until_failure == 0 ? MPI_ERR_OTHER : PMPI_Comm_size(comm, size);
}
extern "C" int MPI_Test(MPI_Request* tested, int* flag, MPI_Status* status) {
  *flag = 0;
  const bool is_one = *tested != MPI_REQUEST_NULL && std::find(slow.begin(), slow.end(), *tested) != slow.end();
  return is_one && PMPI_Wtime() < slow_until ? MPI_SUCCESS : PMPI_Test(tested, flag, status);
}

int main(int argc, char** argv) {
  const std::string when = argc > 1 ? argv[1] : "";
  if (when == "before") before();
  std::optional<Owners> owners;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sent = 100 + rank;
  slows = when == "slow";
  if (when == "callback") call_in_finalize(true);
  if (when != "slow" && when != "failed") make_all();
  if (when == "late") owners.emplace(std::vector<int>{(rank + size - 1) % size}, std::vector<int>{(rank + 1) % size});
  if (when == "callback") {
    LNW_Request_free(&request);
    LNW_Topology_free(&topology);
    call_in_finalize(false);
  }
  if (when == "behind") end_behind_others();
  if (when == "slow" || when == "failed") use_channel();
  if (when == "failed" && rank == 0) fail_alone();
  if (when == "failed" && rank == 1) usleep(300000);  // what it says last comes when the other has gone on
  MPI_Finalize();
  if (when == "callback") expect(callbacks == 2, "callbacks");
  if (when == "after") after();
  if (when == "after" || when == "late") {
    expect(LNW_Request_free(&request) == MPI_SUCCESS && request == LNW_REQUEST_NULL, "late LNW_Request_free");
    expect(LNW_Topology_free(&topology) == MPI_SUCCESS && topology == LNW_TOPOLOGY_NULL, "late LNW_Topology_free");
  }
  owners.reset();
  std::puts("good");
  return 0;
}
