#include "choose/planning.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "carriers/node/localizer.hpp"
#include "choose/costs.hpp"
#include "choose/path_choice.hpp"
#include "choose/share_memory.hpp"
#include "comm/agreement.hpp"
#include "comm/background.hpp"
#include "comm/check_edges.hpp"
#include "comm/discovery.hpp"
#include "comm/mailbox.hpp"
#include "core/simulated.hpp"
#include "passes/pack.hpp"
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
  communicator.node_devices = find_node_devices(comm, find_node(comm.get(), "", translate, &comm), own);
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

/// Whether each rank of `node` has the first `bytes` of its part of the arena.
bool has_pages(const PrivateComm& comm, const Region& node, StagingArena& arena, std::int64_t bytes) {
  if (simulated || arena.has_reserved(bytes)) return true;
  bool failed = false;
  try {
    arena.reserve(bytes);
  } catch (const std::system_error&) {
    failed = true;
  }
  if (largest(comm, node, failed) != 0) return false;
  arena.set_reserved(bytes);
  return true;
}

/// What the plan shares its staging memory with; null if it has memory of its own, or needs none.
std::shared_ptr<StagingArena> find_arena(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                                         const Plan& plan) {
  const std::int64_t limit = agreed.hints.shared_staging;
  if (limit == 0) return nullptr;
  const Region node = agreed.sharing.members.empty() ? Region{comm.rank(), {comm.rank()}} : agreed.sharing;
  const std::int64_t bytes = largest(comm, node, packed_staging_bytes(plan));
  if (bytes == 0 || bytes > limit) return nullptr;
  std::shared_ptr<StagingArena>& arena = communicator.attachment<Arenas>().by_sharers[{limit, node.members}];
  if (!arena) arena = make_arena(comm, node, limit);
  return has_pages(comm, node, *arena, bytes) ? arena : nullptr;
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

/// A plan in the making, with what it is made from.
class Planning {
 public:
  Planning(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, const StrategyChoice& outermost)
      : hints_(agreed.hints),
        regions_(agreed.regions),
        outermost_(outermost),
        settings_(settings_of(communicator, agreed.hints)),
        candidates_(outermost, settings_),
        inner_(inner_levels()),
        costs_(communicator, comm, hints_, outermost, agreed.sharing, agreed.path),
        planner_(comm.rank(), agreed.pattern, regions_.front(), candidates_.get(), options(communicator, agreed.where),
                 inner_),
        round_(planner_.begin(communicator.peer_regions(hints_))) {}

  /// The planner, if its first round can go with the agreement; else null.
  [[nodiscard]] Planner* first_chooses() { return planner_.lets_first_choose() ? &planner_ : nullptr; }
  [[nodiscard]] const std::vector<Letter>& letters() const { return round_.letters; }
  void go_on_with(Round round) { round_ = std::move(round); }

  /// Whether what has been begun is this, and nobody has finished it yet.
  [[nodiscard]] bool is_open_for(const StrategyChoice& outermost) const {
    return !finished_ && outermost == outermost_;
  }

  [[nodiscard]] Planned finish(Communicator& communicator, const PrivateComm& comm) {
    finished_ = true;
    carry_out(planner_, std::move(round_), communicator, comm, hints_);
    Reasons reasons = costs_.reasons(planner_.selection());
    reasons.one_region = regions_.front().members.size() == static_cast<std::size_t>(comm.size());
    return {std::make_shared<const Plan>(planner_.take_plan()), nullptr, std::move(reasons)};
  }

 private:
  static StrategySettings settings_of(Communicator& communicator, const Hints& hints) {
    StrategySettings settings = hints.settings;
    settings.fabric = fabric_of(communicator, hints);
    return settings;
  }

  std::vector<InnerLevel> inner_levels() {
    std::vector<InnerLevel> inner;
    for (std::size_t i = 0; i < hints_.inner.size(); ++i) {
      const StrategyChoice& choice = hints_.inner[i].choice;
      inner_candidates_.emplace_back(choice, settings_);
      inner.push_back({regions_[i + 1], inner_candidates_.back().get(), choice.deduplicate});
    }
    return inner;
  }

  PlanOptions options(Communicator& communicator, const BufferMemory& where) const {
    PlanOptions options = costs_.options();
    options.packs = false;
    const MemoryInfo* const device = on_device(where);
    options.network_distance = communicator.network_distance(hints_, device ? *device : MemoryInfo{});
    return options;
  }

  const Hints hints_;
  const std::vector<Region> regions_;
  const StrategyChoice outermost_;
  const StrategySettings settings_;
  const OwnedCandidates candidates_;
  std::vector<OwnedCandidates> inner_candidates_;
  const std::vector<InnerLevel> inner_;
  const Costs costs_;
  Planner planner_;
  Round round_;
  bool finished_ = false;
};

namespace {

/// As if nobody had anything on a device. Null if something has to be learnt from other ranks first. Local.
std::shared_ptr<Planning> begin_planning(Communicator& communicator, const PrivateComm& comm, Agreed& agreed) {
  const Hints& hints = agreed.hints;
  const bool knows_all = communicator.knows_nodes && communicator.known_region(hints) &&
                         communicator.peer_regions(hints) != nullptr && hints.parameters != measured_parameters;
  if (!knows_all || hints.check || comm.size() > few_ranks) return nullptr;
  agreed.path = MemoryPath::staged;
  agreed.regions = communicator.regions(hints, true);
  agreed.sharing = find_sharing(communicator, hints, true);
  const auto planning =
      std::make_shared<Planning>(communicator, comm, agreed, outermost_choice(communicator, comm, agreed));
  return planning->first_chooses() != nullptr ? planning : nullptr;
}

}  // namespace

Agreed agree_on(Communicator& communicator, PrivateComm& comm, MPI_Info info, const Call& call, Phases phases) {
  Agreed agreed;
  PathVotes votes;
  agreed.hints.strategy.row = &strategies().front();
  std::exception_ptr failure;
  std::optional<Rank> region;
  bool can_lend = false;
  bool no_device = false;
  std::uint64_t edges = 0;
  try {
    agreed.pattern = describe(call, communicator.topology());
    check_self_edges(comm.rank(), agreed.pattern);
    edges = edge_sum(comm.rank(), agreed.pattern);
    if (call.has_buffers()) agreed.where = look_at(buffers_of(call), extents_of(agreed.pattern));
    agreed.hints = resolve_hints(hints_in(info), communicator.hints);
    if (agreed.hints.stream) (void)user_stream(device_of(agreed.where), *agreed.hints.stream);
    communicator.read_descriptions(agreed.hints);
    region = communicator.known_region(agreed.hints);
    if (asks_for_support(agreed.hints.path)) votes.support = device_support(agreed.where);
    can_lend = find_lending(agreed, buffers_of(call));
    // Buffers that are not known yet may turn out to be on devices, if a hint expects that.
    no_device =
        !agreed.where.on_device().any() && (call.has_buffers() || agreed.hints.path != MemoryPath::device_aware);
    const bool may = phases == Phases::one || may_relay(agreed.hints.progress, has_helper());
    if (no_device && may) agreed.begun = begin_planning(communicator, comm, agreed);
  } catch (...) {
    failure = std::current_exception();
  }
  const Flags flags = {no_device, votes.support.takes, can_lend};
  Agreement agreement = agreed.begun ? agree(comm, failure, agreed.hints, flags, region, edges,
                                             agreed.begun->first_chooses(), agreed.begun->letters())
                                     : agree(comm, failure, agreed.hints, flags, region, edges);
  if (!agreement.edges_match) {
    check_edges(comm, agreed.pattern);
    throw Error(ErrorKind::topology, "the two sides of some edge differ in size");
  }
  const bool translate = agreement.knows_nodes;
  const auto [no_devices, all_support, all_lend, unused] = agreement.flags;
  communicator.learn_regions(agreed.hints, agreement.regions);
  communicator.knows_nodes = translate;
  const bool may = phases == Phases::one || may_relay(agreed.hints.progress, agreement.have_helpers);
  if (!may) {
    agreed.relays_nothing = relay_nothing(agreed.hints);
    agreed.hints.sharing = Sharing::none;
  }
  if (agreement.round && may)
    agreed.begun->go_on_with(std::move(*agreement.round));
  else
    agreed.begun = nullptr;
  votes.no_devices = no_devices;
  votes.all_support = all_support;
  votes.all_lend = all_lend;
  resolve_path(agreed, votes);
  if (!no_devices && agreed.hints.machine.empty() && !communicator.node_devices)
    find_devices(communicator, comm, agreed.where, translate);
  agreed.tag = comm.take_tags(channels_with(agreed.hints.inner.size()));
  if (agreed.hints.check) check_edges(comm, agreed.pattern);
  agreed.regions = communicator.regions(agreed.hints, translate);
  agreed.sharing = find_sharing(communicator, agreed.hints, translate);
  if (!no_devices) agreed.rule = find_copy_rule(communicator, comm, agreed);
  return agreed;
}

/// Messages that are in no memory of the host take the links between devices: in simulations all ranks are devices.
StrategyChoice outermost_choice(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed) {
  const bool on_devices = agreed.path == MemoryPath::device_aware || (simulated && agreed.sharing.members.empty());
  const bool by_fabric =
      on_devices && agreed.hints.inner.empty() && knows_device_links(communicator, comm, agreed.hints, agreed.sharing);
  return choose_from(agreed.hints, agreed.regions.front(), comm.size(), by_fabric);
}

Planned make_plan(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                  const StrategyChoice& outermost) {
  return agreed.begun && agreed.begun->is_open_for(outermost)
             ? agreed.begun->finish(communicator, comm)
             : Planning(communicator, comm, agreed, outermost).finish(communicator, comm);
}

namespace {

/// Leaves to the MPI library what the memory of the node cannot carry.
void let_node_carry(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Planned& planned) {
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
    round = localizer.resume(mailbox.carry(std::move(round)));
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

}  // namespace

void localize(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Planned& planned) {
  let_node_carry(communicator, comm, agreed, planned);
  if (needs_packing(*planned.plan)) planned.plan = std::make_shared<const Plan>(pack(*planned.plan));
}

}  // namespace laneway
