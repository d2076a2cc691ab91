#pragma once

#include <vector>

#include "algorithms/planner/planner.hpp"
#include "base/bytes/wire.hpp"
#include "base/simulated.hpp"
#include "communicator/communicator.hpp"
#include "machine/machine.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// Carries a planner's rounds as messages on a private communicator, and advances active exchanges while it waits.
class ControlRounds {
 public:
  explicit ControlRounds(const PrivateComm& comm) : comm_(comm) {}

  [[nodiscard]] std::vector<Bytes> carry(Round round);
  [[nodiscard]] std::vector<Bytes> exchange(std::vector<ControlMessage> control_messages, const std::vector<Rank>& from,
                                            int tag);

 private:
  [[nodiscard]] std::vector<Bytes> largest(const std::vector<double>& numbers);
  [[nodiscard]] std::vector<Bytes> region_gather(const Region& region, const Bytes& contribution);
  [[nodiscard]] std::vector<Bytes> to_each_other(const Region& region, const Bytes& contribution);

  const PrivateComm& comm_;
};

/// Waits until `done` returns true, advancing active exchanges. Throws PeerFailure where another rank has failed.
template <class Done>
void await(const PrivateComm& comm, Done&& done) {
  constexpr int look = 8;  // once in so many turns: messages mostly come before
  int turns = 0;
  progress_until([&] {
    if (done()) return true;
    if (!simulated && ++turns % look == 0) comm.check_peers();
    return false;
  });
}

/// Completes `requests`, advancing active exchanges meanwhile.
void wait_all_progressing(const PrivateComm& comm, std::vector<MPI_Request>& requests);
/// Whether all, which are not persistent, are complete.
[[nodiscard]] bool test_all(std::vector<MPI_Request>& requests);

/// A barrier that advances active exchanges meanwhile.
void barrier_progressing(const PrivateComm& comm);

/// An allreduce that advances active exchanges meanwhile. All ranks get the same bits.
void reduce_progressing(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation,
                        const PrivateComm& comm);
template <class T>
[[nodiscard]] std::vector<T> reduce_progressing(const std::vector<T>& mine, MPI_Datatype type, MPI_Op operation,
                                                const PrivateComm& comm) {
  std::vector<T> all(mine.size());
  reduce_progressing(mine.data(), all.data(), static_cast<int>(mine.size()), type, operation, comm);
  return all;
}

/// The same on a communicator on which nobody can be told of a failure.
void reduce_progressing(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm);

}  // namespace laneway
