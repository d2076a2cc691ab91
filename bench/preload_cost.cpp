// What liblaneway_mpi.so adds to calls that it cannot help. Preloaded into this program (laneway run --preload), it
// stands in front of the MPI library; the same calls made directly to the MPI library are timed beside it, in turns.
#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "data/statistics.hpp"

namespace {

using namespace laneway::bench;

constexpr int rounds = 41;
constexpr int calls = 2000;

/// The functions of one way to call MPI.
struct Calls {
  decltype(&PMPI_Send) send = nullptr;
  decltype(&PMPI_Recv) recv = nullptr;
  decltype(&PMPI_Isend) isend = nullptr;
  decltype(&PMPI_Irecv) irecv = nullptr;
  decltype(&PMPI_Wait) wait = nullptr;
  decltype(&PMPI_Waitall) waitall = nullptr;
  decltype(&PMPI_Test) test = nullptr;
  decltype(&PMPI_Allreduce) allreduce = nullptr;
  decltype(&PMPI_Ineighbor_alltoallv) ineighbor_alltoallv = nullptr;
};

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    std::fprintf(stderr, "laneway-preload-cost: %s was not found\n", name);
    std::exit(EXIT_FAILURE);
  }
}

/// As the program sees them (RTLD_DEFAULT), or those of one library.
Calls calls_of(void* library) {
  Calls found;
  look_up(library, "MPI_Send", found.send);
  look_up(library, "MPI_Recv", found.recv);
  look_up(library, "MPI_Isend", found.isend);
  look_up(library, "MPI_Irecv", found.irecv);
  look_up(library, "MPI_Wait", found.wait);
  look_up(library, "MPI_Waitall", found.waitall);
  look_up(library, "MPI_Test", found.test);
  look_up(library, "MPI_Allreduce", found.allreduce);
  look_up(library, "MPI_Ineighbor_alltoallv", found.ineighbor_alltoallv);
  return found;
}

/// The MPI library itself: no library stands in front of this function.
void* mpi_library() {
  Dl_info info{};
  void* const function = dlsym(RTLD_DEFAULT, "MPI_Wtime");
  if (function == nullptr || dladdr(function, &info) == 0) return nullptr;
  return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

struct Test {
  const char* name;
  void (*run)(const Calls&, int rank);
};

void exchange_blocking(const Calls& mpi, int rank) {
  double word = 0;
  if (rank == 0) {
    mpi.send(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    mpi.recv(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    mpi.recv(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mpi.send(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  }
}

void exchange_nonblocking(const Calls& mpi, int rank) {
  if (rank > 1) return;
  double out = 1, in = 0;
  std::array<MPI_Request, 2> requests;
  mpi.irecv(&in, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
  mpi.isend(&out, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
  mpi.waitall(2, requests.data(), MPI_STATUSES_IGNORE);
}

void wait_null(const Calls& mpi, int) {
  MPI_Request request = MPI_REQUEST_NULL;
  mpi.wait(&request, MPI_STATUS_IGNORE);
}

void test_null(const Calls& mpi, int) {
  MPI_Request request = MPI_REQUEST_NULL;
  int flag = 0;
  mpi.test(&request, &flag, MPI_STATUS_IGNORE);
}

void reduce(const Calls& mpi, int) {
  double mine = 1, sum = 0;
  mpi.allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/// Ranks 0 and 1 are neighbours; the others have none.
MPI_Comm make_pair(int rank) {
  const int degree = rank < 2 ? 1 : 0;
  const int other = 1 - rank;
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, &other, MPI_UNWEIGHTED, degree, &other, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &pair);
  return pair;
}

MPI_Comm pair = MPI_COMM_NULL;

/// On one node, and with counts that may change, this is left to the MPI library.
void exchange_with_neighbor(const Calls& mpi, int rank) {
  if (rank > 1) return;
  constexpr int count = 1, displacement = 0;
  double out = 1, in = 0;
  MPI_Request request;
  mpi.ineighbor_alltoallv(&out, &count, &displacement, MPI_DOUBLE, &in, &count, &displacement, MPI_DOUBLE, pair,
                          &request);
  mpi.wait(&request, MPI_STATUS_IGNORE);
}

double nanoseconds(const Test& test, const Calls& mpi, int rank) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) test.run(mpi, rank);
  return (MPI_Wtime() - begin) / calls * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Calls seen = calls_of(RTLD_DEFAULT);
  void* const library = mpi_library();
  if (size < 2 || library == nullptr) {
    std::fprintf(stderr, "laneway-preload-cost: needs two ranks, and an MPI library that is a shared object\n");
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  const Calls direct = calls_of(library);
  pair = make_pair(rank);
  if (rank == 0)
    std::printf("%s\n%-30s %12s %12s %12s  %s\n",
                seen.wait == direct.wait ? "nothing is preloaded: both columns are the MPI library's own"
                                         : "liblaneway_mpi.so is preloaded",
                "", "as called/ns", "direct/ns", "added/ns", "(medians of 41 pairs)");
  for (const Test& test :
       {Test{"MPI_Wait, null request", wait_null}, Test{"MPI_Test, null request", test_null},
        Test{"Send and Recv, 8 bytes", exchange_blocking}, Test{"Isend, Irecv, Waitall", exchange_nonblocking},
        Test{"MPI_Allreduce, 8 bytes", reduce}, Test{"MPI_Ineighbor_alltoallv, Wait", exchange_with_neighbor}}) {
    std::vector<double> through, around, added;
    for (int round = 0; round < rounds; ++round) {
      const bool first = round % 2 == 0;
      const double a = nanoseconds(test, first ? seen : direct, rank);
      const double b = nanoseconds(test, first ? direct : seen, rank);
      through.push_back(first ? a : b);
      around.push_back(first ? b : a);
      added.push_back(through.back() - around.back());
    }
    if (rank == 0)
      std::printf("%-30s %12.1f %12.1f %12.1f\n", test.name, laneway::median(through), laneway::median(around),
                  laneway::median(added));
  }
  MPI_Comm_free(&pair);
  MPI_Finalize();
}
