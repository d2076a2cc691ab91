#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "algorithms/neighborhood/balance.hpp"
#include "base/bytes/sort_unique.hpp"

namespace laneway::lanes::multi_path {

namespace {

double eighth_power(double x) {
  const double square = x * x;
  const double fourth = square * square;
  return fourth * fourth;
}

/// By how much a message adds to the sum of the eighth powers of all loads: mostly by what the busiest links get.
double growth(const LinkLoads& loads, Rank from, Rank to, double bytes) {
  double sum = 0;
  loads.on_way(from, to, bytes,
               [&](double load, double more) { sum += eighth_power(load + more) - eighth_power(load); });
  return sum;
}

/// What a destination needs of a chunk, and from whom it gets that: itself, if the source sends it the chunk.
struct Need {
  Rank destination = 0;
  double bytes = 0;
  Rank from = -1;
};

/// A part of what one rank has for its node. Some ranks receive it from there, hubs, and hand it on.
struct Chunk {
  Piece piece;
  std::vector<Need> needs;  ///< ascending destination
  bool is_dealt = false;
};

/// The hubs of one chunk, such that what it adds to the links is little: a problem of locating facilities, where a hub
/// costs the way to it and a destination that from its hub. Hubs are added and dropped one at a time as long as that
/// gains. A chunk of which no bytes are for two destinations has one, since each gets all of it.
class HubSearch {
 public:
  HubSearch(const Chunk& chunk, const Region& region, const LinkLoads& loads) : needs_(chunk.needs) {
    double needed = 0;
    for (const Need& need : needs_) needed += need.bytes;
    shares_bytes_ = needed > 1.001 * static_cast<double>(chunk.piece.bytes());
    for (Rank member : region.members) {
      if (member == chunk.piece.source) continue;
      Middle& middle = middles_.emplace_back();
      middle.rank = member;
      middle.cost = growth(loads, chunk.piece.source, member, static_cast<double>(chunk.piece.bytes()));
      for (const Need& need : needs_)
        middle.handing.push_back(need.destination == member ? 0 : growth(loads, member, need.destination, need.bytes));
    }
  }

  /// From every destination as a hub of its own, and from the one hub that is best alone. Returns the hub of each need.
  [[nodiscard]] std::vector<Rank> best() const {
    std::vector<bool> destinations;
    for (const Middle& middle : middles_)
      destinations.push_back(std::ranges::count(needs_, middle.rank, &Need::destination) > 0);
    const auto alone = std::ranges::min_element(middles_, {}, [](const Middle& middle) {
      return std::accumulate(middle.handing.begin(), middle.handing.end(), middle.cost);
    });
    std::vector<Rank> result(needs_.size(), alone->rank);
    if (!shares_bytes_) return result;
    std::vector<bool> one(middles_.size(), false);
    one[static_cast<std::size_t>(alone - middles_.begin())] = true;
    const Found straight = improve(std::move(destinations));
    const Found by_one = improve(std::move(one));
    const std::vector<Nearest>& nearest = (by_one.cost < straight.cost ? by_one : straight).nearest;
    std::ranges::transform(nearest, result.begin(), [&](const Nearest& n) { return middles_[n.hub].rank; });
    return result;
  }

 private:
  struct Middle {
    Rank rank = 0;
    double cost = 0;
    std::vector<double> handing;  ///< by need
  };
  /// Of one need.
  struct Nearest {
    std::size_t hub = 0;
    double cost = std::numeric_limits<double>::infinity();
    double second = std::numeric_limits<double>::infinity();  ///< of the next hub
  };
  struct Found {
    double cost = 0;
    std::vector<Nearest> nearest;
  };

  [[nodiscard]] Found improve(std::vector<bool> is_hub) const {
    while (true) {
      Found found = evaluate(is_hub);
      double most = 1e-9 * found.cost;
      std::optional<std::size_t> toggled;
      for (std::size_t c = 0; c < middles_.size(); ++c) {
        const double gain = is_hub[c] ? gain_without(c, found) : gain_with(c, found);
        if (gain <= most) continue;
        most = gain;
        toggled = c;
      }
      if (!toggled) return found;
      is_hub[*toggled] = !is_hub[*toggled];
    }
  }

  [[nodiscard]] Found evaluate(const std::vector<bool>& is_hub) const {
    Found found;
    found.nearest.resize(needs_.size());
    for (std::size_t c = 0; c < middles_.size(); ++c) {
      if (!is_hub[c]) continue;
      found.cost += middles_[c].cost;
      for (std::size_t n = 0; n < needs_.size(); ++n) {
        Nearest& nearest = found.nearest[n];
        const double cost = middles_[c].handing[n];
        if (cost < nearest.cost || (cost == nearest.cost && middles_[c].rank == needs_[n].destination))
          nearest = {c, cost, nearest.cost};
        else
          nearest.second = std::min(nearest.second, cost);
      }
    }
    for (const Nearest& nearest : found.nearest) found.cost += nearest.cost;
    return found;
  }

