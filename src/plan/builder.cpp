#include "plan/builder.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/error.hpp"

namespace laneway {

namespace {

constexpr int stages_of_pair = own_channels / most_under_way;

/// Splits [0, n) into message groups and calls f(begin, end) for each.
template <class Size, class F>
void group(std::size_t n, Grouping grouping, Size&& size, F&& f) {
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin + 1;
    std::int64_t bytes = size(begin);
    while (end < n && bytes + size(end) <= grouping.message_bytes) bytes += size(end++);
    f(begin, end);
    begin = end;
  }
}

}  // namespace

std::vector<CopyRun> copy_runs(const RangeList& from, const RangeList& to) {
  LANEWAY_ASSERT(1, from.bytes() == to.bytes());
  std::vector<CopyRun> runs;
  for_each_pair(from, to, [&](std::int64_t source, std::int64_t target, std::int64_t bytes) {
    if (!runs.empty() && runs.back().bytes == bytes) {
      CopyRun& last = runs.back();
      const std::int64_t from_step = source - last.from;
      const std::int64_t to_step = target - last.to;
      if (last.count == 1) {
        last.from_stride = from_step;
        last.to_stride = to_step;
      }
      if (from_step == last.count * last.from_stride && to_step == last.count * last.to_stride) {
        ++last.count;
        return;
      }
    }
    runs.push_back({source, target, bytes, 0, 0, 1});
  });
  return runs;
}

Span PlanBuilder::stage(std::int64_t bytes) {
  constexpr std::int64_t alignment = 64;
  const Span span{Buffer::staging, plan_.staging_bytes, bytes};
  plan_.staging_bytes += (bytes + alignment - 1) / alignment * alignment;
  return span;
}

void PlanBuilder::copy(Stage stage, const Segment& from, Buffer to, const RangeList& place) {
  if (place.empty()) return;
  Step step;
  step.kind = StepKind::copy;
  step.stage = stage;
  step.from = from.buffer;
  step.to = to;
  step.runs = copy_runs(from.ranges, place);
  reads(step, from.buffer, from.ranges);
  writes(add(std::move(step)), to, place);
}

void PlanBuilder::send(Stage stage, Rank peer, std::span<const Segment> segments, Grouping grouping, int window) {
  LANEWAY_ASSERT(1, window > 0 && most_under_way % window == 0);
  group(
      segments.size(), grouping, [&](std::size_t i) { return segments[i].ranges.bytes(); },
      [&](std::size_t begin, std::size_t end) {
        send_message(stage, peer, segments.subspan(begin, end - begin), window);
      });
}

void PlanBuilder::receive(Stage stage, Rank peer, std::span<const Sink> sinks, Grouping grouping) {
  group(
      sinks.size(), grouping, [&](std::size_t i) { return sinks[i].bytes; },
      [&](std::size_t begin, std::size_t end) { receive_message(stage, peer, sinks.subspan(begin, end - begin)); });
}

void PlanBuilder::send_message(Stage stage, Rank peer, std::span<const Segment> segments, int window) {
  RangeList ranges;
  bool one_buffer = true;
  std::int64_t bytes = 0;
  for (const Segment& segment : segments) {
    ranges.append(segment.ranges);
    one_buffer = one_buffer && segment.buffer == segments.front().buffer;
    bytes += segment.ranges.bytes();
  }
  if (bytes == 0) return;
  Step step;
  step.kind = StepKind::send;
  step.stage = stage;
  step.peer = peer;
  const auto whole = ranges.contiguous();
  const auto first_copy = static_cast<int>(plan_.steps.size());
  if (one_buffer && whole) {
    step.span = {segments.front().buffer, whole->offset, whole->bytes};
  } else {
    step.span = this->stage(bytes);
    std::int64_t at = step.span.offset;
    for (const Segment& segment : segments) {
      copy(stage, segment, Buffer::staging, {{at, segment.ranges.bytes()}});
      at += segment.ranges.bytes();
    }
  }
  reads(step, step.span.buffer, {{step.span.offset, step.span.bytes}});
  const int n = next_channel(sent_, peer, stage);
  step.channel = n % own_channels;
  if (stage == Stage::direct) {
    start_in_order(step, first_copy, step.channel);
    add(std::move(step));
    return;
  }
  const std::pair turn{peer, n % (stages_of_pair * window)};
  const auto last = last_send_.find(turn);
  if (last != last_send_.end()) step.after.push_back(last->second);
  last_send_[turn] = add(std::move(step));
}

/// Lets a direct message, which the copies from `first_copy` on pack, start after those before it on its channel: who
/// runs the plan starts first what waits for nothing, and then, in plan order, what waits for the same.
void PlanBuilder::start_in_order(Step& step, int first_copy, int channel) {
  std::vector<int>& last = last_packing_[{step.peer, channel}];
  std::vector<int> copies(plan_.steps.size() - static_cast<std::size_t>(first_copy));
  std::iota(copies.begin(), copies.end(), first_copy);
  for (int copy : copies) {
    std::vector<int>& after = plan_.steps[static_cast<std::size_t>(copy)].after;
    after.insert(after.end(), last.begin(), last.end());
    std::sort(after.begin(), after.end());
  }
  if (copies.empty())
    step.after.insert(step.after.end(), last.begin(), last.end());
  else
    last = std::move(copies);
}

