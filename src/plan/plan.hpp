#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes/boxed.hpp"
#include "base/bytes/types.hpp"
#include "plan/end.hpp"

namespace laneway {

/// A `move` copies between buffers of this rank, or of a peer whose memory it can reach. It may wait for a word first,
/// and may raise one when it is done; `await` and `raise` do only that. Word and copy are one step, not two, so that a
/// message through memory is one step on each side, as one through the MPI library is, and nobody has to put the two
/// together again before they run.
///
/// An `event` is where the plan meets what is outside: one that comes in is fired by somebody else, and one that goes
/// out is announced when all steps before it are complete.
enum class StepKind : std::uint8_t { move, send, receive, await, raise, event };

/// Where a step belongs on the way of the data; `direct` is an edge that no other rank relays.
enum class Stage : std::uint8_t { direct, gather, network, scatter };

/// `count` copies of `bytes` bytes, the i-th from `from + i * from_stride` to `to + i * to_stride`.
struct CopyRun {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t bytes = 0;
  std::int64_t from_stride = 0;
  std::int64_t to_stride = 0;
  std::int64_t count = 1;

  friend bool operator==(const CopyRun&, const CopyRun&) = default;
};

/// Places that exchanges use in turn, evenly apart.
struct Ring {
  static constexpr std::int64_t most_places = 32;  // proofs unroll as many exchanges

  std::int64_t distance = 0;  ///< from one place to the next, in bytes
  std::int16_t places = 1;    ///< a power of two
  bool crosses = false;       ///< each second place is in the memory of the other rank: the peer's, or this one's

  friend bool operator==(const Ring&, const Ring&) = default;
};

/// One side of a move: a buffer of this rank, or of the step's peer. A plan's own staging memory has the places that
/// the plan says, whatever the ring.
struct Operand {
  [[no_unique_address]] Ring ring;  // the others are where it ends
  Buffer buffer = Buffer::send;
  bool of_peer = false;

  constexpr Operand(Buffer buffer_, bool of_peer_ = false, const Ring& ring_ = {})
      : ring(ring_), buffer(buffer_), of_peer(of_peer_) {}

  /// A buffer stands for one of this rank, with one place.
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// What ranks tell each other by: flags in windows, each raised by one step and awaited by one, and how far a rank has
/// come. That it has started or completed an exchange, a rank says by itself; that its staging memory, shared by
/// several plans, may be written, it says where it awaits its own `ready`.
enum class Sign : std::uint8_t { flag, started, completed, ready };

/// A word of this rank, or of the step's peer. It holds the number of the last exchange for which it has been raised.
struct Word {
  Sign sign = Sign::flag;
  bool of_peer = false;
  std::int32_t lag = 0;     ///< it must not be less than the number of this exchange minus this
  std::int64_t offset = 0;  ///< of a flag, in the window
  Ring ring;

  friend bool operator==(const Word&, const Word&) = default;
};

/// One thing that a rank does. It may begin when all steps in `after` (earlier in the plan) are complete.
struct Step {
  StepKind kind = StepKind::move;
  Stage stage = Stage::direct;
  // event: its number, among those that come in or those that go out
  bool goes_out = false;
  /// move: how it combines what it brings with what is there, an index into the plan's list; -1: it overwrites.
  std::int8_t combination = -1;
  int event = 0;
  // of all but moves of this rank alone, and events
  Rank peer = -1;
  int channel = 0;  ///< messages of one pair on one channel match in plan order
  // move; `from` of a raise: what the peer may read from then on
  Operand from = Buffer::send;
  Operand to = Buffer::receive;
  /// Of a message. Where memory carries it, only the size counts. Of an event: what nobody may touch before it has come
  /// in, or after it has gone out.
  End span;
  std::vector<CopyRun> runs;  // move
  Boxed<Word> await;          // move, await
  Boxed<Word> raise;          // move, raise
  std::vector<int> after;

