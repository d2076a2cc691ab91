#include "plan/builder.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "core/disjoint.hpp"
#include "core/error.hpp"
#include "plan/bundles.hpp"

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

int direct_channel(int n) {
  return (n * stages_of_pair + static_cast<int>(Stage::direct)) % own_channels;
}

namespace {

/// Copy runs, one block after the other; blocks that go on as those before are one run.
class Runs {
 public:
  void add(std::int64_t from, std::int64_t to, std::int64_t bytes) {
    if (!runs_.empty() && runs_.back().bytes == bytes) {
      CopyRun& last = runs_.back();
      const std::int64_t from_step = from - last.from;
      const std::int64_t to_step = to - last.to;
      if (last.count == 1) {
        last.from_stride = from_step;
        last.to_stride = to_step;
      }
      if (from_step == last.count * last.from_stride && to_step == last.count * last.to_stride) {
        ++last.count;
        return;
      }
    }
    runs_.push_back({from, to, bytes, 0, 0, 1});
  }

  /// A run with strides for each block of `once`, or once after the other if that is less.
  void add_repeated(const std::vector<CopyRun>& once, std::int64_t count, std::int64_t from_stride,
                    std::int64_t to_stride) {
    if (once.size() == 1 && once.front().count == 1) return add_equal(once.front(), count, from_stride, to_stride);
    for (const CopyRun& run : once) {
      const auto part = [&](std::int64_t i, std::int64_t from_step, std::int64_t to_step, std::int64_t from_stride_of,
                            std::int64_t to_stride_of, std::int64_t count_of) {
        runs_.push_back(
            {run.from + i * from_step, run.to + i * to_step, run.bytes, from_stride_of, to_stride_of, count_of});
      };
      if (run.count <= count)
        for (std::int64_t i = 0; i < run.count; ++i)
          part(i, run.from_stride, run.to_stride, from_stride, to_stride, count);
      else
        for (std::int64_t i = 0; i < count; ++i)
          part(i, from_stride, to_stride, run.from_stride, run.to_stride, run.count);
    }
  }

  [[nodiscard]] std::vector<CopyRun> take() { return std::move(runs_); }

 private:
  void add_equal(const CopyRun& block, std::int64_t count, std::int64_t from_stride, std::int64_t to_stride) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t from = block.from + i * from_stride;
      add(from, block.to + i * to_stride, block.bytes);
      CopyRun& last = runs_.back();
      const bool is_fresh = last.count == 1 && last.from == from;
      const bool goes_on = last.count > 1 && last.from_stride == from_stride && last.to_stride == to_stride;
      if (!is_fresh && !goes_on) continue;
      const std::int64_t left = count - i - 1;
      if (left == 0) return;
      last.from_stride = from_stride;
      last.to_stride = to_stride;
      last.count += left;
      return;
    }
  }

  std::vector<CopyRun> runs_;
};

/// Calls f(offset in a, offset in b, bytes) for the next bytes of both.
template <class F>
void for_each_pair(BlockCursor& a, BlockCursor& b, std::int64_t bytes, F&& f) {
  while (bytes > 0) {
    const Range from = a.rest();
    const Range to = b.rest();
    const std::int64_t n = std::min({bytes, from.bytes, to.bytes});
    f(from.offset, to.offset, n);
    a.advance(n);
    b.advance(n);
    bytes -= n;
  }
}

/// What two lists have in common from here on, again and again.
struct Common {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  std::int64_t from_times = 0;  ///< periods of each side in one of these
  std::int64_t to_times = 0;
  std::int64_t from_stride = 0;
  std::int64_t to_stride = 0;
};

/// So few blocks are copied fastest one after the other.
constexpr std::int64_t few_blocks = 128;
/// What has more blocks is not looked at as one thing.
constexpr std::int64_t most_blocks_in_common = 4096;

