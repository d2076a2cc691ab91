#include "mpi/planning.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/simulated.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check_edges.hpp"
#include "mpi/costs.hpp"
#include "mpi/discovery.hpp"
#include "mpi/mailbox.hpp"
#include "mpi/path_choice.hpp"
#include "mpi/routes.hpp"
#include "mpi/share_memory.hpp"
#include "setup/localizer.hpp"
#include "setup/planner.hpp"

namespace laneway {

namespace {

/// Null if no buffer of this rank is on a device.
const MemoryInfo* on_device(const BufferMemory& where) {
  return !where.send.host_may_touch() ? &where.send : !where.receive.host_may_touch() ? &where.receive : nullptr;
}

void find_devices(Communicator& communicator, const PrivateComm& comm, const BufferMemory& where, bool translate) {
  const MemoryInfo* const device = on_device(where);
  const std::optional<DeviceIdentity> own = device ? std::optional(identity(Device(*device))) : std::nullopt;
  communicator.node_devices = find_node_devices(comm, find_node(comm.get(), "", translate), own);
}

std::shared_ptr<const Fabric> fabric_of(Communicator& communicator, const Hints& hints) {
  if (!hints.machine.empty()) return communicator.fabric(hints.machine);
  return communicator.node_devices ? communicator.node_devices->fabric : nullptr;
}

Region find_sharing(Communicator& communicator, const Hints& hints, bool translate) {
  if (hints.sharing == Sharing::none) return {};
  if constexpr (simulated)
    return simulated_costs().flag > 0 && !hints.machine.empty() ? communicator.node(hints.machine) : Region{};
  Region sharing = communicator.regions({}, translate).front();
  if (hints.sharing == Sharing::all || hints.machine.empty()) return sharing;
  const Region& described = communicator.node(hints.machine);
  std::erase_if(sharing.members, [&](Rank rank) {
    return !std::binary_search(described.members.begin(), described.members.end(), rank);
  });
  sharing.id = sharing.members.front();
  return sharing;
}

/// What the plan shares its staging memory with; null if it has memory of its own, or needs none.
std::shared_ptr<StagingArena> find_arena(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                                         const Plan& plan) {
  const std::int64_t limit = agreed.hints.shared_staging;
  if (limit == 0) return nullptr;
  const Region node = agreed.sharing.members.empty() ? Region{comm.rank(), {comm.rank()}} : agreed.sharing;
  const std::int64_t bytes = largest(comm, node, plan.staging_bytes);
  if (bytes == 0 || bytes > limit) return nullptr;
  std::shared_ptr<StagingArena>& arena = communicator.arenas[{limit, node.members}];
  if (!arena) arena = make_arena(comm, node, limit);
  return arena;
}

void use_arena(NodeMemory& memory, std::shared_ptr<StagingArena> arena) {
  for (const auto& [rank, part] : arena->parts()) {
    NodeMemory::Part& peer = memory.peers[rank];
    peer.staging = part.staging;
    peer.words = part.words;
  }
  memory.own.staging = arena->own().staging;
  memory.own.words = arena->own().words;
  memory.arena = std::move(arena);
}

}  // namespace

Agreed agree_on(Communicator& communicator, PrivateComm& comm, MPI_Info info, const Describe& describe,
                const std::optional<Buffers>& buffers) {
  Agreed agreed;
  PathVotes votes;
  agreed.hints.strategy.row = &strategies().front();
  std::exception_ptr failure;
  std::optional<Rank> region;
  bool can_lend = false;
  try {
    agreed.pattern = describe(communicator.topology());
    if (buffers) agreed.where = look_at(*buffers, extents_of(agreed.pattern));
    agreed.hints = resolve_hints(hints_in(info), communicator.hints);
    communicator.read_descriptions(agreed.hints);
    region = communicator.known_region(agreed.hints);
    if (asks_for_support(agreed.hints.path)) votes.support = device_support(agreed.where);
    can_lend = find_lending(agreed, buffers.value_or(Buffers{}));
  } catch (...) {
    failure = std::current_exception();
  }
  // Buffers that are not known yet may turn out to be on devices, if a hint expects that.
  const bool no_device = !agreed.where.on_device().any() && (buffers || agreed.hints.path != MemoryPath::device_aware);
  const Agreement agreement =
      agree(comm, failure, agreed.hints, {world_node_is_known(), no_device, votes.support.takes, can_lend}, region);
  const auto [translate, no_devices, all_support, all_lend] = agreement.flags;
  communicator.learn_regions(agreed.hints, agreement.regions);
  votes.no_devices = no_devices;
  votes.all_support = all_support;
  votes.all_lend = all_lend;
  resolve_path(agreed, votes);
  if (!no_devices && agreed.hints.machine.empty() && !communicator.node_devices)
    find_devices(communicator, comm, agreed.where, translate);
  agreed.tag = comm.take_tags();
  if (agreed.hints.check) check_edges(comm, agreed.pattern);
  agreed.regions = communicator.regions(agreed.hints, translate);
  agreed.sharing = find_sharing(communicator, agreed.hints, translate);
  if (!no_devices) agreed.rule = find_copy_rule(communicator, comm, agreed);
  return agreed;
}

Planned make_plan(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                  const StrategyChoice& outermost) {
  StrategySettings settings = agreed.hints.settings;
  settings.fabric = fabric_of(communicator, agreed.hints);
  const OwnedCandidates candidates(outermost, settings);
  std::vector<OwnedCandidates> inner_candidates;
  std::vector<InnerLevel> inner;
  for (std::size_t i = 0; i < agreed.hints.inner.size(); ++i) {
    const StrategyChoice& choice = agreed.hints.inner[i].choice;
    inner_candidates.emplace_back(choice, settings);
    inner.push_back({agreed.regions[i + 1], inner_candidates.back().get(), choice.deduplicate});
  }
  const Costs costs(communicator, comm, agreed.hints, outermost, agreed.sharing, agreed.path);
  PlanOptions options = costs.options();
  const MemoryInfo* const device = on_device(agreed.where);
  options.network_distance = communicator.network_distance(agreed.hints, device ? *device : MemoryInfo{});
  Planner planner(comm.rank(), agreed.pattern, agreed.regions.front(), candidates.get(), options, inner);
  carry_out(planner, communicator, comm, agreed.hints);
  return {std::make_shared<const Plan>(planner.take_plan()), nullptr, costs.reasons(planner.selection())};
}

void localize(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Planned& planned) {
  if (agreed.path == MemoryPath::device_aware) return;
  const OnDevice on_device = agreed.where.on_device();
  if (on_device.send && agreed.lends == 0)
    planned.plan = std::make_shared<const Plan>(fetch_sent(*planned.plan, on_device, Buffer::staging));
  const std::shared_ptr<StagingArena> arena = find_arena(communicator, comm, agreed, *planned.plan);
  if (agreed.sharing.members.size() < 2 || (arena && arena->is_private())) {
    if (!arena) return;
    planned.memory = std::make_shared<NodeMemory>();
    use_arena(*planned.memory, arena);
    return;
  }
  LocalOptions options = agreed.hints.local;
  options.shares_staging = arena != nullptr;
  options.send_on_device = on_device.send && agreed.lends == 0;
  options.receive_on_device = on_device.receive;
  options.lends = agreed.lends;
  options.borrows = agreed.borrows;
  Localizer localizer(*planned.plan, agreed.sharing, options);
  Mailbox mailbox(comm);
  for (Round round = localizer.begin(); round.kind != Round::Kind::done;)
    round = localizer.resume(mailbox.carry(round));
  Plan plan = localizer.take_plan();
  const bool has_window = plan.window_bytes > 0;
  std::shared_ptr<NodeMemory> memory =
      share_memory(comm, agreed.sharing, plan.window_bytes, has_window && !arena ? plan.staging_bytes : 0);
  if (!memory || (!has_window && !arena)) return;
  planned.plan = std::make_shared<const Plan>(std::move(plan));
  if (arena) {
    arena->add_readers(localizer.takers());
    use_arena(*memory, arena);
  }
  planned.memory = std::move(memory);
}

}  // namespace laneway
