#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "base/bytes/wire.hpp"
#include "communicator/communicator.hpp"
#include "communicator/control/control_comm.hpp"
#include "machine/machine.hpp"

namespace laneway {

/// Carries a planner's rounds as messages on a private communicator, and advances active exchanges while it waits.
class ControlRounds {
 public:
  explicit ControlRounds(const ControlComm& comm) : comm_(comm) {}

  [[nodiscard]] std::vector<Bytes> carry(Round round);
  [[nodiscard]] std::vector<Bytes> exchange(std::vector<ControlMessage> control_messages, const std::vector<Rank>& from,
                                            int tag);
  /// Makes an answer of what the members of a region contribute, in their order.
  using Answer = std::function<Bytes(const std::vector<Bytes>&)>;
  /// The first rank of all makes the answer, and all get it.
  [[nodiscard]] Bytes ask_first_rank(Bytes contribution, const Answer& answer);

 private:
  [[nodiscard]] Bytes ask_leader(const std::vector<Rank>& members, Bytes contribution, const Answer& answer);
  [[nodiscard]] std::vector<Bytes> largest(const std::vector<double>& numbers);
  [[nodiscard]] std::vector<Bytes> region_gather(const Region& region, const Bytes& contribution);
  [[nodiscard]] std::vector<Bytes> to_each_other(const Region& region, const Bytes& contribution);

  const ControlComm& comm_;
};

/// Waits for a message from `from` with this tag.
[[nodiscard]] Bytes receive_control_message(const ControlComm& comm, Rank from, int tag);

/// Completes `requests`, advancing active exchanges meanwhile.
void wait_all_progressing(const ControlComm& comm, std::vector<MPI_Request>& requests);
/// The same of one on a communicator on which nobody can be told of a failure. Returns MPI's code.
[[nodiscard]] int complete_progressing(MPI_Request request);

/// A barrier that advances active exchanges meanwhile.
void barrier_progressing(const ControlComm& comm);

/// An allreduce that advances active exchanges meanwhile. All ranks get the same bits.
void reduce_progressing(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation,
                        const ControlComm& comm);
template <class T>
[[nodiscard]] std::vector<T> reduce_progressing(const std::vector<T>& mine, MPI_Datatype type, MPI_Op operation,
                                                const ControlComm& comm) {
  std::vector<T> all(mine.size());
  reduce_progressing(mine.data(), all.data(), static_cast<int>(mine.size()), type, operation, comm);
  return all;
}

/// The same on a communicator on which nobody can be told of a failure.
void reduce_progressing(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm);

/// What each rank gives, on all of them, by rank. Advances active exchanges meanwhile.
void gather_progressing(const void* mine, void* all, int bytes, const ControlComm& comm);
template <class T>
[[nodiscard]] std::vector<T> gather_progressing(const ControlComm& comm, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  gather_progressing(&mine, all.data(), sizeof mine, comm);
  return all;
}

}  // namespace laneway
