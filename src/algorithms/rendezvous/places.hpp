#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/messenger.hpp"
#include "algorithms/rendezvous/node_map.hpp"

namespace laneway {

/// Ranks that do something together, and this rank's place among them: all ranks, or the first of each node.
struct Places {
  Rank place = 0;
  Rank size = 0;
  const NodeMap* nodes = nullptr;  ///< of the first ranks of nodes; null: all ranks

  [[nodiscard]] Rank rank_at(Rank other) const { return nodes == nullptr ? other : nodes->leader_of(other); }
  /// Of whoever is the delegate of this rank.
  [[nodiscard]] Rank place_of(Rank rank) const { return nodes == nullptr ? rank : nodes->node_of(rank); }
};

/// Consensus: ends on no rank before all have begun. Dissemination (Hensgen, Finkel, Manber: Two algorithms for barrier
/// synchronization, 1988) that carries what the ranks vote. Messages of the round's own rather than MPI_Ibarrier, which
/// all ranks would have to begin in the same order: rounds that are active together end in any.
class Consensus {
 public:
  Consensus(Messenger& messenger, Places places) : messenger_(messenger), places_(places) {}

  void begin(const RoundVotes& own);
  [[nodiscard]] bool begun() const { return begun_; }
  void on(const RoundMessage& incoming);
  [[nodiscard]] bool done() const { return begun_ && steps_done_ == steps(); }
  /// Of all ranks, when done.
  [[nodiscard]] const RoundVotes& votes() const { return votes_; }

 private:
  [[nodiscard]] int steps() const;
  void say();
  void advance();

  Messenger& messenger_;
  Places places_;
  RoundVotes votes_;
  bool begun_ = false;
  int steps_done_ = 0;
  std::map<int, RoundVotes> early_;  // by step
};

/// How many messages each rank gets: MPI_Reduce_scatter_block of vectors that are zero almost everywhere, of which
/// only the rest is there. Each place learns it of the ranks that it is the delegate of. Recursive halving (Thakur,
/// Rabenseifner, Gropp: Optimization of collective communication operations in MPICH, 2005); halves may differ by one.
/// Every place hears what all have voted.
class Counting {
 public:
  using Counts = std::map<Rank, std::int32_t>;  ///< by rank

  Counting(Messenger& messenger, Places places) : messenger_(messenger), places_(places), end_(places.size) {}

  void begin(const Counts& own, const RoundVotes& votes);
  [[nodiscard]] bool begun() const { return begun_; }
  void on(const RoundMessage& incoming);
  [[nodiscard]] bool done() const { return finished_; }
  /// When done: what a rank gets that this place is the delegate of, and what all have voted.
  [[nodiscard]] int count(Rank rank) const;
  [[nodiscard]] const RoundVotes& votes() const { return votes_; }

 private:
  void say();
  void merge(Reader& reader);
  void advance();

  Messenger& messenger_;
  Places places_;
  Rank first_ = 0;
  Rank end_;  // places that this one is still among
  RoundVotes votes_;
  std::map<std::pair<Rank, Rank>, std::int32_t> counts_;  // by place, of those, and rank
  bool begun_ = false;
  bool finished_ = false;
  int step_ = 0;
  int awaited_ = 0;                          // messages of this step
  std::map<int, std::vector<Bytes>> early_;  // by step
};

}  // namespace laneway
