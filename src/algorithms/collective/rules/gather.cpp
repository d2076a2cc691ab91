#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

// Up a tree to the root, or down from it. Messages have the blocks of a subtree in the order of ranks.

namespace laneway::dense::gather {

namespace {

std::vector<Rank> in_order(std::vector<Rank> ranks) {
  std::ranges::sort(ranks);
  return ranks;
}

std::vector<Rank> subtree(const Tree& tree, Rank me) {
  std::vector<Rank> all{me};
  for (const std::vector<Rank>& below : tree.below) all.insert(all.end(), below.begin(), below.end());
  return in_order(std::move(all));
}

/// Where an inner rank keeps the blocks of those below it; at the root their places in the arguments.
class Kept {
 public:
  Kept(PlanWriter& writer, const DenseCall& call, const Tree& tree) : call_(call) {
    if (tree.parent < 0) return;
    for (const std::vector<Rank>& below : tree.below) {
      std::int64_t bytes = 0;
      std::vector<std::int64_t> begin;
      const std::vector<Rank> ranks = in_order(below);
      for (const Rank rank : ranks) {
        begin.push_back(bytes);
        bytes += block_bytes(rank);
      }
      const std::int64_t base = writer.stage(bytes).offset;
      for (std::size_t i = 0; i < ranks.size(); ++i) place_[ranks[i]] = {base + begin[i], block_bytes(ranks[i])};
    }
  }

  [[nodiscard]] Segment of(Rank rank) const {
    const bool gathers = call_.kind == Dense::gather;
    if (call_.rank == call_.root) return gathers ? output(call_, rank) : input(call_, rank);
    if (rank == call_.rank) return gathers ? input(call_, 0) : output(call_, 0);
    return {Buffer::staging, {place_.at(rank)}};
  }
  [[nodiscard]] Parts of(const std::vector<Rank>& ranks) const {
    Parts parts;
    for (const Rank rank : ranks) append(parts, of(rank));
    return parts;
  }

 private:
  [[nodiscard]] std::int64_t block_bytes(Rank rank) const {
    return call_.kind == Dense::gather ? call_.bytes(rank, call_.root) : call_.bytes(call_.root, rank);
  }

