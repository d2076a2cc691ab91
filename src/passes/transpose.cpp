#include "passes/transpose.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/disjoint.hpp"
#include "core/error.hpp"
#include "core/sort_unique.hpp"
#include "plan/append_run.hpp"
#include "plan/builder.hpp"
#include "plan/staging_writers.hpp"

namespace laneway {

namespace {

/// Which step was the last to write what of a buffer.
class LastWriters {
 public:
  /// Appends those of a range, some of them several times, and returns whether all of it has been written.
  bool find(Range range, std::vector<int>& steps) const {
    std::int64_t at = range.offset;
    bool whole = true;
    for_each_overlap(range, [&](std::int64_t begin, std::int64_t end, int step) {
      whole = whole && begin <= at;
      at = std::max(at, end);
      steps.push_back(step);
    });
    return whole && at >= range.end();
  }

  void set(Range range, int step) {
    cut(range.offset);
    cut(range.end());
    writer_.erase(writer_.lower_bound(range.offset), writer_.lower_bound(range.end()));
    writer_[range.offset] = {range.end(), step};
  }

  /// Calls f(Range, whether it has been written) for the stretches of a range, in order.
  template <class F>
  void split(Range range, F&& f) const {
    std::int64_t at = range.offset;
    const auto upto = [&](std::int64_t end, bool written) {
      if (at < end) f(Range{at, end - at}, written);
      at = std::max(at, end);
    };
    for_each_overlap(range, [&](std::int64_t begin, std::int64_t end, int) {
      upto(begin, false);
      upto(end, true);
    });
    upto(range.end(), false);
  }

 private:
  template <class F>
  void for_each_overlap(Range range, F&& f) const {
    auto it = writer_.upper_bound(range.offset);
    if (it != writer_.begin()) --it;
    for (; it != writer_.end() && it->first < range.end(); ++it)
      if (it->second.first > range.offset)
        f(std::max(it->first, range.offset), std::min(it->second.first, range.end()), it->second.second);
  }

  void cut(std::int64_t at) {
    auto it = writer_.lower_bound(at);
    if (it == writer_.begin()) return;
    --it;
    const auto [end, step] = it->second;
    if (end <= at) return;
    it->second.first = at;
    writer_[at] = {end, step};
  }

  std::map<std::int64_t, std::pair<std::int64_t, int>> writer_;  // offset -> (end, step); disjoint
};

/// Bytes that go from one place to another.
struct Pair {
  Buffer from = Buffer::staging;
  Buffer to = Buffer::staging;
  CopyRun run;
};

/// Makes a plan that combines. A step comes after those that have written what it reads, or combines with: so the plan
/// says in which order. The first that comes to a place in staging memory is written there.
class Combining {
 public:
  Combining(Rank rank, const Combination& how, std::int64_t staging_bytes) {
    plan_.rank = rank;
    plan_.staging_bytes = aligned_bytes(staging_bytes);
    plan_.combinations = {how};
  }

  /// Goes on after the steps of another plan.
  Combining(const Plan& plan, const Combination& how) : plan_(plan) {
    plan_.combinations = {how};
    for (int s = 0; s < next(); ++s) {
      const Step& step = plan_.steps[static_cast<std::size_t>(s)];
      const auto wrote = [&](Buffer buffer, Range range) {
        if (buffer == Buffer::staging) writers_[0].set(range, s);
      };
      if (step.kind == StepKind::receive)
        step.span.for_each([&](Buffer buffer, Range place, std::int64_t) { wrote(buffer, place); });
      if (step.kind == StepKind::move)
        for_each_block(step, [&](Range, Range written) { wrote(step.to.buffer, written); });
    }
  }

  [[nodiscard]] bool in_order() const { return plan_.combinations.front().in_order; }

  std::int64_t stage(std::int64_t bytes) {
    return std::exchange(plan_.staging_bytes, plan_.staging_bytes + aligned_bytes(bytes));
  }

  [[nodiscard]] bool is_fresh(Range staging) const {
    bool fresh = true;
    writers_[0].split(staging, [&](Range, bool written) { fresh = fresh && !written; });
    return fresh;
  }

