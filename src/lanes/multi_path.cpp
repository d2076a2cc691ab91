#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "lanes/balance.hpp"

namespace laneway {

namespace {

double eighth_power(double x) {
  const double square = x * x;
  const double fourth = square * square;
  return fourth * fourth;
}

/// Returns by how much the sum of the eighth powers of all loads grows: mostly by what the busiest links get.
double add_growth(LinkLoads& loads, Rank from, Rank to, double bytes) {
  double growth = 0;
  loads.add(from, to, bytes,
            [&](double before, double after) { growth += eighth_power(after) - eighth_power(before); });
  return growth;
}

/// A part of what one rank has for its node. One rank receives it and hands it on.
struct Chunk {
  Piece piece;
  std::map<Rank, double> needs;  ///< bytes, by destination
  Rank receiver = -1;
};

/// Several ways at a time between the devices of a node, after Sojoodi, Temuçin, Barati Sedeh, Sharifian, Afsahi:
/// Accelerating Intra-Node GPU-to-GPU Communication Through Multi-Path Transfers with CUDA Graphs, 2026, of which the
/// abstract was known: a design of our own on that idea, for all messages of a node together.
///
/// What a rank has for its node is cut into chunks. Each goes to one rank, which may be a destination or not, and from
/// there to all destinations that need it, so that a value for many is handed on by those who have it already. The
/// receivers are chosen one chunk after the other, and then each again in the light of all others, such that the
/// busiest bundle of links has as little to carry as possible: a message takes the way of fewest hops to the receiver
/// and from there. Between nodes it is two_step.
class MultiPath final : public Strategy {
 public:
  explicit MultiPath(const StrategySettings& settings)
      : fabric_(settings.fabric), least_chunk_(settings.message_cap), between_(make_two_step(settings)) {}

  [[nodiscard]] bool scales() const override { return fabric_ == nullptr; }
  [[nodiscard]] bool relays_inside() const override { return fabric_ != nullptr; }
  [[nodiscard]] bool goes_by_fabric() const override { return true; }

  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    RegionView others = view;
    std::erase_if(others.in, [&](const Link& link) { return link.region == view.region.id; });
    std::vector<Lane> lanes = between_->assign_receivers(others);
    for (const Link& link : view.in)
      if (link.region == view.region.id) add_lanes(link, view.region, lanes);
    return lanes;
  }

  void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    for (Lane& lane : lanes) lane.sender = lane.pieces.front().source;
  }

 private:
  static constexpr std::int64_t chunks_of_source = 32;
  static constexpr std::int64_t chunks_of_region = 1024;
  static constexpr int rounds = 4;

  /// Which bytes of a block an edge needs is not known. Where no bytes are for two edges, they are taken to lie one
  /// after another by destination; else each edge is taken to need as large a part of every chunk as of the block.
  [[nodiscard]] std::vector<Chunk> chunks_of(const Link& link) const {
    std::vector<Chunk> chunks;
    const std::int64_t most = std::clamp<std::int64_t>(
        chunks_of_region / static_cast<std::int64_t>(link.sources.size()), 1, chunks_of_source);
    for (const SourceBytes& source : link.sources) {
      const auto first = std::lower_bound(link.edges.begin(), link.edges.end(), CrossEdge{source.rank, 0, 0});
      const auto last = std::find_if(first, link.edges.end(), [&](const auto& e) { return e.source != source.rank; });
      std::int64_t all = 0;
      for (auto edge = first; edge != last; ++edge) all += edge->bytes;
      const std::int64_t count = std::clamp<std::int64_t>(source.bytes / least_chunk_, 1, most);
      const std::int64_t size = round_up_to_cut((source.bytes + count - 1) / count);
      for (std::int64_t begin = 0; begin < source.bytes; begin += size) {
        Chunk& chunk = chunks.emplace_back();
        chunk.piece = {source.rank, begin, std::min(begin + size, source.bytes)};
        std::int64_t at = 0;
        for (auto edge = first; edge != last; at += edge->bytes, ++edge) {
          const std::int64_t own = std::min(chunk.piece.end, at + edge->bytes) - std::max(begin, at);
          const double part = static_cast<double>(edge->bytes) / static_cast<double>(source.bytes);
          const double bytes = all == source.bytes ? static_cast<double>(std::max<std::int64_t>(own, 0))
                                                   : part * static_cast<double>(chunk.piece.bytes());
          if (bytes > 0) chunk.needs[edge->destination] += bytes;
        }
      }
    }
    return chunks;
  }

