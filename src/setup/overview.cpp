#include "setup/overview.hpp"

#include <algorithm>
#include <utility>

namespace laneway {

Bytes Summary::to_bytes() const {
  Writer writer;
  writer.put_compact(region);
  writer.put_compact(sharing ? *sharing + 1 : 0);
  writer.put(part.to_bytes());
  return writer.take();
}

Summary Summary::from_bytes(const Bytes& bytes) {
  Reader reader(bytes);
  Summary summary;
  summary.region = static_cast<Rank>(reader.get_compact());
  if (const auto first = static_cast<Rank>(reader.get_compact()); first > 0) summary.sharing = first - 1;
  summary.part = ViewPart::from_bytes(reader.get_bytes());
  return summary;
}

Overview::Overview(const std::vector<Summary>& ranks) {
  const auto summary = [&](Rank rank) -> const Summary& { return ranks[static_cast<std::size_t>(rank)]; };
  std::map<Rank, Region> regions;
  std::map<std::optional<Rank>, std::vector<Rank>> sharing;
  std::vector<ViewPart> parts;
  for (Rank rank = 0; rank < static_cast<Rank>(ranks.size()); ++rank) {
    Region& region = regions[summary(rank).region];
    region.id = summary(rank).region;
    region.members.push_back(rank);
    if (summary(rank).sharing) sharing[summary(rank).sharing].push_back(rank);
    parts.push_back(summary(rank).part);
  }
  const auto part = [&](Rank rank) -> ViewPart& { return parts[static_cast<std::size_t>(rank)]; };
  for (Rank rank = 0; rank < static_cast<Rank>(ranks.size()); ++rank) {
    const Summary& from = summary(rank);
    sharing_[{from.region, from.sharing}] = sharing[from.sharing];
    for (const auto& edge : from.part.leaving)
      part(edge.destination).entering.push_back({from.region, rank, edge.bytes});
    for (const auto& block : from.part.out_blocks)
      part(regions.at(block.region).members.front()).in_blocks.push_back({from.region, rank, block.bytes});
  }
  for (auto& [id, region] : regions) {
    std::vector<ViewPart> of_members;
    for (Rank member : region.members) of_members.push_back(std::move(part(member)));
    views_.emplace(id, make_view(std::move(region), of_members));
  }
}

std::map<Rank, LanesOfRegion> Overview::assign(const Strategy& strategy) const {
  std::map<Rank, LanesOfRegion> lanes;
  for (const auto& [id, view] : views_) {
    lanes[id].in = strategy.assign_receivers(view);
    std::stable_sort(lanes[id].in.begin(), lanes[id].in.end(),
                     [](const Lane& a, const Lane& b) { return a.from_region < b.from_region; });
  }
  for (const auto& [id, entering] : lanes)
    for (const Lane& lane : entering.in) lanes.at(lane.from_region).out.push_back(lane);
  for (auto& [id, of_region] : lanes) strategy.assign_senders(views_.at(id), of_region.out);
  return lanes;
}

Prediction Overview::predict(const CostModel& costs, const std::map<Rank, LanesOfRegion>* lanes) const {
  Prediction all;
  for (const auto& [key, ranks] : sharing_) {
    const RegionView& view = views_.at(key.first);
    const CostModel there = costs.of_ranks_that_share(key.second ? ranks : std::vector<Rank>{});
    all.merge(lanes == nullptr ? there.of_edges(view)
                               : there.of_lanes(view, lanes->at(key.first).in, lanes->at(key.first).out));
  }
  return all;
}

}  // namespace laneway
