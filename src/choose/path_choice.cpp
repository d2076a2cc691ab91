#include "choose/path_choice.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "carriers/device/ipc.hpp"
#include "choose/costs.hpp"
#include "choose/tuning.hpp"
#include "comm/mailbox.hpp"
#include "core/address.hpp"
#include "core/error.hpp"
#include "core/mix.hpp"
#include "core/tell.hpp"
#include "model/memory_paths.hpp"

namespace laneway {

namespace {

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

std::uint64_t kind_of(const DevicePlugin& plugin) {
  std::uint64_t hash = 0;
  for (const char* c = plugin.vendor(); *c != '\0'; ++c) hash = mix(hash ^ static_cast<unsigned char>(*c));
  return hash;
}

/// Of the devices that the send buffer is on, if other processes can open what begins at `sent`; 0 if not.
std::uint64_t lent_kind(const MemoryInfo& memory, std::byte* sent) {
  if (memory.host_may_touch() || !Device(memory).has(LNW_DEVICE_HAS_IPC_MEMORY)) return 0;
  try {
    (void)share_device_memory(sent);
  } catch (const Error&) {  // drivers have several answers for memory that they cannot share
    return 0;
  }
  return kind_of(*memory.plugin);
}

/// Of the devices with which this rank can open others' memory; 0 if it has none.
std::uint64_t borrowed_kind(const MemoryInfo& memory) {
  if (!memory.host_may_touch()) return kind_of(*memory.plugin);
  const std::vector<Device> all = all_devices();
  return all.empty() ? 0 : kind_of(all.front().plugin());
}

void limit_lending(Agreed& agreed, const Parameters& parameters) {
  const std::optional<std::int64_t> limit =
      largest_not_lent(parameters, processes_per_device(agreed), agreed.hints.local.mailbox_bytes);
  if (!limit) return;
  agreed.hints.local.lend_bytes = *limit;
  if (*limit == never_lent) agreed.lends = 0;
  agreed.path_reason += "; with the parameters '" + parameters.name + "' " + described_lending(*limit);
}

/// The plans of one operation on each of some memory paths, and what the slowest rank is predicted to take.
struct Compared {
  std::vector<MemoryPath> paths;
  std::vector<Planned> plans;
  std::vector<double> seconds;
};

/// Nothing if the parameters do not tell enough. Changes `agreed.path`.
Compared compare_paths(Communicator& communicator, const PrivateComm& comm, Agreed& agreed,
                       const Parameters& parameters) {
  Compared compared;
  std::ranges::copy_if(agreed.open_paths, std::back_inserter(compared.paths),
                       [&](MemoryPath path) { return is_known(path, parameters); });
  if (compared.paths.size() < 2) return {};
  const int processes = processes_per_device(agreed);
  const PathConditions conditions{
      agreed.where.on_device(), agreed.sharing.members, processes,
      largest_not_lent(parameters, processes, agreed.hints.local.mailbox_bytes).value_or(never_lent)};
  for (const MemoryPath path : compared.paths) {
    agreed.path = path;
    const StrategyChoice outermost = outermost_choice(communicator, comm, agreed);
    const bool is_made =
        path == MemoryPath::borrowed || (!compared.plans.empty() && !is_chosen_by_costs(agreed.hints, outermost));
    compared.plans.push_back(is_made ? compared.plans.front() : make_plan(communicator, comm, agreed, outermost));
    compared.seconds.push_back(path_seconds(path, *compared.plans.back().plan, conditions, parameters));
  }
  compared.seconds = reduce_progressing(compared.seconds, MPI_DOUBLE, MPI_MAX, comm);
  return compared;
}

/// Returns the plan on the path that it names, if that has been made.
std::optional<Planned> choose_path(Agreed& agreed, Compared& compared, const Parameters& parameters) {
  const bool takes_addresses = std::ranges::count(agreed.open_paths, MemoryPath::device_aware) > 0;
  const std::string refusal = takes_addresses ? "" : "; " + agreed.path_reason;
  const std::string name = "the parameters '" + parameters.name + "'";
  if (compared.paths.empty()) {
    agreed.path = MemoryPath::staged;
    agreed.path_reason = name + " do not tell what messages between devices cost" + refusal;
    return std::nullopt;
  }
  const auto best = static_cast<std::size_t>(std::ranges::min_element(compared.seconds) - compared.seconds.begin());
  agreed.path = compared.paths[best];
  agreed.path_reason = "chosen with " + name + refusal;
  return std::move(compared.plans[best]);
}

}  // namespace

bool asks_for_support(MemoryPath hint) {
  return hint == MemoryPath::automatic || hint == MemoryPath::device_aware;
}

bool find_lending(Agreed& agreed, const Buffers& buffers) {
  const MemoryPath hint = agreed.hints.path;
  const bool asked = hint == MemoryPath::borrowed || (hint == MemoryPath::automatic && agreed.where.on_device().any());
  if (asked) {
    std::byte* const begin = static_cast<std::byte*>(const_cast<void*>(buffers.send));
    agreed.lends = lent_kind(agreed.where.send, at(begin, extents_of(agreed.pattern).send.offset));
    agreed.borrows = borrowed_kind(agreed.where.receive);
  }
  const auto moves_nothing = [](const std::vector<Edge>& edges) {
    return std::ranges::all_of(edges, [](const Edge& edge) { return edge.ranges.empty(); });
  };
  return (agreed.lends != 0 || moves_nothing(agreed.pattern.out)) &&
         (!agreed.where.receive.host_may_touch() || moves_nothing(agreed.pattern.in));
}

void lend_nothing(Agreed& agreed) {
  agreed.lends = agreed.borrows = 0;
  std::erase(agreed.open_paths, MemoryPath::borrowed);
  const bool is_open = agreed.path == MemoryPath::automatic && agreed.open_paths.size() > 1;
  if (agreed.path == MemoryPath::borrowed) agreed.path_reason = "buffers may be others in each exchange";
  if (agreed.path != MemoryPath::device_aware && !is_open) agreed.path = MemoryPath::staged;
}

CopyRule find_copy_rule(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed) {
  return copy_rule(*parameters_of(communicator, comm, agreed.hints, agreed.sharing), processes_per_device(agreed));
}

DeviceUse device_use(const Agreed& agreed) {
  return {agreed.path == MemoryPath::device_aware, agreed.rule};
}

void resolve_path(Agreed& agreed, const PathVotes& votes) {
  const MemoryPath hint = agreed.hints.path;
  agreed.path = hint;
  if (!asks_for_support(hint)) {
    agreed.path_reason = "lnw_memory_path names it";
    return;
  }
  if (votes.no_devices) {
    agreed.path = MemoryPath::staged;
    agreed.path_reason = "no buffer is on a device";
    return;
  }
  agreed.path_reason =
      votes.all_support || !votes.support.takes ? votes.support.why : "another rank cannot give MPI its device memory";
  if (hint == MemoryPath::automatic) {
    agreed.open_paths = {MemoryPath::staged};
    if (votes.all_lend) agreed.open_paths.push_back(MemoryPath::borrowed);
    if (votes.all_support) agreed.open_paths.push_back(MemoryPath::device_aware);
    if (agreed.open_paths.size() == 1) agreed.path = MemoryPath::staged;
  } else if (!votes.all_support) {
    agreed.path = MemoryPath::staged;
    if (!votes.support.takes) tell_refusal(votes.support);
  }
}

Planned make_plan_on_best_path(Communicator& communicator, const PrivateComm& comm, Agreed& agreed) {
  const bool is_open = agreed.path == MemoryPath::automatic;
  std::shared_ptr<const Parameters> parameters;
  if (is_open || agreed.path == MemoryPath::borrowed)
    parameters = parameters_of(communicator, comm, agreed.hints, agreed.sharing);
  Compared compared;
  std::optional<Planned> made;
  if (is_open) {
    compared = compare_paths(communicator, comm, agreed, *parameters);
    made = choose_path(agreed, compared, *parameters);
  }
  if (agreed.path == MemoryPath::borrowed)
    limit_lending(agreed, *parameters);
  else
    agreed.lends = agreed.borrows = 0;
  Planned planned = make_tuned_plan(communicator, comm, agreed, std::move(made));
  planned.reasons.path = agreed.path;
  planned.reasons.path_reason = agreed.path_reason;
  for (std::size_t p = 0; p < compared.paths.size(); ++p)
    planned.reasons.path_seconds.emplace_back(compared.paths[p], compared.seconds[p]);
  return planned;
}

}  // namespace laneway