Common in_common(const BlockCursor::Period& from, const BlockCursor::Period& to) {
  if ((from.of_group && from.count < 2) || (to.of_group && to.count < 2)) return {};
  const bool is_block_of_from = from.count == 1;
  const bool is_block_of_to = to.count == 1;
  if (is_block_of_from == is_block_of_to && from.bytes != to.bytes && !from.of_group && !to.of_group) return {};
  if (is_block_of_from && is_block_of_to) return {};
  if ((is_block_of_to && !from.at_begin) || (is_block_of_from && !to.at_begin)) return {};
  if (is_block_of_to) return {from.bytes, std::min(from.count, to.bytes / from.bytes), 1, 0, from.stride, from.bytes};
  if (is_block_of_from) return {to.bytes, std::min(to.count, from.bytes / to.bytes), 0, 1, to.bytes, to.stride};
  const std::int64_t shared = std::gcd(from.bytes, to.bytes);
  const std::int64_t from_times = to.bytes / shared;
  const std::int64_t to_times = from.bytes / shared;
  if (from_times > from.count || to_times > to.count || from_times * from.blocks > most_blocks_in_common ||
      to_times * to.blocks > most_blocks_in_common)
    return {};
  return {from.bytes * from_times,
          std::min(from.count / from_times, to.count / to_times),
          from_times,
          to_times,
          from.stride * from_times,
          to.stride * to_times};
}

/// Over so many bytes, of which `period` has some whole ones; a block that is longer is left in its middle.
void skip(BlockCursor& cursor, const BlockCursor::Period& period, std::int64_t times, std::int64_t bytes) {
  if (times == 0)
    cursor.advance(bytes);
  else
    cursor.skip(period, times);
}

}  // namespace

std::vector<CopyRun> copy_runs(const RangeList& from, const RangeList& to) {
  LANEWAY_ASSERT(from.bytes() == to.bytes());
  Runs runs;
  const auto add = [&](std::int64_t source, std::int64_t target, std::int64_t bytes) {
    runs.add(source, target, bytes);
  };
  BlockCursor source(from);
  BlockCursor target(to);
  while (!source.done()) {
    const BlockCursor::Period source_period = source.period(most_blocks_in_common);
    const BlockCursor::Period target_period = target.period(most_blocks_in_common);
    const Common common = in_common(source_period, target_period);
    const std::int64_t blocks =
        common.count * std::max(source_period.blocks * common.from_times, target_period.blocks * common.to_times);
    const bool of_group = source_period.of_group || target_period.of_group;
    if (common.count < 2 || (of_group && blocks <= few_blocks)) {
      for_each_pair(source, target, std::min(source.rest().bytes, target.rest().bytes), add);
      continue;
    }
    Runs once;
    BlockCursor source_once = source;
    BlockCursor target_once = target;
    for_each_pair(source_once, target_once, common.bytes,
                  [&](std::int64_t at, std::int64_t there, std::int64_t bytes) { once.add(at, there, bytes); });
    runs.add_repeated(once.take(), common.count, common.from_stride, common.to_stride);
    skip(source, source_period, common.from_times * common.count, common.bytes * common.count);
    skip(target, target_period, common.to_times * common.count, common.bytes * common.count);
  }
  return runs.take();
}

Span PlanBuilder::stage(std::int64_t bytes) {
  const Span span{Buffer::staging, plan_.staging_bytes, bytes};
  plan_.staging_bytes += aligned_bytes(bytes);
  return span;
}

void PlanBuilder::copy(Stage stage, const Segment& from, Buffer to, const RangeList& place) {
  if (place.empty()) return;
  Step step;
  step.kind = StepKind::move;
  step.stage = stage;
  step.from = from.buffer;
  step.to = to;
  step.runs = copy_runs(from.ranges, place);
  reads(step, from.buffer, from.ranges);
  writes(add(std::move(step)), to, place);
}

