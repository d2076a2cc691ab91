#include "mpi/share_memory.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "core/relax.hpp"
#include "core/simulated.hpp"
#include "core/tell.hpp"
#include "core/wire.hpp"
#include "exec/progress.hpp"
#include "mpi/discovery.hpp"
#include "mpi/mailbox.hpp"
#include "plan/plan.hpp"
#include "transport/p2p.hpp"
#include "transport/shared_segment.hpp"

namespace laneway {

namespace {

struct Contribution {
  std::int64_t window_bytes = 0;
  std::int64_t staging_bytes = 0;
  SharedSegment::Address segment;  // of the first member
  cpu_set_t cores{};               // that the process may run on; none if that is not known
};

cpu_set_t own_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) CPU_ZERO(&cores);
  return cores;
}

/// Ranks of this node that have a core each may wait for longer before they yield. Those of emulated nodes share cores
/// with ranks that look far away; their launcher says so. What some of the ranks have shown is not taken back where
/// others, who are fewer, cannot show it.
void learn_patience(const std::vector<Contribution>& all) {
  if (simulated || std::getenv("LANEWAY_OVERSUBSCRIBED") != nullptr) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const Contribution& one : all) CPU_OR(&cores, &cores, &one.cores);
  const std::size_t ranks = world_node_size();
  const bool fits = ranks > 0 && ranks <= static_cast<std::size_t>(CPU_COUNT(&cores));
  if (fits) turns_before_yield.store(patient_turns, std::memory_order_relaxed);
}

/// Parts begin on pages of their own, so that each is in the memory next to the rank that writes it first.
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
  if (!is_verbose() || told.exchange(true)) return;
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
  progress_until([&] {
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
  wait_all_progressing(refusals);
  return first;
}

}  // namespace

std::shared_ptr<NodeMemory> share_memory(const PrivateComm& comm, const Region& node, std::int64_t window_bytes,
                                         std::int64_t staging_bytes) {
  const bool leads = comm.rank() == node.members.front();
  std::optional<SharedSegment> segment;
  auto memory = std::make_shared<NodeMemory>();
  std::exception_ptr failure;
  Contribution mine{window_bytes, staging_bytes, {}, own_cores()};
  try {
    if (leads) mine.segment = segment.emplace().address();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::vector<Contribution> all = gather(comm, node, mine);
  learn_patience(all);
  if (std::all_of(all.begin(), all.end(), [](const Contribution& c) { return c.window_bytes == 0; })) {
    for (Rank rank : node.members) memory->peers[rank] = {};
    return memory;
  }
  std::string refusal;
  std::shared_ptr<std::byte> base;
  try {
    if (failure) std::rethrow_exception(failure);
    if (!leads) segment.emplace(all.front().segment);
    std::size_t total = SharedSegment::header_bytes;
    for (const Contribution& c : all) total += pages(c.window_bytes) + pages(c.staging_bytes);
    base = segment->map(total);
    if (!leads) segment.reset();
    std::byte* at = base.get() + SharedSegment::header_bytes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const NodeMemory::Part part{at, at + pages(all[i].window_bytes), at};
      memory->peers[node.members[i]] = part;
      if (node.members[i] == comm.rank()) memory->own = part;
      at = part.staging + pages(all[i].staging_bytes);
    }
    memory->mapping = std::make_shared<SharedMemory>(base, total);
  } catch (const std::exception& error) {
    refusal = error.what();
    memory = nullptr;
    base = nullptr;
  }
  const std::optional<Rank> refused = find_refusal(comm, node, base.get());
  if (!refused) return memory;
  if (*refused == comm.rank()) tell_once(comm.rank(), refusal);
  return nullptr;
}

std::shared_ptr<StagingArena> make_arena(const PrivateComm& comm, const Region& node, std::int64_t bytes) {
  std::map<Rank, StagingArena::Part> parts;
  if (node.members.size() > 1)
    if (const std::shared_ptr<NodeMemory> shared = share_memory(comm, node, arena_header_bytes, bytes)) {
      for (const auto& [rank, part] : shared->peers) parts[rank] = {part.window, part.staging};
      return std::make_shared<StagingArena>(comm.rank(), bytes, std::move(parts), shared->mapping);
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
