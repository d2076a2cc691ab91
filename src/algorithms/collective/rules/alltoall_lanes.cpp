#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

// K. Fan and others: all-to-alls in two levels. What leaves a node goes through its lanes: the rank that owns a lane
// has from all of its node what is for that lane's ranks of other nodes. Owners of a lane exchange this, linearly or by
// the digits of a radix, and hand it on where a lane has several ranks. Nodes may differ in size: a rank of a smaller
// one owns several lanes.

namespace laneway::dense::alltoall_lanes {

namespace {

/// How many lanes a node has.
enum class Lanes { one, leaders, all };

class Exchange {
 public:
  Exchange(Rank rank, const Layout& layout, Rank lanes, std::int64_t radix)
      : layout_(layout), rank_(rank), home_(layout.region(rank)), lanes_(lanes), radix_(radix) {}

  void write(PlanWriter& writer, const DenseCall& call) const {
    const Inputs inputs(writer, call, layout_.ranks());
    if (!call.in_place) writer.move(inputs.of(rank_), output(call, rank_));
    const Rank members = layout_.size(home_);
    std::vector<std::optional<Held>> gathered(static_cast<std::size_t>(members));  // by source
    for (Rank i = 1; i < members; ++i) {
      const Rank to = layout_.member(home_, (layout_.index(rank_) + i) % members);
      const Rank from = layout_.member(home_, (layout_.index(rank_) - i + members) % members);
      Parts received{output(call, from)};
      auto& held = gathered[static_cast<std::size_t>(layout_.index(from))];
      held.emplace(writer, outside(rank_), [&](Rank d) { return call.bytes(from, d); });
      append(received, held->all());
      writer.receive(from, std::move(received));
      Parts sent{inputs.of(to)};
      for (const Rank d : outside(to)) append(sent, inputs.of(d));
      writer.send(to, std::move(sent));
    }
    const auto part_for = [&](Rank source, Rank d) {
      return source == rank_ ? inputs.of(d) : gathered[static_cast<std::size_t>(layout_.index(source))]->of(d);
    };
    std::vector<Handed> handed;
    for (const Rank lane : own_lanes()) cross(writer, call, lane, part_for, handed);
    distribute(writer, call, handed);
  }

  [[nodiscard]] std::vector<Want> wants() const {
    std::vector<Want> wants;
    const std::vector<Rank> away = outside(rank_);
    std::vector<Rank> others;
    for (Rank rank = 0; rank < layout_.ranks(); ++rank)
      if (layout_.region(rank) != home_) others.push_back(rank);
    for (const Rank member : layout_.members(home_)) {
      if (member == rank_ || others.empty()) continue;
      if (!away.empty()) wants.push_back({member, true, away});
      if (owner(home_, lane_of(member)) == rank_) wants.push_back({member, false, others});
    }
    return wants;
  }

  /// Those of one lane after those of another.
  [[nodiscard]] std::vector<std::vector<SizeHop>> sizes() const {
    std::vector<std::vector<SizeHop>> rounds;
    for (Rank lane = 0; lane < lanes_; ++lane)
      for (auto& round : sizes_by_hops(lane_of(layout_, lane, rank_), radix_, [&](Rank from, Rank to) {
             Passed passed{item(lane, from, to), false, {}};
             if (from != home_) return passed;
             for (const Rank d : destinations(to, lane))
               for (const Rank s : layout_.members(from)) passed.blocks.emplace_back(s, d);
             return passed;
           }))
        rounds.push_back(std::move(round));
    return rounds;
  }

 private:
  /// Blocks for some destinations that wait on this rank, one after another.
  class Held {
   public:
    template <class Bytes>
    Held(PlanWriter& writer, std::vector<Rank> destinations, Bytes&& bytes) : destinations_(std::move(destinations)) {
      begin_.push_back(0);
      for (const Rank d : destinations_) begin_.push_back(begin_.back() + bytes(d));
      base_ = writer.stage(begin_.back()).offset;
    }
    [[nodiscard]] Segment all() const { return {Buffer::staging, {{base_, begin_.back()}}}; }
    [[nodiscard]] Segment of(Rank destination) const {
      const auto i = static_cast<std::size_t>(std::ranges::find(destinations_, destination) - destinations_.begin());
      return {Buffer::staging, {{base_ + begin_[i], begin_[i + 1] - begin_[i]}}};
    }

