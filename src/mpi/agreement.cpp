#include "mpi/agreement.hpp"

#include <array>
#include <climits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "mpi/mailbox.hpp"
#include "transport/p2p.hpp"

namespace laneway {

Flags agree(const PrivateComm& comm, const std::exception_ptr& failure, const Hints& hints, const Flags& flags) {
  const auto fingerprint = static_cast<std::int64_t>(hints.fingerprint() >> 1);
  const std::array<std::int64_t, 6> mine = {
      failure ? comm.rank() : INT_MAX, fingerprint, -fingerprint, flags[0], flags[1], flags[2]};
  std::array<std::int64_t, 6> least{};
  reduce_progressing(mine.data(), least.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_MIN, comm.get());
  if (failure) std::rethrow_exception(failure);
  require(least[0] == INT_MAX, ErrorKind::argument,
          "rank " + std::to_string(least[0]) + " has reported an error in this call");
  require(least[1] == -least[2], ErrorKind::info,
          "info and environment: the hints differ between ranks (here: strategy " + std::string(hints.strategy.name()) +
              ", machine '" + hints.machine + "')");
  return {least[3] != 0, least[4] != 0, least[5] != 0};
}

}  // namespace laneway