  /// Into memory that nothing has been written to.
  void receive(Stage stage, Rank peer, int channel, std::int64_t place, std::int64_t bytes) {
    Step step;
    step.kind = StepKind::receive;
    step.stage = stage;
    step.peer = peer;
    step.channel = channel;
    step.span = {Buffer::staging, place, bytes};
    add(std::move(step));
    set({place, bytes}, Buffer::staging);
  }

  /// After those before it on its channel. False if some of it has not been written.
  [[nodiscard]] bool send(Stage stage, Rank peer, int channel, const Span& span) {
    Step step;
    step.kind = StepKind::send;
    step.stage = stage;
    step.peer = peer;
    step.channel = channel;
    step.span = span;
    if (!reads(step, span.buffer, {span.offset, span.bytes})) return false;
    const auto [last, first] = last_send_.try_emplace({peer, channel}, next());
    if (!first && !plan_.steps[static_cast<std::size_t>(last->second)].after.empty())
      step.after.push_back(last->second);
    last->second = next();
    add(std::move(step));
    return true;
  }

  /// Writes what comes first, and combines what comes then: at most two moves for each pair of buffers. False if
  /// something is read that has not been written.
  [[nodiscard]] bool move(Stage stage, const std::vector<Pair>& pairs) {
    using Key = std::pair<Buffer, Buffer>;
    std::map<Key, std::vector<CopyRun>> first;
    std::map<Key, std::vector<CopyRun>> more;
    LastWriters mine;  // of this step
    for (const Pair& pair : pairs) {
      const Key key{pair.from, pair.to};
      const Range to{pair.run.to, pair.run.bytes};
      const auto add_part = [&](Range part, bool written) {
        append_run((written ? more : first)[key],
                   {pair.run.from + part.offset - to.offset, part.offset, part.bytes, 0, 0, 1});
      };
      if (pair.to == Buffer::receive) {
        add_part(to, true);
        continue;
      }
      std::vector<std::pair<Range, bool>> parts;
      writers_[0].split(to, [&](Range outer, bool written) {
        if (written) return parts.emplace_back(outer, true), void();
        mine.split(outer, [&](Range inner, bool again) { parts.emplace_back(inner, again); });
      });
      for (const auto& [part, written] : parts) add_part(part, written);
      mine.set(to, 0);
    }
    bool whole = true;
    for (auto& [key, runs] : first) whole = add_move(stage, key.first, key.second, std::move(runs), false) && whole;
    for (auto& [key, runs] : more) whole = add_move(stage, key.first, key.second, std::move(runs), true) && whole;
    return whole;
  }

  [[nodiscard]] Plan take() { return std::move(plan_); }

 private:
  [[nodiscard]] int next() const { return static_cast<int>(plan_.steps.size()); }
  void add(Step step) {
    sort_unique(step.after);
    plan_.steps.push_back(std::move(step));
  }
  [[nodiscard]] LastWriters& writers(Buffer buffer) { return writers_[buffer == Buffer::staging ? 0 : 1]; }

  /// What the step before writes.
  void set(Range range, Buffer buffer) { writers(buffer).set(range, next() - 1); }
  bool reads(Step& step, Buffer buffer, Range range) {
    return buffer == Buffer::send || writers(buffer).find(range, step.after);
  }

