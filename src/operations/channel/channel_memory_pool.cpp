#include "operations/channel/channel_memory_pool.hpp"

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

namespace laneway {

namespace {

constexpr std::int64_t page = 4096;
constexpr std::int64_t usual_segment_bytes = std::int64_t{32} << 20;
constexpr auto header = static_cast<std::int64_t>(SharedSegment::header_bytes);

/// Its pages are given by the system as blocks are taken.
struct PooledSegment {
  explicit PooledSegment(std::int64_t size)
      : bytes(size), mapping(segment.map(static_cast<std::size_t>(size))), free{{header, size}} {}

  SharedSegment segment;
  std::int64_t bytes;
  std::shared_ptr<std::byte> mapping;
  std::map<std::int64_t, std::int64_t> free;  ///< beginnings and ends

  [[nodiscard]] bool is_unused() const {
    return free.size() == 1 && free.begin()->first == header && free.begin()->second == bytes;
  }
};

/// Never destroyed: channels may be freed when the program ends.
struct Pool {
  std::mutex mutex;
  std::list<PooledSegment> own;
  std::map<std::uint64_t, std::weak_ptr<std::byte>> of_others;  ///< by token
};
Pool& pool() {
  static Pool* const pool = new Pool;
  return *pool;
}

/// Where the limits of the process allow no segment of the usual size, one for this block alone.
PooledSegment& make_segment(Pool& known, std::int64_t bytes) {
  if (header + bytes <= usual_segment_bytes) {
    try {
      return known.own.emplace_back(usual_segment_bytes);
    } catch (const std::system_error&) {
    }
  }
  return known.own.emplace_back(header + bytes);
}

/// -1 if there is no room.
std::int64_t take_range(PooledSegment& segment, std::int64_t bytes) {
  for (auto range = segment.free.begin(); range != segment.free.end(); ++range) {
    const auto [begin, end] = *range;
    if (end - begin < bytes) continue;
    segment.free.erase(range);
    if (begin + bytes < end) segment.free[begin + bytes] = end;
    return begin;
  }
  return -1;
}

void give_back(Pool& known, std::list<PooledSegment>::iterator segment, std::int64_t begin, std::int64_t bytes) {
  segment->segment.clear(segment->mapping.get(), static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
  auto range = segment->free.emplace(begin, begin + bytes).first;
  if (const auto after = std::next(range); after != segment->free.end() && after->first == range->second) {
    range->second = after->second;
    segment->free.erase(after);
  }
  if (range != segment->free.begin())
    if (const auto before = std::prev(range); before->second == range->first) {
      before->second = range->second;
      segment->free.erase(range);
    }
  if (segment->is_unused()) known.own.erase(segment);
}

}  // namespace

ChannelMemoryPool::Block ChannelMemoryPool::take(std::int64_t bytes) {
  const std::int64_t whole = (bytes + page - 1) / page * page;
  Pool& known = pool();
  const std::lock_guard lock(known.mutex);
  std::int64_t at = -1;
  auto segment =
      std::ranges::find_if(known.own, [&](PooledSegment& each) { return (at = take_range(each, whole)) >= 0; });
  if (at < 0) {
    at = take_range(make_segment(known, whole), whole);
    segment = std::prev(known.own.end());
  }
  std::byte* const memory = segment->mapping.get() + at;
  Block block{nullptr, {segment->segment.address(), segment->bytes, at}};
  try {
    segment->segment.reserve(static_cast<std::size_t>(at), static_cast<std::size_t>(whole));
  } catch (...) {
    give_back(known, segment, at, whole);
    throw;
  }
  block.memory = {memory, [segment, at, whole](std::byte*) {
                    Pool& all = pool();
                    const std::lock_guard guard(all.mutex);
                    give_back(all, segment, at, whole);
                  }};
  return block;
}

std::shared_ptr<std::byte> ChannelMemoryPool::find(const Place& place) {
  Pool& known = pool();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<std::byte>& known_mapping = known.of_others[place.segment.token];
  std::shared_ptr<std::byte> mapping = known_mapping.lock();
  if (!mapping) {
    try {
      mapping = SharedSegment(place.segment).map(static_cast<std::size_t>(place.segment_bytes));
    } catch (...) {
      known.of_others.erase(place.segment.token);
      throw;
    }
    known_mapping = mapping;
    std::erase_if(known.of_others, [](const auto& each) { return each.second.expired(); });
  }
  return {mapping, mapping.get() + place.offset};
}

}  // namespace laneway
