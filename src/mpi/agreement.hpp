#pragma once

#include <exception>

#include "mpi/communicator.hpp"
#include "mpi/hints.hpp"

namespace laneway {

/// One small reduction in which the ranks learn whether any of them failed and whether their hints agree. Rethrows
/// `failure` where there is one; throws Error(argument) naming a rank that failed on the others, Error(info) on all
/// where the hints differ. Returns whether `flag` is true on all ranks. When it returns, all ranks have entered the
/// call.
bool agree(const PrivateComm& comm, const std::exception_ptr& failure, const Hints& hints, bool flag);

}  // namespace laneway
