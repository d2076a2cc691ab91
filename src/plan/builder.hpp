#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/ranges.hpp"
#include "plan/plan.hpp"
#include "plan/staging_writers.hpp"

namespace laneway {

/// Where `bytes` bytes of a message end up: those at the positions `stream` go to `place`, the rest are dropped.
struct Sink {
  std::int64_t bytes = 0;
  Buffer buffer = Buffer::receive;
  RangeList stream;
  RangeList place;
};

/// Neighbours in a list of segments share a message as long as it is not larger than `message_bytes`; larger segments
/// travel alone. Both sides of a pair see the same sizes and so agree.
struct Grouping {
  std::int64_t message_bytes = 0;

  static constexpr Grouping together() { return {std::numeric_limits<std::int64_t>::max()}; }
};

/// So many channels have the messages of one stage between two ranks. Two on the same channel must start in plan order
/// on both sides. Those that leave the send buffer directly do. Others start as their data arrives, so that no more
/// than this many are under way at a time.
inline constexpr int most_under_way = own_channels / 4;

/// The channel of the n-th direct message between two ranks, counted from 0.
[[nodiscard]] int direct_channel(int n);

/// Pairs the bytes of two lists of equal length.
[[nodiscard]] std::vector<CopyRun> copy_runs(const RangeList& from, const RangeList& to);

/// Appends steps to a plan. Dependencies follow from the data: a step that reads staging memory comes after the steps
/// that write it. Every staging byte is written once. Messages name the places of their bytes and are not packed.
class PlanBuilder {
 public:
  explicit PlanBuilder(Rank rank) { plan_.rank = rank; }

  [[nodiscard]] Span stage(std::int64_t bytes);
  void copy(Stage stage, const Segment& from, Buffer to, const RangeList& place);
  /// `window`, a divisor of most_under_way: of the messages of a stage to `peer`, each comes after the one so many
  /// before it, unless the stage is `direct`. It is the same for all of them.
  void send(Stage stage, Rank peer, std::span<const Segment> segments, Grouping grouping, int window = most_under_way);
  void receive(Stage stage, Rank peer, std::span<const Sink> sinks, Grouping grouping);

  /// Appends the plan of a level inside. Its send buffer is this plan's, where offsets from `window` on stand for this
  /// plan's staging memory; its receive buffer is `receive`, which may be this plan's staging memory too. `slot`, below
  /// 3, keeps the messages of several such plans apart.
  void embed(const Plan& inner, Stage stage, int slot, Buffer receive, std::int64_t window);

  [[nodiscard]] Plan take() { return std::move(plan_); }

 private:
  void send_message(Stage stage, Rank peer, std::span<const Segment> segments, int window);
  void receive_message(Stage stage, Rank peer, std::span<const Sink> sinks);
  int next_channel(std::map<std::pair<Rank, Stage>, int>& counters, Rank peer, Stage stage);
  struct Embedding;
  std::vector<int> embed_copy(const Embedding& embedding, const Step& step, Stage stage, const std::vector<int>& after);
  int add(Step step);
  int add_copy(Stage stage, Buffer from, Buffer to, std::vector<CopyRun> runs, std::vector<int> after);
  void reads(Step& step, Buffer buffer, const RangeList& ranges) const;
  void writes(int step, Buffer buffer, const RangeList& ranges);

  Plan plan_;
  StagingWriters writers_;
  std::map<std::pair<Rank, Stage>, int> sent_;
  std::map<std::pair<Rank, Stage>, int> received_;
  std::map<std::pair<Rank, int>, int> last_send_;  // by peer, and turn of its messages
};

}  // namespace laneway
