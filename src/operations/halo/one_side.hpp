#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "operations/neighborhood/graph.hpp"
#include "operations/sparse/sparse.hpp"

namespace laneway {

/// From the sources of `arrivals` and to the destinations of that exchange, or the other way round. Local. Throws
/// Error(info).
[[nodiscard]] std::unique_ptr<Communicator> topology_of(const Arrivals& arrivals, MPI_Info info, bool reversed);

/// The neighbours on one side, which this rank knows.
struct KnownSide {
  GraphSide side;
  bool are_destinations = true;
};

/// A topology of which each rank knows one side. Collective; where the arguments of one rank are bad, all throw.
/// `weights`: those that arrive, if they were asked for, an int for each neighbour on the other side.
[[nodiscard]] std::unique_ptr<Communicator> create_topology_from(MPI_Comm comm, const KnownSide& known, MPI_Info info,
                                                                 bool wanted, std::unique_ptr<Arrivals>* weights);

/// The arguments of MPI_Dist_graph_create.
struct GraphEdges {
  int n;
  const int* sources;
  const int* degrees;
  const int* destinations;
  const int* weights;
};

/// As MPI_Dist_graph_create; what is said of create_graph holds.
void create_graph_from_edges(MPI_Comm comm_old, const GraphEdges& edges, MPI_Info info, int reorder,
                             MPI_Comm* comm_new);

}  // namespace laneway