  template <class F>
  static void for_each_block(const Step& step, F&& f) {
    for (const CopyRun& run : step.runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        f(Range{run.from + i * run.from_stride, run.bytes}, Range{run.to + i * run.to_stride, run.bytes});
  }

  bool add_move(Stage stage, Buffer from, Buffer to, std::vector<CopyRun> runs, bool combines) {
    Step step;
    step.stage = stage;
    step.from = from;
    step.to = to;
    step.runs = std::move(runs);
    if (combines && from == Buffer::send && in_order()) copy_first(step);
    step.combination = combines ? std::int8_t{0} : std::int8_t{-1};
    bool whole = true;
    for_each_block(step, [&](Range read, Range written) {
      whole = reads(step, step.from.buffer, read) && whole;
      if (combines) (void)writers(to).find(written, step.after);
    });
    add(std::move(step));
    for_each_block(plan_.steps.back(), [&](Range, Range written) { set(written, to); });
    return whole;
  }

  /// What is combined in order may be written.
  void copy_first(Step& step) {
    std::int64_t bytes = 0;
    for (const CopyRun& run : step.runs) bytes += run.bytes * run.count;
    std::int64_t at = stage(bytes);
    const Range all{at, bytes};
    Step copy;
    copy.stage = step.stage;
    copy.from = Buffer::send;
    copy.to = Buffer::staging;
    for (CopyRun& run : step.runs) {
      copy.runs.push_back({run.from, at, run.bytes, run.from_stride, run.bytes, run.count});
      run.from = at;
      run.from_stride = run.bytes;
      at += run.bytes * run.count;
    }
    add(std::move(copy));
    set(all, Buffer::staging);
    step.from = Buffer::staging;
  }

  Plan plan_;
  std::array<LastWriters, 2> writers_;  // of staging memory and of the receive buffer
  std::map<std::pair<Rank, int>, int> last_send_;
};

Stage backwards(Stage stage) {
  return stage == Stage::gather ? Stage::scatter : stage == Stage::scatter ? Stage::gather : stage;
}

class Transposing {
 public:
  /// A byte of the forward plan stands for `scale` bytes.
  Transposing(const Plan& forward, const TurnedRound& turned, const Combination& how, std::int64_t scale)
      : forward_(forward),
        turned_(turned),
        scale_(scale),
        send_(turned.send.bytes),
        receive_(turned.receive.bytes),
        plan_(forward.rank, how, forward.staging_bytes * scale) {}

  Plan run() {
    for (auto step = forward_.steps.rbegin(); step != forward_.steps.rend(); ++step) {
      if (step->kind == StepKind::send)
        receive(*step);
      else if (step->kind == StepKind::receive)
        send(*step);
      else if (is_copy(*step) && !combines(*step) && step->peer < 0)
        copy(*step);
      else
        throw Error(ErrorKind::unsupported, "only plans that messages alone carry can be run backwards");
    }
    return plan_.take();
  }

 private:
  static Buffer now(Buffer buffer) {
    return buffer == Buffer::send ? Buffer::receive : buffer == Buffer::receive ? Buffer::send : buffer;
  }

  /// Where bytes of the forward plan are.
  [[nodiscard]] RangeList located(Buffer buffer, Range range) const {
    const Range scaled{range.offset * scale_, range.bytes * scale_};
    if (buffer == Buffer::staging) return {scaled};
    const ElementPlaces& places = buffer == Buffer::send ? turned_.receive : turned_.send;
    if (places.bytes.empty()) return {{scaled.offset + places.shift, scaled.bytes}};
    return (buffer == Buffer::send ? receive_ : send_).slice(scaled.offset, scaled.bytes);
  }

  /// Appends what goes from bytes of the forward plan to others.
  void append_pairs(std::vector<Pair>& pairs, Buffer from, const RangeList& from_ranges, Buffer to,
                    const RangeList& to_ranges) const {
    for_each_pair(from_ranges, to_ranges, [&](std::int64_t source, std::int64_t target, std::int64_t bytes) {
      pairs.push_back({from, to, {source, target, bytes, 0, 0, 1}});
    });
  }

  static void require_all(bool whole) {
    require(whole, ErrorKind::unsupported, "a lane takes bytes along that nobody needs who gets them");
  }

  /// A message that went out comes back.
  void receive(const Step& step) {
    const Stage stage = backwards(step.stage);
    const std::int64_t bytes = step.span.bytes * scale_;
    if (!step.span.is_scattered() && step.span.buffer == Buffer::staging) {
      const Range place{step.span.offset * scale_, bytes};
      if (plan_.is_fresh(place)) return plan_.receive(stage, step.peer, step.channel, place.offset, bytes);
    }
    const std::int64_t place = plan_.stage(bytes);
    plan_.receive(stage, step.peer, step.channel, place, bytes);
    std::vector<Pair> pairs;
    step.span.for_each([&](Buffer buffer, Range range, std::int64_t position) {
      append_pairs(pairs, Buffer::staging, {{place + position * scale_, range.bytes * scale_}}, now(buffer),
                   located(buffer, range));
    });
    require_all(plan_.move(stage, pairs));
  }

