#include "algorithms/lowering/events.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/bytes/ranges.hpp"
#include "base/bytes/sort_unique.hpp"
#include "plan/writer/copy_runs.hpp"

namespace laneway {

namespace {

/// Bytes of the send or receive buffer, or of staging memory, that a step touches, or an event is about.
struct Touch {
  Range range;
  bool is_event = false;
  int index = 0;
};
constexpr std::array touched_buffers = {Buffer::send, Buffer::receive, Buffer::staging};
using Touches = std::array<std::vector<Touch>, touched_buffers.size()>;

void add(Touches& touches, Buffer buffer, Range range, bool is_event, int index) {
  for (std::size_t b = 0; b < touched_buffers.size(); ++b)
    if (range.bytes > 0 && touched_buffers[b] == buffer) touches[b].push_back({range, is_event, index});
}

void add(Touches& touches, const Step& step, int index) {
  if (step.kind == StepKind::send || step.kind == StepKind::receive)
    step.span.for_each([&](Buffer buffer, Range range, std::int64_t) { add(touches, buffer, range, false, index); });
  if (step.kind != StepKind::move) return;
  for_each_block(step.runs, [&](const CopyRun& block) {
    if (!step.from.of_peer) add(touches, step.from.buffer, {block.from, block.bytes}, false, index);
    if (!step.to.of_peer) add(touches, step.to.buffer, {block.to, block.bytes}, false, index);
  });
}

/// Calls f(event, step) for the pairs that share a byte, some of them several times.
template <class F>
void for_each_meeting(std::vector<Touch>& touches, F&& f) {
  std::ranges::sort(touches, {}, [](const Touch& touch) { return touch.range.offset; });
  std::array<std::vector<Touch>, 2> open;  // steps, and events
  for (const Touch& touch : touches) {
    std::vector<Touch>& others = open[touch.is_event ? 0 : 1];
    std::erase_if(others, [&](const Touch& other) { return other.range.end() <= touch.range.offset; });
    for (const Touch& other : others)
      f(touch.is_event ? touch.index : other.index, touch.is_event ? other.index : touch.index);
    open[touch.is_event ? 1 : 0].push_back(touch);
  }
}

Step step_of(const PlanEvent& event) {
  Step step;
  step.kind = StepKind::event;
  step.event = event.number;
  step.goes_out = event.goes_out;
  std::int64_t bytes = 0;
  for (const Segment& part : event.parts) bytes += part.ranges.bytes();
  step.span = End(event.parts, {{0, bytes}}, bytes);
  return step;
}

/// A message that waits for an event keeps those back that come after it on its channel.
void keep_order(std::vector<Step>& steps, std::vector<bool> waits) {
  std::map<std::tuple<StepKind, Rank, int>, int> last;
  for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
    Step& step = steps[static_cast<std::size_t>(s)];
    if (step.kind != StepKind::send && step.kind != StepKind::receive) continue;
    const auto [before, first] = last.try_emplace({step.kind, step.peer, step.channel}, s);
    if (first) continue;
    const auto earlier = static_cast<std::size_t>(before->second);
    if ((waits[earlier] || waits[static_cast<std::size_t>(s)]) && !steps[earlier].after.empty()) {
      step.after.push_back(before->second);
      sort_unique(step.after);
      waits[static_cast<std::size_t>(s)] = true;  // so the next one has to wait, too
    }
    before->second = s;
  }
}

}  // namespace

Plan add_events(Plan plan, std::span<const PlanEvent> events) {
  Touches touches;
  for (int e = 0; e < static_cast<int>(events.size()); ++e)
    for (const Segment& part : events[static_cast<std::size_t>(e)].parts)
      part.ranges.for_each([&](Range range) { add(touches, part.buffer, range, true, e); });
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s)
    add(touches, plan.steps[static_cast<std::size_t>(s)], s);

  std::vector<Step> steps;
  std::vector<int> place(events.size(), -1);  // of what comes in, which is first
  for (std::size_t e = 0; e < events.size(); ++e) {
    if (events[e].goes_out) continue;
    place[e] = static_cast<int>(steps.size());
    steps.push_back(step_of(events[e]));
  }
  const auto shift = static_cast<int>(steps.size());
  std::vector<bool> waits(steps.size() + plan.steps.size(), false);
  for (Step& step : plan.steps) {
    for (int& before : step.after) before += shift;
    steps.push_back(std::move(step));
  }
  std::vector<std::vector<int>> touched(events.size());  // by event that goes out: steps
  for (std::vector<Touch>& all : touches)
    for_each_meeting(all, [&](int event, int step) {
      const auto e = static_cast<std::size_t>(event);
      const auto s = static_cast<std::size_t>(step + shift);
      if (events[e].goes_out) return touched[e].push_back(step + shift);
      waits[s] = true;
      if (std::ranges::find(steps[s].after, place[e]) == steps[s].after.end()) steps[s].after.push_back(place[e]);
    });
  for (Step& step : steps) sort_unique(step.after);
  keep_order(steps, std::move(waits));
  for (std::size_t e = 0; e < events.size(); ++e) {
    if (!events[e].goes_out) continue;
    steps.push_back(step_of(events[e]));
    sort_unique(touched[e]);
    steps.back().after = std::move(touched[e]);
  }
  plan.steps = std::move(steps);
  return plan;
}

}  // namespace laneway
