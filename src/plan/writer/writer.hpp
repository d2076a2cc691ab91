#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "plan/plan.hpp"
#include "plan/writer/dependencies.hpp"

namespace laneway {

/// Bytes of a buffer, in the order in which they travel.
using Parts = std::vector<Segment>;

[[nodiscard]] inline std::int64_t bytes_of(std::span<const Segment> parts) {
  std::int64_t bytes = 0;
  for (const Segment& part : parts) bytes += part.ranges.bytes();
  return bytes;
}

/// Joins what is in the buffer of the last part with that, so that regular places stay one list.
inline void append(Parts& parts, const Segment& next) {
  if (!parts.empty() && parts.back().buffer == next.buffer)
    parts.back().ranges.append(next.ranges);
  else
    parts.push_back(next);
}

/// Where the buffers of a plan are in the one that takes it in.
struct Redirect {
  struct To {
    Buffer buffer = Buffer::send;
    std::int64_t shift = 0;

    friend bool operator==(const To&, const To&) = default;
  };
  To send{Buffer::send, 0};
  To receive{Buffer::receive, 0};
  /// From here on places in its send buffer are those of the other plan's staging memory.
  std::int64_t window = std::numeric_limits<std::int64_t>::max();
};

/// What plans of levels inside have in the plan around them: `slot`, below 3, keeps the messages of several apart.
struct Inside {
  Stage stage = Stage::gather;
  int slot = 0;
};

/// The number of turns in which messages of a stage between two ranks take channels.
inline constexpr int channels_of_stage = own_channels / 4;

/// The channel of the n-th message of a stage between two ranks, counted from 0.
[[nodiscard]] constexpr int channel_of(Stage stage, int n) {
  return n % channels_of_stage * (own_channels / channels_of_stage) + static_cast<int>(stage);
}

/// A message that waits for nothing yet.
[[nodiscard]] inline Step message_of(StepKind kind, Stage stage, Rank peer, int channel, End span) {
  Step step;
  step.kind = kind;
  step.stage = stage;
  step.peer = peer;
  step.channel = channel;
  step.span = std::move(span);
  return step;
}

/// Writes one rank's plan in program order: what a step must wait for follows from the bytes that it reads and writes.
/// Messages name the places of their bytes and are not packed.
class PlanWriter {
 public:
  explicit PlanWriter(Rank rank, Reuse reuse = Reuse::any) : dependencies_(reuse) { plan_.rank = rank; }
  /// Goes on after the steps of a plan.
  PlanWriter(Plan plan, Reuse reuse);

  [[nodiscard]] Rank rank() const { return plan_.rank; }
  /// Memory of the plan.
  [[nodiscard]] Span stage(std::int64_t bytes);
  /// Index of the combination; equal ones share one.
  std::int8_t combination(const Combination& how);

  // Each returns the step, or -1 where there are no bytes. Messages of a pair match in the order in which both sides
  // write them. `after`: steps that a message also waits for; -1 is none.
  int move(const Segment& from, const Segment& to, Stage stage = Stage::direct);
  int combine(const Segment& from, const Segment& to, std::int8_t how);
  int send(Rank peer, Parts from, std::vector<int> after = {});
  int receive(Rank peer, Parts to, std::vector<int> after = {});

  // Any step that moves or carries bytes, whose channel is known. Returns it.
  int add(Step&& step);
  /// A message that starts after the last one of its turn; or, `if_waiting`, only if that waits for something.
  int add_in_turn(Step&& message, int turn, bool if_waiting = false);
  /// Counts messages of a stage: those with the peer before this one.
  int count(StepKind kind, Stage stage, Rank peer) { return counts_[{peer, kind, stage}]++; }

  /// Appends the steps of a plan that no carrier has rewritten, each after those that its bytes need. `inside`: it is
  /// that of a level inside.
  void append(const Plan& plan, const Redirect& redirect = {}, const std::optional<Inside>& inside = std::nullopt);

  [[nodiscard]] const Dependencies& dependencies() const { return dependencies_; }
  /// Whether a step reads staging memory that none has written.
  [[nodiscard]] bool reads_unwritten() const { return reads_unwritten_; }
  [[nodiscard]] Plan take() { return std::move(plan_); }

 private:
  class Relocation;

  [[nodiscard]] int next() const { return static_cast<int>(plan_.steps.size()); }
  int move(Step&& step, const Segment& from, const Segment& to);
  int message(StepKind kind, Rank peer, Parts parts, std::vector<int> after);
  template <class Ranges>
  void reads(Buffer buffer, const Ranges& ranges, int step, std::vector<int>& after);
  void find_dependencies(const Step& step, int index, std::vector<int>& after);
  [[nodiscard]] bool writes_source(const Step& step) const;
  int add_move(Step&& step, const RangeList& read, const RangeList& written);
  int push(Step&& step);
  void append_move(const Step& step, const Relocation& relocation, Step&& like);
  void append_message(const Step& step, Step&& own, const std::optional<Inside>& inside);

  Plan plan_;
  Dependencies dependencies_;
  bool reads_unwritten_ = false;
  std::map<std::tuple<Rank, StepKind, Stage>, int> counts_;
  std::map<std::tuple<Rank, StepKind, int>, int> last_;  // step, by turn
};

}  // namespace laneway
