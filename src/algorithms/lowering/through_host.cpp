#include "algorithms/lowering/through_host.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/lowering/combine_place.hpp"
#include "algorithms/lowering/events.hpp"
#include "algorithms/lowering/receive_image.hpp"
#include "base/bytes/ranges.hpp"
#include "base/bytes/sort_unique.hpp"
#include "base/error.hpp"
#include "plan/stream_event.hpp"
#include "plan/writer/copy_runs.hpp"
#include "plan/writer/reserve.hpp"

namespace laneway {

namespace {

/// What a step reads from the send buffer, in its order.
RangeList read_by(const Step& step) {
  RangeList list;
  if (step.kind == StepKind::send)
    step.span.for_each_part([&](Buffer buffer, const RangeList& ranges) {
      if (buffer == Buffer::send) list.append(ranges);
    });
  if (step.kind == StepKind::move && step.from == Buffer::send)
    for (const CopyRun& run : step.runs) list.append(Run{run.from, run.bytes, run.from_stride, run.count});
  return list;
}

RangeList written_by(const Step& step) {
  RangeList list;
  for (const CopyRun& run : step.runs) list.append(Run{run.to, run.bytes, run.to_stride, run.count});
  return list;
}

/// The bytes that ranges name more than once.
RangeSet named_twice(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.offset < b.offset; });
  std::vector<Range> twice;
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (const Range& range : ranges) {
    if (range.offset < end) twice.push_back({range.offset, std::min(end, range.end()) - range.offset});
    end = std::max(end, range.end());
  }
  return RangeSet(std::move(twice));
}

/// Of a message that needs no packing.
bool is_in_place(const Step& step, StepKind kind, Buffer buffer) {
  return step.kind == kind && !step.span.is_scattered() && step.span.buffer == buffer;
}

bool is_between_buffers(const Step& step) {
  return is_copy(step) && step.from == Buffer::send && step.to == Buffer::receive;
}

class ThroughHost {
 public:
  ThroughHost(Plan plan, const OnDevice& buffers, Buffer image)
      : plan_(std::move(plan)), buffers_(buffers), image_(image) {}

  ThroughHost& fetch_sent() {
    if (!buffers_.send) return *this;
    find_fetched();
    std::vector<Step> old = std::exchange(plan_.steps, {});
    std::vector<int> here(old.size());  // step of the plan before -> its place now
    for (std::size_t s = 0; s < old.size(); ++s)
      if (comes_in(old[s])) here[s] = add(old[s]);
    fetch(old, here);
    std::map<std::pair<Rank, int>, int> last_send;  // by peer and channel
    for (std::size_t s = 0; s < old.size(); ++s) {
      if (comes_in(old[s])) continue;
      Step step = std::move(old[s]);
      for (int& earlier : step.after) earlier = here[static_cast<std::size_t>(earlier)];
      if (fetched_[s]) read_image(step);
      if (step.kind == StepKind::send) {
        // Chunks of the image may be complete in any order, but the messages of a channel start in that of the plan.
        const auto [last, first] = last_send.try_emplace({step.peer, step.channel}, -1);
        if (!first && !plan_.steps[static_cast<std::size_t>(last->second)].after.empty())
          step.after.push_back(last->second);
        last->second = static_cast<int>(plan_.steps.size());
      }
      here[s] = add(std::move(step));
    }
    return *this;
  }

  ThroughHost& store_received() {
    if (!buffers_.receive) return *this;
    std::vector<int> here;      // step of the plan so far -> its place now
    std::vector<Step> go_out;   // events
    std::map<int, int> stored;  // step -> which of the stores waits for it
    for (Step& step : std::exchange(plan_.steps, {})) {
      for (int& earlier : step.after) earlier = here[static_cast<std::size_t>(earlier)];
      here.push_back(static_cast<int>(plan_.steps.size()));
      if (step.kind == StepKind::event && step.goes_out) {
        go_out.push_back(std::move(step));
        continue;
      }
      if (const std::vector<CopyRun> runs = through_shadow(step); !runs.empty())
        stored[here.back()] = store(here.back(), runs);
      add(std::move(step));
    }
    flush();
    const auto first = static_cast<int>(plan_.steps.size());
    for (Step& step : stores_) add(std::move(step));
    for (Step& event : go_out) {
      for (int& earlier : event.after)
        if (const auto store = stored.find(earlier); store != stored.end()) earlier = first + store->second;
      add(std::move(event));
    }
    return *this;
  }

