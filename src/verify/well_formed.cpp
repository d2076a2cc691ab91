#include <algorithm>

#include "verify/program.hpp"

namespace laneway {

namespace {

using verification::complain;
using verification::describe;

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
        copy(step);
      else
        message(step);
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
    buffers(step.kind == StepKind::send ? step.span.buffer : Buffer::send,
            step.kind == StepKind::receive ? step.span.buffer : Buffer::receive);
    inside(step.span.buffer, step.span.offset, step.span.offset + step.span.bytes);
  }

  void copy(const Step& step) {
    buffers(step.from, step.to);
    for (const CopyRun& run : step.runs) {
      if (run.bytes <= 0 || run.count <= 0) {
        problem("has a run without bytes");
        continue;
      }
      auto check = [&](Buffer buffer, std::int64_t offset, std::int64_t stride) {
        const std::int64_t last = offset + (run.count - 1) * stride;
        inside(buffer, std::min(offset, last), std::max(offset, last) + run.bytes);
      };
      check(step.from, run.from, run.from_stride);
      check(step.to, run.to, run.to_stride);
    }
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
  return report;
}

}  // namespace laneway
