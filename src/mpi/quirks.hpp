#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace laneway {

/// What is known of one family of MPI libraries beyond the standard. Each family has one file in quirks/, which gives
/// every value, and says what shows it.
struct Quirks {
  std::string_view name;
  /// What the version texts (MPI_Get_library_version) of other families have in them.
  std::array<std::string_view, 3> others{};

  /// Calls with an array of requests return errors where the communicator of these requests returns them. Elsewhere
  /// messages are looked at one by one.
  bool arrays_return_errors;
  /// Sends up to this size are nonblocking rather than persistent.
  std::int64_t inline_send_bytes;
  /// Bytes of datatypes that go backward, by a negative extent or stride, are put elsewhere.
  bool misplaces_backward_types;
  /// On communicators with a topology, the nonblocking alltoallw keeps as many of the datatypes until it is complete as
  /// there are neighbors, and not as there are ranks.
  bool keeps_too_few_types;
  /// In place, the nonblocking alltoallv and alltoallw count no operation on ranks whose counts are all 0, and later
  /// ones on the communicator hang.
  bool miscounts_in_place;
  /// MPI_Reduce in place reads elsewhere where the root is not rank 0.
  bool misreduces_in_place;
  /// MPI_Allgatherv and MPI_Iallgatherv of one rank put its block at the beginning, whatever its displacement.
  bool misplaces_alone;
  /// MPI_Reduce_local can be called in programs that only open sessions.
  bool reduces_locally_without_world;
  /// A communicator is destroyed that is freed while a collective operation is active on it.
  bool destroys_active_communicators;
  /// Windows of communicators without common ranks may be the same memory. Only those of all ranks, and of one, are
  /// safe.
  bool mixes_windows_up;
  /// MPI_Comm_idup runs on the communicator itself, whose other operations get into its way.
  bool duplicates_on_the_original;
  /// Bytes of the messages between nodes into which relayed data is cut, unless lnw_network_message says others: longer
  /// ones wait for an agreement each.
  std::string_view network_message;
  /// Calls that wait let functions of this library advance (mpi/engine.hpp), and other processes run.
  bool waits_well;
};

}  // namespace laneway

#if defined(LANEWAY_SIMULATED)
#include "mpi/quirks/smpi.hpp"
#elif defined(OPEN_MPI)
#include "mpi/quirks/openmpi.hpp"
#else
#include "mpi/quirks/mpich.hpp"
#endif