  [[nodiscard]] double gain_with(std::size_t c, const Found& found) const {
    double gain = -middles_[c].cost;
    for (std::size_t n = 0; n < needs_.size(); ++n)
      gain += std::max(0.0, found.nearest[n].cost - middles_[c].handing[n]);
    return gain;
  }

  /// Infinitely bad without the last one.
  [[nodiscard]] double gain_without(std::size_t c, const Found& found) const {
    double gain = middles_[c].cost;
    for (const Nearest& nearest : found.nearest)
      if (nearest.hub == c) gain -= nearest.second - nearest.cost;
    return gain;
  }

  const std::vector<Need>& needs_;
  bool shares_bytes_;
  std::vector<Middle> middles_;
};

/// Several ways at a time between the devices of a node, after Sojoodi, Temuçin, Barati Sedeh, Sharifian, Afsahi:
/// Accelerating Intra-Node GPU-to-GPU Communication Through Multi-Path Transfers with CUDA Graphs, 2026, of which the
/// abstract was known: a design of our own on that idea, for all messages of a node together.
///
/// What a rank has for its node is cut into chunks. Each goes to some ranks, hubs, which may be destinations or not,
/// and each destination gets it from one of them, so that a value for many is handed on by those who have it already.
/// Hubs are chosen one chunk after the other, and then each chunk's again in the light of all others, such that the
/// busiest bundle of links has as little to carry as possible: messages take the way of fewest hops. Between nodes it
/// is two_step.
class MultiPath final : public Strategy {
 public:
  explicit MultiPath(const StrategySettings& settings)
      : fabric_(settings.fabric), least_chunk_(settings.message_cap), between_(make_strategy("two_step", settings)) {}

  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    RegionView others = view;
    std::erase_if(others.in, [&](const Traffic& traffic) { return traffic.region == view.region.id; });
    std::vector<Lane> lanes = between_->assign_receivers(others);
    for (const Traffic& traffic : view.in)
      if (traffic.region == view.region.id) add_lanes(traffic, view.region, lanes);
    return lanes;
  }

  void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    for (Lane& lane : lanes) lane.sender = lane.pieces.front().source;
  }

 private:
  static constexpr std::int64_t chunks_of_source = 32;
  static constexpr std::int64_t chunks_of_region = 1024;
  static constexpr int rounds = 8;

  /// Which bytes of a block an edge needs is not known. Where no bytes are for two edges, they are taken to lie one
  /// after another by destination; else each edge is taken to need as large a part of every chunk as of the block.
  [[nodiscard]] std::vector<Chunk> chunks_of(const Traffic& traffic) const {
    std::vector<Chunk> chunks;
    const std::int64_t most = std::clamp<std::int64_t>(
        chunks_of_region / static_cast<std::int64_t>(traffic.sources.size()), 1, chunks_of_source);
    for (const SourceBytes& source : traffic.sources) {
      const std::span<const CrossEdge> edges = traffic.edges_of(source.rank);
      const bool shares = bytes_of(edges) > source.bytes;
      const std::int64_t count = std::clamp<std::int64_t>(source.bytes / least_chunk_, 1, most);
      const std::int64_t size = round_up_to_cut((source.bytes + count - 1) / count);
      for (std::int64_t begin = 0; begin < source.bytes; begin += size) {
        Chunk& chunk = chunks.emplace_back();
        chunk.piece = {source.rank, begin, std::min(begin + size, source.bytes)};
        std::int64_t at = 0;
        for (const CrossEdge& edge : edges) {
          const std::int64_t own = std::min(chunk.piece.end, at + edge.bytes) - std::max(begin, at);
          const double part = static_cast<double>(edge.bytes) / static_cast<double>(source.bytes);
          const double bytes = shares ? part * static_cast<double>(chunk.piece.bytes())
                                      : static_cast<double>(std::max<std::int64_t>(own, 0));
          at += edge.bytes;
          if (bytes == 0) continue;
          if (chunk.needs.empty() || chunk.needs.back().destination != edge.destination)
            chunk.needs.push_back({edge.destination, 0, -1});
          chunk.needs.back().bytes += bytes;
        }
      }
    }
    return chunks;
  }

