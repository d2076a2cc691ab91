#pragma once

#include <mpi.h>

#include <vector>

#include "base/bytes/types.hpp"

namespace laneway {

/// One neighbour: `slot` is its position in the argument arrays and buffers of a neighborhood operation.
struct Neighbor {
  Rank rank = 0;
  int slot = 0;
};

/// The neighbours of the calling rank, without MPI_PROC_NULL. The k-th destination that is d, at s, is matched by the
/// k-th source that is s, at d.
struct Topology {
  std::vector<Neighbor> sources;
  std::vector<Neighbor> destinations;
  int indegree = 0;  ///< slots, including MPI_PROC_NULL
  int outdegree = 0;
};

/// The topology of a graph, from the neighbours by slot, of which some may be MPI_PROC_NULL.
[[nodiscard]] Topology graph_topology(const std::vector<int>& sources, const std::vector<int>& destinations);

/// Reads the topology of a distributed-graph, graph or Cartesian communicator. Throws Error(topology) if it has none.
[[nodiscard]] Topology read_topology(MPI_Comm comm);
/// Of one that is known to be a distributed graph: MPI_Topo_test is not asked.
[[nodiscard]] Topology read_distributed_graph(MPI_Comm comm);

}  // namespace laneway
