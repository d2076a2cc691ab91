#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

// D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization, 1988. Messages have one byte, whatever
// it holds: in round k each rank tells the one 2^k further once it has heard of as many before it.

namespace laneway::dense::barrier {

namespace {

Segment anything() {
  return {Buffer::send, {{0, 1}}};
}

/// Each rank hears of `radix` times as many others in each round, by messages that are under way together. Returns the
/// steps after which all of the group, and what `arrivals` stands for, have come.
std::vector<int> disseminate(PlanWriter& writer, const Group& group, std::vector<int> arrivals, std::int64_t radix) {
  for (std::int64_t span = 1; group.me >= 0 && span < group.size(); span *= radix) {
    std::vector<int> round;
    for (std::int64_t way = span; way < std::min<std::int64_t>(span * radix, group.size()); way += span) {
      round.push_back(writer.receive(group.around(group.me - way), {staged(writer, 1)}));
      writer.send(group.around(group.me + way), {anything()}, arrivals);
    }
    arrivals.insert(arrivals.end(), round.begin(), round.end());
  }
  return arrivals;
}

}  // namespace

void dissemination(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  disseminate(writer, everyone(layout, call.rank), {}, 2);
}

DenseCost dissemination_cost(const Shape& s) {
  return along_ways(count_steps(s.layout, rounds(s.ranks), true, each_round(1), 0), s.layout);
}

void through_leaders(PlanWriter& writer, const DenseCall& call, const Layout& layout, std::int64_t radix) {
  const Group region = region_of(layout, call.rank);
  const Rank leader = region.rank(0);
  if (region.me != 0) {
    writer.send(leader, {anything()});
    writer.receive(leader, {staged(writer, 1)});
    return;
  }
  std::vector<int> arrivals;
  for (Rank i = 1; i < region.size(); ++i) arrivals.push_back(writer.receive(region.rank(i), {staged(writer, 1)}));
  arrivals = disseminate(writer, leaders_of(layout, leader, call.rank), std::move(arrivals), radix);
  for (Rank i = 1; i < region.size(); ++i) writer.send(region.rank(i), {anything()}, arrivals);
}

DenseCost through_leaders_cost(const Shape& s, double radix) {
  const TreeShape ways(s.nodes, radix);
  DenseCost near = inside(s, s.members > 1 ? 2 : 0, 2 * (s.members - 1), 2 * (s.members - 1), 0, s.nodes);
  near.all.node.messages = near.all.node.bytes = 2 * (s.ranks - s.nodes);
  return add(near, across(s, ways.levels, ways.children, ways.children, 1));
}

void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  through_leaders(writer, call, layout, 2);
}

DenseCost node_aware_cost(const Shape& s) {
  return through_leaders_cost(s, 2);
}

std::vector<DenseRule> rules() {
  return {
      {Dense::barrier, "dissemination", "in log2 rounds",
       "D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization, 1988", relays, dissemination,
       dissemination_cost},
      {Dense::barrier, "node_aware", "leaders by dissemination, the others with them", cited::all_to_all, relays,
       node_aware, node_aware_cost},
  };
}

}  // namespace laneway::dense::barrier
