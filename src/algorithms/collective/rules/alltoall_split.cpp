#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "algorithms/collective/rules/rules.hpp"

// What one node has for another is one stream, block after block, whoever has it. It is cut into equal pieces, which
// different ranks of both nodes send and receive, so that a few long blocks keep all of them busy. The split of
// neighborhood exchanges does the same to what a region receives.

namespace laneway::dense::alltoall_split {

namespace {

struct Block {
  Rank from = 0;
  Rank to = 0;
  std::int64_t begin = 0;  ///< in the stream
  std::int64_t bytes = 0;
};

/// A part of a block, which is in a piece.
struct Share {
  Rank from = 0;
  Rank to = 0;
  std::int64_t begin = 0;  ///< in the block
  std::int64_t bytes = 0;
};
struct Piece {
  Rank sender = -1;
  Rank receiver = -1;
  std::vector<Share> shares;
};

/// Both nodes know all sizes, and find the same.
class Stream {
 public:
  Stream(const DenseCall& call, const Layout& layout, Rank from, Rank to, std::int64_t least_piece) {
    std::vector<Block> blocks;
    std::int64_t bytes = 0;
    for (const Rank s : layout.members(from))
      for (const Rank d : layout.members(to)) {
        blocks.push_back({s, d, bytes, call.bytes(s, d)});
        bytes += blocks.back().bytes;
      }
    if (bytes == 0) return;
    const std::int64_t most = std::min(layout.size(from), layout.size(to));
    const std::int64_t parts = std::clamp<std::int64_t>(bytes / std::max<std::int64_t>(least_piece, 1), 1, most);
    const Cuts cuts = cut_evenly(bytes, 1, parts);
    std::size_t first = 0;
    for (Rank p = 0; p < cuts.parts(); ++p) {
      Piece& piece = pieces_.emplace_back();
      for (std::size_t i = first; i < blocks.size() && blocks[i].begin < cuts.begin(p + 1); ++i) {
        const Block& block = blocks[i];
        const std::int64_t begin = std::max(block.begin, cuts.begin(p));
        const std::int64_t end = std::min(block.begin + block.bytes, cuts.begin(p + 1));
        if (begin < end) piece.shares.push_back({block.from, block.to, begin - block.begin, end - begin});
        if (block.begin + block.bytes <= cuts.begin(p + 1)) first = i + 1;
      }
    }
    // Streams of different nodes begin with different ranks.
    const Rank turn = (to - from + layout.regions()) % layout.regions() - 1;
    deal(layout, from, turn, &Piece::sender, &Share::from);
    deal(layout, to, turn, &Piece::receiver, &Share::to);
  }

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  /// To whoever has most of a piece, or gets most; one that has another piece already leaves it to the next member.
  void deal(const Layout& layout, Rank region, Rank turn, Rank Piece::*end, Rank Share::*side) {
    const Rank members = layout.size(region);
    std::vector<bool> taken(static_cast<std::size_t>(members));
    std::vector<std::int64_t> held(static_cast<std::size_t>(members));
    for (Piece& piece : pieces_) {
      std::ranges::fill(held, 0);
      for (const Share& share : piece.shares) held[static_cast<std::size_t>(layout.index(share.*side))] += share.bytes;
      std::size_t best = static_cast<std::size_t>(turn % members);
      for (Rank i = 0; i < members; ++i) {
        const auto one = static_cast<std::size_t>((turn + i) % members);
        if (taken[best] || (!taken[one] && held[one] > held[best])) best = one;
      }
      taken[best] = true;
      piece.*end = layout.member(region, static_cast<Rank>(best));
    }
  }

  std::vector<Piece> pieces_;
};

class Exchange {
 public:
  Exchange(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings)
      : writer_(writer),
        call_(call),
        layout_(layout),
        home_(layout.region(call.rank)),
        least_piece_(settings.segment_bytes),
        inputs_(writer, call, layout.ranks()) {}

  void write() {
    if (!call_.in_place) writer_.move(inputs_.of(call_.rank), output(call_, call_.rank));
    exchange_blocks(writer_, call_, region_of(layout_, call_.rank), inputs_, false);
    for (Rank i = 1; i < layout_.regions(); ++i) {
      const Rank to = (home_ + i) % layout_.regions();
      const Stream sent(call_, layout_, home_, to, least_piece_);
      for (const Piece& piece : sent.pieces()) send(piece);
    }
    std::vector<std::pair<Piece, Parts>> held;
    for (Rank i = 1; i < layout_.regions(); ++i) {
      const Rank from = (home_ - i + layout_.regions()) % layout_.regions();
      Stream received(call_, layout_, from, home_, least_piece_);
      for (const Piece& piece : received.pieces()) held.emplace_back(piece, receive(piece));
    }
    for (const auto& [piece, parts] : held) hand_over(piece, parts);
  }

 private:
  /// Of a piece, the shares of each rank in turn.
  static void by_rank(const Piece& piece, Rank Share::*side, const std::function<void(Rank, std::int64_t)>& f) {
    std::vector<Rank> seen;
    for (const Share& share : piece.shares) {
      const Rank rank = share.*side;
      if (std::ranges::find(seen, rank) != seen.end()) continue;
      seen.push_back(rank);
      std::int64_t bytes = 0;
      for (const Share& other : piece.shares) bytes += other.*side == rank ? other.bytes : 0;
      f(rank, bytes);
    }
  }
  [[nodiscard]] Segment own(const Share& share) const { return part(inputs_.of(share.to), share.begin, share.bytes); }

