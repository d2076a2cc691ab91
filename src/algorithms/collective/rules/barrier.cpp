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

/// Returns the steps after which all of the group, and what `arrivals` stands for, have come.
std::vector<int> disseminate(PlanWriter& writer, const Group& group, std::vector<int> arrivals) {
  for (Rank distance = 1; group.me >= 0 && distance < group.size(); distance *= 2) {
    const int received = writer.receive(group.around(group.me - distance), {staged(writer, 1)});
    writer.send(group.around(group.me + distance), {anything()}, arrivals);
    arrivals.push_back(received);
  }
  return arrivals;
}

}  // namespace

void dissemination(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  disseminate(writer, everyone(layout, call.rank), {});
}

DenseCost dissemination_cost(const Shape& s) {
  return along_ways(count_steps(s.layout, rounds(s.ranks), true, each_round(1), 0), s.layout);
}

/// Ranks tell their node's leader; leaders tell each other, and then their ranks.
void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  const Group region = region_of(layout, call.rank);
  const Rank leader = region.rank(0);
  if (region.me != 0) {
    writer.send(leader, {anything()});
    writer.receive(leader, {staged(writer, 1)});
    return;
  }
  std::vector<int> arrivals;
  for (Rank i = 1; i < region.size(); ++i) arrivals.push_back(writer.receive(region.rank(i), {staged(writer, 1)}));
  arrivals = disseminate(writer, leaders_of(layout, leader, call.rank), std::move(arrivals));
  for (Rank i = 1; i < region.size(); ++i) writer.send(region.rank(i), {anything()}, arrivals);
}

DenseCost node_aware_cost(const Shape& s) {
  DenseCost near = inside(s, s.members > 1 ? 2 : 0, 2 * (s.members - 1), 2 * (s.members - 1), 0, s.nodes);
  near.all.node.messages = near.all.node.bytes = 2 * (s.ranks - s.nodes);
  return add(near, across(s, rounds(s.nodes), rounds(s.nodes), rounds(s.nodes), 1));
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