  /// A message that came in goes back: what its bytes were written to, combined where that were several places.
  void send(const Step& step) {
    const Stage stage = backwards(step.stage);
    const std::int64_t bytes = step.span.bytes * scale_;
    if (!step.span.is_scattered()) {
      const RangeList from = located(step.span.buffer, {step.span.offset, step.span.bytes});
      if (const auto whole = from.contiguous()) {
        const Span span{now(step.span.buffer), whole->offset, bytes};
        return require_all(plan_.send(stage, step.peer, step.channel, span));
      }
    }
    const std::int64_t place = plan_.stage(bytes);
    std::vector<Pair> pairs;
    step.span.for_each([&](Buffer buffer, Range range, std::int64_t position) {
      append_pairs(pairs, now(buffer), located(buffer, range), Buffer::staging,
                   {{place + position * scale_, range.bytes * scale_}});
    });
    require_all(plan_.move(stage, pairs));
    require_all(plan_.send(stage, step.peer, step.channel, {Buffer::staging, place, bytes}));
  }

  void copy(const Step& step) {
    std::vector<Pair> pairs;
    for (const CopyRun& run : step.runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        append_pairs(pairs, now(step.to.buffer), located(step.to.buffer, {run.to + i * run.to_stride, run.bytes}),
                     now(step.from.buffer), located(step.from.buffer, {run.from + i * run.from_stride, run.bytes}));
    require_all(plan_.move(backwards(step.stage), pairs));
  }

  const Plan& forward_;
  const TurnedRound& turned_;
  const std::int64_t scale_;
  const Slicer send_;
  const Slicer receive_;
  Combining plan_;
};

/// Whether all places are whole elements from the first one on; then that is where they begin.
std::optional<std::int64_t> common_origin(std::span<const Edge> edges, std::int64_t element_bytes) {
  std::optional<std::int64_t> origin;
  bool regular = true;
  for (const Edge& edge : edges)
    edge.ranges.for_each_repeat([&](const Repeat& repeat) {
      for (const Run& run : repeat.runs) {
        if (!origin) origin = run.offset;
        regular = regular && (run.offset - *origin) % element_bytes == 0 && run.bytes % element_bytes == 0 &&
                  (run.count == 1 || run.stride % element_bytes == 0) &&
                  (repeat.count == 1 || repeat.stride % element_bytes == 0);
      }
    });
  return regular ? std::optional(origin.value_or(0)) : std::nullopt;
}

/// Where each element of an edge begins. A block may have parts of elements: then they are made of several.
std::vector<std::int64_t> element_offsets(const RangeList& ranges, std::int64_t element_bytes) {
  std::vector<std::int64_t> offsets;
  ranges.for_each([&](Range range) {
    require(range.bytes % element_bytes == 0, ErrorKind::type, "a datatype has parts of elements apart");
    for (std::int64_t at = range.offset; at < range.end(); at += element_bytes) offsets.push_back(at);
  });
  return offsets;
}

}  // namespace

TurnedRound turn_round(const RankPattern& reduction, std::int64_t element_bytes) {
  TurnedRound turned;
  std::int64_t at = 0;
  for (const Edge& edge : reduction.out) {
    const std::int64_t elements = edge.ranges.bytes() / element_bytes;
    turned.forward.in.push_back({edge.peer, {{at, elements}}});
    turned.send.bytes.append(edge.ranges);
    at += elements;
  }
  if (const auto origin = common_origin(reduction.in, element_bytes)) {
    turned.receive.shift = *origin;
    for (const Edge& edge : reduction.in) {
      Edge& out = turned.forward.out.emplace_back(Edge{edge.peer, {}});
      edge.ranges.for_each([&](Range range) {
        out.ranges.append(Range{(range.offset - *origin) / element_bytes, range.bytes / element_bytes});
      });
    }
    return turned;
  }
  std::vector<std::int64_t> places;
  for (const Edge& edge : reduction.in) {
    const std::vector<std::int64_t> own = element_offsets(edge.ranges, element_bytes);
    places.insert(places.end(), own.begin(), own.end());
  }
  sort_unique(places);
  for (std::size_t i = 0; i < places.size(); ++i) {
    require(i == 0 || places[i] - places[i - 1] >= element_bytes, ErrorKind::buffer,
            "two places of the receive buffer share a part of an element");
    turned.receive.bytes.append(Range{places[i], element_bytes});
  }
  for (const Edge& edge : reduction.in) {
    Edge& out = turned.forward.out.emplace_back(Edge{edge.peer, {}});
    for (const std::int64_t offset : element_offsets(edge.ranges, element_bytes))
      out.ranges.append(Range{std::ranges::lower_bound(places, offset) - places.begin(), 1});
  }
  return turned;
}

Plan transpose(const Plan& forward, const TurnedRound& turned, const Combination& how) {
  return Transposing(forward, turned, how, how.element_bytes).run();
}

namespace {

/// Whether a plan moves whole elements only, which lie apart by whole elements in each buffer: in the buffers of the
/// operation from `sent` and `received` on, in staging memory from its begin.
class WholeElements {
 public:
  WholeElements(std::int64_t element_bytes, std::int64_t sent, std::int64_t received)
      : element_bytes_(element_bytes), sent_(sent), received_(received) {}