  Plan take() { return std::move(plan_); }

 private:
  struct Chunk {
    std::int64_t begin = 0;  // in the image
    std::int64_t end = 0;
    int step = -1;
  };

  static bool comes_in(const Step& step) { return step.kind == StepKind::event && !step.goes_out; }

  /// From a buffer on a device to another, by the device.
  [[nodiscard]] bool stays_on_device(const Step& step) const {
    return is_between_buffers(step) && buffers_.receive && (!combines(step) || buffers_.combines);
  }

  /// Which steps read the image rather than the send buffer. What the host combines is there.
  void find_fetched() {
    fetched_.assign(plan_.steps.size(), false);
    std::vector<Range> all;
    std::vector<Range> through;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      if (stays_on_device(step)) continue;
      fetched_[s] = is_in_place(step, StepKind::send, Buffer::send) || is_between_buffers(step) ||
                    (combines(step) && step.from == Buffer::send);
      read_by(step).for_each([&](Range range) { all.push_back(range); });
    }
    const RangeSet twice = named_twice(std::move(all));
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      if (stays_on_device(step)) continue;
      fetched_[s] = fetched_[s] || !intersect(RangeSet(read_by(step)), twice).empty();
      if (fetched_[s]) read_by(step).for_each([&](Range range) { through.push_back(range); });
    }
    block_ = Block(RangeSet(std::move(through)));
  }

  /// Cuts the image where messages begin and end, and joins what is small.
  [[nodiscard]] std::vector<Chunk> chunks(const std::vector<Step>& steps) const {
    std::set<std::int64_t> cuts = {0, block_.bytes()};
    for (std::size_t s = 0; s < fetched_.size(); ++s) {
      if (!fetched_[s] || !is_in_place(steps[s], StepKind::send, Buffer::send)) continue;
      const Range range = *block_.locate(read_by(steps[s])).contiguous();
      cuts.insert(range.offset);
      cuts.insert(range.end());
    }
    std::vector<Chunk> result;
    for (auto cut = std::next(cuts.begin()); cut != cuts.end(); ++cut) {
      const std::int64_t begin = *std::prev(cut);
      if (!result.empty() && *cut - result.back().begin <= device_copy_bytes)
        result.back().end = *cut;
      else
        result.push_back({begin, *cut, -1});
    }
    return result;
  }

  /// Adds copies into the image, those first that the first messages wait for. A copy comes after the events for which
  /// they wait.
  void fetch(const std::vector<Step>& steps, const std::vector<int>& here) {
    if (block_.bytes() == 0) return;
    image_begin_ = reserve(image_ == Buffer::staging ? plan_.staging_bytes : plan_.shadow_bytes, block_.bytes());
    chunks_ = chunks(steps);
    std::vector<std::vector<CopyRun>> runs(chunks_.size());
    std::size_t c = 0;
    std::int64_t at = 0;
    for (Range range : block_.set().ranges()) {
      while (range.bytes > 0) {
        if (at == chunks_[c].end) ++c;
        const std::int64_t bytes = std::min(range.bytes, chunks_[c].end - at);
        runs[c].push_back({range.offset, image_begin_ + at, bytes, 0, 0, 1});
        range = {range.offset + bytes, range.bytes - bytes};
        at += bytes;
      }
    }
    const auto add_chunk = [&](std::size_t chunk) {
      if (chunks_[chunk].step >= 0) return;
      Step copy;
      copy.kind = StepKind::move;
      copy.stage = Stage::gather;
      copy.from = Buffer::send;
      copy.to = image_;
      copy.runs = joined(runs[chunk]);
      chunks_[chunk].step = add(std::move(copy));
    };
    for (std::size_t s = 0; s < fetched_.size(); ++s) {
      if (!fetched_[s]) continue;
      for_each_chunk(block_.locate(read_by(steps[s])), [&](std::size_t chunk) {
        add_chunk(chunk);
        std::vector<int>& after = plan_.steps[static_cast<std::size_t>(chunks_[chunk].step)].after;
        for (const int before : steps[s].after)
          if (comes_in(steps[static_cast<std::size_t>(before)]))
            after.push_back(here[static_cast<std::size_t>(before)]);
        sort_unique(after);
      });
    }
  }

  /// Equally spaced runs of one size as one.
  static std::vector<CopyRun> joined(const std::vector<CopyRun>& runs) {
    RangeList from;
    RangeList to;
    for (const CopyRun& run : runs) {
      from.append(Range{run.from, run.bytes});
      to.append(Range{run.to, run.bytes});
    }
    return copy_runs(from, to);
  }

  template <class F>
  void for_each_chunk(const RangeList& located, F&& f) const {
    located.for_each([&](Range range) {
      auto c =
          static_cast<std::size_t>(std::partition_point(chunks_.begin(), chunks_.end(),
                                                        [&](const Chunk& chunk) { return chunk.end <= range.offset; }) -
                                   chunks_.begin());
      for (; c < chunks_.size() && chunks_[c].begin < range.end(); ++c) f(c);
    });
  }

  void read_image(Step& step) {
    const RangeList located = block_.locate(read_by(step));
    for_each_chunk(located, [&](std::size_t chunk) { step.after.push_back(chunks_[chunk].step); });
    RangeList there;
    there.append(located, image_begin_);
    if (step.kind == StepKind::send) {
      step.span = in_image(step.span);
      return;
    }
    step.runs = copy_runs(there, written_by(step));
    step.from = image_;
  }

  [[nodiscard]] End in_image(const End& end) const {
    std::vector<Segment> parts;
    end.for_each_part([&](Buffer buffer, const RangeList& ranges) {
      if (buffer != Buffer::send) {
        parts.push_back({buffer, ranges});
        return;
      }
      parts.push_back({image_, {}});
      parts.back().ranges.append(block_.locate(ranges), image_begin_);
    });
    return {std::move(parts), {{0, end.bytes}}, end.bytes};
  }

  /// Lets a step that only the host can do write the shadow, and returns how that is to be stored.
  std::vector<CopyRun> through_shadow(Step& step) {
    if (is_in_place(step, StepKind::receive, Buffer::receive) && step.span.bytes > 0) {
      const Range place{step.span.offset, step.span.bytes};
      step.span = {Buffer::shadow, reserve(plan_.shadow_bytes, place.bytes), place.bytes};
      return {{step.span.offset, place.offset, place.bytes, 0, 0, 1}};
    }
    if (buffers_.send || !is_between_buffers(step) || combines(step)) return {};
    const RangeList places = written_by(step);
    const Range shadow{reserve(plan_.shadow_bytes, places.bytes()), places.bytes()};
    step.runs = copy_runs(read_by(step), {shadow});
    step.to = Buffer::shadow;
    return copy_runs({shadow}, places);
  }

  /// Copies what step `from` has written to the device, together with others if all are small. Returns which of the
  /// stores does.
  int store(int from, const std::vector<CopyRun>& runs) {
    const std::int64_t bytes = bytes_of(runs);
    if (stored_bytes_ + bytes > device_copy_bytes) flush();
    stored_bytes_ += bytes;
    store_.after.push_back(from);
    store_.runs.insert(store_.runs.end(), runs.begin(), runs.end());
    return static_cast<int>(stores_.size());
  }

  void flush() {
    if (store_.runs.empty()) return;
    store_.kind = StepKind::move;
    store_.stage = Stage::scatter;
    store_.from = Buffer::shadow;
    store_.to = Buffer::receive;
    stores_.push_back(std::exchange(store_, {}));
    stored_bytes_ = 0;
  }

  int add(Step step) {
    sort_unique(step.after);
    plan_.steps.push_back(std::move(step));
    return static_cast<int>(plan_.steps.size()) - 1;
  }

  Plan plan_;
  const OnDevice buffers_;
  const Buffer image_;
  std::vector<bool> fetched_;
  Block block_{RangeSet{}};
  std::int64_t image_begin_ = 0;
  std::vector<Chunk> chunks_;
  Step store_;
  std::int64_t stored_bytes_ = 0;
  std::vector<Step> stores_;
};

}  // namespace

