#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/ranges.hpp"
#include "plan/dependencies.hpp"
#include "plan/plan.hpp"

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

/// Where the buffers of a plan are in the schedule that takes it in.
struct Redirect {
  struct To {
    Buffer buffer = Buffer::send;
    std::int64_t shift = 0;
  };
  To send{Buffer::send, 0};
  To receive{Buffer::receive, 0};
};

/// Writes one rank's plan in program order: what a step must wait for follows from the bytes that it reads and writes.
/// Buffers may be written and read any number of times. Messages of a pair match in the order in which both sides write
/// them; those without bytes are none.
class Schedule {
 public:
  explicit Schedule(Rank rank) { plan_.rank = rank; }

  [[nodiscard]] Rank rank() const { return plan_.rank; }
  /// Memory of the plan.
  [[nodiscard]] Span stage(std::int64_t bytes);
  /// Index of the combination; equal ones share one.
  std::int8_t combination(const Combination& how);

  // Each returns the step, or -1 where there are no bytes. `after`: steps that it also waits for; -1 is none.
  int move(const Segment& from, const Segment& to);
  int combine(const Segment& from, const Segment& to, std::int8_t how);
  int send(Rank peer, Parts from, std::vector<int> after = {});
  int receive(Rank peer, Parts to, std::vector<int> after = {});

  /// Appends the steps of a plan that no carrier has rewritten, each after those that its bytes need.
  void append(const Plan& plan, const Redirect& redirect = {});

  [[nodiscard]] Plan take() {
    plan_.steps.shrink_to_fit();
    return std::move(plan_);
  }

 private:
  int message(StepKind kind, Rank peer, End end, std::vector<int> after);
  int add(Step step);

  Plan plan_;
  Dependencies dependencies_;
  struct Messages {
    int count = 0;
    std::vector<int> last;  ///< by channel
  };
  std::map<std::pair<Rank, StepKind>, Messages> messages_;
};

}  // namespace laneway
