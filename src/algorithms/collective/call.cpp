#include "algorithms/collective/call.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace laneway {

const char* name(Dense kind) {
  switch (kind) {
    case Dense::alltoall:
      return "alltoall";
    case Dense::allgather:
      return "allgather";
    case Dense::gather:
      return "gather";
    case Dense::scatter:
      return "scatter";
    case Dense::bcast:
      return "bcast";
    case Dense::reduce:
      return "reduce";
    case Dense::allreduce:
      return "allreduce";
    case Dense::reduce_scatter:
      return "reduce_scatter";
    case Dense::scan:
      return "scan";
    case Dense::exscan:
      return "exscan";
    case Dense::barrier:
      return "barrier";
  }
  return "?";
}

Blocks Blocks::equal(RangeList element, std::int64_t extent, std::int64_t count, std::int64_t first,
                     std::int64_t stride) {
  Blocks blocks;
  blocks.element_ = std::move(element);
  blocks.extent_ = extent;
  blocks.count_ = count;
  blocks.first_ = first;
  blocks.stride_ = stride;
  return blocks;
}

Blocks Blocks::contiguous(std::int64_t bytes, std::int64_t first) {
  return equal({{0, 1}}, 1, bytes, first, bytes);
}

Blocks Blocks::one(RangeList ranges) {
  return equal(std::move(ranges), 0, 1, 0, 0);
}

Blocks Blocks::table(RangeList element, std::int64_t extent, std::vector<std::int64_t> counts,
                     std::vector<std::int64_t> offsets) {
  Blocks blocks;
  blocks.element_ = std::move(element);
  blocks.extent_ = extent;
  blocks.counts_ = std::move(counts);
  blocks.offsets_ = std::move(offsets);
  return blocks;
}

Blocks Blocks::lists(std::vector<RangeList> blocks) {
  Blocks result;
  result.lists_ = std::move(blocks);
  return result;
}

RangeList Blocks::of(Rank i) const {
  const auto n = static_cast<std::size_t>(i);
  if (!lists_.empty()) return lists_[n];
  const std::int64_t count = counts_.empty() ? count_ : counts_[n];
  const std::int64_t offset = offsets_.empty() ? first_ + i * stride_ : offsets_[n];
  RangeList ranges;
  if (count <= 0) return ranges;
  if (element_.contiguous() == Range{0, extent_})
    ranges.append(Range{offset, count * extent_});
  else
    ranges.append_repeated(element_, count, extent_, offset);
  return ranges;
}

std::int64_t Blocks::bytes(Rank i) const {
  const auto n = static_cast<std::size_t>(i);
  if (!lists_.empty()) return lists_[n].bytes();
  return (counts_.empty() ? count_ : counts_[n]) * element_.bytes();
}

namespace {

std::uint64_t pair_of_ranks(Rank from, Rank to) {
  return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
}

/// Null: it is not there.
const std::int64_t* find(const std::vector<std::pair<std::uint64_t, std::int64_t>>& known, std::uint64_t key) {
  const auto it = std::ranges::lower_bound(known, key, {}, &std::pair<std::uint64_t, std::int64_t>::first);
  return it != known.end() && it->first == key ? &it->second : nullptr;
}

}  // namespace

Sizes Sizes::equal(std::int64_t bytes) {
  Sizes sizes;
  sizes.equal_ = bytes;
  return sizes;
}

Sizes Sizes::answered(const std::vector<Want>& wants, const std::vector<std::int64_t>& bytes) {
  Sizes sizes;
  std::size_t next = 0;
  for (const Want& want : wants)
    for (const Rank other : want.others) {
      require(next < bytes.size(), ErrorKind::argument, "dense: fewer sizes than were asked for");
      sizes.known_.emplace_back(want.sent ? pair_of_ranks(want.member, other) : pair_of_ranks(other, want.member),
                                bytes[next++]);
    }
  require(next == bytes.size(), ErrorKind::argument, "dense: more sizes than were asked for");
  std::ranges::sort(sizes.known_);
  sizes.known_.shrink_to_fit();
  return sizes;
}

std::int64_t Sizes::bytes(Rank from, Rank to) const {
  if (equal_ >= 0) return equal_;
  const std::int64_t* const bytes = find(known_, pair_of_ranks(from, to));
  require(bytes != nullptr, ErrorKind::internal, [&] {
    return "dense: nobody was asked how many bytes rank " + std::to_string(from) + " sends to rank " +
           std::to_string(to);
  });
  return *bytes;
}

void Sizes::hear(const std::vector<std::uint64_t>& items, const std::vector<std::int64_t>& bytes) {
  require(items.size() == bytes.size(), ErrorKind::argument, "dense: not as many sizes as are passed on");
  for (std::size_t i = 0; i < items.size(); ++i) passed_.emplace_back(items[i], bytes[i]);
  std::ranges::sort(passed_);
}

std::int64_t Sizes::passed(std::uint64_t item) const {
  const std::int64_t* const bytes = find(passed_, item);
  require(bytes != nullptr, ErrorKind::internal,
          [&] { return "dense: nobody has told how long item " + std::to_string(item) + " is"; });
  return *bytes;
}

std::int64_t DenseCall::bytes(Rank from, Rank to) const {
  if (sizes.are_equal()) return sizes.bytes(from, to);
  if (kind == Dense::alltoall) {
    if (to == rank) return receive.bytes(from);
    if (from == rank) return (in_place ? receive : send).bytes(to);
  } else if (kind == Dense::gather) {
    if (from == rank && !in_place) return send.bytes(0);
    if (rank == root) return receive.bytes(from);
  } else if (kind == Dense::scatter) {
    if (rank == root) return send.bytes(to);
    if (to == rank) return receive.bytes(0);
  }
  return sizes.bytes(from, to);
}

std::vector<std::int64_t> DenseCall::bytes_of(const std::vector<Passed>& told) const {
  std::vector<std::int64_t> all;
  all.reserve(told.size());
  for (const Passed& passed : told) {
    std::int64_t sum = passed.begins ? 0 : sizes.passed(passed.item);
    if (passed.begins)
      for (const auto& [from, to] : passed.blocks) sum += bytes(from, to);
    all.push_back(sum);
  }
  return all;
}

}  // namespace laneway
