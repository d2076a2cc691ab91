#include "mpi/share_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "core/wire.hpp"
#include "mpi/mailbox.hpp"
#include "transport/shared_segment.hpp"

namespace laneway {

namespace {

struct Contribution {
  std::int64_t window_bytes = 0;
  std::int64_t staging_bytes = 0;
  SharedSegment::Address segment;  // of the first member
};

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
  const char* verbose = std::getenv("LANEWAY_VERBOSE");
  if (verbose == nullptr || std::atoi(verbose) < 1 || told.exchange(true)) return;
  std::cerr << "laneway: rank " << rank << ": no shared memory with the other ranks of this node (" << what
            << "); the MPI library carries their messages\n";
}

}  // namespace

std::shared_ptr<NodeMemory> share_memory(const PrivateComm& comm, const Region& node, const Plan& plan) {
  Mailbox mailbox(comm);
  const auto gather = [&](const auto& contribution) {
    return mailbox.carry({Round::Kind::region_gather, {}, {}, packed(contribution), &node});
  };
  const bool leads = comm.rank() == node.members.front();
  std::optional<SharedSegment> segment;
  auto memory = std::make_shared<NodeMemory>();
  std::exception_ptr failure;
  Contribution mine{plan.window_bytes, plan.window_bytes > 0 ? plan.staging_bytes : 0, {}};
  try {
    if (leads) mine.segment = segment.emplace().address();
  } catch (...) {
    failure = std::current_exception();
  }
  std::vector<Contribution> all;
  for (const Bytes& bytes : gather(mine)) all.push_back(Reader(bytes).get<Contribution>());
  if (std::all_of(all.begin(), all.end(), [](const Contribution& c) { return c.window_bytes == 0; })) return nullptr;
  std::string refusal;
  try {
    if (failure) std::rethrow_exception(failure);
    if (!leads) segment.emplace(all.front().segment);
    std::size_t total = SharedSegment::header_bytes;
    for (const Contribution& c : all) total += pages(c.window_bytes) + pages(c.staging_bytes);
    const std::shared_ptr<std::byte> base = segment->map(total);
    std::byte* at = base.get() + SharedSegment::header_bytes;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const NodeMemory::Part part{at, at + pages(all[i].window_bytes)};
      memory->peers[node.members[i]] = part;
      if (node.members[i] == comm.rank()) memory->own = part;
      at = part.staging + pages(all[i].staging_bytes);
    }
    memory->bytes = mine.window_bytes + mine.staging_bytes;
    memory->mapping = base;
  } catch (const std::exception& error) {
    refusal = error.what();
    memory = nullptr;
  }
  const std::vector<Bytes> shares = gather(memory != nullptr);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (Reader(shares[i]).get<bool>()) continue;
    if (node.members[i] == comm.rank()) tell_once(comm.rank(), refusal);
    return nullptr;
  }
  return memory;
}

}  // namespace laneway
