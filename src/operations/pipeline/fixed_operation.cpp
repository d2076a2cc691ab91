#include "operations/pipeline/fixed_operation.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "base/log_line.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"

namespace laneway {

std::unique_ptr<const FixedOperation> make_fixed(AlgorithmFamily& family, Communicator& communicator, PrivateComm& comm,
                                                 Use use) {
  auto [chosen, tag] = prepare(family, communicator, comm, MPI_INFO_NULL, use, "fixed ");
  auto made = std::make_unique<FixedOperation>();
  made->signature = family.signature();
  if (const RankPattern* const pattern = family.pattern()) made->pattern = *pattern;
  made->reasons = std::move(chosen.reasons);
  made->order = std::make_shared<StartOrder>(comm.shared_from_this(), tag);
  if (chosen.ready.plan) {
    if (family.hints().check_plan) family.prove(*chosen.ready.plan, made->reasons.strategy);
    made->bound = std::make_shared<BoundPlan>(std::move(chosen.ready), chosen.bindings);
  }
  return made;
}

namespace {

/// What has changed on a rank.
using Change = std::array<char, 160>;

/// What each rank says, by rank; empty: nothing has changed.
std::vector<Change> changes_of_all(const std::string& mine, const PrivateComm& comm) {
  Change change{};
  std::copy_n(mine.begin(), std::min(mine.size(), change.size() - 1), change.begin());
  std::vector<Change> all(static_cast<std::size_t>(comm.size()));
  std::vector<MPI_Request> requests(1);
  constexpr int bytes = sizeof(Change);
  check_mpi(MPI_Iallgather(change.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm.get(), requests.data()),
            "MPI_Iallgather");
  wait_all_progressing(comm, requests);
  return all;
}

}  // namespace

void keep_promise(const FixedOperation& fixed, const char* hint, const char* operation, const std::string& difference,
                  bool all_call) {
  const PrivateComm& comm = *fixed.order->comm();
  const auto broken_by = [&](std::size_t rank, const std::string& how) {
    return "rank " + std::to_string(rank) + ": " + operation + ": " + how + ", but " + hint +
           "=true promised the arguments of the first call";
  };
  if (!all_call) {
    if (difference.empty()) return;
    log_line(broken_by(static_cast<std::size_t>(comm.rank()), difference));
    MPI_Abort(comm.get(), MPI_ERR_ARG);
    std::abort();
  }
  const std::vector<Change> all = changes_of_all(difference, comm);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].front() == '\0') continue;
    comm.all_throw();
    throw Error(ErrorKind::argument, broken_by(rank, all[rank].data()));
  }
}

}  // namespace laneway