void PlanBuilder::send(Stage stage, Rank peer, std::span<const Segment> segments, Grouping grouping, int window) {
  LANEWAY_ASSERT(window > 0 && most_under_way % window == 0);
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
  std::int64_t bytes = 0;
  for (const Segment& segment : segments) bytes += segment.ranges.bytes();
  if (bytes == 0) return;
  Step step;
  step.kind = StepKind::send;
  step.stage = stage;
  step.peer = peer;
  const auto whole = segments.size() == 1 ? segments.front().ranges.contiguous() : std::nullopt;
  step.span = whole ? End(segments.front().buffer, whole->offset, bytes)
                    : End({segments.begin(), segments.end()}, {{0, bytes}}, bytes);
  for (const Segment& segment : segments) reads(step, segment.buffer, segment.ranges);
  const int n = next_channel(sent_, peer, stage);
  step.channel = n % own_channels;
  if (stage == Stage::direct) {
    add(std::move(step));
    return;
  }
  const std::pair turn{peer, n % (stages_of_pair * window)};
  const auto last = last_send_.find(turn);
  if (last != last_send_.end()) step.after.push_back(last->second);
  last_send_[turn] = add(std::move(step));
}

namespace {

End end_of(std::span<const Sink> sinks, std::int64_t bytes) {
  if (sinks.size() == 1 && sinks.front().stream.contiguous() == Range{0, bytes})
    if (const auto whole = sinks.front().place.contiguous()) return {sinks.front().buffer, whole->offset, bytes};
  RangeList stream;
  std::vector<Segment> parts;
  parts.reserve(sinks.size());
  std::int64_t at = 0;
  for (const Sink& sink : sinks) {
    stream.append(sink.stream, at);
    parts.push_back({sink.buffer, sink.place});
    at += sink.bytes;
  }
  return {std::move(parts), stream, bytes};
}

}  // namespace

void PlanBuilder::receive_message(Stage stage, Rank peer, std::span<const Sink> sinks) {
  std::int64_t bytes = 0;
  for (const Sink& sink : sinks) bytes += sink.bytes;
  if (bytes == 0) return;
  Step step;
  step.kind = StepKind::receive;
  step.stage = stage;
  step.peer = peer;
  step.channel = next_channel(received_, peer, stage) % own_channels;
  step.span = end_of(sinks, bytes);
  const int received = add(std::move(step));
  for (const Sink& sink : sinks) writes(received, sink.buffer, sink.place);
}

int PlanBuilder::next_channel(std::map<std::pair<Rank, Stage>, int>& counters, Rank peer, Stage stage) {
  return counters[{peer, stage}]++ * stages_of_pair + static_cast<int>(stage);
}

int PlanBuilder::add_copy(Stage stage, Buffer from, Buffer to, std::vector<CopyRun> runs, std::vector<int> after) {
  Step step;
  step.kind = StepKind::move;
  step.stage = stage;
  step.from = from;
  step.to = to;
  step.after = std::move(after);
  const RangeList written = written_by(runs);
  step.runs = std::move(runs);
  reads(step, from, read_by(step.runs));
  const int index = add(std::move(step));
  writes(index, to, written);
  return index;
}

/// Where memory of the plan of a level inside is in this plan.
struct PlanBuilder::Embedding {
  std::int64_t staging = 0;
  Buffer receive = Buffer::receive;
  std::int64_t window = 0;

  [[nodiscard]] std::pair<Buffer, std::int64_t> located(Buffer buffer, std::int64_t offset) const {
    if (buffer == Buffer::staging) return {Buffer::staging, staging + offset};
    if (buffer == Buffer::receive) return {receive, offset};
    if (offset >= window) return {Buffer::staging, offset - window};
    return {Buffer::send, offset};
  }

  /// A part may lie in two buffers.
  void append_located(std::vector<Segment>& parts, const Segment& part) const {
    const Range all = hull(part.ranges);
    const auto [buffer, begin] = located(part.buffer, all.offset);
    if (buffer == located(part.buffer, all.end() - 1).first) {
      parts.push_back({buffer, {}});
      parts.back().ranges.append(part.ranges, begin - all.offset);
      return;
    }
    const std::size_t first = parts.size();
    part.ranges.for_each([&](Range range) {
      const auto [now, offset] = located(part.buffer, range.offset);
      if (parts.size() == first || parts.back().buffer != now) parts.push_back({now, {}});
      parts.back().ranges.append(Range{offset, range.bytes});
    });
  }