   private:
    std::vector<Rank> destinations_;
    std::vector<std::int64_t> begin_;
    std::int64_t base_ = 0;
  };
  /// What has come from a node for one of the own.
  struct Handed {
    Rank from = 0;
    Rank destination = 0;
    Segment blocks;
  };

  [[nodiscard]] Rank owner(Rank region, Rank lane) const { return dense::owner(layout_, region, lane); }
  [[nodiscard]] Rank lane_of(Rank rank) const { return layout_.index(rank) % lanes_; }
  [[nodiscard]] static Group lane_of(const Layout& layout, Rank lane, Rank me) {
    return dense::lane_of(layout, lane, me);
  }
  [[nodiscard]] std::vector<Rank> own_lanes() const {
    std::vector<Rank> own;
    for (Rank lane = layout_.index(rank_); lane < lanes_; lane += layout_.size(home_)) own.push_back(lane);
    return own;
  }
  /// The ranks of a region that such a lane serves.
  [[nodiscard]] std::vector<Rank> destinations(Rank region, Rank lane) const {
    std::vector<Rank> all;
    for (Rank i = lane; i < layout_.size(region); i += lanes_) all.push_back(layout_.member(region, i));
    return all;
  }
  /// Ranks of other nodes whose lanes this member of the node owns.
  [[nodiscard]] std::vector<Rank> outside(Rank member) const {
    std::vector<Rank> all;
    for (Rank lane = layout_.index(member); lane < lanes_; lane += layout_.size(home_))
      for (Rank region = 0; region < layout_.regions(); ++region)
        if (region != home_)
          for (const Rank d : destinations(region, lane)) all.push_back(d);
    return all;
  }
  [[nodiscard]] std::uint64_t item(Rank lane, Rank from, Rank to) const {
    const auto regions = static_cast<std::uint64_t>(layout_.regions());
    return (static_cast<std::uint64_t>(lane) * regions + static_cast<std::uint64_t>(from)) * regions +
           static_cast<std::uint64_t>(to);
  }

  template <class PartFor>
  void cross(PlanWriter& writer, const DenseCall& call, Rank lane, const PartFor& part_for,
             std::vector<Handed>& handed) const {
    const auto sent = [&](Rank region) {
      Parts parts;
      for (const Rank d : destinations(region, lane))
        for (const Rank s : layout_.members(home_)) append(parts, part_for(s, d));
      return parts;
    };
    const auto received = [&](Rank region) {
      Parts parts;
      for (const Rank d : destinations(home_, lane)) {
        if (d == rank_) {
          for (const Rank s : layout_.members(region)) append(parts, output(call, s));
          continue;
        }
        std::int64_t bytes = 0;
        for (const Rank s : layout_.members(region)) bytes += call.bytes(s, d);
        handed.push_back({region, d, staged(writer, bytes)});
        append(parts, handed.back().blocks);
      }
      return parts;
    };
    const auto bytes = [&](Rank from, Rank to) {
      if (!call.sizes.are_equal()) return call.sizes.passed(item(lane, from, to));
      return static_cast<std::int64_t>(destinations(to, lane).size()) * layout_.size(from) * call.sizes.bytes(0, 0);
    };
    alltoall_by_hops(writer, lane_of(layout_, lane, rank_), radix_, {sent, received, bytes});
  }

  /// Owners of lanes give the others of these what has come for them.
  void distribute(PlanWriter& writer, const DenseCall& call, std::vector<Handed>& handed) const {
    std::ranges::stable_sort(handed, {}, [](const Handed& h) { return std::pair(h.destination, h.from); });
    for (std::size_t i = 0; i < handed.size();) {
      const Rank d = handed[i].destination;
      Parts parts;
      for (; i < handed.size() && handed[i].destination == d; ++i) append(parts, handed[i].blocks);
      writer.send(d, std::move(parts));
    }
    const Rank from = owner(home_, lane_of(rank_));
    if (from == rank_) return;
    Parts parts;
    for (Rank region = 0; region < layout_.regions(); ++region)
      if (region != home_)
        for (const Rank s : layout_.members(region)) append(parts, output(call, s));
    writer.receive(from, std::move(parts));
  }