  void add_lanes(const Traffic& traffic, const Region& region, std::vector<Lane>& lanes) const {
    std::vector<Chunk> chunks = chunks_of(traffic);
    LinkLoads loads(*fabric_);
    bool changes = true;
    for (int round = 0; round < rounds && changes; ++round) {
      changes = false;
      for (Chunk& chunk : chunks) {
        if (chunk.is_dealt) add(chunk, -1, loads);
        const std::vector<Rank> hubs = HubSearch(chunk, region, loads).best();
        for (std::size_t n = 0; n < hubs.size(); ++n) {
          changes = changes || chunk.needs[n].from != hubs[n];
          chunk.needs[n].from = hubs[n];
        }
        chunk.is_dealt = true;
        add(chunk, 1, loads);
      }
    }
    put_together(chunks);
    std::map<std::tuple<Rank, Rank, std::vector<Rank>>, std::vector<Piece>> pieces;  // by source, hub and for whom
    for (const Chunk& chunk : chunks) {
      const std::vector<Rank> hubs = hubs_of(chunk);
      for (Rank hub : hubs) {
        std::vector<Rank> destinations;
        if (hubs.size() > 1) destinations = destinations_of(hub, hubs.front(), chunk, traffic);
        std::vector<Piece>& of_lane = pieces[{chunk.piece.source, hub, std::move(destinations)}];
        if (!of_lane.empty() && of_lane.back().end == chunk.piece.begin)
          of_lane.back().end = chunk.piece.end;
        else
          of_lane.push_back(chunk.piece);
      }
    }
    for (auto& [ends, of_lane] : pieces)
      lanes.push_back({region.id, region.id, -1, std::get<1>(ends), std::move(of_lane), std::get<2>(ends)});
  }

  /// Ascending.
  [[nodiscard]] static std::vector<Rank> hubs_of(const Chunk& chunk) {
    std::vector<Rank> hubs;
    for (const Need& need : chunk.needs) hubs.push_back(need.from);
    sort_unique(hubs);
    return hubs;
  }

  /// The first hub also has those that are taken to need nothing of the chunk, but may do so.
  [[nodiscard]] static std::vector<Rank> destinations_of(Rank hub, Rank first, const Chunk& chunk,
                                                         const Traffic& traffic) {
    std::vector<Rank> destinations;
    for (const CrossEdge& edge : traffic.edges_of(chunk.piece.source)) {
      const auto need = std::ranges::find(chunk.needs, edge.destination, &Need::destination);
      const Rank from = need == chunk.needs.end() ? first : need->from;
      if (from == hub) destinations.push_back(edge.destination);
    }
    destinations.erase(std::unique(destinations.begin(), destinations.end()), destinations.end());
    return destinations;
  }

  /// Chunks that the same destinations need alike can change places, so that each hub gets neighbouring ones.
  static void put_together(std::vector<Chunk>& chunks) {
    const auto same_need = [](const Need& a, const Need& b) {
      return a.destination == b.destination && a.bytes == b.bytes;
    };
    const auto alike = [&](const Chunk& a, const Chunk& b) {
      return a.piece.source == b.piece.source && a.piece.bytes() == b.piece.bytes() &&
             std::ranges::equal(a.needs, b.needs, same_need);
    };
    const auto froms = [](const Chunk& chunk) {
      std::vector<Rank> result;
      for (const Need& need : chunk.needs) result.push_back(need.from);
      return result;
    };
    for (auto first = chunks.begin(); first != chunks.end();) {
      const auto last = std::find_if_not(first, chunks.end(), [&](const Chunk& chunk) { return alike(*first, chunk); });
      std::vector<std::vector<Rank>> dealt;
      std::transform(first, last, std::back_inserter(dealt), froms);
      std::sort(dealt.begin(), dealt.end());
      for (const std::vector<Rank>& hubs : dealt) {
        for (std::size_t n = 0; n < hubs.size(); ++n) first->needs[n].from = hubs[n];
        ++first;
      }
    }
  }

  /// What the links carry of a chunk, times `sign`.
  static void add(const Chunk& chunk, double sign, LinkLoads& loads) {
    for (Rank hub : hubs_of(chunk)) loads.add(chunk.piece.source, hub, sign * static_cast<double>(chunk.piece.bytes()));
    for (const Need& need : chunk.needs)
      if (need.destination != need.from) loads.add(need.from, need.destination, sign * need.bytes);
  }

  std::shared_ptr<const Fabric> fabric_;
  std::int64_t least_chunk_;
  std::unique_ptr<Strategy> between_;
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"multi_path",
           "inside a node messages are cut over other devices, so that all links between devices are busy; else as "
           "two_step",
           "after Sojoodi, Temuçin, Barati Sedeh, Sharifian, Afsahi: Accelerating Intra-Node GPU-to-GPU Communication "
           "Through Multi-Path Transfers with CUDA Graphs, 2026 (arXiv:2604.22228, abstract)",
           "all, large messages", "node with described links between its devices",
           Traits{.scales = false, .relays_inside = true, .needs = Traits::Needs::fabric}, new_strategy<MultiPath>,
           10}};
}

}  // namespace laneway::lanes::multi_path
