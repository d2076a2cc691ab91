#include <algorithm>
#include <string>

#include "base/bytes/disjoint.hpp"
#include "plan/stream_event.hpp"
#include "plan/verify/execution/program.hpp"
#include "plan/verify/execution/rings.hpp"

namespace laneway {

namespace {

using verification::complain;
using verification::describe;

/// Places and sizes are less than this on both sides of 0, so that sums of a few are numbers, too.
constexpr std::int64_t farthest = std::int64_t{1} << 60;

bool is_near(std::int64_t number) {
  return -farthest < number && number < farthest;
}

/// Events are numbered below this.
constexpr int most_events = 1 << 20;

/// So that all places of a ring are near.
bool is_distance(std::int64_t number) {
  return -farthest / Ring::most_places < number && number < farthest / Ring::most_places;
}

class Check {
 public:
  Check(std::span<const Plan> plans, Rank rank, bool reads_receive, Report& report)
      : plans_(plans),
        plan_(plans[static_cast<std::size_t>(rank)]),
        ranks_(static_cast<Rank>(plans.size())),
        reads_receive_(reads_receive),
        report_(report) {}

  void run() {
    for (at_ = 0; at_ < static_cast<int>(plan_.steps.size()); ++at_) {
      const Step& step = plan_.steps[static_cast<std::size_t>(at_)];
      for (int before : step.after)
        if (before < 0 || before >= at_)
          problem("depends on step " + std::to_string(before) + ", which is not earlier");
      if (step.kind == StepKind::event)
        event(step);
      else if (step.peer >= 0 || !is_copy(step))
        message(step);
      if (step.kind == StepKind::move) move(step);
      if (step.combination != -1) combination(step);
      if ((step.kind == StepKind::await && !step.await) || (step.kind == StepKind::raise && !step.raise))
        problem("has no word");
      if (step.await) word(step, *step.await);
      if (!step.raise) continue;
      word(step, *step.raise);
      if (step.raise->sign != Sign::flag) problem("raises a word that only its rank raises, by itself");
    }
  }

 private:
  void problem(const std::string& what) { complain(report_, describe(plan_, at_) + " " + what); }

  [[nodiscard]] bool has_peer(const Step& step) const { return step.peer >= 0 && step.peer < ranks_; }

  void message(const Step& step) {
    if (!has_peer(step)) problem("has a peer outside the communicator");
    if (step.peer == plan_.rank && !verification::opens_staging(step)) problem("is a message to the rank itself");
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
    if (step.kind != StepKind::send && step.kind != StepKind::receive) return;
    buffers(step.kind == StepKind::send ? step.span.buffer : Buffer::send,
            step.kind == StepKind::receive ? step.span.buffer : Buffer::receive);
    inside(plan_.rank, step.span.buffer, step.span.offset, step.span.offset + step.span.bytes);
  }

  /// What nobody may touch before it has come in, or after it has gone out.
  void event(const Step& step) {
    if (!is_of_stream(step) && (step.event < 0 || step.event >= most_events))
      problem("has a number outside [0, " + std::to_string(most_events) + ")");
    if (!step.goes_out && !step.after.empty()) problem("is fired from outside, and waits for other steps");
    step.span.for_each_part([&](Buffer buffer, const RangeList& ranges) {
      if (ranges.empty()) return;
      const bool may_be_own = is_of_stream(step) && buffer == Buffer::staging;
      if (buffer != Buffer::send && buffer != Buffer::receive && !may_be_own)
        problem("is about memory that is the plan's own");
      const Range all = hull(ranges);
      if (!is_near(all.offset) || !is_near(all.bytes)) problem("is too far away");
    });
  }

  /// Of memory of a peer, only what is shared, or lent, can be reached.
  void move(const Step& step) {
    buffers(step.from.of_peer ? Buffer::send : step.from.buffer, step.to.of_peer ? Buffer::receive : step.to.buffer);
    const auto reaches = [&](const Operand& operand, const char* what, bool lent) {
      const bool is_shared = operand.buffer == Buffer::window || operand.buffer == Buffer::staging || lent;
      if (operand.of_peer && !is_shared)
        problem(std::string(what) + " the " + name(operand.buffer) + " buffer of its peer");
      if (!operand.of_peer && operand.buffer != Buffer::window && operand.ring != Ring{})
        problem(std::string(what) + " places in turn of memory that has only one");
    };
    reaches(step.from, "reads", step.from.buffer == Buffer::send);
    reaches(step.to, "writes", false);
    if (step.from.buffer == Buffer::window && step.to.buffer == Buffer::window && !step.runs.empty())
      problem("moves from window to window");
    const bool is_alone = !step.from.of_peer && !step.to.of_peer && !step.from.ring.crosses && !step.to.ring.crosses;
    if (!is_alone && !has_peer(step)) return problem("reaches memory of nobody");
    if (ring(step.from.ring) && ring(step.to.ring)) runs(step);
  }

