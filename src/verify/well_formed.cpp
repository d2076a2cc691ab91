#include <algorithm>
#include <string>

#include "core/disjoint.hpp"
#include "verify/program.hpp"
#include "verify/rings.hpp"

namespace laneway {

namespace {

using verification::complain;
using verification::describe;

/// Places and sizes are less than this on both sides of 0, so that sums of a few are numbers, too.
constexpr std::int64_t farthest = std::int64_t{1} << 60;

bool is_near(std::int64_t number) {
  return -farthest < number && number < farthest;
}

/// Rings have no more places than this: so many exchanges are unrolled.
constexpr std::int64_t most_slots = 16;

/// So that all places of a ring are near.
bool is_distance(std::int64_t number) {
  return -farthest / most_slots < number && number < farthest / most_slots;
}

class Check {
 public:
  Check(std::span<const Plan> plans, Rank rank, Report& report)
      : plans_(plans),
        plan_(plans[static_cast<std::size_t>(rank)]),
        ranks_(static_cast<Rank>(plans.size())),
        report_(report) {}

  void run() {
    for (at_ = 0; at_ < static_cast<int>(plan_.steps.size()); ++at_) {
      const Step& step = plan_.steps[static_cast<std::size_t>(at_)];
      for (int before : step.after)
        if (before < 0 || before >= at_)
          problem("depends on step " + std::to_string(before) + ", which is not earlier");
      if (step.kind == StepKind::copy)
        buffers(step.from, step.to);
      else
        message(step);
      if (copies(step.kind)) runs(step);
      if (step.kind == StepKind::gate) gate(step);
      if (step.kind == StepKind::put || step.kind == StepKind::take) word(step);
    }
  }

 private:
  void problem(const std::string& what) { complain(report_, describe(plan_, at_) + " " + what); }

  [[nodiscard]] bool has_peer(const Step& step) const { return step.peer >= 0 && step.peer < ranks_; }

  void message(const Step& step) {
    if (!has_peer(step)) problem("has a peer outside the communicator");
    if (step.peer == plan_.rank && !verification::opens_staging(plan_, step))
      problem("is a message to the rank itself");
    if (step.channel < 0 || step.channel >= plan_channels)
      problem("has a channel outside [0, " + std::to_string(plan_channels) + ")");
    if (step.span.bytes < 0) problem("has a negative size");
    if (step.span.is_scattered()) {
      scattered(step.kind, step.span);
      return;
    }
    if (!is_near(step.span.offset) || !is_near(step.span.bytes)) {
      problem("is too far away");
      return;
    }
    if (signals(step.kind)) return;
    buffers(step.kind == StepKind::send ? step.span.buffer : Buffer::send,
            step.kind == StepKind::receive ? step.span.buffer : Buffer::receive);
    inside(plan_.rank, step.span.buffer, step.span.offset, step.span.offset + step.span.bytes);
  }

  void gate(const Step& step) {
    if (step.flag != started_word && step.flag != completed_word && step.flag != ready_word)
      problem("waits for a word that no rank raises by itself");
    if (!is_near(step.lag)) problem("has a lag that is too far away");
  }

  /// Words and what is in windows must be inside, whatever the exchange, and beside what windows begin with.
  void word(const Step& step) {
    const bool puts = step.kind == StepKind::put;
    const Buffer reached = puts ? step.to : step.from;
    buffers(puts ? step.from : Buffer::send, puts ? Buffer::receive : step.to);
    if (reached != Buffer::window && reached != Buffer::staging && (puts || reached != Buffer::send))
      problem(std::string(puts ? "writes" : "reads") + " the " + name(reached) + " buffer of its peer");
    if ((puts ? step.from : step.to) == Buffer::window && !step.runs.empty()) problem("moves from window to window");
    if (step.slots < 2 || step.slots > most_slots || (step.slots & (step.slots - 1)) != 0)
      problem("has a number of slots that is no power of two in [2, " + std::to_string(most_slots) + "]");
    else if (step.crosses && step.slots != 2)
      problem("crosses over with more than two slots");
    else if (!is_near(step.flag) || !is_distance(step.alternate))
      problem("is too far away");
    else if (has_peer(step))
      for (std::int64_t exchange = 0; exchange < step.slots; ++exchange) word_inside(step, exchange);
  }

  void word_inside(const Step& step, std::int64_t exchange) {
    const verification::Ring ring = verification::word_ring(plan_.rank, step);
    const std::int64_t word = step.flag + ring.shift(exchange);
    if (word % 8 != 0) problem("has a word that is not aligned");
    inside(ring.rank(exchange), Buffer::window, word, word + 8);
  }

