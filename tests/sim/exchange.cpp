// Exchanges on a simulated cluster, by every kind of call that works there, against values that follow from the
// pattern.
#include <laneway/laneway.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int rank = 0;
int size = 0;

void require(bool right, const char* what) {
  if (right) return;
  std::printf("wrong on rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

int value(int source, int destination, int round, int element) {
  return ((source * 131 + destination) * 17 + round) * 8 + element;
}

/// Every rank sends to those whose distance is a square, and to itself.
struct Exchange {
  static constexpr int elements = 3;
  std::vector<int> sources, destinations, counts, displacements, send, receive;

  Exchange() {
    for (int k = 0; k * k < size; ++k) {
      const int distance = k * k;
      destinations.push_back((rank + distance) % size);
      sources.push_back((rank + size - distance) % size);
      counts.push_back(elements);
      displacements.push_back(elements * k);
    }
    send.resize(counts.size() * elements);
    receive.resize(send.size());
  }

  [[nodiscard]] int degree() const { return static_cast<int>(sources.size()); }

  void fill(int round) {
    for (std::size_t i = 0; i < send.size(); ++i)
      send[i] = value(rank, destinations[i / elements], round, static_cast<int>(i % elements));
    receive.assign(receive.size(), -1);
  }

  void check(int round, const char* what) const {
    for (std::size_t i = 0; i < receive.size(); ++i)
      require(receive[i] == value(sources[i / elements], rank, round, static_cast<int>(i % elements)), what);
  }
};

LNW_Request persistent(Exchange& exchange, MPI_Comm comm, const char* strategy) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_strategy", strategy);
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Neighbor_alltoallv_init(exchange.send.data(), exchange.counts.data(), exchange.displacements.data(), MPI_INT,
                              exchange.receive.data(), exchange.counts.data(), exchange.displacements.data(), MPI_INT,
                              comm, info, &request);
  MPI_Info_free(&info);
  return request;
}

void check_persistent(MPI_Comm comm, const char* strategy) {
  Exchange exchange;
  LNW_Request request = persistent(exchange, comm, strategy);
  for (int round = 0; round < 3; ++round) {
    exchange.fill(round);
    LNW_Start(&request);
    for (int done = round == 2 ? 0 : 1; done == 0;) LNW_Test(&request, &done, MPI_STATUS_IGNORE);
    LNW_Wait(&request, MPI_STATUS_IGNORE);
    exchange.check(round, strategy);
  }
  LNW_Request_free(&request);
}

/// Two that relay are active at a time, and are completed in another order than started.
void check_two(MPI_Comm comm) {
  Exchange first, second;
  LNW_Request requests[2] = {persistent(first, comm, "three_step"), persistent(second, comm, "two_step")};
  first.fill(1);
  second.fill(2);
  LNW_Start(&requests[rank % 2]);
  LNW_Start(&requests[1 - rank % 2]);
  LNW_Wait(&requests[1], MPI_STATUS_IGNORE);
  LNW_Wait(&requests[0], MPI_STATUS_IGNORE);
  first.check(1, "the first of two");
  second.check(2, "the second of two");
  for (LNW_Request& request : requests) LNW_Request_free(&request);
}

void check_calls(MPI_Comm comm) {
  Exchange exchange;
  exchange.fill(4);
  const auto [counts, places] = std::pair(exchange.counts.data(), exchange.displacements.data());
  LNW_Neighbor_alltoallv(exchange.send.data(), counts, places, MPI_INT, exchange.receive.data(), counts, places,
                         MPI_INT, comm);
  exchange.check(4, "blocking");
  exchange.fill(5);
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Ineighbor_alltoallv(exchange.send.data(), counts, places, MPI_INT, exchange.receive.data(), counts, places,
                          MPI_INT, comm, &request);
  LNW_Wait(&request, MPI_STATUS_IGNORE);
  exchange.check(5, "nonblocking");
}

}  // namespace

__attribute__((visibility("default"))) int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Exchange shape;
  for (int reorder = 0; reorder < 2; ++reorder) {
    MPI_Comm graph = MPI_COMM_NULL;
    LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, shape.degree(), shape.sources.data(), MPI_UNWEIGHTED, shape.degree(),
                                   shape.destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &graph);
    const int old_rank = rank;
    MPI_Comm_rank(graph, &rank);
    for (const char* strategy : {"direct", "three_step", "two_step", "split", "load_aware", "auto"})
      check_persistent(graph, strategy);
    check_two(graph);
    check_calls(graph);
    rank = old_rank;
    MPI_Comm_free(&graph);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d ranks: all right after %.9f s\n", size, MPI_Wtime());
  MPI_Finalize();
  return 0;
}
