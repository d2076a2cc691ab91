#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/types.hpp"
#include "plan/end.hpp"

namespace laneway {

/// Messages through the memory of a node are a put and a take, of which one may move no bytes: the sender puts into the
/// peer's window or staging memory, or only raises the flag; the peer takes out of its window, or straight out of the
/// sender's staging memory, or only waits for the flag. A gate waits until a peer has come so far.
enum class StepKind : std::uint8_t { copy, send, receive, put, take, gate };

[[nodiscard]] constexpr bool copies(StepKind kind) {
  return kind == StepKind::copy || kind == StepKind::put || kind == StepKind::take;
}
[[nodiscard]] constexpr bool signals(StepKind kind) {
  return kind == StepKind::put || kind == StepKind::take || kind == StepKind::gate;
}
/// A message to or from the peer, by whatever way.
[[nodiscard]] constexpr bool sends(StepKind kind) {
  return kind == StepKind::send || kind == StepKind::put;
}
[[nodiscard]] constexpr bool receives(StepKind kind) {
  return kind == StepKind::receive || kind == StepKind::take;
}

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

/// One thing that a rank does. It may begin when all steps in `after` (earlier in the plan) are complete.
struct Step {
  StepKind kind = StepKind::copy;
  Stage stage = Stage::direct;
  // copy, put, take
  Buffer from = Buffer::send;
  Buffer to = Buffer::receive;
  // send, receive: messages of one pair on one channel match in plan order
  Rank peer = -1;
  int channel = 0;
  /// put, take: in every second exchange they use the window of the other side, a put the own one.
  bool crosses = false;
  End span;                   // of a put or take only the size counts
  std::vector<CopyRun> runs;  // copy, put, take
  // put, gate: a word of the peer's window; take: of the own one
  std::int64_t flag = 0;
  /// put, take: the distance of places in windows, or in the peer's staging memory, that exchanges use in turn; 0 where
  /// there is only one place.
  std::int64_t alternate = 0;
  /// put, take: how many of these places there are in windows, a power of two.
  std::int64_t slots = 2;
  /// gate: the word must not be less than the number of this exchange minus this.
  std::int64_t lag = 0;

  std::vector<int> after;

  friend bool operator==(const Step&, const Step&) = default;
};

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

/// Tells the peer that it may take from this rank's send buffer.
[[nodiscard]] inline bool lends(const Step& step) {
  return step.kind == StepKind::put && step.from == Buffer::send && step.runs.empty();
}
/// Takes from the send buffer of the peer.
[[nodiscard]] inline bool borrows(const Step& step) {
  return step.kind == StepKind::take && step.from == Buffer::send;
}

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

  friend bool operator==(const Plan&, const Plan&) = default;
};

[[nodiscard]] const char* name(Buffer buffer);
[[nodiscard]] const char* name(StepKind kind);
[[nodiscard]] const char* name(Stage stage);

/// The memory that the plan itself takes.
[[nodiscard]] std::int64_t metadata_bytes(const Plan& plan);

/// Equal plans have equal fingerprints.
[[nodiscard]] std::uint64_t fingerprint(const Plan& plan);

/// JSON text, and back. Throws Error(argument) with the place of the first mistake.
[[nodiscard]] std::string to_json(const Plan& plan);
[[nodiscard]] Plan plan_from_json(const std::string& text);

}  // namespace laneway
