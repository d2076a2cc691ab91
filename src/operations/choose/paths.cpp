#include "operations/choose/paths.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "algorithms/cost/memory_paths.hpp"
#include "base/bytes/address.hpp"
#include "base/bytes/mix.hpp"
#include "base/error.hpp"
#include "base/log_line.hpp"
#include "operations/choose/costs.hpp"
#include "operations/choose/device_support.hpp"
#include "runtime/carriers/device/ipc.hpp"

namespace laneway {

namespace {

void log_refusal(const std::string& why) {
  static std::atomic<bool> logged{false};
  if (!is_verbose("choose") || logged.exchange(true)) return;
  log_line("lnw_memory_path=device: " + why + "; what is on devices goes through the host's memory");
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

/// Whether the hint makes it necessary to know what the MPI library can do with buffers on devices.
bool asks_for_support(MemoryPath hint) {
  return hint == MemoryPath::automatic || hint == MemoryPath::device_aware;
}

/// Sets what this rank can lend and borrow, if the hint makes that necessary to know. Returns whether all that it sends
/// and receives can be copied between its device and a peer's.
bool find_lending(Agreed& agreed, const Buffers& buffers) {
  const MemoryPath hint = agreed.hints.path;
  const bool asked = hint == MemoryPath::borrowed || (hint == MemoryPath::automatic && agreed.where.on_device().any());
  if (asked) {
    std::byte* const begin = static_cast<std::byte*>(const_cast<void*>(buffers.send));
    agreed.paths.lends = lent_kind(agreed.where.send, at(begin, extents_of(agreed.pattern).send.offset));
    agreed.paths.borrows = borrowed_kind(agreed.where.receive);
  }
  const auto moves_nothing = [](const std::vector<Edge>& edges) {
    return std::ranges::all_of(edges, [](const Edge& edge) { return edge.ranges.empty(); });
  };
  return (agreed.paths.lends != 0 || moves_nothing(agreed.pattern.out)) &&
         (!agreed.where.receive.host_may_touch() || moves_nothing(agreed.pattern.in));
}

}  // namespace

PathSupport find_path_support(Agreed& agreed, const Call& call) {
  PathSupport support;
  const MemoryPath hint = agreed.hints.path;
  if (asks_for_support(hint)) {
    DeviceSupport by_mpi = device_support(agreed.where);
    support.takes = by_mpi.takes;
    support.why = std::move(by_mpi.why);
  }
  support.lends = find_lending(agreed, buffers_of(call));
  // Buffers that are not known yet may turn out to be on devices, if a hint expects that.
  support.no_devices =
      device_memory(agreed.where) == nullptr && (call.has_buffers() || hint != MemoryPath::device_aware);
  return support;
}

void set_paths(Agreed& agreed, const PathSupport& mine, const PathSupport& all) {
  const MemoryPath hint = agreed.hints.path;
  Paths& paths = agreed.paths;
  if (!asks_for_support(hint)) {
    paths.open = {hint};
    paths.reason = "lnw_memory_path names it";
    return;
  }
  if (all.no_devices) {
    paths.reason = "no buffer is on a device";
    return;
  }
  paths.reason = all.takes || !mine.takes ? mine.why : "another rank cannot give MPI its device memory";
  if (hint == MemoryPath::automatic) {
    if (all.lends) paths.open.push_back(MemoryPath::borrowed);
    if (all.takes) paths.open.push_back(MemoryPath::device_aware);
  } else if (all.takes) {
    paths.open = {hint};
  } else if (!mine.takes) {
    log_refusal(mine.why);
  }
}

Paths without_lending(Paths paths) {
  paths.lends = paths.borrows = 0;
  if (std::erase(paths.open, MemoryPath::borrowed) == 0 || !paths.open.empty()) return paths;
  return {.open = {MemoryPath::staged}, .reason = "buffers may be others in each exchange"};
}

const MemoryInfo* device_memory(const BufferMemory& where) {
  return !where.send.host_may_touch() ? &where.send : !where.receive.host_may_touch() ? &where.receive : nullptr;
}

CopyRule find_copy_rule(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed) {
  return copy_rule(*parameters_of(communicator, comm, agreed.hints, agreed.sharing), processes_per_device(agreed));
}

std::vector<MemoryPath> with_known_costs(const std::vector<MemoryPath>& paths, const Parameters& parameters) {
  std::vector<MemoryPath> known;
  std::ranges::copy_if(paths, std::back_inserter(known), [&](MemoryPath path) { return is_known(path, parameters); });
  return known;
}

std::optional<std::int64_t> largest_unlent(const Agreed& agreed, const Parameters& parameters) {
  return largest_not_lent(parameters, processes_per_device(agreed), agreed.hints.local.mailbox_bytes);
}

double seconds_on(MemoryPath path, const Plan& plan, const Agreed& agreed, const Parameters& parameters) {
  const PathConditions conditions{agreed.where.on_device(), agreed.sharing.members, processes_per_device(agreed),
                                  largest_unlent(agreed, parameters).value_or(never_lent)};
  return path_seconds(path, plan, conditions, parameters);
}

}  // namespace laneway
