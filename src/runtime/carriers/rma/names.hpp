#pragma once

#include <mpi.h>

namespace laneway {

/// Whether windows of the communicator are no other ones' by mistake (Quirks::mixes_windows_up). The same on all ranks.
/// Local.
[[nodiscard]] bool are_windows_apart(MPI_Comm comm);

}  // namespace laneway
