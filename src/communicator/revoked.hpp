#pragma once

#include <mpi.h>

#include <memory>

#include "communicator/private_comm.hpp"

namespace laneway {

/// Who revokes `comm`, a user's communicator, revokes `own` with it, as long as that lives: beside the duplicates that
/// Communicator knows. Nothing where the MPI library revokes none. Local.
void revoke_with(MPI_Comm comm, const std::shared_ptr<PrivateComm>& own);

}  // namespace laneway
