#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "candidates/candidates.hpp"

namespace laneway::bench {

/// Rotated anisotropic diffusion on a grid, as matrix::rotated_diffusion has it.
struct Diffusion {
  std::int64_t nx = 1024;
  std::int64_t ny = 512;
  double angle = 45;  ///< degrees
  double epsilon = 0.001;
  int points = 7;

  /// `nx=1024,ny=512,angle=45,epsilon=0.001,points=7`
  [[nodiscard]] std::string description() const;
};

/// The matrices of an algebraic multigrid hierarchy that hypre's BoomerAMG makes, with HMIS coarsening, extended+i
/// interpolation and strength threshold 0.25. Ranks have rectangular blocks of the grid, those of consecutive ranks
/// side by side along x. There is one hierarchy at a time.
class Hierarchy {
 public:
  /// Throws Error(argument) if the grid has too many points, or fewer than ranks in a direction. Collective, as is the
  /// end.
  Hierarchy(MPI_Comm comm, const Diffusion& problem);
  ~Hierarchy();
  Hierarchy(const Hierarchy&) = delete;
  Hierarchy& operator=(const Hierarchy&) = delete;

  [[nodiscard]] int levels() const;
  /// Of all ranks.
  [[nodiscard]] std::int64_t rows(int level) const;
  /// This rank's part of the halo exchange of y = A x on a level: its part of x is sent from, and received are the
  /// elements of x that others have. Labels are the numbers of columns of A.
  [[nodiscard]] Exchange exchange(int level) const;
  /// On a communicator of one rank: the exchanges of `ranks` ranks, with the blocks of the grid that they would have.
  /// Each row of a coarser level is on the rank of its row on the finest one. hypre itself would coarsen a little
  /// otherwise where blocks meet.
  [[nodiscard]] std::vector<Exchange> exchanges(int level, int ranks) const;
  /// `hypre`: the functions by which hypre itself makes this exchange. The hierarchy outlives it.
  [[nodiscard]] OwnCandidate candidate(int level) const;

 private:
  class Solver;
  Diffusion problem_;
  std::unique_ptr<Solver> solver_;
};

}  // namespace laneway::bench
