#include <algorithm>
#include <utility>
#include <vector>

#include "verify/program.hpp"

namespace laneway::verification {

namespace {

struct Access {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int step = 0;
  bool write = false;
};

struct Conflict {
  int later = 0;
  int earlier = 0;
  std::int64_t byte = 0;
};

/// The pairs of accesses that share a byte and do not both read.
void find_conflicts(std::vector<Access>& accesses, std::vector<Conflict>& conflicts) {
  std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) { return a.begin < b.begin; });
  std::vector<Access> reads;
  std::vector<Access> writes;
  auto meet = [&](const Access& access, std::vector<Access>& open) {
    std::erase_if(open, [&](const Access& other) { return other.end <= access.begin; });
    for (const Access& other : open) {
      const Conflict conflict{std::max(access.step, other.step), std::min(access.step, other.step), access.begin};
      const bool known = !conflicts.empty() && conflicts.back().later == conflict.later &&
                         conflicts.back().earlier == conflict.earlier;
      if (!known) conflicts.push_back(conflict);
    }
  };
  for (const Access& access : accesses) {
    meet(access, writes);
    if (access.write) meet(access, reads);
    (access.write ? writes : reads).push_back(access);
  }
}

class Races {
 public:
  explicit Races(Report& report) : report_(report) {}

  void prove(const Plan& plan) {
    for (Buffer buffer : {Buffer::receive, Buffer::staging, Buffer::shadow}) {
      accesses_.clear();
      conflicts_.clear();
      for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s)
        collect(plan.steps[static_cast<std::size_t>(s)], s, buffer);
      find_conflicts(accesses_, conflicts_);
      check(plan, buffer);
    }
  }

 private:
  void collect(const Step& step, int s, Buffer buffer) {
    auto add = [&](std::int64_t begin, std::int64_t bytes, bool write) {
      if (bytes > 0) accesses_.push_back({begin, begin + bytes, s, write});
    };
    if (step.kind != StepKind::copy) {
      step.span.for_each([&](Buffer touched, Range place, std::int64_t) {
        if (touched == buffer) add(place.offset, place.bytes, step.kind == StepKind::receive);
      });
      return;
    }
    for (const CopyRun& run : step.runs) {
      if (step.from == buffer) collect(add, run, run.from, run.from_stride, false);
      // Two blocks that overlap show that a run overlaps itself as well as all do.
      const bool overlaps = run.to_stride > -run.bytes && run.to_stride < run.bytes;
      if (step.to == buffer)
        collect(add, overlaps ? CopyRun{run.from, run.to, run.bytes, 0, 0, std::min<std::int64_t>(run.count, 2)} : run,
                run.to, run.to_stride, true);
    }
  }

  template <class Add>
  static void collect(Add&& add, const CopyRun& run, std::int64_t offset, std::int64_t stride, bool write) {
    const std::int64_t length = (run.count - 1) * stride;
    if (!write && -run.bytes <= stride && stride <= run.bytes) {
      add(std::min(offset, offset + length), std::max(length, -length) + run.bytes, false);
      return;
    }
    for (std::int64_t i = 0; i < run.count; ++i) add(offset + i * stride, run.bytes, write);
  }

  void check(const Plan& plan, Buffer buffer) {
    std::sort(conflicts_.begin(), conflicts_.end(), [](const Conflict& a, const Conflict& b) {
      return std::pair(a.later, a.earlier) < std::pair(b.later, b.earlier);
    });
    Order order(plan);
    const Conflict* last = nullptr;
    for (const Conflict& conflict : conflicts_) {
      const bool seen = last && last->later == conflict.later && last->earlier == conflict.earlier;
      last = &conflict;
      if (seen || order.ordered(conflict.earlier, conflict.later)) continue;
      const std::string where = std::string(name(buffer)) + " byte " + std::to_string(conflict.byte);
      if (conflict.earlier == conflict.later)
        complain(report_, describe(plan, conflict.later) + " overlaps itself at " + where);
      else
        complain(report_, describe(plan, conflict.later) + " is not ordered after step " +
                              std::to_string(conflict.earlier) + ": both touch " + where);
    }
  }

  Report& report_;
  std::vector<Access> accesses_;
  std::vector<Conflict> conflicts_;
};

}  // namespace

Report prove_race_free(const Program& program) {
  Report report;
  Races races(report);
  for (Rank r = 0; r < program.ranks(); ++r) races.prove(program.plan(r));
  return report;
}

}  // namespace laneway::verification
