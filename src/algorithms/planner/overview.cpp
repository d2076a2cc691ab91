#include "algorithms/planner/overview.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace laneway {

namespace {

void put_optional(Writer& writer, std::optional<std::int64_t> number) {
  writer.put_compact(number ? *number + 1 : 0);
}

std::optional<std::int64_t> get_optional(Reader& reader) {
  const std::int64_t next = reader.get_compact();
  return next > 0 ? std::optional(next - 1) : std::nullopt;
}

}  // namespace

Bytes Summary::to_bytes() const {
  Writer writer;
  writer.put_compact(region);
  writer.put_compact(inner);
  writer.put_compact(distance);
  put_optional(writer, sharing);
  inside.put(writer);
  writer.put_compact(static_cast<std::int64_t>(edges.size()));
  for (const PlacedEdge& edge : edges) {
    writer.put_compact(edge.region);
    writer.put_compact(edge.destination);
    writer.put_compact(edge.bytes);
    put_optional(writer, edge.begin);
  }
  writer.put_compact(static_cast<std::int64_t>(block_bytes.size()));
  for (const auto& [to, bytes] : block_bytes) {
    writer.put_compact(to);
    writer.put_compact(bytes);
  }
  return writer.take();
}

Summary Summary::from_bytes(const Bytes& bytes) {
  Reader reader(bytes);
  Summary summary;
  summary.region = static_cast<Rank>(reader.get_compact());
  summary.inner = static_cast<Rank>(reader.get_compact());
  summary.distance = static_cast<int>(reader.get_compact());
  if (const auto first = get_optional(reader)) summary.sharing = static_cast<Rank>(*first);
  summary.inside = InsideEdges::get(reader);
  summary.edges.resize(static_cast<std::size_t>(reader.get_compact()));
  for (PlacedEdge& edge : summary.edges) {
    edge.region = static_cast<Rank>(reader.get_compact());
    edge.destination = static_cast<Rank>(reader.get_compact());
    edge.bytes = reader.get_compact();
    edge.begin = get_optional(reader);
  }
  for (auto n = reader.get_compact(); n > 0; --n) {
    const auto to = static_cast<Rank>(reader.get_compact());
    summary.block_bytes[to] = reader.get_compact();
  }
  return summary;
}

Overview::Overview(std::vector<Summary> ranks, bool merges_all) : ranks_(std::move(ranks)) {
  std::map<Rank, std::vector<Rank>> sharing;
  std::map<std::pair<Rank, Rank>, Traffic> all;  // by the regions that they go from and to
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    const Summary& summary = ranks_[static_cast<std::size_t>(rank)];
    RegionView& view = views_[summary.region];
    view.region.id = summary.region;
    view.region.members.push_back(rank);
    view.inner.push_back(summary.inner);
    view.inside.push_back(summary.inside);
    view.distance.push_back(summary.distance);
    if (summary.sharing) sharing[*summary.sharing].push_back(rank);
    for (const PlacedEdge& edge : summary.edges) {
      all[{summary.region, edge.region}].edges.push_back({rank, edge.destination, edge.bytes});
      in_one_piece_ = in_one_piece_ && edge.begin;
    }
    for (const auto& [to, bytes] : summary.block_bytes) all[{summary.region, to}].sources.push_back({rank, bytes});
  }
  for (const Summary& summary : ranks_) {
    std::vector<Rank>& memory = sharing_[{summary.region, summary.sharing}];
    if (summary.sharing && memory.empty()) memory = sharing.at(*summary.sharing);
  }
  for (auto& [regions, traffic] : all) {
    const auto [from, to] = regions;
    LANEWAY_ASSERT(!traffic.edges.empty() && !traffic.sources.empty());
    std::sort(traffic.edges.begin(), traffic.edges.end());
    traffic.region = to;
    views_.at(from).out.push_back(traffic);
    traffic.region = from;
    views_.at(to).in.push_back(std::move(traffic));
  }
  if (merges_all) return;
  for (const auto& [id, view] : views_) unmerged_.emplace(id, without_merging(view));
}

std::size_t Overview::edges() const {
  std::size_t edges = 0;
  for (const Summary& summary : ranks_) edges += summary.edges.size();
  return edges;
}

std::map<Rank, LanesOfRegion> Overview::assign(const Strategy& strategy) const {
  std::map<Rank, LanesOfRegion> lanes;
  for (const auto& [id, merged] : views_) {
    LanesOfRegion& there = lanes[id];
    if (!strategy.relays()) continue;
    there.in = strategy.assign_receivers(view(id, strategy));
    std::stable_sort(there.in.begin(), there.in.end(),
                     [](const Lane& a, const Lane& b) { return a.from_region < b.from_region; });
  }
  if (!strategy.relays()) return lanes;
  for (const auto& [id, there] : lanes)
    for (const Lane& lane : there.in) lanes.at(lane.from_region).out.push_back(lane);
  for (auto& [id, there] : lanes) strategy.assign_senders(view(id, strategy), there.in, there.out);
  std::map<Rank, std::size_t> answered;  // lanes that leave the region, in the order in which they were put there
  for (auto& [id, there] : lanes)
    for (Lane& lane : there.in) {
      const Lane& same = lanes.at(lane.from_region).out[answered[lane.from_region]++];
      LANEWAY_ASSERT(same.to_region == lane.to_region && same.pieces == lane.pieces &&
                     same.destinations == lane.destinations);
      lane.sender = same.sender;
    }
  return lanes;
}

Prediction Overview::predict(const CostModel& costs, const Strategy& strategy,
                             const std::map<Rank, LanesOfRegion>& lanes) const {
  std::vector<NodeLoad> loads;
  for (const auto& [key, memory] : sharing_) {
    const LanesOfRegion& there = lanes.at(key.first);
    loads.push_back(costs.of_ranks_that_share(memory).load(strategy, view(key.first, strategy), there.in, there.out));
  }
  return costs.predict(loads);
}

std::optional<EdgeRanges> Overview::places(Rank region, const Strategy& strategy) const {
  const bool merges = strategy.deduplicates();
  if (merges && !in_one_piece_) return std::nullopt;
  EdgeRanges places;
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    std::int64_t at = 0;
    const std::vector<PlacedEdge>& edges = ranks_[static_cast<std::size_t>(rank)].edges;
    for (const PlacedEdge& edge : std::ranges::equal_range(edges, region, {}, &PlacedEdge::region)) {
      places[{rank, edge.destination}].push_back({merges ? *edge.begin : at, edge.bytes});
      at += edge.bytes;
    }
  }
  return places;
}

}  // namespace laneway
