#include "algorithms/planner/planner.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "algorithms/lowering/pack.hpp"
#include "algorithms/planner/control_messages.hpp"
#include "base/error.hpp"

namespace laneway {

Plan lower_direct(Rank rank, const Demand& demand, const LoweringOptions& options) {
  Itinerary itinerary;
  itinerary.rank = rank;
  itinerary.out_direct.assign(demand.pattern.out.size(), true);
  itinerary.in_direct.assign(demand.pattern.in.size(), true);
  itinerary.out_inside = itinerary.out_direct;
  itinerary.in_inside = itinerary.in_direct;
  return Lowering(demand, itinerary, options).finish();
}

Plan plan_direct(Rank rank, const Demand& demand, const LoweringOptions& options) {
  return pack(lower_direct(rank, demand, options));
}

Planner::Planner(Rank rank, Demand demand, const Region& region, Strategies strategies, const PlanOptions& options,
                 std::span<const InnerLevel> inner)
    : rank_(rank),
      demand_(std::move(demand)),
      pattern_(demand_.pattern),
      region_(region),
      strategies_(std::move(strategies)),
      strategy_(strategies_.front()),
      relays_inside_(std::ranges::any_of(strategies_, [](const Strategy* s) { return s->traits().relays_inside; })),
      options_(options),
      inner_(inner),
      in_lanes_(strategies_.size()),
      out_lanes_(strategies_.size()) {
  LANEWAY_ASSERT(strategies_.size() == 1 || options_.costs != nullptr);
  LANEWAY_ASSERT(std::ranges::none_of(strategies_, [&](const Strategy* strategy) {
    return strategy->relays() && strategy->traits().relays_inside != relays_inside_;
  }));
  source_order_.resize(pattern_.out.size());
  std::iota(source_order_.begin(), source_order_.end(), std::size_t{0});
  std::stable_sort(source_order_.begin(), source_order_.end(),
                   [&](std::size_t a, std::size_t b) { return pattern_.out[a].peer < pattern_.out[b].peer; });
  source_begin_.resize(pattern_.out.size());
  std::int64_t at = 0;
  for (std::size_t edge : source_order_) {
    source_begin_[edge] = at;
    at += pattern_.out[edge].ranges.bytes();
  }
}

LoweringOptions Planner::lowering() const {
  LoweringOptions options = options_.lowering;
  options.spread = options.spread || strategy_->traits().spreads;
  return options;
}

/// Whether some strategy does.
bool Planner::relays() const {
  return std::any_of(strategies_.begin(), strategies_.end(), [](const Strategy* s) { return s->relays(); });
}

bool Planner::merges_all() const {
  return std::ranges::all_of(strategies_, &Strategy::deduplicates);
}

bool Planner::crosses(const Edge& edge) const {
  return !edge.ranges.empty() && (region_of(edge.peer) != region_.id || (relays_inside_ && edge.peer != rank_));
}

/// Without deduplication every edge has bytes of its own, as if the send buffer were its edges one after another, by
/// ascending destination: so the other side can tell from the sizes of edges where in a block each of them is.
RangeList Planner::source_ranges(std::size_t edge) const {
  const RangeList& ranges = pattern_.out[edge].ranges;
  if (deduplicates()) return ranges;
  return {{source_begin_[edge], ranges.bytes()}};
}

RangeList Planner::in_buffer(const RangeList& source_ranges) const {
  if (deduplicates()) return source_ranges;
  RangeList result;
  source_ranges.for_each([&](Range range) {
    auto edge = std::upper_bound(source_order_.begin(), source_order_.end(), range.offset,
                                 [&](std::int64_t offset, std::size_t e) { return offset < source_begin_[e]; });
    --edge;
    while (range.bytes > 0) {
      const RangeList& ranges = pattern_.out[*edge].ranges;
      const std::int64_t skip = range.offset - source_begin_[*edge];
      const std::int64_t bytes = std::min(range.bytes, ranges.bytes() - skip);
      if (bytes > 0) result.append(ranges.slice(skip, bytes));
      range = {range.offset + bytes, range.bytes - bytes};
      ++edge;
    }
  });
  return result;
}

const Traffic& Planner::traffic_from(Rank region) const {
  const auto it = std::lower_bound(view_.in.begin(), view_.in.end(), region,
                                   [](const Traffic& traffic, Rank id) { return traffic.region < id; });
  LANEWAY_ASSERT(it != view_.in.end() && it->region == region);
  return *it;
}

Round Planner::begin(const std::map<Rank, Rank>* peer_regions) {
  if (!relays() && inner_.empty()) return plan_inside();
  if (peer_regions) {
    peer_regions_ = *peer_regions;
    return counted(send_sizes());
  }
  // Regions travel along the edges in both directions: a rank knows only its own.
  std::set<Rank> peers;
  for (const Edge& edge : pattern_.out) peers.insert(edge.peer);
  for (const Edge& edge : pattern_.in) peers.insert(edge.peer);
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (Rank peer : peers) {
    Writer writer;
    writer.put(region_.id);
    round.control_messages.push_back({peer, writer.take()});
    round.from.push_back(peer);
  }
  expected_ = round.from;
  next_ = &Planner::learn_regions;
  return counted(std::move(round));
}

Round Planner::resume(const std::vector<Bytes>& inbox) {
  return counted((this->*next_)(inbox));
}

Round Planner::learn_regions(const std::vector<Bytes>& inbox) {
  for (std::size_t i = 0; i < expected_.size(); ++i) peer_regions_[expected_[i]] = Reader(inbox[i]).get<Rank>();
  return send_sizes();
}

/// Where strategies know more than the views, no rank can choose for others. Those of several levels do so inside nodes
/// alone, and are candidates between them.
Round Planner::send_sizes() {
  if (!relays()) return plan_inside();
  find_blocks();
  const bool views_are_all = std::ranges::none_of(strategies_, [this](const Strategy* s) {
    return s->traits().needs == Traits::Needs::fabric && (s->traits().levels == 1 || strategies_.size() == 1);
  });
  return views_are_all && options_.ranks > 1 && options_.ranks <= few_ranks ? send_to_first() : send_blocks();
}

void Planner::find_blocks() {
  if (deduplicates() && std::ranges::any_of(pattern_.out, [](const Edge& edge) { return edge.ranges.groups() > 0; })) {
    std::map<Rank, std::vector<const RangeList*>> lists_for;
    for (const Edge& edge : pattern_.out)
      if (crosses(edge)) lists_for[region_of(edge.peer)].push_back(&edge.ranges);
    for (const auto& [region, lists] : lists_for)
      itinerary_.out_blocks[region] = blocks_.emplace(region, Block(lists)).first->second.list();
    return;
  }
  std::map<Rank, std::vector<Range>> bytes_for;
  for (std::size_t i = 0; i < pattern_.out.size(); ++i)
    if (crosses(pattern_.out[i]))
      source_ranges(i).for_each([&](Range range) { bytes_for[region_of(pattern_.out[i].peer)].push_back(range); });
  for (auto& [region, ranges] : bytes_for) {
    const Block& block = blocks_.emplace(region, Block(RangeSet(std::move(ranges)))).first->second;
    itinerary_.out_blocks[region] = in_buffer(block.set().list());
  }
}

/// Each source tells the first of its destinations in every other region the size of its block for that region.
Round Planner::send_blocks() {
  std::map<Rank, Rank> first_destination;
  for (const Edge& edge : pattern_.out) {
    if (!crosses(edge)) continue;
    const auto [it, fresh] = first_destination.emplace(region_of(edge.peer), edge.peer);
    if (!fresh) it->second = std::min(it->second, edge.peer);
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (const auto& [region, block] : blocks_) {
    Writer writer;
    writer.put(block.bytes());
    round.control_messages.push_back({first_destination.at(region), writer.take()});
  }
  // The source alone knows which of its destinations is the first, so every destination gets a control message.
  std::set<Rank> addressed;
  for (const ControlMessage& control_message : round.control_messages) addressed.insert(control_message.peer);
  std::set<Rank> others;
  for (const Edge& edge : pattern_.out)
    if (crosses(edge) && !addressed.contains(edge.peer)) others.insert(edge.peer);
  for (Rank peer : others) round.control_messages.push_back({peer, {}});
  std::set<Rank> sources;
  for (const Edge& edge : pattern_.in)
    if (crosses(edge)) sources.insert(edge.peer);
  round.from.assign(sources.begin(), sources.end());
  expected_ = round.from;
  next_ = &Planner::share_sizes;
  return round;
}

InsideEdges Planner::inside_edges() const {
  InsideEdges inside;
  if (relays_inside_) return inside;
  const auto stays = [&](const Edge& edge) {
    return !edge.ranges.empty() && edge.peer != rank_ && region_of(edge.peer) == region_.id;
  };
  for (const Edge& edge : pattern_.out) {
    if (!stays(edge)) continue;
    ++inside.messages_out;
    inside.bytes_out += edge.ranges.bytes();
  }
  for (const Edge& edge : pattern_.in) {
    if (!stays(edge)) continue;
    ++inside.messages_in;
    inside.bytes_in += edge.ranges.bytes();
  }
  return inside;
}

Rank Planner::inner_id() const {
  return inner_.empty() ? rank_ : inner_.front().region.id;
}

ViewPart Planner::own_part() const {
  ViewPart part;
  part.inner = inner_id();
  part.distance = options_.network_distance;
  for (const Edge& edge : pattern_.out)
    if (crosses(edge)) part.leaving.push_back({region_of(edge.peer), edge.peer, edge.ranges.bytes()});
  for (const auto& [region, block] : blocks_) part.out_blocks.push_back({region, rank_, block.bytes()});
  if (strategies_.size() > 1) part.inside = inside_edges();
  return part;
}

Round Planner::share_sizes(const std::vector<Bytes>& inbox) {
  ViewPart part = own_part();
  for (const Edge& edge : pattern_.in)
    if (crosses(edge)) part.entering.push_back({region_of(edge.peer), edge.peer, edge.ranges.bytes()});
  for (std::size_t i = 0; i < expected_.size(); ++i)
    if (!inbox[i].empty())
      part.in_blocks.push_back({region_of(expected_[i]), expected_[i], Reader(inbox[i]).get<std::int64_t>()});
  next_ = &Planner::answer_lanes;
  return {Round::Kind::region_gather, {}, {}, part.to_bytes(), &region_};
}

/// Every member now chooses the incoming lanes, for every strategy; the destination of the representative edge of each
/// region's traffic tells its source.
Round Planner::answer_lanes(const std::vector<Bytes>& inbox) {
  std::vector<ViewPart> parts;
  parts.reserve(inbox.size());
  for (const Bytes& bytes : inbox) parts.push_back(ViewPart::from_bytes(bytes));
  view_ = make_view(region_, parts);
  if (!merges_all()) unmerged_ = without_merging(view_);
  for (std::size_t c = 0; c < strategies_.size(); ++c) {
    if (!strategies_[c]->relays()) continue;
    in_lanes_[c] = strategies_[c]->assign_receivers(seen_by(*strategies_[c]));
    std::stable_sort(in_lanes_[c].begin(), in_lanes_[c].end(),
                     [](const Lane& a, const Lane& b) { return a.from_region < b.from_region; });
  }
  std::map<Rank, Writer> control_messages;
  for (const Traffic& traffic : view_.in) {
    if (traffic.edges.front().destination != rank_) continue;
    Writer& writer = control_messages[traffic.edges.front().source];
    for (const std::vector<Lane>& all : in_lanes_)
      put_lanes(writer, std::ranges::equal_range(all, traffic.region, {}, &Lane::from_region));
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (auto& [peer, writer] : control_messages) round.control_messages.push_back({peer, writer.take()});
  for (const Traffic& traffic : view_.out)
    if (traffic.edges.front().source == rank_) round.from.push_back(traffic.edges.front().destination);
  next_ = &Planner::share_lanes;
  return round;
}

Round Planner::share_lanes(const std::vector<Bytes>& inbox) {
  Writer writer;
  for (const std::vector<Lane>& lanes : lanes_in(inbox, strategies_.size())) put_lanes(writer, lanes);
  next_ = &Planner::choose_senders;
  return {Round::Kind::region_gather, {}, {}, writer.take(), &region_};
}

Round Planner::choose_senders(const std::vector<Bytes>& inbox) {
  out_lanes_ = lanes_in(inbox, strategies_.size());
  for (std::size_t c = 0; c < strategies_.size(); ++c) {
    std::stable_sort(out_lanes_[c].begin(), out_lanes_[c].end(),
                     [](const Lane& a, const Lane& b) { return a.to_region < b.to_region; });
    if (strategies_[c]->relays()) strategies_[c]->assign_senders(seen_by(*strategies_[c]), in_lanes_[c], out_lanes_[c]);
  }
  if (strategies_.size() > 1) return agree_on_costs();
  itinerary_.in_lanes = std::move(in_lanes_.front());
  itinerary_.out_lanes = std::move(out_lanes_.front());
  return announce_receivers();
}

/// Blocks are those of the strategy that was chosen.
Round Planner::go_on() {
  const bool merges = deduplicates();
  strategy_ = strategies_[selection_.chosen];
  if (!inner_.empty() && inner_.front().if_needed && strategy_->traits().levels == 1) inner_ = {};
  relays_inside_ = strategy_->traits().relays_inside;
  if (!strategy_->relays()) return plan_inside();
  if (merges != deduplicates()) {
    blocks_.clear();
    itinerary_.out_blocks.clear();
    find_blocks();
  }
  return edge_ranges_ ? find_forwards() : announce_receivers();
}

}  // namespace laneway
