#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace laneway {

/// The memory that a step touches: the two buffer arguments of the operation, or the plan's own.
enum class Buffer : std::uint8_t { send, receive, staging };

enum class StepKind : std::uint8_t { copy, send, receive };

/// Where a step belongs on the way of the data; `direct` is an edge that no other rank relays.
enum class Stage : std::uint8_t { direct, gather, network, scatter };

/// Contiguous memory of a message.
struct Span {
  Buffer buffer = Buffer::staging;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

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
  // send, receive: messages of one pair on one channel match in plan order
  Rank peer = -1;
  int channel = 0;
  Span span;
  // copy
  Buffer from = Buffer::send;
  Buffer to = Buffer::receive;
  std::vector<CopyRun> runs;

  std::vector<int> after;

  friend bool operator==(const Step&, const Step&) = default;
};

/// Channels of a plan are numbered [0, plan_channels): messages between regions and those of a plan that has no levels
/// inside use [0, own_channels), those of the plans for the levels inside the others.
inline constexpr int plan_channels = 1024;
inline constexpr int own_channels = 64;

/// One rank's program for one exchange. A plain value: no pointers, communicators or requests.
struct Plan {
  Rank rank = 0;
  std::int64_t staging_bytes = 0;
  std::vector<Step> steps;

  friend bool operator==(const Plan&, const Plan&) = default;
};

[[nodiscard]] const char* name(Buffer buffer);
[[nodiscard]] const char* name(StepKind kind);
[[nodiscard]] const char* name(Stage stage);

/// Equal plans have equal fingerprints.
[[nodiscard]] std::uint64_t fingerprint(const Plan& plan);

/// JSON text, and back. Throws Error(argument) with the place of the first mistake.
[[nodiscard]] std::string to_json(const Plan& plan);
[[nodiscard]] Plan plan_from_json(const std::string& text);

}  // namespace laneway
