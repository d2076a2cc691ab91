#include "algorithms/cost/cost_model.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "algorithms/lowering/lower.hpp"
#include "base/error.hpp"

namespace laneway {

namespace {

/// Of a lane, each of so many bytes; 0: it is one.
std::int64_t messages(std::int64_t lane_bytes, std::int64_t message_bytes) {
  if (message_bytes == 0) return 1;
  return std::max<std::int64_t>(1, lane_bytes / message_bytes + (lane_bytes % message_bytes != 0 ? 1 : 0));
}

}  // namespace

bool CostModel::shares(Rank peer) const {
  return std::binary_search(options_.sharing.begin(), options_.sharing.end(), peer);
}

/// Between ranks of the region, which may still be on different nodes of a described machine.
Hop CostModel::inside(Stage stage, Rank peer, std::int64_t bytes, std::int64_t messages) const {
  const std::int64_t each = messages > 0 ? (bytes + messages - 1) / messages : bytes;
  const bool small = stage != Stage::direct || each <= options_.mailbox_bytes;
  return {stage, LinkClass::node, small && shares(peer), messages, bytes};
}

/// Between regions, which may still be on one node.
Hop CostModel::across(Stage stage, Rank peer, std::int64_t bytes) const {
  const bool local = shares(peer);
  const bool small = stage != Stage::direct || bytes <= options_.mailbox_bytes;
  return {stage, local ? LinkClass::node : LinkClass::network, local && small,
          stage == Stage::direct ? 1 : messages(bytes, options_.network_message_bytes), bytes};
}

/// Of what may go by lanes: also of some that lead from a region to itself.
Hop CostModel::between(const RegionView& view, Rank region, Stage stage, Rank peer, std::int64_t bytes) const {
  if (region != view.region.id) return across(stage, peer, bytes);
  const std::int64_t message = message_inside(bytes, options_.network_message_bytes);
  return inside(stage, peer, bytes, stage == Stage::direct ? 1 : messages(bytes, message));
}

std::optional<LinkLoads> CostModel::no_link_loads() const {
  return options_.fabric ? std::optional<LinkLoads>(*options_.fabric) : std::nullopt;
}

/// A link carries what a message between the ranks that it joins does alone.
void CostModel::add_busiest(const std::optional<LinkLoads>& links, NodeLoad& load) const {
  if (!links) return;
  const LinkCost* const one = known_link(parameters_.links, LinkClass::socket);
  if (one != nullptr) load.pass_links(one->protocols.back().beta * links->busiest());
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
  NodeLoad load(view.region, options_.combines ? combining_seconds(parameters_) : 0);
  std::optional<LinkLoads> links = no_link_loads();
  add_inside(view, load);
  for (const Traffic& traffic : view.out)
    for (const CrossEdge& edge : traffic.edges) {
      load.send(edge.source, between(view, traffic.region, Stage::direct, edge.destination, edge.bytes), parameters_);
      if (links && traffic.region == view.region.id)
        links->add(edge.source, edge.destination, static_cast<double>(edge.bytes));
    }
  for (const Traffic& traffic : view.in)
    for (const CrossEdge& edge : traffic.edges)
      load.receive(edge.destination, between(view, traffic.region, Stage::direct, edge.source, edge.bytes),
                   parameters_);
  add_busiest(links, load);
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
/// taken to need as large a part of its own bytes. Between devices it is taken as multi_path does, which cuts blocks of
/// which no bytes are for two edges as if these lay one after another.
std::vector<CostModel::Need> CostModel::needs_of(const Traffic& traffic, bool merged, const Lane& lane, bool by_links) {
  std::vector<Need> needs;  // by ascending destination
  auto source = traffic.sources.begin();
  for (const Piece& piece : lane.pieces) {
    while (source != traffic.sources.end() && source->rank < piece.source) ++source;
    if (source == traffic.sources.end() || source->rank != piece.source)
      source = std::lower_bound(traffic.sources.begin(), traffic.sources.end(), piece.source,
                                [](const SourceBytes& s, Rank rank) { return s.rank < rank; });
    const double part = static_cast<double>(piece.bytes()) / static_cast<double>(source->bytes);
    const std::span<const CrossEdge> edges = traffic.edges_of(piece.source);
    const bool shares = merged && (!by_links || bytes_of(edges) > source->bytes);
    std::int64_t at = 0;
    for (const CrossEdge& edge : edges) {
      const std::int64_t own = std::min(piece.end, at + edge.bytes) - std::max(piece.begin, at);
      at += edge.bytes;
      if ((!shares && own <= 0) || !lane.carries_for(edge.destination)) continue;
      auto of = std::ranges::lower_bound(needs, edge.destination, {}, &Need::destination);
      if (of == needs.end() || of->destination != edge.destination) of = needs.insert(of, {edge.destination, 0});
      of->bytes += shares ? part * static_cast<double>(edge.bytes) : static_cast<double>(own);
    }
  }
  return needs;
}

void CostModel::add_scatter(Rank receiver, std::span<const Need> needs, NodeLoad& load, LinkLoads* links) const {
  for (const auto& [destination, bytes] : needs) {
    if (destination == receiver) continue;
    const auto whole = static_cast<std::int64_t>(bytes);
    load.send(receiver, inside(Stage::scatter, destination, whole), parameters_);
    load.receive(destination, inside(Stage::scatter, receiver, whole), parameters_);
    if (links != nullptr) links->add(receiver, destination, bytes);
  }
}

/// Returns the needs of the receiver's own region of the next level, and adds those of others to what it holds. Of what
/// several ranks of a region need a lane has no more than it carries.
std::vector<CostModel::Need> CostModel::hold(const RegionView& view, const Lane& lane, std::span<const Need> needs,
                                             HeldOf& held) {
  const auto inner_of = [&](Rank rank) {
    const auto member = std::ranges::lower_bound(view.region.members, rank);
    return view.inner[static_cast<std::size_t>(member - view.region.members.begin())];
  };
  std::vector<Need> own;
  std::map<Rank, double> sums;
  for (const Need& need : needs) {
    const Rank region = inner_of(need.destination);
    if (region == inner_of(lane.receiver)) {
      own.push_back(need);
      continue;
    }
    held[region][lane.receiver].needs[need.destination] += need.bytes;
    sums[region] += need.bytes;
  }
  for (const auto& [region, sum] : sums)
    held[region][lane.receiver].bytes += std::min(sum, static_cast<double>(lane.bytes()));
  return own;
}

void CostModel::add_inner_scatter(const Strategy& scatter, const RegionView& inner, NodeLoad& load) const {
  std::vector<Lane> lanes = scatter.assign_receivers(inner);
  scatter.assign_senders(inner, {}, lanes);
  for (const Lane& lane : lanes) {
    const auto traffic = std::ranges::find(inner.in, lane.from_region, &Traffic::region);
    const std::vector<Need> needs = needs_of(*traffic, true, lane, false);
    const std::array<Need, 1> first{{{lane.receiver, static_cast<double>(lane.bytes())}}};
    add_scatter(lane.sender, first, load, nullptr);
    add_scatter(lane.receiver, needs, load, nullptr);
    if (needs.size() > 1) load.hand_on_again(inside(Stage::scatter, lane.receiver, lane.bytes()), parameters_);
  }
}

/// The traffic between the regions of the next level inside this one: what each of these gets from the others.
std::vector<RegionView> CostModel::inner_views(const RegionView& view, const HeldOf& held) {
  std::vector<RegionView> views;
  for (const auto& [region, holders] : held) {
    RegionView& inner = views.emplace_back();
    inner.region.id = region;
    std::map<Rank, Traffic> from;
    for (std::size_t i = 0; i < view.inner.size(); ++i) {
      const Rank member = view.region.members[i];
      if (view.inner[i] == region) {
        inner.region.members.push_back(member);
        inner.inner.push_back(member);
      }
      const auto holder = holders.find(member);
      if (holder == holders.end()) continue;
      Traffic& traffic = from[view.inner[i]];
      traffic.region = view.inner[i];
      traffic.sources.push_back({member, static_cast<std::int64_t>(holder->second.bytes)});
      for (const auto& [destination, bytes] : holder->second.needs)
        traffic.edges.push_back({member, destination, static_cast<std::int64_t>(bytes)});
    }
    for (auto& [id, traffic] : from) inner.in.push_back(std::move(traffic));
  }
  return views;
}

NodeLoad CostModel::load_of_lanes(const RegionView& view, std::span<const Lane> in, std::span<const Lane> out,
                                  const Strategy* scatter) const {
  NodeLoad load(view.region, options_.combines ? combining_seconds(parameters_) : 0);
  std::optional<LinkLoads> links = no_link_loads();
  add_inside(view, load);
  for (const Lane& lane : out) {
    add_gather(lane, load);
    load.send(lane.sender, between(view, lane.to_region, Stage::network, lane.receiver, lane.bytes()), parameters_);
    if (links && lane.to_region == view.region.id)
      links->add(lane.sender, lane.receiver, static_cast<double>(lane.bytes()));
  }
  HeldOf held;
  for (const Lane& lane : in) {
    const auto traffic = std::lower_bound(view.in.begin(), view.in.end(), lane.from_region,
                                          [](const Traffic& t, Rank region) { return t.region < region; });
    LANEWAY_ASSERT(traffic != view.in.end() && traffic->region == lane.from_region);
    const Rank source = lane.pieces.front().source;
    load.receive(lane.receiver, between(view, lane.from_region, Stage::network, source, lane.bytes()), parameters_);
    std::vector<Need> needs = needs_of(*traffic, view.merged, lane, links.has_value());
    if (scatter != nullptr) needs = hold(view, lane, needs, held);
    add_scatter(lane.receiver, needs, load, links ? &*links : nullptr);
  }
  for (const RegionView& inner : inner_views(view, held)) add_inner_scatter(*scatter, inner, load);
  add_busiest(links, load);
  return load;
}

}  // namespace laneway
