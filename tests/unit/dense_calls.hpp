#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/collective/expectation.hpp"
#include "algorithms/collective/rules.hpp"
#include "offline/reference.hpp"
#include "reductions.hpp"

/// Random calls of operations among all ranks, what they mean, and the plans that rules make of them.
namespace laneway::cases {

struct DenseCase {
  Layout layout{std::vector<Rank>{0}};
  DenseSettings settings;
  bool equal = true;
  std::vector<DenseCall> calls;  // by rank
  std::vector<Memory> send;
  std::vector<Memory> receive;

  [[nodiscard]] DenseFacts facts() const {
    return {calls.front().kind, calls.front().root, 0, 1, calls.front().combination.in_order, equal};
  }
  [[nodiscard]] const Combination* how() const {
    return laneway::reduces(calls.front().kind) ? &calls.front().combination : nullptr;
  }
};

/// Regions of so many ranks each; `dealt`: ranks go to them in turn instead of one region after the other.
inline Layout layout_of(const std::vector<Rank>& sizes, bool dealt = false) {
  std::vector<Rank> left = sizes;
  std::vector<Rank> region_of;
  const Rank all = std::accumulate(sizes.begin(), sizes.end(), 0);
  for (std::size_t r = 0; static_cast<Rank>(region_of.size()) < all; r = (r + 1) % left.size())
    for (; left[r] > 0; --left[r]) {
      region_of.push_back(static_cast<Rank>(10 + r));
      if (dealt) {
        --left[r];
        break;
      }
    }
  return Layout(region_of);
}

inline Layout make_layout(Random& random) {
  const std::vector<std::vector<Rank>> shapes{{1},
                                              {2},
                                              {5},
                                              {1, 1},
                                              {2, 2},
                                              {1, 1, 1, 1},
                                              {3, 1, 4},
                                              {5, 3, 8},
                                              {4, 4, 4},
                                              {1, 6},
                                              {2, 2, 2, 2},
                                              {2, 1, 2, 2, 3},
                                              {7, 1, 1},
                                              {3, 3},
                                              {2, 3, 2, 2, 2, 2, 2},
                                              {1, 1, 1, 1, 1},
                                              {4, 2, 2, 1}};
  return layout_of(random.pick(shapes), random.chance(30));
}

/// Blocks of random sizes, apart by a random distance.
class BlockMaker {
 public:
  BlockMaker(Random& random, bool contiguous, std::int64_t element_bytes) : random_(random) {
    if (contiguous) {
      element_ = {{0, element_bytes}};
      extent_ = element_bytes;
    } else if (random.chance(50)) {
      element_ = {{2, 3}, {0, 1}};
      extent_ = 6;
    } else {
      element_ = {{0, 4}};
      extent_ = 4;
    }
  }

  [[nodiscard]] Blocks equal(std::int64_t count, std::int64_t gap) const {
    return Blocks::equal(element_, extent_, count, gap, count * extent_ + gap);
  }
  [[nodiscard]] Blocks table(const std::vector<std::int64_t>& counts, std::int64_t gap) const {
    std::vector<std::int64_t> offsets;
    std::int64_t at = gap;
    for (const std::int64_t count : counts) {
      offsets.push_back(at);
      at += count * extent_ + gap;
    }
    return Blocks::table(element_, extent_, counts, std::move(offsets));
  }
  [[nodiscard]] std::int64_t bytes() const { return element_.bytes(); }
  [[nodiscard]] std::int64_t extent() const { return extent_; }

 private:
  Random& random_;
  RangeList element_;
  std::int64_t extent_ = 1;
};

inline std::int64_t make_count(Random& random) {
  return random.one_of<std::int64_t>({0, 1, 1, 2, 3, 5, 7, 16, 33});
}

/// Counts of blocks from each rank to each other one.
inline std::vector<std::vector<std::int64_t>> make_counts(Random& random, Rank ranks, bool equal, bool symmetric) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector counts(n, std::vector<std::int64_t>(n, make_count(random)));
  if (equal) return counts;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) counts[i][j] = symmetric && j < i ? counts[j][i] : make_count(random);
  return counts;
}

