#include "mpi/path_choice.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "core/tell.hpp"
#include "model/memory_paths.hpp"
#include "mpi/costs.hpp"
#include "mpi/mailbox.hpp"
#include "mpi/tuning.hpp"

namespace laneway {

namespace {

constexpr std::array open_paths = {MemoryPath::staged, MemoryPath::device_aware};

void tell_refusal(const DeviceSupport& support) {
  static std::atomic<bool> told{false};
  if (!is_verbose() || told.exchange(true)) return;
  tell("lnw_memory_path=device: " + support.why + "; what is on devices goes through the host's memory");
}

/// Ranks of the node that use one device at a time, if they share them equally.
int processes_per_device(const Agreed& agreed) {
  const MemoryInfo& memory = agreed.where.on_device().send ? agreed.where.send : agreed.where.receive;
  if (memory.plugin == nullptr) return 1;
  const std::size_t devices = std::max<std::size_t>(1, all_devices(*memory.plugin).size());
  return static_cast<int>((std::max<std::size_t>(1, agreed.sharing.members.size()) + devices - 1) / devices);
}

}  // namespace

bool asks_for_support(MemoryPath hint) {
  return hint == MemoryPath::automatic || hint == MemoryPath::device_aware;
}

void resolve_path(Agreed& agreed, const PathVotes& votes) {
  const MemoryPath hint = agreed.hints.path;
  if (!asks_for_support(hint)) {
    agreed.path = hint;
    agreed.path_reason = "lnw_memory_path names it";
  } else if (votes.no_devices) {
    agreed.path = MemoryPath::staged;
    agreed.path_reason = "no buffer is on a device";
  } else if (!votes.all_support) {
    agreed.path = MemoryPath::staged;
    agreed.path_reason = votes.support.takes ? "another rank cannot give MPI its device memory" : votes.support.why;
    if (hint == MemoryPath::device_aware && !votes.support.takes) tell_refusal(votes.support);
  } else {
    agreed.path = hint;
    agreed.path_reason = votes.support.why;
  }
}

void limit_lending(Communicator& communicator, const PrivateComm& comm, Agreed& agreed) {
  const std::shared_ptr<const Parameters> parameters = parameters_of(communicator, comm, agreed.hints, agreed.sharing);
  const std::optional<std::int64_t> limit =
      largest_not_lent(*parameters, processes_per_device(agreed), agreed.hints.local.mailbox_bytes);
  if (!limit) return;
  agreed.hints.local.lend_bytes = *limit;
  if (*limit == never_lent) agreed.lends = 0;
  agreed.path_reason += "; with the parameters '" + parameters->name + "' " + described_lending(*limit);
}

Planned make_plan_on_best_path(Communicator& communicator, const PrivateComm& comm, Agreed& agreed) {
  std::vector<double> seconds;
  std::vector<Planned> plans;
  std::string parameters_name;
  if (agreed.path == MemoryPath::automatic) {
    const std::shared_ptr<const Parameters> parameters =
        parameters_of(communicator, comm, agreed.hints, agreed.sharing);
    parameters_name = parameters->name;
    const bool comparable =
        std::all_of(open_paths.begin(), open_paths.end(), [&](MemoryPath path) { return is_known(path, *parameters); });
    agreed.path = MemoryPath::staged;
    agreed.path_reason = "the parameters '" + parameters_name + "' do not tell what messages between devices cost";
    if (comparable) {
      const PathConditions conditions{agreed.where.on_device(), agreed.sharing.members, processes_per_device(agreed)};
      const StrategyChoice outermost = choose_from(agreed.hints, agreed.regions.front(), comm);
      for (const MemoryPath path : open_paths) {
        agreed.path = path;
        const bool is_made = !plans.empty() && !is_chosen_by_costs(agreed.hints, outermost);
        plans.push_back(is_made ? plans.front() : make_plan(communicator, comm, agreed, outermost));
        seconds.push_back(path_seconds(path, *plans.back().plan, conditions, *parameters));
      }
      seconds = reduce_progressing(seconds, MPI_DOUBLE, MPI_MAX, comm.get());
      const auto best = std::min_element(seconds.begin(), seconds.end()) - seconds.begin();
      agreed.path = open_paths[static_cast<std::size_t>(best)];
      std::swap(plans.front(), plans[static_cast<std::size_t>(best)]);
      agreed.path_reason = "chosen with the parameters '" + parameters_name + "'";
    }
  }
  Planned planned = plans.empty() ? make_tuned_plan(communicator, comm, agreed)
                                  : make_tuned_plan(communicator, comm, agreed, std::move(plans.front()));
  planned.reasons.path = agreed.path;
  planned.reasons.path_reason = agreed.path_reason;
  for (std::size_t p = 0; p < seconds.size(); ++p) planned.reasons.path_seconds.emplace_back(open_paths[p], seconds[p]);
  return planned;
}

}  // namespace laneway
