#include <algorithm>
#include <cstdint>
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

/// Step i goes to the rank i further and comes from the one i before.
void exchange_blocks(PlanWriter& writer, const DenseCall& call, const Group& group, const Inputs& inputs,
                     bool in_turns) {
  Turns turns(writer, in_turns);
  for (Rank i = 1; i < group.size(); ++i) {
    const Rank to = group.around(group.me + i);
    const Rank from = group.around(group.me - i);
    turns.receive(from, {output(call, from)});
    turns.send(to, {inputs.of(to)});
    turns.end_step();
  }
}

namespace alltoall {

namespace {

void keep_own(PlanWriter& writer, const DenseCall& call) {
  if (!call.in_place) writer.move(input(call, call.rank), output(call, call.rank));
}

/// `in_turns`: one after another.
template <bool in_turns>
void in_steps(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Inputs inputs(writer, call, layout.ranks());
  keep_own(writer, call);
  exchange_blocks(writer, call, everyone(layout, call.rank), inputs, in_turns);
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

namespace {

std::uint64_t number_of(const Layout& layout, Rank from, Rank to) {
  return static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(layout.ranks()) + static_cast<std::uint64_t>(to);
}

void bruck(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Inputs inputs(writer, call, layout.ranks());
  keep_own(writer, call);
  alltoall_by_hops(writer, everyone(layout, call.rank), radix_of(settings),
                   {.sent = [&](Rank to) { return Parts{inputs.of(to)}; },
                    .received = [&](Rank from) { return Parts{output(call, from)}; },
                    .bytes =
                        [&](Rank from, Rank to) {
                          return call.sizes.are_equal() ? call.sizes.bytes(from, to)
                                                        : call.sizes.passed(number_of(layout, from, to));
                        }});
}

std::vector<std::vector<SizeHop>> bruck_sizes(Rank rank, const Layout& layout, const DenseSettings& settings) {
  return sizes_by_hops(everyone(layout, rank), radix_of(settings), [&](Rank from, Rank to) {
    return Passed{number_of(layout, from, to), false, {{from, to}}};
  });
}

DenseCost bruck_cost(const Shape& s) {
  const std::int64_t radix = radix_of(s.settings);
  return along_ways(count_hops(s.layout, radix, s.bytes), s.layout, radix);
}

}  // namespace

std::vector<DenseRule> rules() {
  constexpr std::string_view windows_2025 =
      "E. Namugwanya, A. Bienz, M. Dosanjh, A. Skjellum: RMA-based alltoallv: performance analysis, 2025";
  return {
      {Dense::alltoall, "nonblocking", "all messages at once", cited::all_to_all, DenseTraits{}, in_steps<false>,
       nonblocking_cost},
      {Dense::alltoall, "pairwise", "one partner after another", cited::all_to_all, DenseTraits{}, in_steps<true>,
       pairwise_cost},
      {Dense::alltoall, "bruck", "blocks hop by the digits of their ways, and their sizes before them", cited::by_radix,
       DenseTraits{.relays = true, .hops = true}, bruck, bruck_cost, nullptr, bruck_sizes},
      {Dense::alltoall, "rma_fence", "each rank puts into the windows of all others, between two fences", windows_2025,
       DenseTraits{.windows = Windows::fence}, in_steps<false>, nonblocking_cost},
      {Dense::alltoall, "rma_lock", "each rank puts into the windows of all others, which are locked once",
       windows_2025, DenseTraits{.windows = Windows::lock}, in_steps<false>, nonblocking_cost},
  };
}

}  // namespace alltoall

}  // namespace laneway::dense
