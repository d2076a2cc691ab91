#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/wire.hpp"
#include "discovery/find.hpp"
#include "discovery/node_map.hpp"
#include "discovery/post.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// What a rank says to another, each at most once in a round, or has heard from it.
struct Note {
  Rank peer = 0;
  Bytes data;
};

/// One rank's part of a round in which ranks find out who has something to say to them, and hear it.
class Finder {
 public:
  virtual ~Finder() = default;

  /// Begins. `notes`: to other ranks, each once.
  virtual void start(std::vector<Note> notes, const RoundVotes& votes) = 0;
  virtual void on(Mail mail) = 0;
  /// Goes on as far as that needs no waiting. True when all notes have been heard, on this rank.
  virtual bool proceed() = 0;

  /// What has been heard since the last call.
  [[nodiscard]] std::vector<Note> take_heard() { return std::exchange(heard_, {}); }
  /// Of all ranks, when the round is over.
  [[nodiscard]] const RoundVotes& votes() const { return all_; }

 protected:
  std::vector<Note> heard_;
  RoundVotes all_;
};

struct FinderRow {
  Find find;
  const char* name;
  bool by_nodes;  ///< what is said goes by way of the first rank of a node
  bool chooses;   ///< may be chosen where the hint names none
  std::unique_ptr<Finder> (*make)(Post& post, const NodeMap& nodes);
};

/// All finders.
[[nodiscard]] std::span<const FinderRow> finders();
[[nodiscard]] const FinderRow& row_of(Find find);

[[nodiscard]] std::unique_ptr<Finder> make_personalized(Post& post, const NodeMap& nodes);
[[nodiscard]] std::unique_ptr<Finder> make_nbx(Post& post, const NodeMap& nodes);
[[nodiscard]] std::unique_ptr<Finder> make_rma(Post& post, const NodeMap& nodes);
[[nodiscard]] std::unique_ptr<Finder> make_personalized_node(Post& post, const NodeMap& nodes);
[[nodiscard]] std::unique_ptr<Finder> make_nbx_node(Post& post, const NodeMap& nodes);

/// What all ranks know of a round before it.
struct RoundFacts {
  Rank ranks = 1;
  Rank nodes = 1;
  Rank largest_node = 1;  ///< its ranks
  double degree = 8;      ///< destinations of a rank
  double bytes = 8 * 64;  ///< that a rank sends
};

/// What was chosen, and what each that may be chosen was predicted to take.
struct FinderChoice {
  Find find = Find::nbx;
  std::vector<std::pair<Find, double>> seconds;
};

/// The finder that takes the least time by the model; the same on all ranks where the facts are.
[[nodiscard]] FinderChoice choose_finder(const RoundFacts& facts, const Parameters& parameters);
/// Seconds of one round.
[[nodiscard]] double predict_finder(Find find, const RoundFacts& facts, const Parameters& parameters);

/// Notes up to this many bytes go by way of the first rank of a node; longer ones go straight to their receivers, which
/// are told to expect them.
inline constexpr std::size_t most_relayed_note = 8192;

}  // namespace laneway
