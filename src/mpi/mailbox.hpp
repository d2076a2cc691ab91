#pragma once

#include <vector>

#include "core/wire.hpp"
#include "machine/machine.hpp"
#include "mpi/communicator.hpp"
#include "setup/planner.hpp"

namespace laneway {

/// Carries a planner's rounds as messages on a private communicator, and advances active exchanges while it waits.
class Mailbox {
 public:
  explicit Mailbox(const PrivateComm& comm) : comm_(comm) {}

  [[nodiscard]] std::vector<Bytes> carry(const Round& round);

 private:
  [[nodiscard]] std::vector<Bytes> exchange(const std::vector<Letter>& letters, const std::vector<Rank>& from, int tag);
  [[nodiscard]] std::vector<Bytes> largest(const std::vector<double>& numbers);
  [[nodiscard]] std::vector<Bytes> region_gather(const Region& region, const Bytes& contribution);
  [[nodiscard]] std::vector<Bytes> to_each_other(const Region& region, const Bytes& contribution);

  const PrivateComm& comm_;
};

/// Completes `requests`, advancing active exchanges meanwhile.
void wait_all_progressing(std::vector<MPI_Request>& requests);
/// Whether all, which are not persistent, are complete.
[[nodiscard]] bool test_all(std::vector<MPI_Request>& requests);

/// A barrier that advances active exchanges meanwhile.
void barrier_progressing(MPI_Comm comm);
/// The same among `members` alone, this rank one of them, with messages of a tag that nothing else uses.
void barrier_progressing(const PrivateComm& comm, const std::vector<Rank>& members, int tag);

/// An allreduce that advances active exchanges meanwhile.
void reduce_progressing(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm);
template <class T>
[[nodiscard]] std::vector<T> reduce_progressing(const std::vector<T>& mine, MPI_Datatype type, MPI_Op operation,
                                                MPI_Comm comm) {
  std::vector<T> all(mine.size());
  reduce_progressing(mine.data(), all.data(), static_cast<int>(mine.size()), type, operation, comm);
  return all;
}

}  // namespace laneway
