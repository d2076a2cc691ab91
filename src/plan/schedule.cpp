#include "plan/schedule.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/sort_unique.hpp"
#include "plan/builder.hpp"
#include "plan/bundles.hpp"
#include "plan/staging_writers.hpp"

namespace laneway {

namespace {

End end_of(Parts parts) {
  std::erase_if(parts, [](const Segment& part) { return part.ranges.empty(); });
  const std::int64_t bytes = bytes_of(parts);
  return {std::move(parts), bytes > 0 ? RangeList{{0, bytes}} : RangeList{}, bytes};
}

}  // namespace

Span Schedule::stage(std::int64_t bytes) {
  const Span span{Buffer::staging, plan_.staging_bytes, bytes};
  plan_.staging_bytes += aligned_bytes(bytes);
  return span;
}

std::int8_t Schedule::combination(const Combination& how) {
  const auto it = std::ranges::find(plan_.combinations, how);
  const auto index = static_cast<std::int8_t>(it - plan_.combinations.begin());
  if (it == plan_.combinations.end()) plan_.combinations.push_back(how);
  return index;
}

int Schedule::move(const Segment& from, const Segment& to) {
  return combine(from, to, -1);
}

int Schedule::combine(const Segment& from, const Segment& to, std::int8_t how) {
  if (from == to && how < 0) return -1;
  Step step;
  step.kind = StepKind::move;
  step.from = from.buffer;
  step.to = to.buffer;
  step.combination = how;
  step.runs = copy_runs(from.ranges, to.ranges);
  return step.runs.empty() ? -1 : add(std::move(step));
}

int Schedule::send(Rank peer, Parts from, std::vector<int> after) {
  return message(StepKind::send, peer, end_of(std::move(from)), std::move(after));
}

int Schedule::receive(Rank peer, Parts to, std::vector<int> after) {
  return message(StepKind::receive, peer, end_of(std::move(to)), std::move(after));
}

int Schedule::message(StepKind kind, Rank peer, End end, std::vector<int> after) {
  if (end.bytes == 0) return -1;
  std::erase(after, -1);
  Step step;
  step.kind = kind;
  step.peer = peer;
  step.span = std::move(end);
  step.after = std::move(after);
  Messages& messages = messages_[{peer, kind}];
  step.channel = messages.count++ % own_channels;
  const auto channel = static_cast<std::size_t>(step.channel);
  if (channel >= messages.last.size())
    messages.last.push_back(-1);
  else
    step.after.push_back(messages.last[channel]);
  return messages.last[channel] = add(std::move(step));
}

int Schedule::add(Step step) {
  const auto index = static_cast<int>(plan_.steps.size());
  const auto reads = [&](Buffer buffer, const RangeList& ranges) {
    if (buffer != Buffer::send) dependencies_.reads(buffer, ranges, index, step.after);
  };
  const auto writes = [&](Buffer buffer, const RangeList& ranges) {
    dependencies_.writes(buffer, ranges, index, step.after);
  };
  if (step.kind == StepKind::move) {
    const RangeList written = written_by(step.runs);
    reads(step.from.buffer, read_by(step.runs));
    // An operator whose operands are in order may write both.
    if (combines(step) && plan_.combinations[static_cast<std::size_t>(step.combination)].in_order)
      writes(step.from.buffer, read_by(step.runs));
    writes(step.to.buffer, written);
  } else if (step.kind == StepKind::send) {
    step.span.for_each_part(reads);
  } else {
    step.span.for_each_part(writes);
  }
  sort_unique(step.after);
  plan_.steps.push_back(std::move(step));
  return index;
}

void Schedule::append(const Plan& plan, const Redirect& redirect) {
  LANEWAY_ASSERT(plan.rank == plan_.rank && plan.window_bytes == 0 && plan.shadow_bytes == 0);
  const std::int64_t staging = stage(plan.staging_bytes).offset;
  const auto place = [&](Buffer buffer) {
    return buffer == Buffer::send      ? redirect.send
           : buffer == Buffer::receive ? redirect.receive
                                       : Redirect::To{buffer, staging};
  };
  const auto moved = [&](Buffer buffer, const RangeList& ranges) {
    Segment segment{place(buffer).buffer, {}};
    segment.ranges.append(ranges, place(buffer).shift);
    return segment;
  };
  std::vector<int> here;  // by step of `plan`
  for (const Step& step : plan.steps) {
    LANEWAY_ASSERT(step.kind != StepKind::event && !signals(step));
    std::vector<int> after;
    for (const int before : step.after) after.push_back(here[static_cast<std::size_t>(before)]);
    if (step.kind != StepKind::move) {
      Parts parts;
      step.span.for_each_part([&](Buffer buffer, const RangeList& ranges) { parts.push_back(moved(buffer, ranges)); });
      End end(std::move(parts), step.span.is_scattered() ? step.span.stream() : RangeList{{0, step.span.bytes}},
              step.span.bytes);
      here.push_back(message(step.kind, step.peer, std::move(end), std::move(after)));
      continue;
    }
    Step own = step;
    own.after = std::move(after);
    const Redirect::To from = place(step.from.buffer);
    const Redirect::To to = place(step.to.buffer);
    own.from = from.buffer;
    own.to = to.buffer;
    for (CopyRun& run : own.runs) {
      run.from += from.shift;
      run.to += to.shift;
    }
    if (combines(step)) own.combination = combination(plan.combinations[static_cast<std::size_t>(step.combination)]);
    here.push_back(add(std::move(own)));
  }
}

}  // namespace laneway
