#pragma once

#include <mpi.h>

namespace laneway {

/// Whether `code`, of a call that looks for messages from any rank, says no more than that some process of the
/// communicator has ended: it may concern nobody here.
[[nodiscard]] bool says_that_some_have_ended(int code);

/// From now on looking for messages from any rank of `comm` means any that has not ended.
void acknowledge_ended(MPI_Comm comm);

}  // namespace laneway