  void scattered(StepKind kind, const End& end) {
    if (kind != StepKind::send && kind != StepKind::receive) problem("is in several places, but no message");
    std::int64_t bytes = 0;
    for (const Segment& part : end.parts()) {
      bytes += part.ranges.bytes();
      const Range all = hull(part.ranges);
      if (!is_near(bytes) || !is_near(all.offset) || !is_near(all.bytes)) {
        problem("is too far away");
        return;
      }
      buffers(kind == StepKind::send ? part.buffer : Buffer::send,
              kind == StepKind::receive ? part.buffer : Buffer::receive);
      inside(plan_.rank, part.buffer, all.offset, all.end());
    }
    const Range taken = hull(end.stream());
    if (bytes != end.stream().bytes() || taken.offset < 0 || taken.end() > end.bytes)
      problem("has places for other bytes than those of the message");
    else if (kind == StepKind::send && end.stream() != RangeList{{0, end.bytes}})
      problem("does not send the bytes of its places in their order");
  }

  void runs(const Step& step) {
    if (step.kind != StepKind::copy && !has_peer(step)) return;
    for (const CopyRun& run : step.runs) {
      if (run.bytes <= 0 || run.count <= 0) {
        problem("has a run without bytes");
        continue;
      }
      check(verification::source(plan_, step), run, run.from, run.from_stride);
      check(verification::target(plan_, step), run, run.to, run.to_stride);
    }
  }

  void check(const verification::Operand& operand, const CopyRun& run, std::int64_t offset, std::int64_t stride) {
    std::int64_t length = 0;
    if (__builtin_mul_overflow(run.count - 1, stride, &length) || !is_near(length) || !is_near(offset) ||
        !is_near(run.bytes) || !is_distance(operand.ring.distance)) {
      problem("has a run that ends too far away");
      return;
    }
    const std::int64_t begin = std::min(offset, offset + length);
    const std::int64_t end = std::max(offset, offset + length) + run.bytes;
    for (int exchange = 0; exchange < operand.ring.period() && exchange < most_slots; ++exchange)
      inside(operand.ring.rank(exchange), operand.buffer, begin + operand.ring.shift(exchange),
             end + operand.ring.shift(exchange));
  }

  void buffers(Buffer read, Buffer written) {
    if (read == Buffer::receive) problem("reads the receive buffer");
    if (written == Buffer::send) problem("writes the send buffer");
  }

  void inside(Rank rank, Buffer buffer, std::int64_t begin, std::int64_t end) {
    const Plan& owner = plans_[static_cast<std::size_t>(rank)];
    std::int64_t first = 0;
    std::int64_t size = 0;
    if (buffer == Buffer::send && rank != plan_.rank) {
      first = owner.lent_offset;
      size = first + owner.lent_bytes;
    } else if (buffer == Buffer::window) {
      first = window_header_bytes + (owner.lent_bytes > 0 ? lent_record_bytes : 0);
      size = owner.window_bytes;
    } else if (buffer == Buffer::staging || buffer == Buffer::shadow) {
      size = buffer == Buffer::staging ? owner.staging_bytes : owner.shadow_bytes;
    } else {
      return;
    }
    if (begin >= first && end <= size) return;
    problem("touches " + std::string(name(buffer)) + " bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
            ") of " + std::to_string(size) + (rank != plan_.rank ? " of rank " + std::to_string(rank) : ""));
  }

  std::span<const Plan> plans_;
  const Plan& plan_;
  const Rank ranks_;
  Report& report_;
  int at_ = 0;
};

}  // namespace

Report well_formed(std::span<const Plan> plans) {
  Report report;
  const auto ranks = static_cast<Rank>(plans.size());
  for (Rank r = 0; r < ranks; ++r) {
    const Plan& plan = plans[static_cast<std::size_t>(r)];
    if (plan.rank != r) {
      complain(report, "rank " + std::to_string(r) + " has the plan of rank " + std::to_string(plan.rank));
      continue;
    }
    if (plan.staging_bytes < 0)
      complain(report, "rank " + std::to_string(r) + " has a negative amount of staging memory");
    if (!is_near(plan.staging_alternate))
      complain(report, "rank " + std::to_string(r) + " has places of staging memory that are too far away");
    else
      Check(plans, r, report).run();
  }
  std::int64_t slots = 1;
  for (const Plan& plan : plans)
    for (const Step& step : plan.steps)
      if (signals(step.kind)) slots = std::max(slots, step.slots);
  if (report.ok && verification::blocks(plans) > verification::most_blocks / slots)
    complain(report, "the copies have more than " + std::to_string(verification::most_blocks / slots) + " blocks");
  return report;
}

}  // namespace laneway
