// A program whose calls are known, for the tests of what the preload reports.
//   reported ring CALLS BYTES      allgathers of blocks of so many bytes around a ring, blocking
//   reported persistent CALLS BYTES
//   reported varying CALLS BYTES   alltoallvs of so many bytes an edge
//   reported grid CALLS            allgathers on a Cartesian grid, which are the MPI library's
//   reported allocations CALLS ring|persistent|varying
//                                  the same, and after the first 100 no call allocates anything
//   reported nothing
//   reported late SECONDS          the last rank comes so much later to MPI_Finalize
//   reported killed                the last rank ends without a word before it
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "check.hpp"

namespace {

/// Allocations of whatever is linked into the program or preloaded, in calls of MPI.
bool in_call = false;
long allocations = 0;

[[maybe_unused]] bool count_allocation() {  // not by sanitized programs, which have other operators
  allocations += in_call;
  return true;
}

}  // namespace

#define LANEWAY_TEST_ALLOCATES(bytes) count_allocation()
#include "../own_new.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#ifdef LANEWAY_HAS_PERSISTENT
#define ALLGATHER_INIT MPI_Neighbor_allgather_init
#elif defined(LANEWAY_HAS_EXTENSION_PERSISTENT)
#define ALLGATHER_INIT MPIX_Neighbor_allgather_init
#endif

namespace {

/// Of a call, or of Start and Wait.
void begin_call(int call) {
  if (call == 100) allocations = 0;
  in_call = true;
}

struct Ring {
  Ring(MPI_Comm from, int block) : bytes(block), graph(ring_graph(size_of(from))), comm(graph.create_adjacent(from)) {
    degree = static_cast<int>(graph.in(rank_in(from)).size());
    send.resize(static_cast<std::size_t>(bytes * degree));
    receive.resize(send.size());
  }
  void fill(int call) {
    std::memset(send.data(), rank_in(comm) + call, send.size());
    std::memset(receive.data(), -1, receive.size());
  }
  void check(int call) const {
    const std::vector<int> in = graph.in(rank_in(comm));
    for (int i = 0; i < degree; ++i)
      for (int b = 0; b < bytes; ++b)
        CHECK(receive[static_cast<std::size_t>(i * bytes + b)] ==
              static_cast<char>(graph.edges[static_cast<std::size_t>(in[static_cast<std::size_t>(i)])].source + call));
  }

  int bytes;
  Graph graph;
  MPI_Comm comm;
  int degree = 0;
  std::vector<char> send, receive;
};

void run_ring(Ring& ring, int calls) {
  for (int call = 0; call < calls; ++call) {
    ring.fill(call);
    begin_call(call);
    MPI_Neighbor_allgather(ring.send.data(), ring.bytes, MPI_CHAR, ring.receive.data(), ring.bytes, MPI_CHAR,
                           ring.comm);
    in_call = false;
    ring.check(call);
  }
}

void run_persistent(Ring& ring, int calls) {
#ifdef ALLGATHER_INIT
  MPI_Request request = MPI_REQUEST_NULL;
  ALLGATHER_INIT(ring.send.data(), ring.bytes, MPI_CHAR, ring.receive.data(), ring.bytes, MPI_CHAR, ring.comm,
                 MPI_INFO_NULL, &request);
  for (int call = 0; call < calls; ++call) {
    ring.fill(call);
    begin_call(call);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    in_call = false;
    ring.check(call);
  }
  MPI_Request_free(&request);
#else
  run_ring(ring, calls);
#endif
}

void run_varying(Ring& ring, int calls) {
  const std::vector<int> counts(static_cast<std::size_t>(ring.degree), ring.bytes);
  std::vector<int> places(counts.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i) * ring.bytes;
  for (int call = 0; call < calls; ++call) {
    ring.fill(call);
    begin_call(call);
    MPI_Neighbor_alltoallv(ring.send.data(), counts.data(), places.data(), MPI_CHAR, ring.receive.data(), counts.data(),
                           places.data(), MPI_CHAR, ring.comm);
    in_call = false;
    ring.check(call);
  }
}

void run_grid(int calls) {
  const int size = size_of(MPI_COMM_WORLD);
  const int periodic = 0;
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &grid);
  const int mine = rank_in(grid);
  int others[2] = {-1, -1};
  for (int call = 0; call < calls; ++call) MPI_Neighbor_allgather(&mine, 1, MPI_INT, others, 1, MPI_INT, grid);
  MPI_Comm_free(&grid);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string what = argc > 1 ? argv[1] : "nothing";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  const bool is_last = rank_in(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  const bool counts = what == "allocations";
  if (counts) what = argv[3];
  if (what != "nothing" && what != "grid") {
    Ring ring(MPI_COMM_WORLD, argc > 3 && !counts ? std::atoi(argv[3]) : 64);
    if (what == "ring" || what == "late" || what == "killed") run_ring(ring, what == "ring" ? number : 10);
    if (what == "persistent") run_persistent(ring, number);
    if (what == "varying") run_varying(ring, number);
    if (counts) CHECK(allocations == 0);
    MPI_Comm_free(&ring.comm);
  }
  if (what == "grid") run_grid(number);
  const int status = verdict();
  if (what == "late" && is_last) sleep(static_cast<unsigned>(number));
  if (what == "killed" && is_last) raise(SIGKILL);
  MPI_Finalize();
  return status;
}
