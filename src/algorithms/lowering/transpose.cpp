#include "algorithms/lowering/transpose.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes/disjoint.hpp"
#include "base/bytes/sort_unique.hpp"
#include "base/error.hpp"
#include "plan/writer/append_run.hpp"
#include "plan/writer/copy_runs.hpp"
#include "plan/writer/dependencies.hpp"
#include "plan/writer/reserve.hpp"
#include "plan/writer/writer.hpp"

namespace laneway {

namespace {

/// Bytes that go from one place to another.
struct Pair {
  Buffer from = Buffer::staging;
  Buffer to = Buffer::staging;
  CopyRun run;
};

/// Appends what goes from one list of bytes to another.
void append_pairs(std::vector<Pair>& pairs, Buffer from, const RangeList& from_ranges, Buffer to,
                  const RangeList& to_ranges) {
  for_each_pair(from_ranges, to_ranges, [&](std::int64_t source, std::int64_t target, std::int64_t bytes) {
    pairs.push_back({from, to, {source, target, bytes, 0, 0, 1}});
  });
}

/// Writes what comes first to a place in staging memory, and combines what comes then: at most two moves for each pair
/// of buffers.
void add_sums(PlanWriter& plan, const Combination& how, Stage stage, const std::vector<Pair>& pairs) {
  std::map<std::tuple<bool, Buffer, Buffer>, std::vector<CopyRun>> moves;  // by whether they combine
  Dependencies mine(Reuse::none);                                          // of this call
  std::vector<int> none;
  for (const Pair& pair : pairs) {
    const Range to{pair.run.to, pair.run.bytes};
    const auto add_part = [&](Range part, bool written) {
      append_run(moves[{written, pair.from, pair.to}],
                 {pair.run.from + part.offset - to.offset, part.offset, part.bytes, 0, 0, 1});
    };
    if (pair.to == Buffer::receive) {
      add_part(to, true);
      continue;
    }
    plan.dependencies().for_each_stretch(pair.to, to, [&](Range part, bool written) {
      if (written)
        add_part(part, true);
      else
        mine.for_each_stretch(pair.to, part, add_part);
    });
    mine.writes(pair.to, to, 0, none);
  }
  for (auto& [key, runs] : moves) {
    Step step;
    step.stage = stage;
    step.from = std::get<1>(key);
    step.to = std::get<2>(key);
    step.runs = std::move(runs);
    if (std::get<0>(key)) {
      step.combination = plan.combination(how);
      // What is combined in order may be written.
      if (how.in_order && step.from == Buffer::send)
        plan.add(copy_first(step, Buffer::staging, plan.stage(bytes_of(step.runs)).offset));
    }
    plan.add(std::move(step));
  }
}

/// Starts after those before it on its channel.
void add_send(PlanWriter& plan, Stage stage, Rank peer, int channel, const Span& span) {
  plan.add_in_turn(message_of(StepKind::send, stage, peer, channel, span), channel, true);
}

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
        how_(how),
        plan_(forward.rank, Reuse::sums) {
    (void)plan_.stage(forward.staging_bytes * scale);
    plan_.combination(how);
  }

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
      require(!plan_.reads_unwritten(), ErrorKind::unsupported,
              "a lane takes bytes along that nobody needs who gets them");
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

  [[nodiscard]] bool is_fresh(Range staging) const {
    bool fresh = true;
    plan_.dependencies().for_each_stretch(Buffer::staging, staging,
                                          [&](Range, bool written) { fresh = fresh && !written; });
    return fresh;
  }

  /// A message that went out comes back.
  void receive(const Step& step) {
    const Stage stage = backwards(step.stage);
    Span to{Buffer::staging, step.span.offset * scale_, step.span.bytes * scale_};
    const bool in_place =
        !step.span.is_scattered() && step.span.buffer == Buffer::staging && is_fresh({to.offset, to.bytes});
    if (!in_place) to = plan_.stage(to.bytes);
    plan_.add(message_of(StepKind::receive, stage, step.peer, step.channel, to));
    if (in_place) return;
    std::vector<Pair> pairs;
    step.span.for_each([&](Buffer buffer, Range range, std::int64_t position) {
      append_pairs(pairs, Buffer::staging, {{to.offset + position * scale_, range.bytes * scale_}}, now(buffer),
                   located(buffer, range));
    });
    add_sums(plan_, how_, stage, pairs);
  }

