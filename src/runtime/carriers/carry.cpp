#include "runtime/carriers/carry.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/localizer.hpp"
#include "runtime/carriers/rma/windows.hpp"

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

/// No plan, and a reason, where puts are wanted and some rank gets no window.
Carried carry_by(std::shared_ptr<const Plan> plan, const Region& node, const LocalOptions& given, Arenas& arenas,
                 std::int64_t arena_bytes, Bootstrap& bootstrap) {
  for (const Carrier& carrier : carriers())
    if (carrier.prepare != nullptr)
      if (std::optional<Plan> prepared = carrier.prepare(*plan, given))
        plan = std::make_shared<const Plan>(*std::move(prepared));
  const Region sharing = node.members.empty() ? Region{bootstrap.rank(), {bootstrap.rank()}} : node;
  // Ranks that share staging memory count their exchanges together, of which far ranks know nothing.
  const std::shared_ptr<StagingArena> arena =
      given.puts ? nullptr : find_arena(bootstrap, sharing, arenas, arena_bytes, *plan);
  if (!given.puts && (sharing.members.size() < 2 || (arena && arena->is_private())))
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
  if (given.puts)
    if (std::string reason = share_window_with_all(bootstrap, rewritten, memory); !reason.empty())
      return {nullptr, nullptr, std::move(reason)};
  if (!memory || (!has_window && !arena)) return {std::move(plan), nullptr};
  if (arena) {
    arena->add_readers(localizer.takers());
    use_arena(*memory, arena);
  }
  return {std::make_shared<const Plan>(std::move(rewritten)), std::move(memory)};
}

}  // namespace

Carried carry(std::shared_ptr<const Plan> plan, const Region& node, const LocalOptions& given, Arenas& arenas,
              std::int64_t arena_bytes, Bootstrap& bootstrap) {
  std::string no_puts;
  if (given.puts) {
    no_puts = why_no_window(bootstrap);
    if (no_puts.empty()) {
      Carried carried = carry_by(plan, node, given, arenas, arena_bytes, bootstrap);
      if (carried.no_puts.empty()) return carried;
      no_puts = std::move(carried.no_puts);
    }
  }
  LocalOptions options = given;
  options.puts = false;
  Carried carried = carry_by(std::move(plan), node, options, arenas, arena_bytes, bootstrap);
  carried.no_puts = std::move(no_puts);
  return carried;
}

}  // namespace laneway