  void add_lanes(const Link& link, const Region& region, std::vector<Lane>& lanes) const {
    std::vector<Chunk> chunks = chunks_of(link);
    LinkLoads loads(*fabric_);
    for (int round = 0; round < rounds; ++round)
      for (Chunk& chunk : chunks) {
        if (chunk.receiver >= 0) add(chunk, chunk.receiver, -1, loads);
        chunk.receiver = best_receiver(chunk, region, loads);
        add(chunk, chunk.receiver, 1, loads);
      }
    put_together(chunks);
    std::map<std::pair<Rank, Rank>, std::vector<Piece>> pieces;  // by source and receiver
    for (const Chunk& chunk : chunks) {
      std::vector<Piece>& of_lane = pieces[{chunk.piece.source, chunk.receiver}];
      if (!of_lane.empty() && of_lane.back().end == chunk.piece.begin)
        of_lane.back().end = chunk.piece.end;
      else
        of_lane.push_back(chunk.piece);
    }
    for (auto& [ends, of_lane] : pieces) lanes.push_back({region.id, region.id, -1, ends.second, std::move(of_lane)});
  }

  /// Chunks that the same destinations need alike can change places, so that each receiver gets neighbouring ones.
  static void put_together(std::vector<Chunk>& chunks) {
    const auto alike = [](const Chunk& a, const Chunk& b) {
      return a.piece.source == b.piece.source && a.piece.bytes() == b.piece.bytes() && a.needs == b.needs;
    };
    for (auto first = chunks.begin(); first != chunks.end();) {
      const auto last = std::find_if_not(first, chunks.end(), [&](const Chunk& chunk) { return alike(*first, chunk); });
      std::vector<Rank> receivers;
      std::transform(first, last, std::back_inserter(receivers), [](const Chunk& chunk) { return chunk.receiver; });
      std::sort(receivers.begin(), receivers.end());
      for (Rank receiver : receivers) (first++)->receiver = receiver;
    }
  }

  /// A destination, unless another rank is better.
  static Rank best_receiver(const Chunk& chunk, const Region& region, LinkLoads& loads) {
    Rank best = -1;
    double least = 0;
    for (const bool destination : {true, false})
      for (Rank member : region.members) {
        if (member == chunk.piece.source || chunk.needs.contains(member) != destination) continue;
        const double growth = add(chunk, member, 1, loads);
        add(chunk, member, -1, loads);
        if (best >= 0 && growth >= least) continue;
        best = member;
        least = growth;
      }
    return best;
  }

  /// What the links carry of a chunk that `by` hands on, times `sign`.
  static double add(const Chunk& chunk, Rank by, double sign, LinkLoads& loads) {
    double growth = add_growth(loads, chunk.piece.source, by, sign * static_cast<double>(chunk.piece.bytes()));
    for (const auto& [destination, bytes] : chunk.needs)
      if (destination != by) growth += add_growth(loads, by, destination, sign * bytes);
    return growth;
  }

  std::shared_ptr<const Fabric> fabric_;
  std::int64_t least_chunk_;
  std::unique_ptr<Strategy> between_;
};

}  // namespace

std::unique_ptr<Strategy> make_multi_path(const StrategySettings& settings) {
  return std::make_unique<MultiPath>(settings);
}

}  // namespace laneway
