#include "algorithms/lowering/pack.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "base/bytes/sort_unique.hpp"
#include "plan/writer/bundles.hpp"
#include "plan/writer/copy_runs.hpp"
#include "plan/writer/dependencies.hpp"
#include "plan/writer/reserve.hpp"

namespace laneway {

namespace {

bool is_scattered(const Step& step) {
  return (step.kind == StepKind::send || step.kind == StepKind::receive) && step.span.is_scattered();
}

bool contains(const std::vector<int>& ascending, int step) {
  return std::binary_search(ascending.begin(), ascending.end(), step);
}

class Packing {
 public:
  explicit Packing(Plan plan) : plan_(std::move(plan)) {}

  Plan run(const std::function<bool(const Step&)>& is_packed) {
    std::vector<Step> old = std::exchange(plan_.steps, {});
    here_.reserve(old.size());
    for (Step& step : old) {
      if (!is_scattered(step) || !is_packed(step))
        keep(std::move(step));
      else if (step.kind == StepKind::send)
        send(std::move(step));
      else
        receive(std::move(step));
    }
    return std::move(plan_);
  }

 private:
  /// What a step has become; of a receive also the copies that unpack it.
  struct Now {
    int step = 0;
    int first_copy = 0;
    int copies = 0;

    [[nodiscard]] bool unpacks(int copy) const { return copy >= first_copy && copy < first_copy + copies; }
  };

  [[nodiscard]] int next() const { return static_cast<int>(plan_.steps.size()); }
  int add(Step step) {
    sort_unique(step.after);
    plan_.steps.push_back(std::move(step));
    return next() - 1;
  }

  void keep(Step step) {
    std::vector<int> after;
    after.reserve(step.after.size());
    std::vector<int> writers;
    for (int before : step.after) {
      const Now& now = here_[static_cast<std::size_t>(before)];
      if (now.copies == 0) {
        after.push_back(now.step);
        continue;
      }
      if (writers.empty()) find_writers(step, writers);
      append_copies(now, writers, after);
    }
    if (step.kind == StepKind::send && step.stage == Stage::direct) {
      const auto last = last_packing_.find({step.peer, step.channel});
      if (last != last_packing_.end()) after.insert(after.end(), last->second.begin(), last->second.end());
    }
    step.after = std::move(after);
    here_.push_back({add(std::move(step)), 0, 0});
    note_written(here_.back().step);
  }

  /// The copies that write what `writers` of a step are; all of them if nothing shows which.
  static void append_copies(const Now& now, const std::vector<int>& writers, std::vector<int>& after) {
    const std::size_t before = after.size();
    std::ranges::copy_if(writers, std::back_inserter(after), [&](int writer) { return now.unpacks(writer); });
    if (after.size() > before) return;
    for (int copy = 0; copy < now.copies; ++copy) after.push_back(now.first_copy + copy);
  }

  void find_writers(const Step& step, std::vector<int>& writers) {
    if (step.kind == StepKind::move && step.from == Buffer::staging)
      writers_.reads(Buffer::staging, read_by(step.runs), next(), writers);
    if (step.kind == StepKind::send)
      step.span.for_each(
          [&](Buffer buffer, Range place, std::int64_t) { writers_.reads(buffer, place, next(), writers); });
    sort_unique(writers);
  }

  void note_written(int s) {
    const Step& step = plan_.steps[static_cast<std::size_t>(s)];
    if (step.kind == StepKind::move && step.to == Buffer::staging) wrote(Buffer::staging, written_by(step.runs), s);
    if (step.kind == StepKind::receive)
      step.span.for_each([&](Buffer buffer, Range place, std::int64_t) { wrote(buffer, place, s); });
  }

  template <class Ranges>
  void wrote(Buffer buffer, const Ranges& ranges, int step) {
    std::vector<int> none;
    writers_.writes(buffer, ranges, step, none);
  }

  /// Each part's copy waits for what writes that part, and the message for the copies, and for messages before it.
  void send(Step step) {
    const std::int64_t place = reserve(plan_.staging_bytes, step.span.bytes);
    const int first = next();
    std::int64_t at = place;
    for (const Segment& part : step.span.parts()) {
      Step copy;
      copy.kind = StepKind::move;
      copy.stage = step.stage;
      copy.from = part.buffer;
      copy.to = Buffer::staging;
      copy.runs = copy_runs(part.ranges, {{at, part.ranges.bytes()}});
      writers_.reads(part.buffer, part.ranges, next(), copy.after);
      add(std::move(copy));
      wrote(Buffer::staging, Range{at, part.ranges.bytes()}, next() - 1);
      at += part.ranges.bytes();
    }
    const int end = next();
    const std::vector<int> after = hand_to_copies(step, first, end);
    step.span = {Buffer::staging, place, step.span.bytes};
    step.after = after;
    step.after.reserve(after.size() + static_cast<std::size_t>(end - first));
    for (int copy = first; copy < end; ++copy) step.after.push_back(copy);
    here_.push_back({add(std::move(step)), 0, 0});
  }

