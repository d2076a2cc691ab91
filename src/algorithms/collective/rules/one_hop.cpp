#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

// Short data is limited by hops between nodes. Here it takes one: all ranks of the root's node send to other nodes, or
// receive from them, each a share. Inside of nodes it is handed on flat.

namespace laneway::dense::one_hop {

namespace {

/// The ranks of the root's node by the shares that they have: the root, who is busiest, comes last.
std::vector<Rank> gates_of(const Layout& layout, Rank root) {
  std::vector<Rank> gates;
  for (const Rank member : layout.members(layout.region(root)))
    if (member != root) gates.push_back(member);
  gates.push_back(root);
  return gates;
}

void add(Tree& tree, Rank child, std::vector<Rank> below) {
  tree.children.push_back(child);
  tree.below.push_back(std::move(below));
}

/// Other regions are the gates' in turn, from the one after the root's.
class Shares {
 public:
  Shares(const Layout& layout, Rank root)
      : layout_(layout), home_(layout.region(root)), gates_(static_cast<std::size_t>(layout.size(home_))) {}

  [[nodiscard]] std::size_t gate_of(Rank region) const {
    return static_cast<std::size_t>((region - home_ + layout_.regions()) % layout_.regions() - 1) % gates_;
  }
  /// Calls f(region).
  template <class F>
  void for_each(std::size_t gate, F&& f) const {
    const auto others = static_cast<std::size_t>(layout_.regions()) - 1;
    for (std::size_t turn = gate; turn < others; turn += gates_)
      f(static_cast<Rank>((static_cast<std::size_t>(home_) + 1 + turn) % (others + 1)));
  }

 private:
  const Layout& layout_;
  Rank home_;
  std::size_t gates_;
};

/// The ranks of a region, its leader first.
std::vector<Rank> members_of(const Layout& layout, Rank region) {
  const auto members = layout.members(region);
  return {members.begin(), members.end()};
}

}  // namespace

Tree tree_of(const Layout& layout, Rank root, Rank me) {
  Tree tree;
  const std::vector<Rank> gates = gates_of(layout, root);
  const Shares shares(layout, root);
  const Rank region = layout.region(me);
  if (region != layout.region(root)) {
    const Rank leader = layout.leader(region);
    tree.parent = me == leader ? gates[shares.gate_of(region)] : leader;
    if (me == leader)
      for (const Rank member : layout.members(region))
        if (member != me) add(tree, member, {member});
    return tree;
  }
  // Who passes it on gets it first.
  for (std::size_t gate = 0; gate < gates.size(); ++gate) {
    if (gates[gate] == root || me != root) continue;
    std::vector<Rank> below{gates[gate]};
    shares.for_each(gate, [&](Rank other) {
      for (const Rank member : layout.members(other)) below.push_back(member);
    });
    add(tree, gates[gate], std::move(below));
  }
  if (me != root) tree.parent = root;
  for (std::size_t gate = 0; gate < gates.size(); ++gate)
    if (gates[gate] == me)
      shares.for_each(gate, [&](Rank other) { add(tree, layout.leader(other), members_of(layout, other)); });
  return tree;
}

namespace {

void down(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  broadcast(writer, tree_of(layout, call.root, call.rank), output(call, 0), settings.segment_bytes);
}

/// The transpose. A rank without children sends its input as it is, others combine in memory of their own.
void up(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  const Tree tree = tree_of(layout, call.root, call.rank);
  const Segment own = input(call, 0);
  const bool is_leaf = tree.children.empty();
  const Segment sum = tree.parent < 0 ? output(call, 0) : is_leaf ? own : staged(writer, own.ranges.bytes());
  reduce(writer, tree, own, sum, call.combination, settings.segment_bytes, settings.is_short(own.ranges.bytes()));
}

DenseCost tree_cost(const Shape& s) {
  const bool crosses = s.nodes > 1;
  const double share = std::ceil((s.nodes - 1) / s.home);
  DenseCost far = pipeline(s, crosses ? 1 : 0, share, 0, true);
  far.injected = {(s.nodes - 1) * segments(s, s.bytes), (s.nodes - 1) * s.bytes};
  const double levels = (s.home > 1 ? 1 : 0) + (crosses && s.members > 1 ? 1 : 0);
  DenseCost cost = dense::add(far, pipeline(s, levels, s.home - 1 + (crosses ? s.members - 1 : 0), 0, false));
  if (s.sums == 0) return cost;
  // Upwards, who has children waits for all of them together.
  cost.all.network.waits = std::min(s.home, s.nodes - 1);
  cost.all.node.waits = s.members > 1 ? s.nodes : 0;
  return cost;
}

/// Ways that a leader goes at once: as many as its node has ranks lead to all others in one round, where there are no
/// more.
Rank radix_of(const Layout& layout) {
  return layout.largest() + 1;
}

void tell_all(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  barrier::through_leaders(writer, call, layout, radix_of(layout));
}

DenseCost tell_all_cost(const Shape& s) {
  return barrier::through_leaders_cost(s, radix_of(s.layout));
}

constexpr std::string_view n_way =
    "T. Hoefler, T. Mehlan, F. Mietke, W. Rehm: Fast barrier synchronization for InfiniBand, IPDPS 2006: n-way "
    "dissemination";

}  // namespace

std::vector<DenseRule> rules() {
  return {
      {Dense::bcast, "one_hop", "all ranks of the root's node send to other nodes", cited::bruck_1997, relays, down,
       tree_cost},
      {Dense::reduce, "one_hop", "the transpose of that of bcast", cited::bruck_1997, relays, up, tree_cost},
      {Dense::barrier, "one_hop", "leaders tell many others at a time, the others with them", n_way, relays, tell_all,
       tell_all_cost},
  };
}

}  // namespace laneway::dense::one_hop