  [[nodiscard]] End located(const End& end) const {
    if (!end.is_scattered()) {
      const auto [buffer, offset] = located(end.buffer, end.offset);
      return {buffer, offset, end.bytes};
    }
    std::vector<Segment> parts;
    for (const Segment& part : end.parts()) append_located(parts, part);
    return {std::move(parts), end.stream(), end.bytes};
  }
};

void PlanBuilder::embed(const Plan& inner, Stage stage, int slot, Buffer receive, std::int64_t window) {
  const Embedding embedding{this->stage(inner.staging_bytes).offset, receive, window};
  std::map<std::pair<Rank, int>, int> last_direct;         // sends, by peer and channel
  std::vector<std::vector<int>> here(inner.steps.size());  // step of `inner` -> steps of this plan
  for (std::size_t s = 0; s < inner.steps.size(); ++s) {
    const Step& step = inner.steps[s];
    std::vector<int> after;
    for (int before : step.after) {
      const std::vector<int>& mapped = here[static_cast<std::size_t>(before)];
      after.insert(after.end(), mapped.begin(), mapped.end());
    }
    if (step.kind == StepKind::move) {
      here[s] = embed_copy(embedding, step, stage, after);
      continue;
    }
    Step own = step;
    own.stage = stage;
    own.channel = embedded_channel(step.channel, slot);
    LANEWAY_ASSERT(own.channel < plan_channels);
    own.span = embedding.located(step.span);
    own.after = std::move(after);
    const bool sends = own.kind == StepKind::send;
    if (sends && step.stage == Stage::direct) {
      // Its data may arrive in any order.
      const auto [last, first] = last_direct.try_emplace({own.peer, own.channel}, -1);
      if (!first) own.after.push_back(last->second);
      last->second = static_cast<int>(plan_.steps.size());
    }
    const End end = own.span;
    if (sends) end.for_each_part([&](Buffer buffer, const RangeList& ranges) { reads(own, buffer, ranges); });
    const int now = add(std::move(own));
    if (!sends) end.for_each_part([&](Buffer buffer, const RangeList& ranges) { writes(now, buffer, ranges); });
    here[s] = {now};
  }
}

/// One copy for each buffer that it reads.
std::vector<int> PlanBuilder::embed_copy(const Embedding& embedding, const Step& step, Stage stage,
                                         const std::vector<int>& after) {
  std::map<Buffer, std::vector<CopyRun>> by_source;
  Buffer to = step.to.buffer;
  const auto keep = [&](CopyRun run) {
    const auto [from_buffer, from] = embedding.located(step.from.buffer, run.from);
    std::tie(to, run.to) = embedding.located(step.to.buffer, run.to);
    run.from = from;
    by_source[from_buffer].push_back(run);
  };
  for (const CopyRun& run : step.runs) {
    const std::int64_t last = run.from + (run.count - 1) * run.from_stride;
    if (embedding.located(step.from.buffer, run.from).first == embedding.located(step.from.buffer, last).first) {
      keep(run);
      continue;
    }
    for (std::int64_t i = 0; i < run.count; ++i)
      keep({run.from + i * run.from_stride, run.to + i * run.to_stride, run.bytes, 0, 0, 1});
  }
  std::vector<int> copies;
  for (auto& [from, runs] : by_source) copies.push_back(add_copy(stage, from, to, std::move(runs), after));
  return copies;
}

int PlanBuilder::add(Step step) {
  std::sort(step.after.begin(), step.after.end());
  step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
  plan_.steps.push_back(std::move(step));
  return static_cast<int>(plan_.steps.size()) - 1;
}

void PlanBuilder::reads(Step& step, Buffer buffer, const RangeList& ranges) const {
  if (buffer == Buffer::staging) writers_.find(ranges, step.after);
}

void PlanBuilder::writes(int step, Buffer buffer, const RangeList& ranges) {
  if (buffer == Buffer::staging) writers_.add(ranges, step);
}

}  // namespace laneway
