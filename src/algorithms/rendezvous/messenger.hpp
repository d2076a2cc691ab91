#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"

namespace laneway {

/// What a message of a round is about.
enum class Topic : std::uint8_t {
  data,       ///< what one rank says to another
  count,      ///< how many messages ranks get
  consensus,  ///< that ranks have come so far
  gather,     ///< what a rank says, on its way to the first rank of its node
  lane,       ///< what ranks of one node say to those of another
  share,      ///< the same, handed on between ranks of a node that are delegates for it
  scatter,    ///< what the ranks of a node are told, on its way to one of them
  answer,     ///< to what a rank has said
  alarm       ///< that ranks do not do the same
};

struct RoundMessage {
  Rank source = 0;
  Topic topic = Topic::data;
  int step = 0;  ///< of the algorithm
  Bytes data;
};

/// What carries the messages of one round of discovery. Nothing here waits.
class Messenger {
 public:
  virtual ~Messenger() = default;

  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual Rank size() const = 0;

  /// Starts a message. `acknowledged`: it is known when the receiver has taken it.
  virtual void send(Rank to, Topic topic, int step, Bytes data, bool acknowledged) = 0;
  void send(Rank to, Topic topic, int step, Bytes data) { send(to, topic, step, std::move(data), false); }
  /// Whether all that are acknowledged have been taken.
  [[nodiscard]] virtual bool all_taken() = 0;
  /// The next message that has arrived, if there is one.
  [[nodiscard]] virtual std::optional<RoundMessage> take() = 0;

  /// Adds 1 to the counter of each of these ranks, in its memory. Once in a round, on all ranks.
  virtual void count_at(const std::vector<Rank>& ranks) = 0;
  /// This rank's counter, when all ranks have counted.
  [[nodiscard]] virtual std::optional<int> counted() = 0;
};

/// What all ranks learn of each other in a round, beside what they say.
struct RoundVotes {
  static constexpr Rank nobody = INT_MAX;

  Rank failed = nobody;         ///< the first rank that cannot take part
  std::int32_t degree = 0;      ///< the largest number of destinations
  std::int64_t bytes = 0;       ///< the largest number of bytes that a rank sends
  std::uint64_t least = ~0ULL;  ///< of what must be the same on all ranks
  std::uint64_t most = 0;

  void merge(const RoundVotes& other);
  [[nodiscard]] bool agree() const { return least >= most; }
};

}  // namespace laneway
