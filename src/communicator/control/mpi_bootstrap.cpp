#include "communicator/control/mpi_bootstrap.hpp"

#include "base/simulated.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/nodes/discovery.hpp"

namespace laneway {

std::size_t MpiBootstrap::ranks_of_machine() const {
  return world_node_size();
}

std::vector<Bytes> MpiBootstrap::carry(Round round) {
  return ControlRounds(comm_).carry(std::move(round));
}

std::uint64_t MpiBootstrap::common_bits(std::uint64_t bits) {
  std::uint64_t common = 0;
  reduce_progressing(&bits, &common, 1, MPI_UINT64_T, MPI_BAND, comm_);
  return common;
}

/// Not if somebody says that it has failed.
bool MpiBootstrap::none_fails(const std::function<bool()>& none_failed) const {
  bool none = false;
  await(comm_, [&] {
    none = none_failed();
    if (none) return true;
    return comm_.find(MPI_ANY_SOURCE, ControlComm::refusal_tag).has_value();
  });
  return none;
}

/// Whoever fails tells all others, who may be waiting for the news that none does.
std::optional<Rank> MpiBootstrap::find_failure(const Region& node, bool failed,
                                               const std::function<bool()>& none_failed) {
  if (!simulated && !failed && none_fails(none_failed)) return std::nullopt;
  ControlMessages refusals(comm_);
  for (Rank other : node.members)
    if (failed && other != rank()) refusals.send(other, ControlComm::refusal_tag, {});
  std::optional<Rank> first;
  const std::vector<char> all = gather<char>(*this, node, failed);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == 0) continue;
    const Rank other = node.members[i];
    if (!first) first = other;
    if (other != rank()) (void)receive_control_message(comm_, other, ControlComm::refusal_tag);
  }
  refusals.wait();
  return first;
}

}  // namespace laneway