void PlanBuilder::receive_message(Stage stage, Rank peer, std::span<const Sink> sinks) {
  RangeList stream;
  RangeList place;
  bool one_buffer = true;
  std::int64_t bytes = 0;
  for (const Sink& sink : sinks) {
    stream.append(sink.stream, bytes);
    place.append(sink.place);
    one_buffer = one_buffer && sink.buffer == sinks.front().buffer;
    bytes += sink.bytes;
  }
  if (bytes == 0) return;
  Step step;
  step.kind = StepKind::receive;
  step.stage = stage;
  step.peer = peer;
  step.channel = next_channel(received_, peer, stage) % own_channels;
  const auto whole = place.contiguous();
  const bool straight = one_buffer && whole && stream == RangeList{{0, bytes}};
  step.span = straight ? Span{sinks.front().buffer, whole->offset, whole->bytes} : this->stage(bytes);
  const Span span = step.span;
  writes(add(std::move(step)), span.buffer, {{span.offset, span.bytes}});
  if (straight) return;
  std::int64_t at = span.offset;
  for (const Sink& sink : sinks) {
    RangeList from;
    from.append(sink.stream, at);
    copy(stage, {Buffer::staging, std::move(from)}, sink.buffer, sink.place);
    at += sink.bytes;
  }
}

int PlanBuilder::next_channel(std::map<std::pair<Rank, Stage>, int>& counters, Rank peer, Stage stage) {
  return counters[{peer, stage}]++ * stages_of_pair + static_cast<int>(stage);
}

int PlanBuilder::add_copy(Stage stage, Buffer from, Buffer to, std::vector<CopyRun> runs, std::vector<int> after) {
  Step step;
  step.kind = StepKind::copy;
  step.stage = stage;
  step.from = from;
  step.to = to;
  step.after = std::move(after);
  RangeList read;
  RangeList written;
  for (const CopyRun& run : runs) {
    read.append(Run{run.from, run.bytes, run.from_stride, run.count});
    written.append(Run{run.to, run.bytes, run.to_stride, run.count});
  }
  step.runs = std::move(runs);
  reads(step, from, read);
  const int index = add(std::move(step));
  writes(index, to, written);
  return index;
}

void PlanBuilder::embed(const Plan& inner, Stage stage, int slot, Buffer receive, std::int64_t window) {
  const Span base = this->stage(inner.staging_bytes);
  const auto located = [&](Buffer buffer, std::int64_t offset) -> std::pair<Buffer, std::int64_t> {
    if (buffer == Buffer::staging) return {Buffer::staging, base.offset + offset};
    if (buffer == Buffer::receive) return {receive, offset};
    if (offset >= window) return {Buffer::staging, offset - window};
    return {Buffer::send, offset};
  };
  std::map<std::pair<Rank, int>, int> last_direct;         // sends, by peer and channel
  std::vector<std::vector<int>> here(inner.steps.size());  // step of `inner` -> steps of this plan
  for (std::size_t s = 0; s < inner.steps.size(); ++s) {
    const Step& step = inner.steps[s];
    std::vector<int> after;
    for (int before : step.after) {
      const std::vector<int>& mapped = here[static_cast<std::size_t>(before)];
      after.insert(after.end(), mapped.begin(), mapped.end());
    }
    if (step.kind == StepKind::copy) {
      std::map<Buffer, std::vector<CopyRun>> by_source;
      Buffer to = step.to;
      const auto keep = [&](CopyRun run) {
        const auto [from_buffer, from] = located(step.from, run.from);
        std::tie(to, run.to) = located(step.to, run.to);
        run.from = from;
        by_source[from_buffer].push_back(run);
      };
      for (const CopyRun& run : step.runs) {
        const std::int64_t last = run.from + (run.count - 1) * run.from_stride;
        if (located(step.from, run.from).first == located(step.from, last).first) {
          keep(run);
          continue;
        }
        for (std::int64_t i = 0; i < run.count; ++i)
          keep({run.from + i * run.from_stride, run.to + i * run.to_stride, run.bytes, 0, 0, 1});
      }
      for (auto& [from, runs] : by_source) here[s].push_back(add_copy(stage, from, to, std::move(runs), after));
      continue;
    }
    Step own = step;
    own.stage = stage;
    own.channel = embedded_channel(step.channel, slot);
    LANEWAY_ASSERT(1, own.channel < plan_channels);
    std::tie(own.span.buffer, own.span.offset) = located(step.span.buffer, step.span.offset);
    own.after = std::move(after);
    const Span span = own.span;
    const bool sends = own.kind == StepKind::send;
    if (sends && step.stage == Stage::direct) {
      // Its data may arrive in any order.
      const auto [last, first] = last_direct.try_emplace({own.peer, own.channel}, -1);
      if (!first) own.after.push_back(last->second);
      last->second = static_cast<int>(plan_.steps.size());
    }
    if (sends) reads(own, span.buffer, {{span.offset, span.bytes}});
    here[s].push_back(add(std::move(own)));
    if (!sends) writes(here[s].back(), span.buffer, {{span.offset, span.bytes}});
  }
}

int PlanBuilder::add(Step step) {
  std::sort(step.after.begin(), step.after.end());
  step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
  plan_.steps.push_back(std::move(step));
  return static_cast<int>(plan_.steps.size()) - 1;
}

void PlanBuilder::reads(Step& step, Buffer buffer, const RangeList& ranges) const {
  if (buffer != Buffer::staging) return;
  ranges.for_each([&](Range range) {
    auto it = writer_.upper_bound(range.offset);
    if (it != writer_.begin() && std::prev(it)->second.first > range.offset) --it;
    for (; it != writer_.end() && it->first < range.end(); ++it)
      if (step.after.empty() || step.after.back() != it->second.second) step.after.push_back(it->second.second);
  });
}

void PlanBuilder::writes(int step, Buffer buffer, const RangeList& ranges) {
  if (buffer != Buffer::staging) return;
  ranges.for_each([&](Range range) { writer_[range.offset] = {range.end(), step}; });
}

}  // namespace laneway
