#include "choose/share_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "carriers/messages/p2p.hpp"
#include "carriers/node/shared_segment.hpp"
#include "comm/discovery.hpp"
#include "comm/mailbox.hpp"
#include "core/error.hpp"
#include "core/processors.hpp"
#include "core/relax.hpp"
#include "core/simulated.hpp"
#include "core/tell.hpp"
#include "core/wire.hpp"
#include "exec/progress.hpp"
#include "plan/plan.hpp"

namespace laneway {

namespace {

struct Contribution {
  std::int64_t window_bytes = 0;
  std::int64_t staging_bytes = 0;
  SharedSegment::Address segment;  // of the first member
  Processors processors;
};

/// Ranks of this node that have a core each may wait for longer before they yield. Those of emulated nodes share cores
/// with ranks that look far away; their launcher says so. What some of the ranks have shown is taken back only where
/// others cannot have a core each, not where they are too few to show it.
void learn_patience(const std::vector<Contribution>& all) {
  if (simulated || std::getenv("LANEWAY_OVERSUBSCRIBED") != nullptr) return;
  std::vector<Processors> known;
  for (const Contribution& one : all) known.push_back(one.processors);
  if (have_one_each(std::max(world_node_size(), all.size()), known))
    turns_before_yield.store(patient_turns, std::memory_order_relaxed);
  else if (!have_one_each(all.size(), known))
    turns_before_yield.store(impatient_turns, std::memory_order_relaxed);
}

/// Parts begin on pages of their own, so that each is in the memory next to the rank that it belongs to, which reserves
/// it.
std::size_t pages(std::int64_t bytes) {
  constexpr std::size_t page = 4096;
  return (static_cast<std::size_t>(bytes) + page - 1) / page * page;
}

template <class T>
Bytes packed(const T& value) {
  Writer writer;
  writer.put(value);
  return writer.take();
}

void tell_once(Rank rank, const std::string& what) {
  static std::atomic<bool> told{false};
  if (!is_verbose("choose") || told.exchange(true)) return;
  tell("rank " + std::to_string(rank) + ": no shared memory with the other ranks of this node (" + what +
       "); the MPI library carries their messages");
}

/// What all ranks of `node` give.
template <class T>
std::vector<T> gather(const PrivateComm& comm, const Region& node, const T& mine) {
  std::vector<T> all;
  for (const Bytes& bytes : Mailbox(comm).carry({Round::Kind::region_gather, {}, {}, packed(mine), &node}))
    all.push_back(Reader(bytes).get<T>());
  return all;
}

/// How many ranks have mapped a segment. All agree on its place, which nothing else uses.
std::atomic_ref<int> mappings(std::byte* base) {
  static_assert(std::atomic_ref<int>::is_always_lock_free);
  return std::atomic_ref<int>(*reinterpret_cast<int*>(base + cache_line));
}

/// Whether all of the node have mapped it: they count in it, so that no messages are needed. Not all do if somebody
/// sends a refusal.
bool all_have_mapped(const PrivateComm& comm, const Region& node, std::byte* base) {
  const int members = static_cast<int>(node.members.size());
  const std::atomic_ref<int> count = mappings(base);
  count.fetch_add(1, std::memory_order_acq_rel);
  bool all = false;
  await(comm, [&] {
    all = count.load(std::memory_order_acquire) == members;
    if (all) return true;
    int refused = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, PrivateComm::refusal_tag, comm.get(), &refused, MPI_STATUS_IGNORE),
              "MPI_Iprobe");
    return refused != 0;
  });
  return all;
}

/// The first rank of the node that has not mapped the segment, if any; `base`: where this rank has.
std::optional<Rank> find_refusal(const PrivateComm& comm, const Region& node, std::byte* base) {
  if (!simulated && base != nullptr && all_have_mapped(comm, node, base)) return std::nullopt;
  std::vector<MPI_Request> refusals;
  for (Rank rank : node.members)
    if (base == nullptr && rank != comm.rank())
      check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, rank, PrivateComm::refusal_tag, comm.get(),
                          &refusals.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Isend");
  std::optional<Rank> first;
  const std::vector<char> mapped = gather<char>(comm, node, base != nullptr);
  for (std::size_t i = 0; i < mapped.size(); ++i) {
    if (mapped[i]) continue;
    const Rank rank = node.members[i];
    if (!first) first = rank;
    if (rank != comm.rank())
      check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, rank, PrivateComm::refusal_tag, comm.get(),
                          &refusals.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Irecv");
  }
  wait_all_progressing(comm, refusals);
  return first;
}

}  // namespace

namespace {

/// What ranks have mapped together, and what its pages come from.
struct Shared {
  std::shared_ptr<NodeMemory> memory;
  std::shared_ptr<const SharedSegment> segment;
  std::size_t own_staging = 0;  // where it begins in the segment
};

/// `reserves`: whether staging memory is reserved, too.
Shared share(const PrivateComm& comm, const Region& node, std::int64_t window_bytes, std::int64_t staging_bytes,
             bool reserves) {
  const bool leads = comm.rank() == node.members.front();
  Shared shared;
  auto memory = std::make_shared<NodeMemory>();
  std::exception_ptr failure;
  Contribution mine{window_bytes, staging_bytes, {}, simulated ? Processors{} : own_processors()};
  try {
    if (leads) shared.segment = std::make_shared<SharedSegment>();
    if (leads) mine.segment = shared.segment->address();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::vector<Contribution> all = gather(comm, node, mine);
  learn_patience(all);
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
      const NodeMemory::Part part{base.get() + at, base.get() + staging, base.get() + at};
      memory->peers[node.members[i]] = part;
      const std::size_t end = staging + pages(all[i].staging_bytes);
      if (node.members[i] == comm.rank()) {
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
  const std::optional<Rank> refused = find_refusal(comm, node, base.get());
  if (!refused)
    shared.memory = std::move(memory);
  else if (*refused == comm.rank())
    tell_once(comm.rank(), refusal);
  return shared;
}

}  // namespace

std::shared_ptr<NodeMemory> share_memory(const PrivateComm& comm, const Region& node, std::int64_t window_bytes,
                                         std::int64_t staging_bytes) {
  return share(comm, node, window_bytes, staging_bytes, true).memory;
}

std::shared_ptr<StagingArena> make_arena(const PrivateComm& comm, const Region& node, std::int64_t bytes) {
  std::map<Rank, StagingArena::Part> parts;
  if (node.members.size() > 1) {
    Shared shared = share(comm, node, arena_header_bytes, bytes, false);
    if (shared.memory) {
      for (const auto& [rank, part] : shared.memory->peers) parts[rank] = {part.window, part.staging};
      return std::make_shared<StagingArena>(comm.rank(), bytes, std::move(parts), shared.memory->mapping,
                                            StagingPages{std::move(shared.segment), shared.own_staging});
    }
  }
  const auto total = static_cast<std::size_t>(arena_header_bytes + bytes);
  const std::shared_ptr<std::byte[]> memory(new std::byte[total]);
  parts[comm.rank()] = {memory.get(), memory.get() + arena_header_bytes};
  return std::make_shared<StagingArena>(comm.rank(), bytes, std::move(parts),
                                        std::make_shared<SharedMemory>(memory, total));
}

std::int64_t largest(const PrivateComm& comm, const Region& node, std::int64_t value) {
  const std::vector<std::int64_t> all = gather(comm, node, value);
  return *std::max_element(all.begin(), all.end());
}

}  // namespace laneway