  /// Lets the copies that pack a message wait for what it waits for, as far as they do not yet, and returns the
  /// messages before it, for which it waits itself. Who runs the plan starts first what waits for nothing, and then, in
  /// plan order, what waits for the same: a direct message starts after those before it on its channel.
  std::vector<int> hand_to_copies(const Step& step, int first, int end) {
    std::vector<int> known;
    for (int copy = first; copy < end; ++copy) {
      const std::vector<int>& after = plan_.steps[static_cast<std::size_t>(copy)].after;
      known.insert(known.end(), after.begin(), after.end());
    }
    sort_unique(known);
    std::vector<int> messages;
    std::vector<int> others;
    for (int before : step.after) {
      const Now& now = here_[static_cast<std::size_t>(before)];
      if (sends(plan_.steps[static_cast<std::size_t>(now.step)]))
        messages.push_back(now.step);
      else if (now.copies > 0 && std::ranges::none_of(known, [&](int writer) { return now.unpacks(writer); }))
        append_copies(now, {}, others);
      else if (now.copies == 0 && !contains(known, now.step))
        others.push_back(now.step);
    }
    if (step.stage == Stage::direct) {
      std::vector<int>& last = last_packing_[{step.peer, step.channel}];
      others.insert(others.end(), last.begin(), last.end());
      last.clear();
      for (int copy = first; copy < end; ++copy) last.push_back(copy);
    }
    for (int copy = first; copy < end && !others.empty(); ++copy) {
      std::vector<int>& after = plan_.steps[static_cast<std::size_t>(copy)].after;
      after.insert(after.end(), others.begin(), others.end());
      sort_unique(after);
    }
    return messages;
  }

  void receive(Step step) {
    const std::int64_t place = reserve(plan_.staging_bytes, step.span.bytes);
    const End to = std::exchange(step.span, {Buffer::staging, place, step.span.bytes});
    std::vector<int> after;
    for (int before : step.after) {
      const Now& now = here_[static_cast<std::size_t>(before)];
      if (now.copies > 0)
        append_copies(now, {}, after);
      else
        after.push_back(now.step);
    }
    step.after = std::move(after);
    const Stage unpacked_in = step.stage;
    const int received = add(std::move(step));
    const Slicer stream(to.stream());
    std::int64_t at = 0;
    for (const Segment& part : to.parts()) {
      RangeList from;
      from.append(stream.slice(at, part.ranges.bytes()), place);
      at += part.ranges.bytes();
      Step copy;
      copy.kind = StepKind::move;
      copy.stage = unpacked_in;
      copy.from = Buffer::staging;
      copy.to = part.buffer;
      copy.runs = copy_runs(from, part.ranges);
      copy.after = {received};
      add(std::move(copy));
      wrote(part.buffer, part.ranges, next() - 1);
    }
    here_.push_back({received, received + 1, next() - received - 1});
  }

  Plan plan_;
  std::vector<Now> here_;  // by step of the plan before
  Dependencies writers_{Reuse::none};
  std::map<std::pair<Rank, int>, std::vector<int>> last_packing_;  // of direct messages: the copies that pack one
};

}  // namespace

Plan pack(Plan plan) {
  return pack(std::move(plan), [](const Step&) { return true; });
}

Plan pack(Plan plan, const std::function<bool(const Step&)>& is_packed) {
  const bool any =
      std::ranges::any_of(plan.steps, [&](const Step& step) { return is_scattered(step) && is_packed(step); });
  return any ? Packing(std::move(plan)).run(is_packed) : std::move(plan);
}

bool needs_packing(const Plan& plan) {
  return std::ranges::any_of(plan.steps, is_scattered);
}

std::int64_t packed_staging_bytes(const Plan& plan) {
  std::int64_t bytes = plan.staging_bytes;
  for (const Step& step : plan.steps)
    if (is_scattered(step)) bytes += aligned_bytes(step.span.bytes);
  return bytes;
}

}  // namespace laneway
