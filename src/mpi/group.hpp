#pragma once

#include <mpi.h>

#include <vector>

#include "mpi/check.hpp"

namespace laneway {

/// The processes of a communicator.
class Group {
 public:
  explicit Group(MPI_Comm comm) { check_mpi(MPI_Comm_group(comm, &group_), "MPI_Comm_group"); }
  ~Group() { MPI_Group_free(&group_); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] std::vector<int> translate(const std::vector<int>& ranks, const Group& to) const {
    std::vector<int> result(ranks.size());
    check_mpi(MPI_Group_translate_ranks(group_, static_cast<int>(ranks.size()), ranks.data(), to.group_, result.data()),
              "MPI_Group_translate_ranks");
    return result;
  }

  [[nodiscard]] bool same_members(const Group& other) const {
    int result = MPI_UNEQUAL;
    check_mpi(MPI_Group_compare(group_, other.group_, &result), "MPI_Group_compare");
    return result != MPI_UNEQUAL;
  }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

}  // namespace laneway
