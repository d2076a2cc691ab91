#include "communicator/arguments/topology.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

std::vector<Neighbor> in_slots(const std::vector<int>& ranks) {
  std::vector<Neighbor> neighbors;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] != MPI_PROC_NULL) neighbors.push_back({ranks[i], static_cast<int>(i)});
  return neighbors;
}

Topology read_cartesian(MPI_Comm comm) {
  int dimensions = 0;
  check_mpi(MPI_Cartdim_get(comm, &dimensions), "MPI_Cartdim_get");
  std::vector<int> ranks;
  for (int d = 0; d < dimensions; ++d) {
    int negative = MPI_PROC_NULL;
    int positive = MPI_PROC_NULL;
    check_mpi(MPI_Cart_shift(comm, d, 1, &negative, &positive), "MPI_Cart_shift");
    ranks.push_back(negative);
    ranks.push_back(positive);
  }
  Topology topology = graph_topology(ranks, ranks);
  // What is sent in the negative direction arrives from the positive one. Where both neighbours are one rank (periodic
  // dimensions of size 1 and 2) the second message sent to it must therefore match its first place. The sources keep
  // their order, by which a place that is named twice gets its last value.
  for (std::size_t i = 0; i + 1 < topology.destinations.size(); ++i) {
    Neighbor& a = topology.destinations[i];
    Neighbor& b = topology.destinations[i + 1];
    if (a.slot % 2 == 0 && b.slot == a.slot + 1 && a.rank == b.rank) std::swap(a, b);
  }
  return topology;
}

}  // namespace

Topology graph_topology(const std::vector<int>& sources, const std::vector<int>& destinations) {
  return {in_slots(sources), in_slots(destinations), static_cast<int>(sources.size()),
          static_cast<int>(destinations.size())};
}

Topology read_topology(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  if constexpr (simulated) {
    int dimensions = 0;
    if (MPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS) kind = MPI_CART;
  } else {
    check_mpi(MPI_Topo_test(comm, &kind), "MPI_Topo_test");
  }
  if (kind == MPI_CART) return read_cartesian(comm);
  if (kind == MPI_GRAPH) {
    int rank = 0;
    int count = 0;
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Graph_neighbors_count(comm, rank, &count), "MPI_Graph_neighbors_count");
    std::vector<int> neighbors(static_cast<std::size_t>(count));
    check_mpi(MPI_Graph_neighbors(comm, rank, count, neighbors.data()), "MPI_Graph_neighbors");
    return graph_topology(neighbors, neighbors);
  }
  require(kind == MPI_DIST_GRAPH, ErrorKind::topology,
          "comm: the communicator has no topology; LNW_Dist_graph_create_adjacent makes one that has");
  return read_distributed_graph(comm);
}

Topology read_distributed_graph(MPI_Comm comm) {
  int indegree = 0;
  int outdegree = 0;
  int weighted = 0;
  check_mpi(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted), "MPI_Dist_graph_neighbors_count");
  // One element more: some MPI libraries refuse null arrays.
  std::vector<int> sources(static_cast<std::size_t>(indegree) + 1);
  std::vector<int> destinations(static_cast<std::size_t>(outdegree) + 1);
  std::vector<int> source_weights(sources.size());
  std::vector<int> destination_weights(destinations.size());
  check_mpi(
      MPI_Dist_graph_neighbors(comm, indegree, sources.data(), weighted ? source_weights.data() : MPI_UNWEIGHTED,
                               outdegree, destinations.data(), weighted ? destination_weights.data() : MPI_UNWEIGHTED),
      "MPI_Dist_graph_neighbors");
  sources.pop_back();
  destinations.pop_back();
  return graph_topology(sources, destinations);
}

}  // namespace laneway