  [[nodiscard]] bool in(const Step& step) const {
    bool whole = true;
    if (step.kind == StepKind::move)
      return std::ranges::all_of(step.runs, [&](const CopyRun& run) {
        return is_at(step.from.buffer, run.from) && is_at(step.to.buffer, run.to) && is_whole(run.bytes) &&
               is_whole(run.from_stride) && is_whole(run.to_stride);
      });
    step.span.for_each([&](Buffer buffer, Range range, std::int64_t position) {
      whole = whole && is_at(buffer, range.offset) && is_whole(range.bytes) && is_whole(position);
    });
    return whole;
  }

 private:
  [[nodiscard]] bool is_whole(std::int64_t bytes) const { return bytes % element_bytes_ == 0; }
  [[nodiscard]] bool is_at(Buffer buffer, std::int64_t offset) const {
    return is_whole(offset - (buffer == Buffer::send ? sent_ : buffer == Buffer::receive ? received_ : 0));
  }

  std::int64_t element_bytes_;
  std::int64_t sent_;
  std::int64_t received_;
};

bool is_disjoint(std::span<const Edge> edges) {
  std::vector<Range> ranges;
  for (const Edge& edge : edges) edge.ranges.for_each([&](Range range) { ranges.push_back(range); });
  std::ranges::sort(ranges, {}, &Range::offset);
  return std::ranges::adjacent_find(ranges, [](Range a, Range b) { return a.end() > b.offset; }) == ranges.end();
}

}  // namespace

std::optional<Plan> transpose_whole(const Plan& forward, const RankPattern& exchange, const Combination& how) {
  const auto sent = common_origin(exchange.out, how.element_bytes);
  const auto received = common_origin(exchange.in, how.element_bytes);
  if (!sent || !received || !is_disjoint(exchange.in)) return std::nullopt;
  const WholeElements whole(how.element_bytes, *sent, *received);
  if (!std::ranges::all_of(forward.steps, [&](const Step& step) { return whole.in(step); })) return std::nullopt;
  try {
    return Transposing(forward, TurnedRound{}, how, 1).run();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    return std::nullopt;
  }
}

namespace {

/// By rank, by edge and by position in the edge. Calls f(number of an edge that has bytes) in this order.
template <class F>
void for_each_in_order(std::span<const Edge> edges, F&& f) {
  std::vector<std::size_t> order(edges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return edges[i].peer; });
  for (const std::size_t i : order)
    if (!edges[i].ranges.empty()) f(i);
}

void move_ranges(Combining& plan, Buffer from, const RangeList& source, Buffer to, const RangeList& target) {
  std::vector<Pair> pairs;
  for_each_pair(source, target, [&](std::int64_t at, std::int64_t there, std::int64_t bytes) {
    pairs.push_back({from, to, {at, there, bytes, 0, 0, 1}});
  });
  LANEWAY_ASSERT(plan.move(Stage::direct, pairs));
}

/// The same with the receive buffer's bytes in staging memory, from `base` on.
End arriving(const End& end, std::int64_t base) {
  if (!end.is_scattered())
    return end.buffer == Buffer::receive ? End(Buffer::staging, end.offset + base, end.bytes) : end;
  std::vector<Segment> parts;
  for (const Segment& part : end.parts()) {
    const bool arrives = part.buffer == Buffer::receive;
    Segment& now = parts.emplace_back(Segment{arrives ? Buffer::staging : part.buffer, {}});
    now.ranges.append(part.ranges, arrives ? base : 0);
  }
  return {std::move(parts), end.stream(), end.bytes};
}

}  // namespace

RankPattern arrivals_of(const RankPattern& reduction) {
  RankPattern arrivals{reduction.out, {}};
  std::int64_t at = 0;
  for (const Edge& edge : reduction.in) {
    Edge& arrival = arrivals.in.emplace_back(Edge{edge.peer, {}});
    if (edge.ranges.empty()) continue;
    arrival.ranges.append(Range{at, edge.ranges.bytes()});
    at += aligned_bytes(edge.ranges.bytes());
  }
  return arrivals;
}

Plan combine_arrivals(const Plan& exchange, const RankPattern& reduction, const Combination& how) {
  const RankPattern arrivals = arrivals_of(reduction);
  Plan plan = exchange;
  const std::int64_t base = aligned_bytes(plan.staging_bytes);
  plan.staging_bytes = base;
  for (const Edge& edge : arrivals.in)
    if (!edge.ranges.empty()) plan.staging_bytes = base + aligned_bytes(hull(edge.ranges).end());
  for (Step& step : plan.steps) {
    if (step.kind == StepKind::send || step.kind == StepKind::receive) step.span = arriving(step.span, base);
    if (step.kind != StepKind::move || step.to != Buffer::receive) continue;
    step.to = Buffer::staging;
    for (CopyRun& run : step.runs) run.to += base;
  }
  Combining combining(plan, how);
  for_each_in_order(reduction.in, [&](std::size_t i) {
    RangeList from;
    from.append(arrivals.in[i].ranges, base);
    move_ranges(combining, Buffer::staging, from, Buffer::receive, reduction.in[i].ranges);
  });
  return combining.take();
}

Plan reduce_in_order(Rank rank, const RankPattern& reduction, const Combination& how) {
  Combining plan(rank, how, 0);
  std::vector<std::int64_t> arrives(reduction.in.size());
  std::map<Rank, int> received;
  for (std::size_t i = 0; i < reduction.in.size(); ++i) {
    const Edge& edge = reduction.in[i];
    if (edge.peer == rank || edge.ranges.empty()) continue;
    arrives[i] = plan.stage(edge.ranges.bytes());
    plan.receive(Stage::direct, edge.peer, direct_channel(received[edge.peer]++), arrives[i], edge.ranges.bytes());
  }
  std::map<Rank, int> sent;
  std::vector<const Edge*> own;
  for (const Edge& edge : reduction.out) {
    if (edge.ranges.empty()) continue;
    if (edge.peer == rank) {
      own.push_back(&edge);
      continue;
    }
    Span span{Buffer::staging, 0, edge.ranges.bytes()};
    if (const auto whole = edge.ranges.contiguous()) {
      span = {Buffer::send, whole->offset, whole->bytes};
    } else {
      span.offset = plan.stage(span.bytes);
      move_ranges(plan, Buffer::send, edge.ranges, Buffer::staging, {{span.offset, span.bytes}});
    }
    LANEWAY_ASSERT(plan.send(Stage::direct, edge.peer, direct_channel(sent[edge.peer]++), span));
  }
  std::size_t next_own = 0;
  for_each_in_order(reduction.in, [&](std::size_t i) {
    const Edge& edge = reduction.in[i];
    if (edge.peer != rank)
      return move_ranges(plan, Buffer::staging, {{arrives[i], edge.ranges.bytes()}}, Buffer::receive, edge.ranges);
    require(next_own < own.size() && own[next_own]->ranges.bytes() == edge.ranges.bytes(), ErrorKind::topology,
            "an edge to this rank itself has no matching outgoing edge");
    move_ranges(plan, Buffer::send, own[next_own++]->ranges, Buffer::receive, edge.ranges);
  });
  return plan.take();
}

}  // namespace laneway
