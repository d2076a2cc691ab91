#include "setup/overview.hpp"

#include <algorithm>

#include "core/error.hpp"

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

Overview::Overview(std::vector<Summary> ranks) : ranks_(std::move(ranks)) {
  std::map<Rank, Region> regions;
  std::map<Rank, std::vector<Rank>> sharing;
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    const Summary& summary = ranks_[static_cast<std::size_t>(rank)];
    Region& region = regions[summary.region];
    region.id = summary.region;
    region.members.push_back(rank);
    if (summary.sharing) sharing[*summary.sharing].push_back(rank);
  }
  std::vector<ViewPart> parts(ranks_.size());
  const auto part = [&](Rank rank) -> ViewPart& { return parts[static_cast<std::size_t>(rank)]; };
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    const Summary& from = ranks_[static_cast<std::size_t>(rank)];
    sharing_[{from.region, from.sharing}] = from.sharing ? sharing.at(*from.sharing) : std::vector<Rank>{};
    part(rank).inner = from.inner;
    part(rank).distance = from.distance;
    part(rank).inside = from.inside;
    for (const PlacedEdge& edge : from.edges) {
      part(rank).leaving.push_back({edge.region, edge.destination, edge.bytes});
      part(edge.destination).entering.push_back({from.region, rank, edge.bytes});
      in_one_piece_ = in_one_piece_ && edge.begin;
    }
    for (const auto& [to, bytes] : from.block_bytes) {
      part(rank).out_blocks.push_back({to, rank, bytes});
      part(regions.at(to).members.front()).in_blocks.push_back({from.region, rank, bytes});
    }
  }
  for (auto& [id, region] : regions) {
    std::vector<ViewPart> of_members;
    for (Rank member : region.members) of_members.push_back(std::move(part(member)));
    const RegionView& view = views_.emplace(id, make_view(std::move(region), of_members)).first->second;
    unmerged_.emplace(id, without_merging(view));
  }
}

std::map<Rank, LanesOfRegion> Overview::assign(const Strategy& strategy) const {
  std::map<Rank, LanesOfRegion> lanes;
  if (!strategy.relays()) return lanes;
  for (const auto& [id, merged] : views_) {
    lanes[id].in = strategy.assign_receivers(view(id, strategy));
    std::stable_sort(lanes[id].in.begin(), lanes[id].in.end(),
                     [](const Lane& a, const Lane& b) { return a.from_region < b.from_region; });
  }
  for (const auto& [id, there] : lanes)
    for (const Lane& lane : there.in) lanes.at(lane.from_region).out.push_back(lane);
  for (auto& [id, there] : lanes) strategy.assign_senders(view(id, strategy), there.in, there.out);
  std::map<Rank, std::size_t> answered;  // lanes that leave the region, in the order in which they were put there
  for (auto& [id, there] : lanes)
    for (Lane& lane : there.in) {
      const Lane& same = lanes.at(lane.from_region).out[answered[lane.from_region]++];
      LANEWAY_ASSERT(1, same.to_region == lane.to_region && same.pieces == lane.pieces);
      lane.sender = same.sender;
    }
  return lanes;
}

Prediction Overview::predict(const CostModel& costs, const Strategy& strategy,
                             const std::map<Rank, LanesOfRegion>& lanes) const {
  std::vector<NodeLoad> loads;
  for (const auto& [key, memory] : sharing_) {
    const RegionView& seen = view(key.first, strategy);
    const CostModel there = costs.of_ranks_that_share(memory);
    loads.push_back(strategy.relays() ? there.load_of_lanes(seen, lanes.at(key.first).in, lanes.at(key.first).out)
                                      : there.load_of_edges(seen));
  }
  return costs.predict(loads);
}

std::optional<Places> Overview::places(Rank region, const Strategy& strategy) const {
  const bool merges = strategy.deduplicates();
  if (merges && !in_one_piece_) return std::nullopt;
  Places places;
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    std::int64_t at = 0;
    for (const PlacedEdge& edge : ranks_[static_cast<std::size_t>(rank)].edges) {
      if (edge.region != region) continue;
      places[{rank, edge.destination}].push_back({merges ? *edge.begin : at, edge.bytes});
      at += edge.bytes;
    }
  }
  return places;
}

}  // namespace laneway
