#include "model/candidates.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace laneway {

bool CostModel::shares(Rank peer) const {
  return std::binary_search(options_.sharing.begin(), options_.sharing.end(), peer);
}

/// Between ranks of the region, which may still be on different nodes of a described machine.
Hop CostModel::inside(Stage stage, Rank peer, std::int64_t bytes, std::int64_t messages) const {
  const bool small = stage != Stage::direct || bytes <= options_.mailbox_bytes * messages;
  return {stage, LinkClass::node, small && shares(peer), messages, bytes};
}

/// Between regions, which may still be on one node.
Hop CostModel::across(Stage stage, Rank peer, std::int64_t bytes) const {
  const std::int64_t cut = options_.network_message_bytes;
  const std::int64_t messages =
      stage == Stage::direct || cut == 0 ? 1 : std::max<std::int64_t>(1, (bytes + cut - 1) / cut);
  const bool local = shares(peer);
  const bool small = stage != Stage::direct || bytes <= options_.mailbox_bytes;
  return {stage, local ? LinkClass::node : LinkClass::network, local && small, messages, bytes};
}

void CostModel::add_inside(const RegionView& view, NodeLoad& load) const {
  for (std::size_t i = 0; i < view.inside.size(); ++i) {
    const Rank member = view.region.members[i];
    const InsideEdges& edges = view.inside[i];
    load.send(member, inside(Stage::direct, member, edges.bytes_out, edges.messages_out), parameters_);
    load.receive(member, inside(Stage::direct, member, edges.bytes_in, edges.messages_in), parameters_);
  }
}

NodeLoad CostModel::load_of_edges(const RegionView& view) const {
  NodeLoad load(view.region);
  add_inside(view, load);
  for (const Link& link : view.out)
    for (const CrossEdge& edge : link.edges)
      load.send(edge.source, across(Stage::direct, edge.destination, edge.bytes), parameters_);
  for (const Link& link : view.in)
    for (const CrossEdge& edge : link.edges)
      load.receive(edge.destination, across(Stage::direct, edge.source, edge.bytes), parameters_);
  return load;
}

void CostModel::add_gather(const Lane& lane, NodeLoad& load) const {
  for (const Piece& piece : lane.pieces) {
    if (piece.source == lane.sender) continue;
    load.send(piece.source, inside(Stage::gather, lane.sender, piece.bytes()), parameters_);
    load.receive(lane.sender, inside(Stage::gather, piece.source, piece.bytes()), parameters_);
  }
}

/// Which bytes of a block an edge needs is not known here, unless every edge has its own: of a part of a block it is
/// taken to need as large a part of its own bytes.
void CostModel::add_scatter(const Link& link, bool merged, const Lane& lane, NodeLoad& load) const {
  std::vector<std::pair<Rank, double>> needed;  // bytes, by ascending destination
  auto source = link.sources.begin();
  for (const Piece& piece : lane.pieces) {
    while (source != link.sources.end() && source->rank < piece.source) ++source;
    if (source == link.sources.end() || source->rank != piece.source)
      source = std::lower_bound(link.sources.begin(), link.sources.end(), piece.source,
                                [](const SourceBytes& s, Rank rank) { return s.rank < rank; });
    const double part = static_cast<double>(piece.bytes()) / static_cast<double>(source->bytes);
    std::int64_t at = 0;
    for (auto edge = std::lower_bound(link.edges.begin(), link.edges.end(), CrossEdge{piece.source, 0, 0});
         edge != link.edges.end() && edge->source == piece.source; at += edge->bytes, ++edge) {
      const std::int64_t own = std::min(piece.end, at + edge->bytes) - std::max(piece.begin, at);
      if (!merged && own <= 0) continue;
      auto of = std::ranges::lower_bound(needed, edge->destination, {}, &std::pair<Rank, double>::first);
      if (of == needed.end() || of->first != edge->destination) of = needed.emplace(of, edge->destination, 0);
      of->second += merged ? part * static_cast<double>(edge->bytes) : static_cast<double>(own);
    }
  }
  for (const auto& [destination, bytes] : needed) {
    if (destination == lane.receiver) continue;
    const auto whole = static_cast<std::int64_t>(bytes);
    load.send(lane.receiver, inside(Stage::scatter, destination, whole), parameters_);
    load.receive(destination, inside(Stage::scatter, lane.receiver, whole), parameters_);
  }
}

NodeLoad CostModel::load_of_lanes(const RegionView& view, std::span<const Lane> in, std::span<const Lane> out) const {
  NodeLoad load(view.region);
  add_inside(view, load);
  for (const Lane& lane : out) {
    add_gather(lane, load);
    load.send(lane.sender, across(Stage::network, lane.receiver, lane.bytes()), parameters_);
  }
  for (const Lane& lane : in) {
    const auto link = std::lower_bound(view.in.begin(), view.in.end(), lane.from_region,
                                       [](const Link& l, Rank region) { return l.region < region; });
    LANEWAY_ASSERT(1, link != view.in.end() && link->region == lane.from_region);
    load.receive(lane.receiver, across(Stage::network, lane.pieces.front().source, lane.bytes()), parameters_);
    add_scatter(*link, view.merged, lane, load);
  }
  return load;
}

}  // namespace laneway
