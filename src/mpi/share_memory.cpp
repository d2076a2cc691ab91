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
#include "mpi/discovery.hpp"
#include "mpi/mailbox.hpp"
#include "plan/plan.hpp"
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
  try {
    if (failure) std::rethrow_exception(failure);
    if (!leads) segment.emplace(all.front().segment);
    std::size_t total = SharedSegment::header_bytes;
    for (const Contribution& c : all) total += pages(c.window_bytes) + pages(c.staging_bytes);
    const std::shared_ptr<std::byte> base = segment->map(total);
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
  }
  const std::vector<char> shares = gather<char>(comm, node, memory != nullptr);
  const auto refused = std::find(shares.begin(), shares.end(), 0);
  if (refused == shares.end()) return memory;
  if (node.members[static_cast<std::size_t>(refused - shares.begin())] == comm.rank()) tell_once(comm.rank(), refusal);
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