  /// Only moves of this rank's own memory combine, whole elements each.
  void combination(const Step& step) {
    if (!is_copy(step) || step.from.of_peer || step.to.of_peer || step.from.ring.crosses || step.to.ring.crosses)
      return problem("combines, but not as a move in the memory of its rank");
    if (step.combination < 0 || static_cast<std::size_t>(step.combination) >= plan_.combinations.size())
      return problem("combines in a way that the plan does not list");
    const Combination& how = plan_.combinations[static_cast<std::size_t>(step.combination)];
    if (how.element_bytes < 1 || !is_near(how.element_bytes)) return problem("combines elements of no size");
    for (const CopyRun& run : step.runs)
      if (run.bytes % how.element_bytes != 0) return problem("combines a part of an element");
    if (how.in_order && (step.from == Buffer::send || step.from == Buffer::receive))
      problem("combines in order what it may not write");
  }

  bool ring(const Ring& ring) {
    if (ring.places < 1 || ring.places > Ring::most_places || (ring.places & (ring.places - 1)) != 0)
      problem("has a number of places that is no power of two in [1, " + std::to_string(Ring::most_places) + "]");
    else if (ring.crosses && ring.places != 2)
      problem("crosses over with other than two places");
    else if (!is_distance(ring.distance))
      problem("is too far away");
    else
      return true;
    return false;
  }

  /// Flags must be inside of windows, whatever the exchange, and beside what these begin with.
  void word(const Step& step, const Word& word) {
    if (!ring(word.ring) || word.sign != Sign::flag) return;
    if (!is_near(word.offset)) return problem("is too far away");
    if (!has_peer(step)) return;
    const verification::Places places = verification::places_of(plan_, step, word);
    for (int exchange = 0; exchange < word.ring.places; ++exchange) {
      const std::int64_t begin = word.offset + places.shift(exchange);
      if (begin % 8 != 0) problem("has a word that is not aligned");
      inside(places.rank(exchange), Buffer::window, begin, begin + 8);
    }
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
    for (const CopyRun& run : step.runs) {
      if (run.bytes <= 0 || run.count <= 0) {
        problem("has a run without bytes");
        continue;
      }
      check(verification::source(plan_, step), run, run.from, run.from_stride);
      check(verification::target(plan_, step), run, run.to, run.to_stride);
    }
  }

  void check(const verification::Located& operand, const CopyRun& run, std::int64_t offset, std::int64_t stride) {
    std::int64_t length = 0;
    if (__builtin_mul_overflow(run.count - 1, stride, &length) || !is_near(length) || !is_near(offset) ||
        !is_near(run.bytes) || !is_distance(operand.places.distance)) {
      problem("has a run that ends too far away");
      return;
    }
    const std::int64_t begin = std::min(offset, offset + length);
    const std::int64_t end = std::max(offset, offset + length) + run.bytes;
    for (int exchange = 0; exchange < operand.places.period() && exchange < Ring::most_places; ++exchange)
      inside(operand.places.rank(exchange), operand.buffer, begin + operand.places.shift(exchange),
             end + operand.places.shift(exchange));
  }

  void buffers(Buffer read, Buffer written) {
    if (read == Buffer::receive && !reads_receive_ && plan_.combinations.empty()) problem("reads the receive buffer");
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
  const bool reads_receive_;
  Report& report_;
  int at_ = 0;
};

}  // namespace

Report well_formed(std::span<const Plan> plans) {
  return verification::check_form(plans, false);
}

Report verification::check_form(std::span<const Plan> plans, bool reads_receive) {
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
      Check(plans, r, reads_receive, report).run();
  }
  std::int64_t slots = 1;
  for (const Plan& plan : plans)
    for (const Step& step : plan.steps)
      for (const Ring& ring : {step.from.ring, step.to.ring, step.await ? step.await->ring : Ring{},
                               step.raise ? step.raise->ring : Ring{}})
        slots = std::max(slots, std::int64_t{ring.places});
  if (report.ok && verification::blocks(plans) > verification::most_blocks / slots)
    complain(report, "the copies have more than " + std::to_string(verification::most_blocks / slots) + " blocks");
  return report;
}

}  // namespace laneway
