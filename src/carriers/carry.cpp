#include "carriers/carry.hpp"

#include <optional>
#include <utility>

#include "carriers/carrier.hpp"
#include "carriers/localizer.hpp"
#include "carriers/rma/windows.hpp"

namespace laneway {

namespace {

/// With the memory that the plan has alone, or null if it has nothing to share.
Carried alone(std::shared_ptr<const Plan> plan, const std::shared_ptr<StagingArena>& arena) {
  if (!arena) return {std::move(plan), nullptr};
  auto memory = std::make_shared<NodeMemory>();
  use_arena(*memory, arena);
  return {std::move(plan), std::move(memory)};
}

}  // namespace

Carried carry(std::shared_ptr<const Plan> plan, const Region& node, const LocalOptions& given, Arenas& arenas,
              std::int64_t arena_bytes, Talk& talk) {
  for (const Carrier& carrier : carriers())
    if (carrier.prepare != nullptr)
      if (std::optional<Plan> prepared = carrier.prepare(*plan, given))
        plan = std::make_shared<const Plan>(*std::move(prepared));
  const Region sharing = node.members.empty() ? Region{talk.rank(), {talk.rank()}} : node;
  // Ranks that nothing but puts bring to a plan would have to take part in what others share.
  const std::shared_ptr<StagingArena> arena =
      given.puts ? nullptr : find_arena(talk, sharing, arenas, arena_bytes, *plan);
  if (!given.puts && (sharing.members.size() < 2 || (arena && arena->is_private()))) return alone(std::move(plan), arena);
  LocalOptions options = given;
  options.shares_staging = arena != nullptr;
  Localizer localizer(*plan, sharing, options);
  for (Round round = localizer.begin(); round.kind != Round::Kind::done;)
    round = localizer.resume(talk.carry(std::move(round)));
  Plan rewritten = localizer.take_plan();
  const bool has_window = rewritten.window_bytes > 0;
  std::shared_ptr<NodeMemory> memory;
  for (const Carrier& carrier : carriers())
    if (carrier.share != nullptr) carrier.share(talk, rewritten, sharing, has_window && !arena, memory);
  share_windows_with_all(talk, rewritten, given.puts, memory);
  if (given.puts && !memory) {
    LocalOptions without = given;
    without.puts = false;
    Carried carried = carry(std::move(plan), node, without, arenas, arena_bytes, talk);
    carried.no_puts = "some rank got no window from the MPI library, or no memory; messages carry what puts would have";
    return carried;
  }
  if (!memory || (!has_window && !arena)) return {std::move(plan), nullptr};
  if (arena) {
    arena->add_readers(localizer.takers());
    use_arena(*memory, arena);
  }
  return {std::make_shared<const Plan>(std::move(rewritten)), std::move(memory)};
}

}  // namespace laneway
