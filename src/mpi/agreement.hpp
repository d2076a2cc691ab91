#pragma once

#include <array>
#include <exception>

#include "mpi/communicator.hpp"
#include "mpi/hints.hpp"

namespace laneway {

using Flags = std::array<bool, 3>;

/// One small reduction in which the ranks learn whether any of them failed and whether their hints agree. Rethrows
/// `failure` where there is one; throws Error(argument) naming a rank that failed on the others, Error(info) on all
/// where the hints differ. Returns which of the flags are true on all ranks. When it returns, all ranks have entered
/// the call.
Flags agree(const PrivateComm& comm, const std::exception_ptr& failure, const Hints& hints, const Flags& flags = {});

}  // namespace laneway
