#include <optional>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

// A. Bienz, L. Olson, W. Gropp: Node-aware improvements to allreduce, ExaMPI 2019: each step multiplies the number of
// nodes whose sum a node has by the ranks of a node and 1, because each rank exchanges with another node. Nodes beyond
// the largest product of such steps leave their sum to one of the others first: no operand is ever made up.

namespace laneway::dense::locality_aware_allreduce {

namespace {

class Radix {
 public:
  Radix(PlanWriter& writer, const DenseCall& call, const Layout& layout)
      : writer_(writer),
        call_(call),
        layout_(layout),
        home_(layout.region(call.rank)),
        index_(layout.index(call.rank)),
        sum_(output(call, 0)) {
    for (const std::int64_t most = layout.smallest() + 1; core_ * most <= layout.regions();) add(most);
    if (layout.regions() / core_ > 1) add(layout.regions() / core_);
    how_ = writer.combination(call.combination);
  }

  void write(const DenseSettings& settings) {
    const std::int64_t segment_bytes = settings.segment_bytes;
    const bool is_short = settings.is_short(sum_.ranges.bytes());
    const Tree tree = tree_inside(is_short)(region_of(layout_, call_.rank), 0);
    reduce(writer_, tree, input(call_, 0), sum_, call_.combination, segment_bytes, is_short);
    fold();
    std::int64_t stride = 1;
    for (const std::int64_t radix : radices_) {
      if (home_ < core_) step(stride, radix);
      stride *= radix;
    }
    unfold();
    broadcast(writer_, tree, sum_, segment_bytes);
  }

 private:
  void add(std::int64_t radix) {
    radices_.push_back(radix);
    core_ *= radix;
  }
  [[nodiscard]] Rank member(std::int64_t index) const { return layout_.member(home_, static_cast<Rank>(index)); }
  [[nodiscard]] Rank leader(std::int64_t region) const { return layout_.leader(static_cast<Rank>(region)); }

  void fold() {
    if (index_ != 0) return;
    if (home_ >= core_) {
      writer_.send(leader(home_ - core_), {sum_});
    } else if (home_ + core_ < layout_.regions()) {
      const Segment arrived = place(0);
      writer_.receive(leader(home_ + core_), {arrived});
      writer_.combine(arrived, sum_, how_);
    }
  }
  void unfold() {
    if (index_ != 0) return;
    if (home_ >= core_)
      writer_.receive(leader(home_ - core_), {sum_});
    else if (home_ + core_ < layout_.regions())
      writer_.send(leader(home_ + core_), {sum_});
  }

  /// Where what comes for member `index` arrives.
  Segment place(std::size_t index) {
    while (arrivals_.size() <= index) arrivals_.push_back(staged(writer_, sum_.ranges.bytes()));
    return arrivals_[index];
  }

  /// Member m exchanges with the node at the m-th other position. The leader combines all in the order of positions, so
  /// that each node has the same bits.
  void step(std::int64_t stride, std::int64_t radix) {
    if (index_ > radix - 2) return;
    const std::int64_t here = home_ / stride % radix;
    const auto position = [&](std::int64_t member) { return member < here ? member : member + 1; };
    const Rank lead = leader(home_);
    if (index_ == 0)
      for (std::int64_t m = 1; m < radix - 1; ++m) writer_.send(member(m), {sum_});
    else
      writer_.receive(lead, {sum_});
    const std::int64_t there = position(index_);
    const auto other = static_cast<Rank>(home_ + (there - here) * stride);
    const Rank partner = layout_.member(other, static_cast<Rank>(here < there ? here : here - 1));
    writer_.send(partner, {sum_});
    const Segment arrived = place(0);
    writer_.receive(partner, {arrived});
    if (index_ != 0) {
      writer_.send(lead, {arrived});
      return;
    }
    for (std::int64_t m = 1; m < radix - 1; ++m) writer_.receive(member(m), {place(static_cast<std::size_t>(m))});
    combine_all(here, radix);
  }

  void combine_all(std::int64_t here, std::int64_t radix) {
    if (here > 0 && !total_) total_ = staged(writer_, sum_.ranges.bytes());
    const Segment total = here > 0 ? *total_ : sum_;
    for (std::int64_t p = 0; p < radix; ++p) {
      const Segment operand = p == here ? sum_ : place(static_cast<std::size_t>(p < here ? p : p - 1));
      if (p > 0)
        writer_.combine(operand, total, how_);
      else
        writer_.move(operand, total);
    }
    writer_.move(total, sum_);
  }

  PlanWriter& writer_;
  const DenseCall& call_;
  const Layout& layout_;
  Rank home_;
  Rank index_;
  Segment sum_;
  std::int8_t how_ = 0;
  std::vector<std::int64_t> radices_;
  std::int64_t core_ = 1;  // regions [0, core_) take part in all steps
  std::vector<Segment> arrivals_;
  std::optional<Segment> total_;
};

}  // namespace

void locality_aware(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  Radix(writer, call, layout).write(settings);
}

DenseCost locality_aware_cost(const Shape& s) {
  const double least = s.layout.smallest();
  DenseCost cost = up_and_down(s, s.is_short(), segments(s, s.bytes));
  const auto step = [&](double radix) {
    const double met = radix - 2;  // members that the leader sends to, and hears from
    if (met > 0) cost = add(cost, inside(s, 2, 2 * met, 2 * met * s.bytes, 0, s.nodes));
    // Leaders combine in the order of nodes. All but the first put what comes in another place before.
    const double copied = radix - 1 + 2 * (1 - 1 / radix);
    DenseCost between = across(s, 1, 1, s.bytes, radix - 1, copied * s.bytes);
    between.all.combined_bytes = s.nodes * copied * s.bytes;
    cost = add(cost, between);
  };
  double core = 1;
  for (; core * (least + 1) <= s.nodes; core *= least + 1) step(least + 1);
  const double rest = std::floor(s.nodes / core);
  if (rest > 1) step(rest);
  if (core * rest < s.nodes) cost = add(cost, across(s, 2, 2, s.bytes, 1, s.bytes));
  return cost;
}

std::vector<DenseRule> rules() {
  return {
      {Dense::allreduce, "locality_aware", "each step has as many partners as a node has ranks",
       "A. Bienz, L. Olson, W. Gropp: Node-aware improvements to allreduce, ExaMPI 2019", relays, locality_aware,
       locality_aware_cost},
  };
}

}  // namespace laneway::dense::locality_aware_allreduce