  friend bool operator==(const Step&, const Step&) = default;
};

/// Plans have at least as many steps as messages.
static_assert(sizeof(Operand) == 16 && sizeof(Word) == 32 && sizeof(Step) == 152);

/// Whether it waits for a peer, or tells a peer something, by a word.
[[nodiscard]] inline bool signals(const Step& step) {
  return step.await || step.raise;
}
/// Waits until a rank has come so far, for no message.
[[nodiscard]] inline bool is_gate(const Step& step) {
  return step.await && step.await->sign != Sign::flag;
}
/// A message to the peer, or from it, by whatever way.
[[nodiscard]] inline bool sends(const Step& step) {
  return step.kind == StepKind::send || step.raise;
}
[[nodiscard]] inline bool receives(const Step& step) {
  return step.kind == StepKind::receive || (step.await && !is_gate(step));
}
/// A move that is no message.
[[nodiscard]] inline bool is_copy(const Step& step) {
  return step.kind == StepKind::move && !signals(step);
}

/// A move that combines. What it writes it has read before; it may write a place several times, in the order of its
/// runs.
[[nodiscard]] inline bool combines(const Step& step) {
  return step.combination >= 0;
}

/// Channels of a plan are numbered [0, plan_channels): messages between regions and those of a plan that has no levels
/// inside use [0, own_channels), those of the plans for the levels inside the others.
inline constexpr int plan_channels = 1024;
inline constexpr int own_channels = 64;

/// The channels of a level inside are three times as many as those of the levels inside that: one slot each for what is
/// gathered, what stays inside and what is scattered.
[[nodiscard]] constexpr int embedded_channel(int channel, int slot) {
  return own_channels + 3 * channel + slot;
}

/// Of plans with so many levels inside, channels are numbered [0, channels_with(levels_inside)).
[[nodiscard]] constexpr int channels_with(std::size_t levels_inside) {
  int channels = own_channels;
  for (std::size_t level = 0; level < levels_inside && channels < plan_channels; ++level)
    channels = embedded_channel(channels - 1, 2) + 1;
  return channels < plan_channels ? channels : plan_channels;
}

/// Whether a pair that has a message on this channel may have two on one: channels are used in turn, and there are four
/// turns (the stages), so it must have got as far as the last ones.
[[nodiscard]] constexpr bool may_repeat(int channel) {
  while (channel >= own_channels) channel = (channel - own_channels) / 3;
  return channel >= own_channels - 4;
}

/// Words at the beginning of a window: the number of the exchange that its rank has started, and of the one that it has
/// completed. Words that different ranks write, or wait for, are on cache lines of their own.
inline constexpr std::int64_t cache_line = 64;
inline constexpr std::int64_t started_word = 0;
inline constexpr std::int64_t completed_word = cache_line;
inline constexpr std::int64_t window_header_bytes = 2 * cache_line;

/// Images and packed messages in staging memory begin at multiples of this.
inline constexpr std::int64_t staging_alignment = 64;

/// In windows of ranks that lend their send buffer, the next bytes say where it is.
inline constexpr std::int64_t lent_record = window_header_bytes;
inline constexpr std::int64_t lent_record_bytes = 4 * cache_line;

/// Of plans that share their staging memory, these words and one more are at the beginning of that instead: the number
/// of the exchange in which all who took from the memory before are done, so that it may be written.
inline constexpr std::int64_t ready_word = 2 * cache_line;
inline constexpr std::int64_t arena_header_bytes = 3 * cache_line;

/// Where a rank says how far it has come, from where its words begin.
[[nodiscard]] constexpr std::int64_t place_of(Sign sign) {
  return sign == Sign::started ? started_word : sign == Sign::completed ? completed_word : ready_word;
}

/// Tells the peer that it may take from this rank's send buffer.
[[nodiscard]] inline bool lends(const Step& step) {
  return step.kind == StepKind::raise && step.from == Buffer::send;
}
/// Takes from the send buffer of the peer.
[[nodiscard]] inline bool borrows(const Step& step) {
  return step.kind == StepKind::move && step.from == Operand(Buffer::send, true);
}

/// An operator and the type of what it combines: to = to op from, element by element. No message combines, because MPI
/// cannot combine what it receives: it is received into staging memory, and a move combines it.
struct Combination {
  std::string operation;
  std::string datatype;
  std::int64_t element_bytes = 1;
  /// Operands may not be exchanged, and there are no partial results: each is combined in the order of ranks. Then what
  /// is moved may be written, too, and is the plan's own memory.
  bool in_order = false;

  friend bool operator==(const Combination&, const Combination&) = default;
};

/// One rank's program for one exchange. A plain value: no pointers, communicators or requests.
struct Plan {
  Rank rank = 0;
  std::int64_t staging_bytes = 0;
  std::vector<Step> steps;
  std::int64_t window_bytes = 0;
  std::int64_t shadow_bytes = 0;
  /// What peers may take from, of the send buffer.
  std::int64_t lent_offset = 0;
  std::int64_t lent_bytes = 0;
  /// What is added to places in the own staging memory in every second exchange; 0 where there is only one place.
  std::int64_t staging_alternate = 0;
  /// Of moves that combine.
  std::vector<Combination> combinations{};

  friend bool operator==(const Plan&, const Plan&) = default;
};

[[nodiscard]] const char* name(Buffer buffer);
[[nodiscard]] const char* name(StepKind kind);
[[nodiscard]] const char* name(Stage stage);
[[nodiscard]] const char* name(Sign sign);

/// The memory that the plan itself takes.
[[nodiscard]] std::int64_t metadata_bytes(const Plan& plan);

/// Equal plans have equal fingerprints.
[[nodiscard]] std::uint64_t fingerprint(const Plan& plan);

/// JSON text, and back. Throws Error(argument) with the place of the first mistake.
[[nodiscard]] std::string to_json(const Plan& plan);
[[nodiscard]] Plan plan_from_json(const std::string& text);

}  // namespace laneway