  const Layout& layout_;
  Rank rank_;
  Rank home_;
  Rank lanes_;
  std::int64_t radix_;
};

template <Lanes lanes>
Rank lanes_of(const Layout& layout, const DenseSettings& settings) {
  if (lanes == Lanes::one) return 1;
  return lanes == Lanes::all ? layout.largest() : std::clamp<Rank>(settings.leaders, 1, layout.largest());
}

template <Lanes lanes, bool hops>
Exchange exchange(Rank rank, const Layout& layout, const DenseSettings& settings) {
  return {rank, layout, lanes_of<lanes>(layout, settings),
          hops ? radix_of(settings) : std::max<std::int64_t>(layout.regions(), 2)};
}

template <Lanes lanes, bool hops>
void write(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  exchange<lanes, hops>(call.rank, layout, settings).write(writer, call);
}
template <Lanes lanes, bool hops>
std::vector<Want> wants(Rank rank, Rank, const Layout& layout, const DenseSettings& settings) {
  return exchange<lanes, hops>(rank, layout, settings).wants();
}
template <Lanes lanes, bool hops>
std::vector<std::vector<SizeHop>> sizes(Rank rank, const Layout& layout, const DenseSettings& settings) {
  return exchange<lanes, hops>(rank, layout, settings).sizes();
}

template <Lanes lanes, bool hops>
DenseCost cost(const Shape& s) {
  const double each = lanes_of<lanes>(s.layout, s.settings);
  const double served = std::ceil(s.members / each);  // by a lane on a node
  const double away = s.outside * s.bytes;            // of a rank
  // A rank that owns a lane gets what the others have for it, one that does not gives all.
  const double gathered = (s.members - 1) * away / each;
  // Nothing leaves before all others of the node have given what they have.
  DenseCost all = inside(s, s.members - 1, s.members - 1, (s.members - 1) * s.bytes + gathered);
  all.all.node.messages = s.inside_pairs;
  all.all.node.bytes = s.inside_pairs * s.bytes + s.ranks * away * (s.members - 1) / s.members;
  if (served > 1) {
    DenseCost handed = inside(s, 1, served - 1, (served - 1) * away, away, s.nodes * each);
    handed.all.node.messages = s.ranks - s.nodes * each;
    handed.all.node.bytes = handed.all.node.messages * away;
    all = add(all, handed);
  }
  const std::int64_t regions = s.layout.regions();
  const std::int64_t radix = hops ? radix_of(s.settings) : std::max<std::int64_t>(regions, 2);
  double messages = 0;
  double items = 0;
  for_each_hop(regions, radix, [&](std::int64_t unit, std::int64_t distance) {
    messages += 1;
    items += static_cast<double>(items_of_hop(regions, radix, unit, distance));
  });
  const double times = regions > 1 ? items / (s.nodes - 1) : 0;  // that a block crosses, in the mean
  const double carried = times * s.members * away / each;
  DenseCost cross = across(s, digits(regions, radix), messages, carried, each, carried);
  cross.all.network.bytes = times * s.across_pairs * s.bytes;
  cross.at_once = !hops && regions > 2;
  return add(all, cross);
}

template <Lanes lanes, bool hops>
DenseRule row(std::string_view name, std::string_view description) {
  return {Dense::alltoall,
          name,
          description,
          cited::by_radix,
          DenseTraits{.relays = true, .hops = hops},
          write<lanes, hops>,
          cost<lanes, hops>,
          wants<lanes, hops>,
          hops ? sizes<lanes, hops> : nullptr};
}

}  // namespace

std::vector<DenseRule> rules() {
  return {
      row<Lanes::all, false>("lanes",
                             "each rank has from its node what is for ranks of its place, which it sends them"),
      row<Lanes::all, true>("lanes_bruck", "as lanes, between nodes by the digits of their ways"),
      row<Lanes::one, true>("hierarchical_bruck", "as hierarchical, between nodes by the digits of their ways"),
      row<Lanes::leaders, true>("multi_leader_bruck",
                                "as lanes_bruck, with a few lanes, whose owners gather and scatter"),
  };
}

}  // namespace laneway::dense::alltoall_lanes
