#include "carriers/carry.hpp"

#include <optional>
#include <utility>

#include "carriers/carrier.hpp"
#include "carriers/localizer.hpp"

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
  const std::shared_ptr<StagingArena> arena = find_arena(talk, sharing, arenas, arena_bytes, *plan);
  if (sharing.members.size() < 2 || (arena && arena->is_private())) return alone(std::move(plan), arena);
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
  if (!memory || (!has_window && !arena)) return {std::move(plan), nullptr};
  if (arena) {
    arena->add_readers(localizer.takers());
    use_arena(*memory, arena);
  }
  return {std::make_shared<const Plan>(std::move(rewritten)), std::move(memory)};
}

}  // namespace laneway