  const DenseCall& call_;
  std::map<Rank, Range> place_;
};

void gather_up(PlanWriter& writer, const DenseCall& call, const Tree& tree) {
  const Kept kept(writer, call, tree);
  if (tree.parent < 0 && !call.in_place) writer.move(input(call, call.rank), output(call, call.rank));
  for (std::size_t c = 0; c < tree.children.size(); ++c)
    writer.receive(tree.children[c], kept.of(in_order(tree.below[c])));
  if (tree.parent >= 0) writer.send(tree.parent, kept.of(subtree(tree, call.rank)));
}

/// The transpose.
void scatter_down(PlanWriter& writer, const DenseCall& call, const Tree& tree) {
  const Kept kept(writer, call, tree);
  if (tree.parent >= 0) writer.receive(tree.parent, kept.of(subtree(tree, call.rank)));
  for (std::size_t c = 0; c < tree.children.size(); ++c)
    writer.send(tree.children[c], kept.of(in_order(tree.below[c])));
  if (tree.parent < 0 && !call.in_place) writer.move(input(call, call.rank), output(call, 0));
}

void along(PlanWriter& writer, const DenseCall& call, const Tree& tree) {
  (call.kind == Dense::gather ? gather_up : scatter_down)(writer, call, tree);
}

/// A leader needs the sizes of its members' blocks.
template <bool sent>
std::vector<Want> want_node_aware(Rank rank, Rank root, const Layout& layout, const DenseSettings&) {
  std::vector<Want> wants;
  const Rank region = layout.region(rank);
  if (rank == root || rank != leader_of(layout, region, root)) return wants;
  for (const Rank member : layout.members(region))
    if (member != rank) wants.push_back({member, sent, {root}});
  return wants;
}

/// So does a rank of the root's node, of all that it passes on between the root and others.
template <bool sent>
std::vector<Want> want_one_hop(Rank rank, Rank root, const Layout& layout, const DenseSettings& settings) {
  if (layout.region(rank) != layout.region(root)) return want_node_aware<sent>(rank, root, layout, settings);
  std::vector<Rank> others;
  if (rank != root)
    for (const std::vector<Rank>& below : one_hop::tree_of(layout, root, rank).below)
      others.insert(others.end(), below.begin(), below.end());
  if (others.empty()) return {};
  return {{root, !sent, std::move(others)}};
}

/// To the root, or from it, of the nodes that it is not on.
DenseCost from_elsewhere(const Shape& s, double messages) {
  const double bytes = (s.ranks - s.home) * s.bytes;
  DenseCost cost = across(s, s.nodes > 1 ? 1 : 0, messages, bytes, 1);
  cost.all.network.messages = messages;
  cost.all.network.bytes = bytes;
  return cost;
}

}  // namespace

void direct(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  along(writer, call, flat(everyone(layout, call.rank), call.root));
}

DenseCost direct_cost(const Shape& s) {
  return one_way(add(inside(s, 1, s.home - 1, (s.home - 1) * s.bytes, 0, 1), from_elsewhere(s, s.ranks - s.home)));
}

void binomial(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  along(writer, call, dense::binomial(everyone(layout, call.rank), call.root));
}

DenseCost binomial_cost(const Shape& s) {
  DenseCost cost = one_way(count_tree(s.layout, s.facts.root, s.bytes, true));
  cost.node.waits = rounds(s.members);
  cost.network.waits = rounds(s.ranks) - cost.node.waits;
  cost.combined_bytes = s.ranks / 2 * s.bytes;
  // Who passes on what it got puts its own before that.
  const double leaves = s.ranks > 1 ? std::ceil(s.ranks / 2) : 0;
  cost.all.combined_bytes = (blocks_sent(s.layout.ranks()) - leaves) * s.bytes;
  cost.all.node.waits /= 2;  // every second rank passes on what it waits for
  cost.all.network.waits /= 2;
  return cost;
}

void node_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  along(writer, call, over_regions(layout, call.root, call.rank, flat, flat));
}

DenseCost node_aware_cost(const Shape& s) {
  return one_way(add(with_leaders(s), from_elsewhere(s, s.nodes - 1)));
}

void in_one_hop(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings&) {
  along(writer, call, one_hop::tree_of(layout, call.root, call.rank));
}

/// The root's node takes part with all its ranks, which pass on to the root but for its own share.
DenseCost one_hop_cost(const Shape& s) {
  const double others = s.nodes - 1;
  const double share = std::ceil(others / s.home);
  const double outside = s.ranks - s.home;
  const double passed_on = others > 0 ? outside * (1 - std::floor(others / s.home) / others) : 0;
  DenseCost far = from_elsewhere(s, others);
  far.network = {share, std::min(share * s.members, outside) * s.bytes, far.network.waits};
  DenseCost near = inside(s, s.home > 1 ? 1 : 0, s.home - 1, (s.home - 1 + passed_on) * s.bytes, 0, 0);
  near.all.node = {0, passed_on * s.bytes, s.home > 1 ? 1.0 : 0.0};  // in messages that bring ranks' own blocks
  return one_way(add(add(with_leaders(s), near), far));
}

std::vector<DenseRule> rules() {
  std::vector<DenseRule> all;
  for (const Dense kind : {Dense::gather, Dense::scatter}) {
    all.push_back({kind, "direct", "each rank with the root", cited::mpich, DenseTraits{}, direct, direct_cost});
    all.push_back({kind, "binomial", "along a binomial tree", cited::mpich,
                   DenseTraits{.equal_only = true, .relays = true}, binomial, binomial_cost});
    all.push_back({kind, "node_aware", "one message a node", cited::all_to_all, relays, node_aware, node_aware_cost,
                   kind == Dense::gather ? want_node_aware<true> : want_node_aware<false>});
    all.push_back({kind, "one_hop", "one message a node, with all ranks of the root's node", cited::bruck_1997, relays,
                   in_one_hop, one_hop_cost, kind == Dense::gather ? want_one_hop<true> : want_one_hop<false>});
  }
  return all;
}

}  // namespace laneway::dense::gather
