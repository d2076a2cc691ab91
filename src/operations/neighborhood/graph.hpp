#pragma once

#include <mpi.h>

#include <exception>
#include <memory>
#include <string>

#include "communicator/communicator.hpp"
#include "communicator/rank_translation.hpp"

namespace laneway {

/// One side of the arguments of MPI_Dist_graph_create_adjacent, with their names for error texts.
struct GraphSide {
  int degree;
  const int* ranks;
  const int* weights;
  const char* degree_name;
  const char* ranks_name;
  const char* weights_name;
};

struct GraphArguments {
  GraphSide sources;
  GraphSide destinations;
};

/// As MPI_Dist_graph_create_adjacent; the hints in `info` stay with the new communicator. If the arguments of any rank
/// are bad, all ranks throw. Ranks are reordered if `reorder` is set on all of them.
void create_graph(MPI_Comm comm_old, const GraphArguments& arguments, MPI_Info info, int reorder, MPI_Comm* comm_new);

/// What is agreed on when a graph communicator is adopted, besides its hints.
struct Adopter {
  MPI_Comm graph;                        ///< the communicator: a distributed graph, whatever MPI_Topo_test says
  std::string settings;                  ///< must be the same on all ranks
  bool progresses;                       ///< becomes Adopted::progresses, if it is true on all ranks
  std::exception_ptr failure = nullptr;  ///< why this rank cannot adopt; then none does
};

/// What is known of a communicator that was adopted.
struct Adopted final : Attachment {
  bool repeated_edges = false;  ///< whether any rank has a neighbour more than once
  /// Whether split-phase operations progress on all ranks while these are in calls that know nothing of them.
  bool progresses = false;
};

/// Gives `comm`, a graph communicator that MPI has just made from `comm_old`, what create_graph would have given it.
/// Collective; if the hints of any rank are bad, or planning fails on any, all ranks throw, and operations on `comm` go
/// without plans. Ranks without neighbours take no part in operations: there are programs in which they do not call
/// them (PETSc). So that the MPI library sees its calls from all ranks of a communicator or from none, the others then
/// have a graph communicator of their own (PrivateComm::graph) for those operations of which idle ranks cannot know
/// whether they are left to it.
void adopt_graph(MPI_Comm comm_old, MPI_Comm comm, MPI_Info info, const Adopter& adopter);

/// What reordering has brought when `comm` was created. Local. Throws Error(topology) if it was created otherwise.
[[nodiscard]] const Reordering& reordering_of(MPI_Comm comm);
/// A topology object; errors as for create_graph. If `wanted` is false on any rank, all ranks throw.
[[nodiscard]] std::unique_ptr<Communicator> create_topology(MPI_Comm comm, const GraphArguments& arguments,
                                                            MPI_Info info, bool wanted);

/// The neighbours of a rank that are left, in the slots that they had: those that are gone leave theirs empty. Local.
[[nodiscard]] Topology shrink(const Topology& topology, const RankTranslation& ranks);
/// Its neighbours, and the hints for operations between them.
struct Neighborhoods {
  Topology topology;
  HintTexts hints;
};
/// A topology object with what each rank of `comm` has found. Collective. If one has a failure instead, all ranks
/// throw; likewise where the two sides of an edge differ.
[[nodiscard]] std::unique_ptr<Communicator> make_shrunken(MPI_Comm comm, Neighborhoods found,
                                                          const std::exception_ptr& failure);

/// A topology object with the topology and the hints of `comm`.
[[nodiscard]] std::unique_ptr<Communicator> copy_topology(MPI_Comm comm, bool wanted);

}  // namespace laneway
