#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "base/bytes/types.hpp"
#include "base/error.hpp"

namespace laneway {

/// The new communicator has a process that the old one has not. That may never call, so nobody waits for it: the rank
/// that finds this says so alone.
class UnknownProcess : public Error {
 public:
  explicit UnknownProcess(Rank rank)
      : Error(ErrorKind::communicator,
              "comm: its rank " + std::to_string(rank) + " is not in the communicator of what is made again") {}
};

/// The ranks of one communicator in another, which has some of its processes and no others.
class RankTranslation {
 public:
  /// Local. Throws UnknownProcess where `to` has one that `from` has not.
  RankTranslation(MPI_Comm from, MPI_Comm to);

  /// MPI_PROC_NULL: it has none.
  [[nodiscard]] Rank operator()(Rank old) const { return fresh_[static_cast<std::size_t>(old)]; }
  /// The old rank of each rank.
  [[nodiscard]] const std::vector<Rank>& kept() const { return kept_; }
  /// Of the old communicator.
  [[nodiscard]] Rank old_size() const { return static_cast<Rank>(fresh_.size()); }
  /// Nobody has another rank: those that are gone were the last ones.
  [[nodiscard]] bool moves_nobody() const;

 private:
  std::vector<Rank> kept_;
  std::vector<Rank> fresh_;
};

}  // namespace laneway
