#pragma once

#include <array>
#include <exception>
#include <map>
#include <optional>

#include "core/types.hpp"
#include "mpi/communicator.hpp"
#include "mpi/hints.hpp"

namespace laneway {

using Flags = std::array<bool, 4>;

struct Agreement {
  Flags flags{};                 ///< which are true on all ranks
  std::map<Rank, Rank> regions;  ///< of all ranks, if they are few and each knows its own; else none
};

/// One small reduction in which the ranks learn whether any of them failed and whether their hints agree. Rethrows
/// `failure` where there is one; throws Error(argument) naming a rank that failed on the others, Error(info) on all
/// where the hints differ. `region`: the id of this rank's, if that is known. When it returns, all ranks have entered
/// the call.
Agreement agree(const PrivateComm& comm, const std::exception_ptr& failure, const Hints& hints, const Flags& flags = {},
                std::optional<Rank> region = {});

}  // namespace laneway
