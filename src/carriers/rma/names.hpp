#pragma once

#include <mpi.h>

namespace laneway {

/// Whether windows of the communicator are no other ones' by mistake. Open MPI 4.1 gives windows of communicators
/// without common ranks the same name on a node, since their context ids may be the same; then what one puts arrives in
/// the other. Only those of all ranks, and of one, are safe. The same on all ranks. Local.
[[nodiscard]] bool are_windows_apart(MPI_Comm comm);

}  // namespace laneway
