#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"
#include "plan/plan.hpp"

namespace laneway::local {

/// How a message goes, whoever carries it; see Localizer.
enum class Mode : std::uint8_t { message, push, pull, mailbox, borrow };

/// One side of a message that carriers may bring, all of whose bytes are in one buffer.
struct Side {
  int step = 0;
  Rank peer = 0;
  std::size_t number = 0;  ///< among the messages to the peer, or from it
  int channel = 0;
  std::int64_t bytes = 0;  ///< of the message
  Buffer buffer = Buffer::send;
  RangeList positions;  ///< in the message; all but for a receiver that drops some
  RangeList ranges;     ///< in the buffer, one for one
  Mode mode = Mode::message;
  std::uint8_t carrier = 0;  ///< its number in the table
  std::int64_t flag = 0;
  std::int64_t slot = 0;
  Ring ring;                 ///< of the slots of a mailbox, or of the staging memory that is reached
  std::int64_t reply = 0;    ///< of what is lent: the word of the sender that says that it has been taken
  RangeList peer_positions;  ///< of a push, the receiver's side; of a pull or borrow, the sender's
  RangeList peer_ranges;
};

/// Of the messages to, or from, each peer: ascending (channel, place in the plan), which is the same on both sides.
using Sides = std::map<Rank, std::vector<Side>>;

/// The bytes at `positions` of the sequence that `list` names.
[[nodiscard]] RangeList at_positions(const RangeList& list, const RangeList& positions);
/// Whether all bytes of a message are, or go, in one buffer.
[[nodiscard]] bool is_in_one_buffer(const End& end);
/// The side that a send or receive is, which must be in one buffer.
[[nodiscard]] Side side_of(const Step& step, int index);

/// What the sender says about a message.
struct Offer {
  int channel = 0;
  std::int64_t bytes = 0;
  std::uint32_t by = 0;    ///< a bit for each carrier that can do something for its side, by number
  std::uint64_t lent = 0;  ///< the kind of devices that it is on; 0: it is not lent
  std::int64_t reply = 0;
  RangeList ranges;  ///< in what can be taken out of the sender's memory
  Ring ring;         ///< of its staging memory

  void put(Writer& control_message) const;
  static Offer get(Reader& control_message);
};

/// What the receiver answers.
struct Answer {
  Mode mode = Mode::message;
  std::uint8_t carrier = 0;
  std::int64_t flag = 0;
  std::int64_t slot = 0;
  Ring ring;            ///< of mailboxes, or of its staging memory
  RangeList positions;  ///< of what is pushed: where it goes
  RangeList ranges;

  void put(Writer& control_message) const;
  static Answer get(Reader& control_message);
};

}  // namespace laneway::local
