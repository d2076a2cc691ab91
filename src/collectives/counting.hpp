#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/rules.hpp"

namespace laneway::dense::costs {

/// Of a call and a layout, what costs ask for.
struct Shape {
  double ranks;
  double nodes;
  double members;           ///< of the largest node
  double outside;           ///< ranks on other nodes
  double home;              ///< ranks on the root's node
  double inside_pairs = 0;  ///< of ranks of one node, in both directions
  double across_pairs = 0;  ///< of ranks of two nodes
  double bytes;
  double sums;  ///< what is combined counts

  Shape(const DenseFacts& facts, const Layout& layout)
      : ranks(layout.ranks()),
        nodes(layout.regions()),
        members(layout.largest()),
        outside(std::max(ranks - members, 0.0)),
        home(layout.size(layout.region(facts.root))),
        bytes(static_cast<double>(facts.bytes)),
        sums(reduces(facts.kind) ? 1 : 0) {
    double squares = 0;
    for (Rank region = 0; region < layout.regions(); ++region)
      squares += static_cast<double>(layout.size(region)) * layout.size(region);
    inside_pairs = squares - ranks;
    across_pairs = ranks * ranks - squares;
  }
};

/// A k-nomial tree of n ranks.
struct TreeShape {
  double levels = 0;
  double children = 0;  ///< of the root
  double parents = 0;   ///< ranks that have children

  TreeShape(double n, double radix) : parents(n > 1 ? std::ceil(n / radix) : 0) {
    for (double span = 1; span < n; span *= radix) {
      ++levels;
      children += std::min(radix, std::ceil(n / span)) - 1;
    }
  }
};

/// Counts messages one by one, for rules whose partners depend on where nodes begin: in proportion to the messages,
/// which are log2 of the ranks for each.
class Counting {
 public:
  explicit Counting(const Layout& layout)
      : layout_(layout),
        ranks_(static_cast<std::size_t>(layout.ranks())),
        nodes_(static_cast<std::size_t>(layout.regions())) {}

  void message(Rank from, Rank to, double bytes) {
    const bool crosses = layout_.region(from) != layout_.region(to);
    (crosses ? crosses_ : stays_) = true;
    (crosses ? of(from).far_out : of(from).near_out).add(bytes);
    (crosses ? of(to).far_in : of(to).near_in).add(bytes);
    (crosses ? all_.network_messages : all_.node_messages) += 1;
    (crosses ? all_.network_bytes : all_.node_bytes) += bytes;
    (crosses ? all_.network_waits : all_.node_waits) += 1;
    if (!crosses) return;
    nodes_[static_cast<std::size_t>(layout_.region(from))].first.add(bytes);
    nodes_[static_cast<std::size_t>(layout_.region(to))].second.add(bytes);
  }
  /// What comes next waits for what has been. Rounds of both sorts take as long as messages between nodes do.
  void end_round() {
    network_rounds_ += crosses_;
    node_rounds_ += stays_ && !crosses_;
    crosses_ = stays_ = false;
  }

  /// `combined`: bytes, of each rank.
  [[nodiscard]] DenseCost cost(double combined) const {
    DenseCost cost;
    cost.node_rounds = node_rounds_;
    cost.network_rounds = network_rounds_;
    for (const Ways& rank : ranks_) {
      cost.node_messages = std::max({cost.node_messages, rank.near_out.messages, rank.near_in.messages});
      cost.node_bytes = std::max({cost.node_bytes, rank.near_out.bytes, rank.near_in.bytes});
      cost.network_messages = std::max({cost.network_messages, rank.far_out.messages, rank.far_in.messages});
      cost.network_bytes = std::max({cost.network_bytes, rank.far_out.bytes, rank.far_in.bytes});
    }
    for (const auto& [out, in] : nodes_) {
      cost.injected_messages = std::max({cost.injected_messages, out.messages, in.messages});
      cost.injected_bytes = std::max({cost.injected_bytes, out.bytes, in.bytes});
    }
    cost.combined_bytes = combined;
    cost.all = all_;
    cost.all.combined_bytes = combined * layout_.ranks();
    return cost;
  }

 private:
  struct Way {
    double messages = 0;
    double bytes = 0;

    void add(double more) {
      messages += 1;
      bytes += more;
    }
  };
  struct Ways {
    Way near_out, near_in, far_out, far_in;
  };
  Ways& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  const Layout& layout_;
  std::vector<Ways> ranks_;
  std::vector<std::pair<Way, Way>> nodes_;  // out, in
  DenseWork all_;
  double node_rounds_ = 0;
  double network_rounds_ = 0;
  bool crosses_ = false;
  bool stays_ = false;
};

/// All ranks in pairs that a power of two separates, as Folded of groups.cpp finds them.
class Pairs {
 public:
  Pairs(Counting& counting, Rank ranks) : counting_(counting), ranks_(ranks) {
    while (2 * numbers_ <= ranks) numbers_ *= 2;
  }

  [[nodiscard]] Rank numbers() const { return numbers_; }
  /// Between those that take part and their twins.
  void fold(double bytes, bool out) {
    for (Rank pair = 0; pair < ranks_ - numbers_; ++pair)
      counting_.message(2 * pair + (out ? 0 : 1), 2 * pair + (out ? 1 : 0), bytes);
    counting_.end_round();
  }
  void exchange(Rank distance, double bytes) {
    for (Rank number = 0; number < numbers_; ++number) counting_.message(rank(number), rank(number ^ distance), bytes);
    counting_.end_round();
  }

 private:
  [[nodiscard]] Rank rank(Rank number) const {
    const Rank pairs = ranks_ - numbers_;
    return number < pairs ? 2 * number : number + pairs;
  }

  Counting& counting_;
  Rank ranks_;
  Rank numbers_ = 1;
};

/// To the rank so much further, of all.
inline void shift(Counting& counting, Rank ranks, Rank distance, double bytes) {
  for (Rank rank = 0; rank < ranks; ++rank) counting.message(rank, (rank + distance) % ranks, bytes);
  counting.end_round();
}

}  // namespace laneway::dense::costs
