#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>

#include "base/bytes/types.hpp"
#include "mpi/check.hpp"

namespace laneway {

/// A control message that has come, and is still to be received.
struct Probed {
  Rank source = 0;
  int tag = 0;
  int bytes = 0;
};

/// The first that has come from `source` with this tag, which may be wildcards. Local. Throws Error(mpi).
[[nodiscard]] inline std::optional<Probed> probe(MPI_Comm comm, int source, int tag) {
  int found = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(source, tag, comm, &found, &status), "MPI_Iprobe");
  if (found == 0) return std::nullopt;
  Probed probed{status.MPI_SOURCE, status.MPI_TAG, 0};
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &probed.bytes), "MPI_Get_count");
  return probed;
}

/// Receives it into memory of so many bytes. Throws Error(mpi), also if it is longer.
inline void receive(MPI_Comm comm, const Probed& probed, void* into, std::size_t bytes) {
  check_mpi(MPI_Recv(into, static_cast<int>(bytes), MPI_BYTE, probed.source, probed.tag, comm, MPI_STATUS_IGNORE),
            "MPI_Recv");
}

}  // namespace laneway
