#include "communicator/rank_translation.hpp"

#include <numeric>

#include "mpi/check.hpp"
#include "mpi/group.hpp"

namespace laneway {

RankTranslation::RankTranslation(MPI_Comm from, MPI_Comm to) {
  int size = 0;
  int old_size = 0;
  check_mpi(MPI_Comm_size(to, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_size(from, &old_size), "MPI_Comm_size");
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  kept_ = Group(to).translate(ranks, Group(from));
  fresh_.assign(static_cast<std::size_t>(old_size), MPI_PROC_NULL);
  for (Rank rank = 0; rank < size; ++rank) {
    const Rank old = kept_[static_cast<std::size_t>(rank)];
    if (old == MPI_UNDEFINED) throw UnknownProcess(rank);
    fresh_[static_cast<std::size_t>(old)] = rank;
  }
}

bool RankTranslation::moves_nobody() const {
  for (std::size_t rank = 0; rank < kept_.size(); ++rank)
    if (kept_[rank] != static_cast<Rank>(rank)) return false;
  return true;
}

}  // namespace laneway
