#pragma once

#include <mpi.h>

#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "operations/halo/element_lists.hpp"

namespace laneway {

/// What a halo moves: elements of an array that are sent, and those that are received, in the order of the neighbours
/// of the topologies.
struct HaloLists {
  MPI_Count owned = 0;  ///< elements of an array that this rank owns
  MPI_Count size = 0;   ///< all elements of an array
  ElementLists sent;
  ElementLists received;
  std::vector<int> dims;  ///< of a grid: ranks in each dimension, and this rank's place among them
  std::vector<int> coords;
  std::unique_ptr<Communicator> there = {};
  std::unique_ptr<Communicator> back = {};  ///< knows the exchanges that were planned on `there`
};

/// Elements whose global numbers follow each other.
struct NumberedRun {
  std::int64_t first;
  std::int64_t count;
  std::int64_t index;  ///< of the first one in the array
};

/// Arrays have `owned` elements of this rank, and then one for each number in `ghosts`. Who owns these is found by a
/// directory: of each number some rank, which follows from the number alone, is told where it is. Nothing that a rank
/// keeps is as long as the communicator. Collective. With `failure`, or where a number has no owner or several, all
/// ranks throw.
[[nodiscard]] HaloLists halo_from_ghosts(Communicator& communicator, const std::vector<NumberedRun>& runs,
                                         MPI_Count owned, std::span<const MPI_Count> ghosts, MPI_Info info,
                                         std::exception_ptr failure);

/// An array with n dimensions, row-major, spread over a grid of ranks, which are in row-major order, too. Each rank has
/// `extents` elements of its own, and around them `widths` ghosts.
struct GridHalo {
  std::vector<int> dims;  ///< their product is the number of ranks
  std::vector<int> extents;
  std::vector<int> widths;
  std::vector<bool> periods;
  bool corners = true;
};

/// Ranks in each dimension: those that are 0 as MPI_Dims_create chooses them. Throws Error(argument).
[[nodiscard]] std::vector<int> grid_of(Rank ranks, std::vector<int> dims);

/// Collective. With `failure`, or where ranks that are neighbours have extents or widths that do not fit, all throw.
[[nodiscard]] HaloLists halo_of_grid(Communicator& communicator, const GridHalo& grid, MPI_Info info,
                                     std::exception_ptr failure);

}  // namespace laneway
