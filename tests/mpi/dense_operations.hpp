/// The dense operations on made-up data: each in every way, and by MPI.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "support.hpp"

namespace laneway::test {

enum class Way { mpi, blocking, nonblocking, persistent, large_blocking, large_nonblocking, large_persistent };
[[nodiscard]] const char* name(Way way);
inline constexpr Way ways[] = {Way::blocking,       Way::nonblocking,       Way::persistent,
                               Way::large_blocking, Way::large_nonblocking, Way::large_persistent};

/// What a call gets: elements of `type`, `extent` bytes apart.
struct Elements {
  MPI_Datatype type = MPI_INT;
  std::size_t extent = sizeof(int);
  MPI_Op op = MPI_SUM;
  std::size_t backward = 0;  ///< bytes of the units that lie in descending addresses, all in all; 0: in ascending ones
};

/// One rank's call of an operation.
struct Dense {
  std::string operation;
  MPI_Comm comm = MPI_COMM_WORLD;
  Elements sent = {};
  Elements received = {};
  int count = 1;  ///< of elements of a block; of unequal blocks the most
  int root = 0;
  bool in_place = false;
  bool first_has_no_buffer = false;  ///< to receive in: of an exscan
  bool on_devices = false;  ///< this library gets buffers in memory of devices, some of all kinds; MPI gets the host's
  std::uint64_t seed = 0;   ///< of counts and data
  std::uint64_t turn = 0;   ///< of data only
  MPI_Info info = MPI_INFO_NULL;  ///< of persistent operations
  int code = MPI_SUCCESS;         ///< of the last call that failed

  /// What is in the receive buffer in the end, in ascending order. Of a persistent operation, after the second of two
  /// exchanges.
  [[nodiscard]] std::vector<std::byte> run(Way way);
};

[[nodiscard]] const std::vector<std::string>& movements();   ///< operations that move
[[nodiscard]] const std::vector<std::string>& reductions();  ///< operations that combine
[[nodiscard]] bool takes_in_place(const std::string& operation);

}  // namespace laneway::test
