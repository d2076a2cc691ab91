#include "runtime/carriers/carry.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "runtime/carriers/localizer.hpp"

namespace laneway {

const Carrier& carrier_of(const local::Side& side) {
  LANEWAY_ASSERT(side.carrier < carriers().size());
  return carriers()[side.carrier];
}

bool is_in_node(const CarrierView& view, Rank peer) {
  return view.is_local(peer);
}

bool CarrierView::is_local(Rank peer) const {
  return std::binary_search(node.members.begin(), node.members.end(), peer);
}

namespace {

/// With the memory that the plan has alone, or null if it has nothing to share.
Carried alone(std::shared_ptr<const Plan> plan, const std::shared_ptr<StagingArena>& arena) {
  if (!arena) return {std::move(plan), nullptr};
  auto memory = std::make_shared<PlanMemory>();
  use_arena(*memory, arena);
  return {std::move(plan), std::move(memory)};
}

/// No plan, and a reason, where a carrier that leaves the node cannot on some rank.
Carried carry_by(std::shared_ptr<const Plan> plan, const Region& node, const LocalOptions& given, Arenas& arenas,
                 std::int64_t arena_bytes, Bootstrap& bootstrap) {
  for (const Carrier& carrier : carriers())
    if (carrier.prepare != nullptr)
      if (std::optional<Plan> prepared = carrier.prepare(*plan, given))
        plan = std::make_shared<const Plan>(*std::move(prepared));
  const Region sharing = node.members.empty() ? Region{bootstrap.rank(), {bootstrap.rank()}} : node;
  // Ranks that share staging memory count their exchanges together, of which far ranks know nothing.
  const std::shared_ptr<StagingArena> arena =
      given.leaves_node ? nullptr : find_arena(bootstrap, sharing, arenas, arena_bytes, *plan);
  if (!given.leaves_node && (sharing.members.size() < 2 || (arena && arena->is_private())))
    return alone(std::move(plan), arena);
  LocalOptions options = given;
  options.shares_staging = arena != nullptr;
  Localizer localizer(*plan, sharing, options);
  for (Round round = localizer.begin(); round.kind != Round::Kind::done;)
    round = localizer.resume(bootstrap.carry(std::move(round)));
  Plan rewritten = localizer.take_plan();
  const bool has_window = rewritten.window_bytes > 0;
  std::shared_ptr<PlanMemory> memory;
  for (const Carrier& carrier : carriers())
    if (carrier.share != nullptr) carrier.share(bootstrap, rewritten, sharing, has_window && !arena, memory);
  if (given.leaves_node)
    for (const Carrier& carrier : carriers()) {
      if (carrier.share_with_all == nullptr) continue;
      if (std::string reason = carrier.share_with_all(bootstrap, rewritten, memory); !reason.empty())
        return {nullptr, nullptr, std::move(reason)};
    }
  if (!memory || (!has_window && !arena)) return {std::move(plan), nullptr};
  if (arena) {
    arena->add_readers(localizer.takers());
    use_arena(*memory, arena);
  }
  return {std::make_shared<const Plan>(std::move(rewritten)), std::move(memory)};
}

/// Why carriers do not leave the node on this communicator.
std::string refusal_of(const Bootstrap& bootstrap) {
  for (const Carrier& carrier : carriers())
    if (carrier.refuses != nullptr)
      if (std::string reason = carrier.refuses(bootstrap); !reason.empty()) return reason;
  return {};
}

}  // namespace

Carried carry(std::shared_ptr<const Plan> plan, const Region& node, const LocalOptions& given, Arenas& arenas,
              std::int64_t arena_bytes, Bootstrap& bootstrap) {
  std::string refusal = given.leaves_node ? refusal_of(bootstrap) : "";
  LocalOptions options = given;
  if (given.leaves_node && refusal.empty()) {
    Carried carried = carry_by(plan, node, options, arenas, arena_bytes, bootstrap);
    if (carried.refusal.empty()) return carried;
    refusal = std::move(carried.refusal);
  }
  options.leaves_node = false;
  Carried carried = carry_by(std::move(plan), node, options, arenas, arena_bytes, bootstrap);
  carried.refusal = std::move(refusal);
  return carried;
}

std::shared_ptr<PlanMemory> connect_devices(Bootstrap& bootstrap, const DeviceEnds& ends,
                                            std::shared_ptr<CarrierMemory>& kept, std::string& why) {
  for (const Carrier& carrier : carriers())
    if (carrier.connect != nullptr) return carrier.connect(bootstrap, ends, kept, why);
  why = "there is no carrier that connects devices";
  return nullptr;
}

}  // namespace laneway