Plan fetch_sent(Plan plan, const OnDevice& buffers, Buffer image) {
  LANEWAY_ASSERT(image == Buffer::staging || image == Buffer::shadow);
  return ThroughHost(std::move(plan), buffers, image).fetch_sent().take();
}

Plan through_host(Plan plan, const OnDevice& buffers) {
  plan = place_combining(with_receive_image(std::move(plan), buffers), buffers);
  return ThroughHost(std::move(plan), buffers, Buffer::shadow).fetch_sent().store_received().take();
}

bool goes_through_host(const Plan& plan, const OnDevice& buffers) {
  return std::ranges::none_of(plan.steps, [&](const Step& step) {
    const bool host_combines = combines(step) && !buffers.combines && buffers.receive && step.to == Buffer::receive;
    return host_combines || (buffers.send && is_in_place(step, StepKind::send, Buffer::send)) ||
           (buffers.receive && is_in_place(step, StepKind::receive, Buffer::receive));
  });
}

namespace {

/// Whether each step is a copy to the device that nothing comes after, of what no peer may overwrite meanwhile.
std::vector<bool> last_copies(const Plan& plan, const InStream& where) {
  std::vector<bool> last(plan.steps.size(), where.buffers.receive);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (int before : step.after) last[static_cast<std::size_t>(before)] = false;
    const bool from_own = step.from == Buffer::send || step.from == Buffer::shadow ||
                          (step.from == Buffer::staging && !where.shares_memory);
    last[s] = last[s] && is_copy(step) && !combines(step) && step.to == Buffer::receive && from_own;
  }
  return last;
}

