#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/messenger.hpp"
#include "algorithms/rendezvous/node_board.hpp"
#include "algorithms/rendezvous/node_map.hpp"
#include "base/bytes/wire.hpp"
#include "machine/parameters.hpp"

namespace laneway {

struct FinderRow;
struct MessageCosts;

/// How a rank does a round, as it goes with messages: what is not the same on all ranks cannot work.
struct Way {
  static constexpr std::size_t most_finders = 64;

  const FinderRow* finder;  ///< that the caller has named, or costs have chosen
  bool chosen = false;      ///< by costs
  bool asks = false;        ///< for answers

  bool operator==(const Way&) const = default;
  [[nodiscard]] std::uint8_t code() const;
  static Way of(std::uint8_t code);
};

/// What a rank says to another, each at most once in a round, or has heard from it.
struct Payload {
  Rank peer = 0;
  Bytes data;
};

/// One rank's part of a round in which ranks find out who has something to say to them, and hear it.
class Finder {
 public:
  virtual ~Finder() = default;

  /// Begins. `payloads`: to other ranks, each once.
  virtual void start(std::vector<Payload> payloads, const RoundVotes& votes) = 0;
  virtual void on(RoundMessage incoming) = 0;
  /// Goes on as far as that needs no waiting. True when all payloads have been heard, on this rank.
  virtual bool proceed() = 0;
  /// Whether a message could bring it further. Where not, looking for messages only lets those of others move.
  [[nodiscard]] virtual bool listens() const { return true; }

  /// What has been heard since the last call.
  [[nodiscard]] std::vector<Payload> take_received() { return std::exchange(received_, {}); }
  /// Whether a rank that has been heard otherwise than by message does not do the same; then the round goes no further.
  [[nodiscard]] bool differs() const { return differs_; }
  /// Of all ranks, when the round is over.
  [[nodiscard]] const RoundVotes& votes() const { return all_; }

 protected:
  std::vector<Payload> received_;
  RoundVotes all_;
  bool differs_ = false;
};

/// How finders by nodes go between nodes.
enum class NodeWay : std::uint8_t {
  lanes,     ///< a message to each node that is spoken to; the first ranks find out when all have come
  steps,     ///< a message to each of the same nodes in each step, whatever is said, so that all know how many come
  straight,  ///< what is said goes from rank to rank, and the first ranks count
};

/// A way, and of NodeWay::steps how many there are and how many ranks of a node share its messages.
struct NodeRoute {
  NodeWay way = NodeWay::lanes;
  int steps = 1;       ///< 1: a message to each other node
  Rank delegates = 1;  ///< at most

  bool operator==(const NodeRoute&) const = default;
};

/// What finders know of a round beside what this rank says. The same on all ranks, but for the board and, by mistake,
/// the way.
struct RoundSetting {
  const NodeMap& nodes;
  NodeBoard* board = nullptr;  ///< of this rank's node; null: its ranks tell each other by messages. The caller says to
                               ///< it when rounds are over
  std::int64_t round = 0;      ///< its number
  NodeRoute route;
  std::uint8_t way = 0;  ///< Way::code of this rank
};

/// What all ranks know of a round before it.
struct RoundFacts {
  Rank ranks = 1;
  Rank nodes = 1;
  Rank largest_node = 1;  ///< its ranks
  double degree = 8;      ///< destinations of a rank
  double bytes = 8 * 64;  ///< that a rank sends
  bool boards = false;    ///< ranks of a node tell each other by its memory, on all nodes
  Rank delegates = 1;     ///< ranks of a node that may are delegates of it
};

/// A finder as everything else knows it: hint, choice, tests and benchmarks iterate over these rows.
struct FinderRow {
  const char* name;
  const char* description = "";
  const char* citation = "";
  bool by_nodes = false;  ///< what is said goes by way of the first rank of a node
  bool chooses = false;   ///< may be chosen where the hint names none
  bool counts_in_memory =
      false;  ///< by Messenger::count_at, for which all ranks meet; where MPI has no windows nbx does it
  std::unique_ptr<Finder> (*make)(Messenger& messenger, const RoundSetting& setting);
  /// Seconds of one round by one of its routes.
  double (*cost)(const RoundFacts& facts, const NodeRoute& route, const MessageCosts& costs);
  /// All that it could take; null: there is one.
  std::vector<NodeRoute> (*routes)(const RoundFacts& facts) = nullptr;
};

/// All finders, those that know nodes last.
[[nodiscard]] std::span<const FinderRow> finders();
/// Those of each file in rules/, whose namespace `discovery::FILE` has them in `rules()`: laneway_table writes this.
[[nodiscard]] std::vector<FinderRow> finder_rows();
/// There must be one.
[[nodiscard]] const FinderRow& find_finder(std::string_view name);

/// What was chosen, and what each that may be chosen was predicted to take.
struct FinderChoice {
  const FinderRow* finder = nullptr;
  std::vector<std::pair<const FinderRow*, double>> seconds;
};

/// The finder that takes the least time by the model; the same on all ranks where the facts are.
[[nodiscard]] FinderChoice choose_finder(const RoundFacts& facts, const Parameters& parameters);
/// Seconds of one round, by the fastest way that the finder has.
[[nodiscard]] double predict_finder(const FinderRow& row, const RoundFacts& facts, const Parameters& parameters);
/// The way of a finder that takes the least time by the model; the same on all ranks where the facts are.
[[nodiscard]] NodeRoute choose_route(const FinderRow& row, const RoundFacts& facts, const Parameters& parameters);

/// Payloads up to this many bytes go by way of the first rank of a node; longer ones go straight to their receivers,
/// which are told to expect them.
inline constexpr std::size_t most_relayed_payload = 8192;

}  // namespace laneway