  /// A message that came in goes back: what its bytes were written to, combined where that were several places.
  void send(const Step& step) {
    const Stage stage = backwards(step.stage);
    const std::int64_t bytes = step.span.bytes * scale_;
    if (!step.span.is_scattered()) {
      const RangeList from = located(step.span.buffer, {step.span.offset, step.span.bytes});
      if (const auto whole = from.contiguous())
        return add_send(plan_, stage, step.peer, step.channel, {now(step.span.buffer), whole->offset, bytes});
    }
    const Span packed = plan_.stage(bytes);
    std::vector<Pair> pairs;
    step.span.for_each([&](Buffer buffer, Range range, std::int64_t position) {
      append_pairs(pairs, now(buffer), located(buffer, range), Buffer::staging,
                   {{packed.offset + position * scale_, range.bytes * scale_}});
    });
    add_sums(plan_, how_, stage, pairs);
    add_send(plan_, stage, step.peer, step.channel, packed);
  }

  void copy(const Step& step) {
    std::vector<Pair> pairs;
    for_each_block(step.runs, [&](const CopyRun& block) {
      append_pairs(pairs, now(step.to.buffer), located(step.to.buffer, {block.to, block.bytes}), now(step.from.buffer),
                   located(step.from.buffer, {block.from, block.bytes}));
    });
    add_sums(plan_, how_, backwards(step.stage), pairs);
  }

  const Plan& forward_;
  const TurnedRound& turned_;
  const std::int64_t scale_;
  const Slicer send_;
  const Slicer receive_;
  const Combination& how_;
  PlanWriter plan_;
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

void move_ranges(PlanWriter& plan, const Combination& how, Buffer from, const RangeList& source, Buffer to,
                 const RangeList& target) {
  std::vector<Pair> pairs;
  append_pairs(pairs, from, source, to, target);
  add_sums(plan, how, Stage::direct, pairs);
  LANEWAY_ASSERT(!plan.reads_unwritten());
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
  PlanWriter combining(std::move(plan), Reuse::sums);
  combining.combination(how);
  for_each_in_order(reduction.in, [&](std::size_t i) {
    RangeList from;
    from.append(arrivals.in[i].ranges, base);
    move_ranges(combining, how, Buffer::staging, from, Buffer::receive, reduction.in[i].ranges);
  });
  return combining.take();
}

Plan reduce_in_order(Rank rank, const RankPattern& reduction, const Combination& how) {
  PlanWriter plan(rank, Reuse::sums);
  plan.combination(how);
  const auto next_channel = [&](StepKind kind, Rank peer) {
    return channel_of(Stage::direct, plan.count(kind, Stage::direct, peer));
  };
  std::vector<std::int64_t> arrives(reduction.in.size());
  for (std::size_t i = 0; i < reduction.in.size(); ++i) {
    const Edge& edge = reduction.in[i];
    if (edge.peer == rank || edge.ranges.empty()) continue;
    const Span place = plan.stage(edge.ranges.bytes());
    arrives[i] = place.offset;
    plan.add(
        message_of(StepKind::receive, Stage::direct, edge.peer, next_channel(StepKind::receive, edge.peer), place));
  }
  std::vector<const Edge*> own;
  for (const Edge& edge : reduction.out) {
    if (edge.ranges.empty()) continue;
    if (edge.peer == rank) {
      own.push_back(&edge);
      continue;
    }
    Span span{Buffer::send, 0, edge.ranges.bytes()};
    if (const auto whole = edge.ranges.contiguous()) {
      span.offset = whole->offset;
    } else {
      span = plan.stage(span.bytes);
      move_ranges(plan, how, Buffer::send, edge.ranges, Buffer::staging, {{span.offset, span.bytes}});
    }
    add_send(plan, Stage::direct, edge.peer, next_channel(StepKind::send, edge.peer), span);
  }
  std::size_t next_own = 0;
  for_each_in_order(reduction.in, [&](std::size_t i) {
    const Edge& edge = reduction.in[i];
    if (edge.peer != rank)
      return move_ranges(plan, how, Buffer::staging, {{arrives[i], edge.ranges.bytes()}}, Buffer::receive, edge.ranges);
    require(next_own < own.size() && own[next_own]->ranges.bytes() == edge.ranges.bytes(), ErrorKind::topology,
            "an edge to this rank itself has no matching outgoing edge");
    move_ranges(plan, how, Buffer::send, own[next_own++]->ranges, Buffer::receive, edge.ranges);
  });
  return plan.take();
}

}  // namespace laneway