/// All bytes of the buffers that the plan touches, and of staging memory those that `copies` read.
PlanEvent coming(const Plan& plan, const std::vector<bool>& copies) {
  std::map<Buffer, std::vector<Range>> touched;
  const auto add = [&](Buffer buffer, Range range, bool with_staging = false) {
    if (buffer == Buffer::send || buffer == Buffer::receive || (with_staging && buffer == Buffer::staging))
      touched[buffer].push_back(range);
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (step.kind == StepKind::send || step.kind == StepKind::receive)
      step.span.for_each([&](Buffer buffer, Range range, std::int64_t) { add(buffer, range); });
    if (step.kind != StepKind::move) continue;
    for_each_block(step.runs, [&](const CopyRun& block) {
      if (!step.from.of_peer) add(step.from.buffer, {block.from, block.bytes}, copies[s]);
      if (!step.to.of_peer) add(step.to.buffer, {block.to, block.bytes});
    });
  }
  PlanEvent event;
  event.number = stream_event;
  for (auto& [buffer, ranges] : touched) {
    event.parts.push_back({buffer, {}});
    const RangeSet all(std::move(ranges));
    for (Range range : all.ranges()) event.parts.back().ranges.append(range);
  }
  return event;
}

}  // namespace

Plan in_stream(Plan plan, const InStream& where) {
  std::vector<PlanEvent> events;
  const std::vector<bool> copies = last_copies(plan, where);
  if (where.device_aware) events.push_back(coming(plan, copies));
  std::erase_if(events, [](const PlanEvent& event) { return event.parts.empty(); });
  PlanEvent out;
  out.number = stream_event;
  out.goes_out = true;
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (copies[s]) out.parts.push_back({Buffer::receive, written_by(plan.steps[s])});
  if (!out.parts.empty()) events.push_back(std::move(out));
  return events.empty() ? std::move(plan) : add_events(std::move(plan), events);
}

const std::shared_ptr<const Plan>& PlansByBuffers::on(const InStream& where) {
  std::shared_ptr<const Plan>& plan = in_stream_[where];
  if (plan) return plan;
  plan = on(where.device_aware ? OnDevice{} : where.buffers);
  Plan with_events = in_stream(*plan, where);
  if (with_events != *plan) plan = std::make_shared<const Plan>(std::move(with_events));
  return plan;
}

const std::shared_ptr<const Plan>& PlansByBuffers::on(const OnDevice& buffers) {
  const bool device_combines = buffers.combines && !plans_[0]->combinations.empty();
  std::shared_ptr<const Plan>& plan =
      plans_[(buffers.send ? 1U : 0U) + (buffers.receive ? 2U : 0U) + (device_combines ? 4U : 0U)];
  if (!plan) plan = std::make_shared<const Plan>(through_host(*plans_[0], buffers));
  return plan;
}

}  // namespace laneway
