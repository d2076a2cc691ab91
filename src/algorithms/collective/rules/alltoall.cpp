#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

namespace laneway::dense {

Inputs::Inputs(PlanWriter& writer, const DenseCall& call, Rank ranks) : call_(call) {
  if (!call.in_place) return;
  RangeList all;
  begin_.push_back(0);
  for (Rank rank = 0; rank < ranks; ++rank) {
    all.append(call.receive.of(rank));
    begin_.push_back(all.bytes());
  }
  const Segment copy = staged(writer, all.bytes());
  copy_ = copy.ranges.empty() ? 0 : copy.ranges.runs().front().offset;
  writer.move({Buffer::receive, all}, copy);
}

Segment Inputs::of(Rank destination) const {
  if (!call_.in_place) return {Buffer::send, call_.send.of(destination)};
  const auto d = static_cast<std::size_t>(destination);
  return {Buffer::staging, {{copy_ + begin_[d], begin_[d + 1] - begin_[d]}}};
}

namespace alltoall {

namespace {

void keep_own(PlanWriter& writer, const DenseCall& call) {
  if (!call.in_place) writer.move(input(call, call.rank), output(call, call.rank));
}

/// Step i goes to the rank i further and comes from the one i before; `one_at_a_time`: each step after the last one.
template <bool one_at_a_time>
void in_steps(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Inputs inputs(writer, call, layout.ranks());
  const Rank n = layout.ranks();
  keep_own(writer, call);
  Turns turns(writer, one_at_a_time);
  for (Rank i = 1; i < n; ++i) {
    const Rank to = (call.rank + i) % n;
    const Rank from = (call.rank - i + n) % n;
    turns.receive(from, {output(call, from)});
    turns.send(to, {inputs.of(to)});
    turns.end_step();
  }
}

}  // namespace

DenseCost nonblocking_cost(const Shape& s) {
  DenseCost cost = across(s, s.nodes > 1 ? 1 : 0, s.outside, s.outside * s.bytes, s.members);
  cost.at_once = s.outside > 1;
  cost = add(inside(s, s.members > 1 ? 1 : 0, s.members - 1, (s.members - 1) * s.bytes), cost);
  count_pairs(cost, s, s.bytes);
  return cost;
}

DenseCost pairwise_cost(const Shape& s) {
  DenseCost cost = add(inside(s, s.members - 1, s.members - 1, (s.members - 1) * s.bytes),
                       across(s, s.outside, s.outside, s.outside * s.bytes, s.members));
  count_pairs(cost, s, s.bytes);
  return cost;
}

/// The block that has j ranks to go takes a hop of 2^k in round k for each bit k of j. Between hops it waits in place j
/// of one of two arrays in turn, so that none is sent from where another arrives in the same round.
void bruck(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Inputs inputs(writer, call, layout.ranks());
  const Rank n = layout.ranks();
  const std::int64_t bytes = call.bytes(call.rank, call.rank);
  keep_own(writer, call);
  const std::array<Span, 2> waiting{writer.stage(n * bytes), writer.stage(n * bytes)};
  const auto hops = [](Rank j) { return __builtin_popcount(static_cast<unsigned>(j)); };
  const auto place = [&](Rank j, int hop) {
    const Span& array = waiting[static_cast<std::size_t>(hop % 2)];
    return Segment{array.buffer, {{array.offset + j * bytes, bytes}}};
  };
  for (Rank bit = 1; bit < n; bit *= 2) {
    Parts sent;
    Parts received;
    for (Rank j = bit; j < n; ++j) {
      if ((j & bit) == 0) continue;
      const int hop = hops(j & (bit - 1));  // that it has behind it
      append(sent, hop == 0 ? inputs.of((call.rank + j) % n) : place(j, hop - 1));
      append(received, (j & ~(2 * bit - 1)) == 0 ? output(call, (call.rank - j + n) % n) : place(j, hop));
    }
    writer.receive((call.rank - bit + n) % n, received);
    writer.send((call.rank + bit) % n, sent);
  }
}

DenseCost bruck_cost(const Shape& s) {
  const Rank n = s.layout.ranks();
  const RoundBytes bytes = bytes_of_rounds([&](Rank bit) {
    const Rank blocks = n / (2 * bit) * bit + std::max(n % (2 * bit) - bit, 0);  // whose number has the bit
    return static_cast<double>(blocks) * s.bytes;
  });
  const int steps = rounds(s.ranks);
  const double copied = std::accumulate(bytes.begin(), bytes.begin() + steps, 0.0);
  return along_ways(count_steps(s.layout, steps, true, bytes, copied), s.layout);
}

std::vector<DenseRule> rules() {
  constexpr std::string_view windows_2025 =
      "E. Namugwanya, A. Bienz, M. Dosanjh, A. Skjellum: RMA-based alltoallv: performance analysis, 2025";
  return {
      {Dense::alltoall, "nonblocking", "all messages at once", cited::all_to_all, DenseTraits{}, in_steps<false>,
       nonblocking_cost},
      {Dense::alltoall, "pairwise", "one partner after another", cited::all_to_all, DenseTraits{}, in_steps<true>,
       pairwise_cost},
      {Dense::alltoall, "bruck", "in log2 rounds, blocks hop by powers of two", cited::bruck_1997,
       DenseTraits{.equal_only = true, .relays = true}, bruck, bruck_cost},
      {Dense::alltoall, "rma_fence", "each rank puts into the windows of all others, between two fences", windows_2025,
       DenseTraits{.windows = Windows::fence}, in_steps<false>, nonblocking_cost},
      {Dense::alltoall, "rma_lock", "each rank puts into the windows of all others, which are locked once",
       windows_2025, DenseTraits{.windows = Windows::lock}, in_steps<false>, nonblocking_cost},
  };
}

}  // namespace alltoall

}  // namespace laneway::dense
