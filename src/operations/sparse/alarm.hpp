#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/rendezvous/finder.hpp"
#include "operations/sparse/messenger.hpp"

namespace laneway {

/// How a round ends whose ranks do not do the same. The first ranks that see it tell all others, and these do so, too:
/// each says how many messages it has sent to the other one, and sends no more. So all take what is under way, nothing
/// is left for the next round, and all know what each of them does.
///
/// Somebody sees it: a round ends by messages, or by the memory of a node, that go from each rank to all others by way
/// of any; so some go from a rank that does the one to a rank that does the other, and both carry what is done.
///
/// No failure of a step (ControlComm::leave): that spoils the communicator, since nobody knows what is under way, and
/// is looked for by a tag of its own, of which each turn of each round would have to take a look.
class SparseAlarm {
 public:
  SparseAlarm(MpiMessenger& messenger, Way way, const RoundVotes& votes)
      : messenger_(messenger), way_(way.code()), votes_(votes) {}

  /// What was sent before is all that has been.
  void raise();
  void on(const RoundMessage& incoming);
  [[nodiscard]] bool raised() const { return !ways_.empty(); }
  /// Whether all ranks have been heard, and nothing is under way to this one.
  [[nodiscard]] bool over() const {
    return raised() && received_ == messenger_.size() && messenger_.come() == expected_;
  }
  /// Of all ranks, when it is over.
  [[nodiscard]] const RoundVotes& votes() const { return votes_; }
  /// What differs; the same text on all ranks.
  [[nodiscard]] std::string text() const;

 private:
  MpiMessenger& messenger_;
  std::uint8_t way_;
  RoundVotes votes_;
  std::vector<std::uint8_t> ways_;  // by rank
  Rank received_ = 1;
  std::int64_t expected_ = 0;  // messages to this rank
};

}  // namespace laneway
