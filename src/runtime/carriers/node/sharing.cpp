#include "runtime/carriers/node/sharing.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "algorithms/lowering/pack.hpp"
#include "base/error.hpp"
#include "base/log_line.hpp"
#include "base/process/ended.hpp"
#include "base/process/processors.hpp"
#include "base/simulated.hpp"
#include "runtime/carriers/node/shared_segment.hpp"

namespace laneway {

namespace {

struct Contribution {
  std::int64_t window_bytes = 0;
  std::int64_t staging_bytes = 0;
  SharedSegment::Address segment;  // of the first member
  Processors processors;
  std::int64_t process = 0;
};

void learn_patience(const Bootstrap& bootstrap, const std::vector<Contribution>& all) {
  std::vector<Processors> known;
  for (const Contribution& one : all) known.push_back(one.processors);
  laneway::learn_patience(bootstrap.ranks_of_machine(), known);
}

/// Parts begin on pages of their own, so that each is in the memory next to the rank that it belongs to, which reserves
/// it.
std::size_t pages(std::int64_t bytes) {
  constexpr std::size_t page = 4096;
  return (static_cast<std::size_t>(bytes) + page - 1) / page * page;
}

void tell_once(Rank rank, const std::string& what) {
  static std::atomic<bool> told{false};
  if (!is_verbose("choose") || told.exchange(true)) return;
  log_line("rank " + std::to_string(rank) + ": no shared memory with the other ranks of this node (" + what +
           "); the MPI library carries their messages");
}

/// How many ranks have mapped a segment. All agree on its place, which nothing else uses.
std::atomic_ref<int> mappings(std::byte* base) {
  static_assert(std::atomic_ref<int>::is_always_lock_free);
  return std::atomic_ref<int>(*reinterpret_cast<int*>(base + cache_line));
}

/// The first rank of the node that has not mapped the segment, if any; `base`: where this rank has. Those that have
/// count in it, so that no messages are needed.
std::optional<Rank> find_refusal(Bootstrap& bootstrap, const Region& node, std::byte* base, const NodeMemory* memory) {
  if (base != nullptr) mappings(base).fetch_add(1, std::memory_order_acq_rel);
  Questions questions;
  return bootstrap.find_failure(node, base == nullptr, [&] {
    if (questions.are_due())
      if (const std::optional<Rank> ended = memory->find_ended([](Rank) { return true; })) throw_ended(*ended);
    return base != nullptr && mappings(base).load(std::memory_order_acquire) == static_cast<int>(node.members.size());
  });
}

/// What ranks have mapped together, and what its pages come from.
struct Shared {
  std::shared_ptr<NodeMemory> memory;
  std::shared_ptr<const SharedSegment> segment;
  std::size_t own_staging = 0;  // where it begins in the segment
};

/// `reserves`: whether staging memory is reserved, too.
Shared share(Bootstrap& bootstrap, const Region& node, std::int64_t window_bytes, std::int64_t staging_bytes,
             bool reserves) {
  const bool leads = bootstrap.rank() == node.members.front();
  Shared shared;
  auto memory = std::make_shared<NodeMemory>();
  std::exception_ptr failure;
  Contribution mine{
      window_bytes, staging_bytes, {}, simulated ? Processors{} : own_processors(), simulated ? 0 : getpid()};
  try {
    if (leads) shared.segment = std::make_shared<SharedSegment>();
    if (leads) mine.segment = shared.segment->address();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::vector<Contribution> all = gather(bootstrap, node, mine);
  learn_patience(bootstrap, all);
  if (std::all_of(all.begin(), all.end(), [](const Contribution& c) { return c.window_bytes == 0; })) {
    for (Rank rank : node.members) memory->peers[rank] = {};
    shared.memory = std::move(memory);
    return shared;
  }
  std::string refusal;
  std::shared_ptr<std::byte> base;
  try {
    if (failure) std::rethrow_exception(failure);
    if (!leads) shared.segment = std::make_shared<SharedSegment>(all.front().segment);
    std::size_t total = SharedSegment::header_bytes;
    for (const Contribution& c : all)
      for (const std::int64_t bytes : {c.window_bytes, c.staging_bytes}) {
        require(pages(bytes) <= static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) - total,
                ErrorKind::internal, "more bytes than there are addresses");
        total += pages(bytes);
      }
    base = shared.segment->map(total);
    std::size_t at = SharedSegment::header_bytes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t staging = at + pages(all[i].window_bytes);
      std::byte* const window = all[i].window_bytes > 0 ? base.get() + at : nullptr;
      const NodeMemory::Part& part = memory->peers[node.members[i]] = {window, base.get() + staging, all[i].process};
      const std::size_t end = staging + pages(all[i].staging_bytes);
      if (node.members[i] == bootstrap.rank()) {
        memory->own = part;
        shared.own_staging = staging;
        if (!simulated) shared.segment->reserve(at, (reserves ? end : staging) - at);
      }
      at = end;
    }
    memory->mapping = std::make_shared<SharedMemory>(base, total);
  } catch (const std::exception& error) {
    refusal = error.what();
    memory = nullptr;
    base = nullptr;
  }
  const std::optional<Rank> refused = find_refusal(bootstrap, node, base.get(), memory.get());
  if (!refused)
    shared.memory = std::move(memory);
  else if (*refused == bootstrap.rank())
    tell_once(bootstrap.rank(), refusal);
  return shared;
}

/// `bytes` bytes for each rank of `node` that plans share one after another.
std::shared_ptr<StagingArena> make_arena(Bootstrap& bootstrap, const Region& node, std::int64_t bytes) {
  std::map<Rank, StagingArena::Part> parts;
  if (node.members.size() > 1) {
    Shared shared = share(bootstrap, node, arena_header_bytes, bytes, false);
    if (shared.memory) {
      for (const auto& [rank, part] : shared.memory->peers) parts[rank] = {part.window, part.staging};
      return std::make_shared<StagingArena>(bootstrap.rank(), bytes, std::move(parts), shared.memory->mapping,
                                            StagingPages{std::move(shared.segment), shared.own_staging});
    }
  }
  const auto total = static_cast<std::size_t>(arena_header_bytes + bytes);
  const std::shared_ptr<std::byte[]> memory(new std::byte[total]);
  parts[bootstrap.rank()] = {memory.get(), memory.get() + arena_header_bytes};
  return std::make_shared<StagingArena>(bootstrap.rank(), bytes, std::move(parts),
                                        std::make_shared<SharedMemory>(memory, total));
}

/// Whether each rank of `node` has the first `bytes` of its part of the arena.
bool has_pages(Bootstrap& bootstrap, const Region& node, StagingArena& arena, std::int64_t bytes) {
  if (simulated || arena.has_reserved(bytes)) return true;
  bool failed = false;
  try {
    arena.reserve(bytes);
  } catch (const std::system_error&) {
    failed = true;
  }
  if (largest(bootstrap, node, failed) != 0) return false;
  arena.set_reserved(bytes);
  return true;
}

}  // namespace

void share_with_node(Bootstrap& bootstrap, const Plan& plan, const Region& node, bool with_staging,
                     std::shared_ptr<PlanMemory>& memory) {
  Shared shared = share(bootstrap, node, plan.window_bytes, with_staging ? plan.staging_bytes : 0, true);
  memory = shared.memory ? plan_memory(std::move(shared.memory)) : nullptr;
}

std::shared_ptr<NodeMemory> share_windows(Bootstrap& bootstrap, const Region& node, std::int64_t bytes) {
  return share(bootstrap, node, bytes, 0, true).memory;
}

std::shared_ptr<StagingArena> find_arena(Bootstrap& bootstrap, const Region& node, Arenas& arenas, std::int64_t limit,
                                         const Plan& plan) {
  if (limit == 0) return nullptr;
  const std::int64_t bytes = largest(bootstrap, node, packed_staging_bytes(plan));
  if (bytes == 0 || bytes > limit) return nullptr;
  std::shared_ptr<StagingArena>& arena = arenas.by_sharers[{limit, node.members}];
  if (!arena) arena = make_arena(bootstrap, node, limit);
  return has_pages(bootstrap, node, *arena, bytes) ? arena : nullptr;
}

}  // namespace laneway