  void send(const Piece& piece) {
    const Rank me = call_.rank;
    if (piece.sender != me) {
      Parts given;
      for (const Share& share : piece.shares)
        if (share.from == me) append(given, own(share));
      writer_.send(piece.sender, std::move(given));
      return;
    }
    std::vector<std::pair<Rank, Segment>> gathered;
    by_rank(piece, &Share::from, [&](Rank from, std::int64_t bytes) {
      if (from == me) return;
      gathered.emplace_back(from, staged(writer_, bytes));
      writer_.receive(from, {gathered.back().second});
    });
    Parts parts;
    std::vector<std::int64_t> taken(gathered.size());
    for (const Share& share : piece.shares) {
      if (share.from == me) {
        append(parts, own(share));
        continue;
      }
      const auto at = static_cast<std::size_t>(
          std::ranges::find(gathered, share.from, &std::pair<Rank, Segment>::first) - gathered.begin());
      append(parts, part(gathered[at].second, taken[at], share.bytes));
      taken[at] += share.bytes;
    }
    writer_.send(piece.receiver, std::move(parts));
  }

  /// Returns where the shares of a piece are that has come here.
  Parts receive(const Piece& piece) {
    if (piece.receiver != call_.rank) return {};
    Parts shares;
    Parts parts;
    for (const Share& share : piece.shares) {
      shares.push_back(share.to == call_.rank ? part(output(call_, share.from), share.begin, share.bytes)
                                              : staged(writer_, share.bytes));
      append(parts, shares.back());
    }
    writer_.receive(piece.sender, std::move(parts));
    return shares;
  }

  void hand_over(const Piece& piece, const Parts& shares) {
    const Rank me = call_.rank;
    if (piece.receiver != me) {
      Parts parts;
      for (const Share& share : piece.shares)
        if (share.to == me) append(parts, part(output(call_, share.from), share.begin, share.bytes));
      writer_.receive(piece.receiver, std::move(parts));
      return;
    }
    by_rank(piece, &Share::to, [&](Rank to, std::int64_t) {
      if (to == me) return;
      Parts parts;
      for (std::size_t i = 0; i < piece.shares.size(); ++i)
        if (piece.shares[i].to == to) append(parts, shares[i]);
      writer_.send(to, std::move(parts));
    });
  }

  PlanWriter& writer_;
  const DenseCall& call_;
  const Layout& layout_;
  Rank home_;
  std::int64_t least_piece_;
  Inputs inputs_;
};

void write(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  Exchange(writer, call, layout, settings).write();
}

std::vector<Want> wants(Rank rank, Rank, const Layout& layout, const DenseSettings&) {
  std::vector<Rank> others;
  for (Rank other = 0; other < layout.ranks(); ++other)
    if (layout.region(other) != layout.region(rank)) others.push_back(other);
  std::vector<Want> wants;
  for (const Rank member : layout.members(layout.region(rank)))
    for (const bool sent : {true, false})
      if (member != rank && !others.empty()) wants.push_back({member, sent, others});
  return wants;
}

/// As if pieces were those of whoever has the data, or gets it: they mostly are where blocks are long.
DenseCost cost(const Shape& s) {
  const double away = s.outside * s.bytes;  // of a rank
  const double piece = static_cast<double>(std::max<std::int64_t>(s.settings.segment_bytes, 1));
  const double stream = s.members * s.members * s.bytes;
  const double pieces = std::clamp(std::floor(stream / piece), 1.0, s.members);  // of a stream
  const double messages = (s.nodes - 1) * pieces / s.members;
  const double others = (s.members - 1) / s.members;
  // Ranks give what is theirs to those that send it, and get theirs from those that receive it.
  const double handed = (s.nodes - 1) * (pieces > 1 ? pieces : others);
  DenseCost all = inside(s, s.members > 1 ? 1 : 0, s.members - 1, (s.members - 1) * s.bytes);
  all.all.node.messages = s.inside_pairs;
  all.all.node.bytes = s.inside_pairs * s.bytes;
  // Each piece waits for all others of the node.
  if (s.members > 1) all = add(all, inside(s, s.members, 2 * handed, (pieces > 1 ? 1 : 2) * away * others, away));
  DenseCost cross = across(s, s.nodes > 1 ? 1 : 0, messages, away, s.members);
  cross.all.network.bytes = s.across_pairs * s.bytes;
  cross.all.network.messages = s.nodes * (s.nodes - 1) * pieces;
  return add(all, cross);
}

}  // namespace

std::vector<DenseRule> rules() {
  return {{Dense::alltoall, "split", "what a node has for another is cut into pieces for all ranks of both",
           "Lockhart, Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies for irregular "
           "point-to-point communication on heterogeneous architectures, section 2.3.3, of all that two nodes exchange",
           DenseTraits{.relays = true, .balances = true}, write, cost, wants}};
}

}  // namespace laneway::dense::alltoall_split
