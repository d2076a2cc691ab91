#include "mpi/agreement.hpp"

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "mpi/mailbox.hpp"
#include "setup/planner.hpp"
#include "transport/p2p.hpp"

namespace laneway {

Agreement agree(const PrivateComm& comm, const std::exception_ptr& failure, const Hints& hints, const Flags& flags,
                std::optional<Rank> region) {
  const auto fingerprint = static_cast<std::int64_t>(hints.fingerprint() >> 1);
  std::vector<std::int64_t> least = {failure ? comm.rank() : INT_MAX, fingerprint, -fingerprint};
  const std::size_t first_flag = least.size();
  least.insert(least.end(), flags.begin(), flags.end());
  const std::size_t own = least.size();
  if (comm.size() <= few_ranks) {
    least.resize(own + static_cast<std::size_t>(comm.size()), INT_MAX);
    least[own + static_cast<std::size_t>(comm.rank())] = region.value_or(-1);
  }
  least = reduce_progressing(least, MPI_INT64_T, MPI_MIN, comm.get());
  if (failure) std::rethrow_exception(failure);
  require(least[0] == INT_MAX, ErrorKind::argument,
          "rank " + std::to_string(least[0]) + " has reported an error in this call");
  require(least[1] == -least[2], ErrorKind::info,
          "info and environment: the hints differ between ranks (here: strategy " + std::string(hints.strategy.name()) +
              ", machine '" + hints.machine + "')");
  Agreement agreed;
  for (std::size_t i = 0; i < flags.size(); ++i) agreed.flags[i] = least[first_flag + i] != 0;
  if (std::find(least.begin() + static_cast<std::ptrdiff_t>(own), least.end(), -1) == least.end())
    for (std::size_t i = own; i < least.size(); ++i)
      agreed.regions.emplace(static_cast<Rank>(i - own), static_cast<Rank>(least[i]));
  return agreed;
}

}  // namespace laneway
