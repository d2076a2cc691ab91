#include <algorithm>
#include <string>

#include "core/disjoint.hpp"
#include "verify/program.hpp"

namespace laneway {

namespace {

using verification::complain;
using verification::describe;

/// Places and sizes are less than this on both sides of 0, so that sums of a few are numbers, too.
constexpr std::int64_t farthest = std::int64_t{1} << 60;

bool is_near(std::int64_t number) {
  return -farthest < number && number < farthest;
}

class Check {
 public:
  Check(const Plan& plan, Rank ranks, Report& report) : plan_(plan), ranks_(ranks), report_(report) {}

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
    }
  }

 private:
  void problem(const std::string& what) { complain(report_, describe(plan_, at_) + " " + what); }

  void message(const Step& step) {
    if (step.peer < 0 || step.peer >= ranks_) problem("has a peer outside the communicator");
    if (step.peer == plan_.rank) problem("is a message to the rank itself");
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
    buffers(step.kind == StepKind::send ? step.span.buffer : Buffer::send,
            step.kind == StepKind::receive ? step.span.buffer : Buffer::receive);
    inside(step.span.buffer, step.span.offset, step.span.offset + step.span.bytes);
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
      inside(part.buffer, all.offset, all.end());
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
      check(step.kind, step.from, run, run.from, run.from_stride);
      check(step.kind, step.to, run, run.to, run.to_stride);
    }
  }

  void check(StepKind kind, Buffer buffer, const CopyRun& run, std::int64_t offset, std::int64_t stride) {
    std::int64_t length = 0;
    if (__builtin_mul_overflow(run.count - 1, stride, &length) || !is_near(length) || !is_near(offset) ||
        !is_near(run.bytes)) {
      problem("has a run that ends too far away");
      return;
    }
    if (kind != StepKind::copy) return;  // in memory of other ranks, too
    inside(buffer, std::min(offset, offset + length), std::max(offset, offset + length) + run.bytes);
  }

  void buffers(Buffer read, Buffer written) {
    if (read == Buffer::receive) problem("reads the receive buffer");
    if (written == Buffer::send) problem("writes the send buffer");
  }

  void inside(Buffer buffer, std::int64_t begin, std::int64_t end) {
    if (buffer != Buffer::staging && buffer != Buffer::shadow) return;
    const std::int64_t size = buffer == Buffer::staging ? plan_.staging_bytes : plan_.shadow_bytes;
    if (begin >= 0 && end <= size) return;
    problem("touches " + std::string(name(buffer)) + " bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
            ") of " + std::to_string(size));
  }

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
    if (plan.rank != r)
      complain(report, "rank " + std::to_string(r) + " has the plan of rank " + std::to_string(plan.rank));
    if (plan.staging_bytes < 0)
      complain(report, "rank " + std::to_string(r) + " has a negative amount of staging memory");
    Check(plan, ranks, report).run();
  }
  if (report.ok && verification::blocks(plans) > verification::most_blocks)
    complain(report, "the copies have more than " + std::to_string(verification::most_blocks) + " blocks");
  return report;
}

}  // namespace laneway
