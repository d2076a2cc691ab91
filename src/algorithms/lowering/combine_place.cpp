#include "algorithms/lowering/combine_place.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "base/bytes/sort_unique.hpp"
#include "plan/writer/append_run.hpp"
#include "plan/writer/copy_runs.hpp"
#include "plan/writer/reserve.hpp"

namespace laneway {

namespace {

bool combines_into_buffer(const Step& step) {
  return combines(step) && step.to == Buffer::receive;
}

/// Between the receive buffer and the shadow, where the block begins at `begin`.
Step copy_of(const Block& block, std::int64_t begin, bool fetches) {
  RangeList in_buffer;
  for (const Range& range : block.set().ranges()) in_buffer.append(range);
  const RangeList in_shadow = {{begin, block.bytes()}};
  Step copy;
  copy.stage = fetches ? Stage::gather : Stage::scatter;
  copy.from = fetches ? Buffer::receive : Buffer::shadow;
  copy.to = fetches ? Buffer::shadow : Buffer::receive;
  copy.runs = fetches ? copy_runs(in_buffer, in_shadow) : copy_runs(in_shadow, in_buffer);
  return copy;
}

Plan combine_on_host(Plan plan) {
  std::vector<Range> places;
  for (const Step& step : plan.steps)
    if (combines_into_buffer(step))
      for_each_block(step.runs, [&](const CopyRun& run) { places.push_back({run.to, run.bytes}); });
  if (places.empty()) return plan;
  const Block block(RangeSet(std::move(places)));
  const std::int64_t begin = reserve(plan.shadow_bytes, block.bytes());
  std::vector<Step> steps = {copy_of(block, begin, true)};
  Step store = copy_of(block, begin, false);
  for (Step& step : plan.steps) {
    for (int& before : step.after) ++before;
    if (combines_into_buffer(step)) {
      std::vector<CopyRun> runs;
      for_each_block(step.runs, [&](CopyRun run) {
        run.to = begin + block.locate({{run.to, run.bytes}}).contiguous()->offset;
        append_run(runs, run);
      });
      step.runs = std::move(runs);
      step.to = Buffer::shadow;
      step.after.push_back(0);
      sort_unique(step.after);
      store.after.push_back(static_cast<int>(steps.size()));
    }
    steps.push_back(std::move(step));
  }
  steps.push_back(std::move(store));
  plan.steps = std::move(steps);
  return plan;
}

Plan combine_on_device(Plan plan) {
  std::vector<int> here;  // step of the plan before -> its place now
  std::vector<Step> old = std::exchange(plan.steps, {});
  for (Step& step : old) {
    for (int& before : step.after) before = here[static_cast<std::size_t>(before)];
    if (combines_into_buffer(step) && step.from == Buffer::send) {
      step.after.push_back(static_cast<int>(plan.steps.size()));
      plan.steps.push_back(copy_first(step, Buffer::shadow, reserve(plan.shadow_bytes, bytes_of(step.runs))));
    }
    here.push_back(static_cast<int>(plan.steps.size()));
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

}  // namespace

Plan place_combining(Plan plan, const OnDevice& buffers) {
  if (!buffers.receive || plan.combinations.empty()) return plan;
  if (!buffers.combines) return combine_on_host(std::move(plan));
  return buffers.send ? plan : combine_on_device(std::move(plan));
}

}  // namespace laneway