inline Memory make_memory(Random& random, std::int64_t bytes) {
  Memory memory{0, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
  for (std::byte& byte : memory.bytes) byte = static_cast<std::byte>(random.between(0, 255));
  return memory;
}

/// `c.calls` have all but buffers' blocks; counts[i][j]: of the block from i to j.
inline void make_moving_call(DenseCase& c, DenseCall& call, const BlockMaker& maker,
                             const std::vector<std::vector<std::int64_t>>& counts) {
  const auto n = counts.size();
  const auto me = static_cast<std::size_t>(call.rank);
  const auto root = static_cast<std::size_t>(call.root);
  std::vector<std::int64_t> row = counts[me];
  std::vector<std::int64_t> column;
  for (std::size_t i = 0; i < n; ++i) column.push_back(counts[i][me]);
  const auto blocks = [&](const std::vector<std::int64_t>& some, std::int64_t gap) {
    return c.equal ? maker.equal(some.front(), gap) : maker.table(some, gap);
  };
  std::vector<std::int64_t> own;  // of what every rank sends to all
  for (std::size_t i = 0; i < n; ++i) own.push_back(counts[i][0]);
  std::vector<std::int64_t> to_root;
  for (std::size_t i = 0; i < n; ++i) to_root.push_back(counts[i][root]);
  switch (call.kind) {
    case Dense::alltoall:
      call.send = blocks(row, 2);
      call.receive = blocks(column, 3);
      break;
    case Dense::allgather:
      call.send = maker.equal(own[me], 1);
      call.receive = blocks(own, 3);
      break;
    case Dense::gather:
      call.send = maker.equal(to_root[me], 1);
      if (me == root) call.receive = blocks(to_root, 2);
      break;
    case Dense::scatter:
      call.receive = maker.equal(counts[root][me], 1);
      if (me == root) call.send = blocks(counts[root], 2);
      break;
    default:  // bcast
      call.receive = maker.equal(counts[0][0], 2);
      break;
  }
}

inline void make_reducing_call(DenseCall& call, const BlockMaker& maker, std::int64_t count,
                               const std::vector<std::int64_t>& parts) {
  if (call.kind == Dense::reduce_scatter) {
    call.send = maker.table(parts, 0);
    call.receive = maker.equal(parts[static_cast<std::size_t>(call.rank)], 0);
  } else {
    call.send = maker.equal(count, 1);
    call.receive = maker.equal(count, 3);
  }
}

inline DenseCase make_dense_case(std::uint64_t seed, Dense kind) {
  Random random(seed * 31 + static_cast<std::uint64_t>(kind) + 5);
  DenseCase c;
  c.layout = make_layout(random);
  c.settings.leaders = random.one_of<Rank>({1, 2, 3, 4});
  c.settings.radix = std::array<Rank, 4>{2, 3, 4, 16}[seed % 4];
  c.settings.segment_bytes = random.one_of<std::int64_t>({1, 13, 64, 65536});
  c.settings.short_bytes = random.one_of<std::int64_t>({0, 64, 4096});
  c.equal = random.chance(50);
  const Rank n = c.layout.ranks();
  const bool reducing = laneway::reduces(kind);
  const bool in_place = random.chance(35);
  const auto root = static_cast<Rank>(random.between(0, n - 1));
  const Combination how = reducing
                              ? Combination{"sum", "number", random.one_of<std::int64_t>({1, 4, 12}), random.chance(30)}
                              : Combination{};
  BlockMaker maker(random, reducing, how.element_bytes);
  const auto counts = make_counts(random, n, c.equal, in_place);
  const std::int64_t count = make_count(random);
  for (Rank rank = 0; rank < n; ++rank) {
    DenseCall& call = c.calls.emplace_back();
    call.kind = kind;
    call.rank = rank;
    call.root = root;
    const bool only_root = kind == Dense::gather || kind == Dense::scatter || kind == Dense::reduce;
    call.in_place = in_place && (!only_root || rank == root) && kind != Dense::bcast && kind != Dense::barrier;
    call.combination = how;
    if (reducing)
      make_reducing_call(call, maker, count, counts[0]);
    else if (kind != Dense::barrier)
      make_moving_call(c, call, maker, counts);
    if (c.equal) call.sizes = Sizes::equal(counts[0][0] * maker.bytes());
    const std::int64_t bytes = (33 * maker.extent() + 8) * (n + 1) + 16;
    c.send.push_back(make_memory(random, bytes));
    c.receive.push_back(make_memory(random, bytes));
  }
  return c;
}

/// As the MPI layer asks the members of the region.
inline Sizes sizes_for(const DenseCase& c, const DenseRule& rule, const DenseCall& call) {
  if (c.equal) return call.sizes;
  const std::vector<Want> wants = wanted_sizes(rule, call.rank, call.root, c.layout, c.settings);
  std::vector<std::int64_t> answers;
  for (const Want& want : wants)
    for (const Rank other : want.others) {
      const DenseCall& member = c.calls[static_cast<std::size_t>(want.member)];
      answers.push_back(want.sent ? member.bytes(want.member, other) : member.bytes(other, want.member));
    }
  return Sizes::answered(wants, answers);
}

/// Round after round ranks tell others what they know by then.
inline void pass_sizes(const DenseCase& c, const DenseRule& rule, std::vector<DenseCall>& calls) {
  std::vector<std::vector<std::vector<SizeHop>>> hops;  // by rank
  for (const DenseCall& call : calls) hops.push_back(passed_sizes(rule, call.rank, c.layout, c.settings));
  for (std::size_t round = 0; round < hops.front().size(); ++round) {
    std::map<std::pair<Rank, Rank>, std::vector<std::int64_t>> under_way;
    for (const DenseCall& call : calls)
      for (const SizeHop& hop : hops[static_cast<std::size_t>(call.rank)].at(round))
        under_way[{call.rank, hop.to}] = call.bytes_of(hop.told);
    for (DenseCall& call : calls)
      for (const SizeHop& hop : hops[static_cast<std::size_t>(call.rank)].at(round))
        call.sizes.hear(hop.heard, under_way.at({hop.from, call.rank}));
  }
}

inline std::vector<Plan> plans_of(const DenseCase& c, const DenseRule& rule) {
  std::vector<DenseCall> calls = c.calls;
  for (DenseCall& call : calls) call.sizes = sizes_for(c, rule, call);
  if (!c.equal) pass_sizes(c, rule, calls);
  std::vector<Plan> plans;
  for (const DenseCall& call : calls) plans.push_back(make_dense_plan(rule, call, c.layout, c.settings));
  return plans;
}

/// What the operation means, in plain loops.
class DenseOracle {
 public:
  explicit DenseOracle(const DenseCase& c) : c_(c), n_(static_cast<Rank>(c.calls.size())) {}

  [[nodiscard]] std::vector<Memory> run() const {
    std::vector<Memory> result = c_.receive;
    for (const DenseCall& call : c_.calls) {
      Memory& mine = result[static_cast<std::size_t>(call.rank)];
      switch (call.kind) {
        case Dense::alltoall:
          for (Rank from = 0; from < n_; ++from) put(mine, call.receive.of(from), get(from, call.rank));
          break;
        case Dense::allgather:
          for (Rank from = 0; from < n_; ++from) put(mine, call.receive.of(from), get(from, from));
          break;
        case Dense::gather:
          for (Rank from = 0; from < n_ && call.rank == call.root; ++from)
            put(mine, call.receive.of(from), get(from, from));
          break;
        case Dense::scatter:
          if (!call.in_place) put(mine, call.receive.of(0), get(call.root, call.rank));
          break;
        case Dense::bcast:
          put(mine, call.receive.of(0), get(call.root, 0));
          break;
        case Dense::barrier:
          break;
        default:
          reduce_into(mine, call);
      }
    }
    return result;
  }

 private:
  using Bytes = std::vector<std::byte>;

  [[nodiscard]] static Bytes read(const Memory& memory, const RangeList& ranges) {
    Bytes bytes;
    for (const std::int64_t offset : offsets(ranges)) bytes.push_back(memory.at(offset, 1)[0]);
    return bytes;
  }
  static void put(Memory& memory, const RangeList& ranges, const Bytes& bytes) {
    std::size_t next = 0;
    for (const std::int64_t offset : offsets(ranges)) memory.at(offset, 1)[0] = bytes[next++];
  }

  /// What `from` has for `block`.
  [[nodiscard]] Bytes get(Rank from, Rank block) const {
    const auto f = static_cast<std::size_t>(from);
    const DenseCall& call = c_.calls[f];
    if (call.kind == Dense::bcast) return read(c_.receive[f], call.receive.of(0));
    const bool one = call.kind == Dense::allgather || call.kind == Dense::gather;
    if (!call.in_place || call.kind == Dense::scatter) return read(c_.send[f], call.send.of(one ? 0 : block));
    if (call.kind == Dense::reduce_scatter) return read(c_.receive[f], call.send.of(block));
    return read(c_.receive[f], call.receive.of(laneway::reduces(call.kind) ? 0 : block));
  }

  void reduce_into(Memory& mine, const DenseCall& call) const {
    if (call.kind == Dense::reduce && call.rank != call.root) return;
    const Rank last = call.kind == Dense::scan ? call.rank : call.kind == Dense::exscan ? call.rank - 1 : n_ - 1;
    if (last < 0) return;
    const Rank block = call.kind == Dense::reduce_scatter ? call.rank : 0;
    Bytes sum = get(0, block);
    for (Rank from = 1; from <= last; ++from) combine(call.combination, sum, get(from, block));
    put(mine, call.receive.of(0), sum);
  }

  const DenseCase& c_;
  Rank n_;
};

}  // namespace laneway::cases
