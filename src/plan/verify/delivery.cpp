#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/bytes/disjoint.hpp"
#include "plan/verify/contents.hpp"
#include "plan/verify/execution/timeline.hpp"
#include "plan/verify/sums.hpp"

namespace laneway {

namespace verification {

namespace {

/// Indices of edges, by peer and then as they are listed.
std::vector<std::pair<Rank, std::size_t>> by_peer(std::span<const Edge> edges) {
  std::vector<std::pair<Rank, std::size_t>> result;
  result.reserve(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) result.emplace_back(edges[i].peer, i);
  std::sort(result.begin(), result.end());
  return result;
}

/// What the pattern says about receive buffers, worked out without any of the code that plans use.
class Expectation {
 public:
  explicit Expectation(std::span<const RankPattern> pattern) : pattern_(pattern) {
    out_.reserve(pattern.size());
    for (const RankPattern& p : pattern) out_.push_back(by_peer(p.out));
  }

  /// The contents of a rank's receive buffer. Where edges name a byte more than once, the last one wins; with `how`,
  /// all are combined with what is there.
  std::vector<Origin> receive_buffer(Rank rank, const Combination* how, Sums& sums, Report& report) {
    writes_.clear();
    const std::vector<Edge>& in = pattern_[static_cast<std::size_t>(rank)].in;
    source_of_.assign(in.size(), nullptr);
    std::size_t n = 0;  // edges from this source so far
    Rank source = -1;
    for (const auto& [peer, i] : by_peer(in)) {
      n = peer == source ? n + 1 : 0;
      source = peer;
      source_of_[i] = matching_edge(peer, rank, n);
      if (source_of_[i] && source_of_[i]->ranges.bytes() == in[i].ranges.bytes()) continue;
      complain(report, "the pattern has no edge of equal size at rank " + std::to_string(peer) + " for edge " +
                           std::to_string(i) + " into rank " + std::to_string(rank));
      return {};
    }
    std::vector<std::size_t> order(in.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (how != nullptr) std::ranges::stable_sort(order, {}, [&](std::size_t i) { return in[i].peer; });
    for (const std::size_t i : order)
      for_each_pair(source_of_[i]->ranges, in[i].ranges, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
        writes_.push_back({to, to + bytes, in[i].peer, from});
      });
    return how != nullptr ? sums_of_writes(rank, *how, sums) : last_writes();
  }

 private:
  const Edge* matching_edge(Rank source, Rank destination, std::size_t n) const {
    if (source < 0 || static_cast<std::size_t>(source) >= pattern_.size()) return nullptr;
    const auto& edges = out_[static_cast<std::size_t>(source)];
    const auto it = std::lower_bound(edges.begin(), edges.end(), std::pair(destination, std::size_t{0}));
    if (static_cast<std::size_t>(edges.end() - it) <= n || (it + static_cast<std::ptrdiff_t>(n))->first != destination)
      return nullptr;
    return &pattern_[static_cast<std::size_t>(source)].out[(it + static_cast<std::ptrdiff_t>(n))->second];
  }

  /// Cut where one of them begins or ends.
  std::vector<Origin> sums_of_writes(Rank rank, const Combination& how, Sums& sums) const {
    std::map<std::int64_t, std::vector<std::size_t>> writes;  // by where a stretch begins
    for (const Origin& write : writes_) {
      if (write.begin == write.end) continue;
      writes[write.begin];
      writes[write.end];
    }
    for (std::size_t i = 0; i < writes_.size(); ++i)
      for (auto it = writes.lower_bound(writes_[i].begin); it != writes.end() && it->first < writes_[i].end; ++it)
        it->second.push_back(i);
    std::vector<Origin> result;
    for (auto it = writes.begin(); it != writes.end(); ++it) {
      if (it->second.empty()) continue;
      const std::int64_t end = std::next(it)->first;
      Origin all = sums.initial(rank, it->first, end, 1);
      for (const std::size_t i : it->second) all = sums.combine(all, writes_[i].part(it->first, end), how);
      append_joined(result, all);
    }
    return result;
  }

  /// Sweeps over the receive buffer; at each byte the write with the highest index among those that cover it is kept.
  std::vector<Origin> last_writes() const {
    std::vector<std::size_t> order(writes_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return writes_[a].begin < writes_[b].begin; });
    std::vector<Origin> result;
    std::priority_queue<std::size_t> covering;
    std::int64_t at = 0;
    std::size_t next = 0;
    while (next < order.size() || !covering.empty()) {
      if (covering.empty()) at = writes_[order[next]].begin;
      for (; next < order.size() && writes_[order[next]].begin <= at; ++next) covering.push(order[next]);
      const Origin& last = writes_[covering.top()];
      std::int64_t end = last.end;
      if (next < order.size()) end = std::min(end, writes_[order[next]].begin);
      if (at < end) append_joined(result, last.part(at, end));
      at = std::max(at, end);
      while (!covering.empty() && writes_[covering.top()].end <= at) covering.pop();
    }
    return result;
  }

  std::span<const RankPattern> pattern_;
  std::vector<std::vector<std::pair<Rank, std::size_t>>> out_;
  std::vector<const Edge*> source_of_;
  std::vector<Origin> writes_;
};

/// Runs the plans on origins instead of bytes. `Sent` is called with (from, to, parts) for each message, `Completed`
/// with (rank, exchange, contents of the receive buffer), which is empty when the next exchange begins.
template <class Sent, class Completed>
class SymbolicRun {
 public:
  /// `send_hulls`: where ranks may read their send buffers, also bytes that nobody needs; empty: that is not known.
  SymbolicRun(const Program& program, Sums& sums, Report& undefined, Sent sent, Completed completed,
              std::span<const Range> send_hulls = {})
      : program_(program),
        sums_(sums),
        undefined_(undefined),
        send_hulls_(send_hulls),
        sent_(std::move(sent)),
        completed_(std::move(completed)),
        contents_(buffer_kinds * static_cast<std::size_t>(program.ranks())) {}

  void move(int id, int exchange) {
    const Step& step = program_.step(id);
    if (step.runs.empty()) return;
    const Plan& plan = program_.plan(program_.rank(id));
    const Place from = place(source(plan, step), exchange);
    const Place to = place(target(plan, step), exchange);
    if (combines(step)) return combine(id, from, to, exchange);
    parts_.clear();
    for (const CopyRun& run : step.runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        read(id, from, run.from + i * run.from_stride, run.bytes, run.to + i * run.to_stride + to.shift, exchange);
    contents(to).write(parts_);
  }

  void message(int send, int receive, int exchange) {
    const End& from = program_.step(send).span;
    const End& to = program_.step(receive).span;
    const Rank sender = program_.rank(send);
    const Rank receiver = program_.rank(receive);
    const auto place_of = [&](Rank rank, Buffer buffer) {
      return place(message_place(program_.plan(rank), buffer), exchange);
    };
    const std::int64_t begin = to.is_scattered() ? 0 : to.offset + place_of(receiver, to.buffer).shift;
    parts_.clear();
    from.for_each([&](Buffer buffer, Range range, std::int64_t at) {
      const std::int64_t bytes = std::min(range.bytes, to.bytes - at);
      if (bytes > 0) read(send, place_of(sender, buffer), range.offset, bytes, begin + at, exchange);
    });
    sent_(sender, receiver, std::as_const(parts_));
    if (!to.is_scattered()) return contents(place_of(receiver, to.buffer)).write(parts_);
    const std::vector<Origin> all = std::exchange(parts_, {});
    to.for_each([&](Buffer buffer, Range range, std::int64_t position) {
      const Place where = place_of(receiver, buffer);
      scatter(all, {position, range.bytes}, range.offset + where.shift, where);
    });
  }

  /// What is read outside of send buffers.
  [[nodiscard]] const Report& outside() const { return outside_; }

  void completed(Rank rank, int exchange) {
    Contents& received = contents({rank, Buffer::receive, 0});
    completed_(rank, exchange, received.known());
    received.clear();
  }

 private:
  struct Place {
    Rank rank = 0;
    Buffer buffer = Buffer::staging;
    std::int64_t shift = 0;
  };

  static Place place(const Located& operand, int exchange) {
    return {operand.places.rank(exchange), operand.buffer, operand.places.shift(exchange)};
  }

  /// Block by block, since a place may come again.
  void combine(int id, const Place& from, const Place& to, int exchange) {
    const Step& step = program_.step(id);
    const Combination& how = program_.plan(program_.rank(id)).combinations[static_cast<std::size_t>(step.combination)];
    for (const CopyRun& run : step.runs)
      for (std::int64_t i = 0; i < run.count; ++i) {
        const std::int64_t begin = run.to + i * run.to_stride + to.shift;
        parts_.clear();
        read(id, from, run.from + i * run.from_stride, run.bytes, begin, exchange);
        const std::vector<Origin> brought = std::exchange(parts_, {});
        std::vector<Origin> there = known_or_initial(id, to, begin, begin + run.bytes, exchange);
        for_each_common(there, brought,
                        [&](const Origin& a, const Origin& b) { parts_.push_back(sums_.combine(a, b, how)); });
        contents(to).write(parts_);
      }
  }

  /// What a receive buffer has before the exchange is known, too.
  std::vector<Origin> known_or_initial(int id, const Place& where, std::int64_t begin, std::int64_t end, int exchange) {
    std::vector<Origin> all;
    std::int64_t at = begin;
    const bool is_initial = where.buffer == Buffer::receive;
    const auto fill = [&](std::int64_t until) {
      if (at < until && is_initial) all.push_back(sums_.initial(where.rank, at, until, exchange));
    };
    const bool whole = contents(where).read(begin, end, [&](const Origin& part) {
      fill(part.begin);
      all.push_back(part);
      at = part.end;
    });
    fill(end);
    if (!whole && !is_initial)
      complain(undefined_, program_.describe(id) + " combines with " + name(where.buffer) + " bytes [" +
                               std::to_string(begin) + ", " + std::to_string(end) +
                               "), not all of which have been written");
    return all;
  }

  /// Calls f for the stretches that both lists, which are ascending, have in common.
  template <class F>
  static void for_each_common(const std::vector<Origin>& a, const std::vector<Origin>& b, F&& f) {
    for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
      const std::int64_t begin = std::max(x->begin, y->begin);
      const std::int64_t end = std::min(x->end, y->end);
      if (begin < end) f(x->part(begin, end), y->part(begin, end));
      if (x->end == end) ++x;
      if (y->end == end) ++y;
    }
  }

  Contents& contents(const Place& place) {
    return contents_[static_cast<std::size_t>(place.rank) * buffer_kinds + static_cast<std::size_t>(place.buffer)];
  }

  /// Writes what a message has at `positions` to `offset`.
  void scatter(const std::vector<Origin>& message, Range positions, std::int64_t offset, const Place& where) {
    auto part = std::partition_point(message.begin(), message.end(),
                                     [&](const Origin& origin) { return origin.end <= positions.offset; });
    for (; part != message.end() && part->begin < positions.end(); ++part) {
      Origin moved = part->part(std::max(part->begin, positions.offset), std::min(part->end, positions.end()));
      moved.begin += offset - positions.offset;
      moved.end += offset - positions.offset;
      parts_.assign(1, moved);
      contents(where).write(parts_);
    }
  }

  /// Appends to `parts_` what `bytes` bytes at `offset` hold, as it will be at `to`.
  void read(int step, const Place& from, std::int64_t offset, std::int64_t bytes, std::int64_t to, int exchange) {
    if (from.buffer == Buffer::send) {
      if (bytes > 0) parts_.push_back({to, to + bytes, from.rank, offset, exchange});
      if (bytes > 0 && !send_hulls_.empty() &&
          !is_inside(send_hulls_[static_cast<std::size_t>(from.rank)], offset, bytes))
        complain(outside_, program_.describe(step) + " reads send bytes [" + std::to_string(offset) + ", " +
                               std::to_string(offset + bytes) + "), not all of which are in the buffer");
      return;
    }
    offset += from.shift;
    if (from.buffer == Buffer::receive) {
      for (Origin part : known_or_initial(step, from, offset, offset + bytes, exchange)) {
        part.begin += to - offset;
        part.end += to - offset;
        parts_.push_back(part);
      }
      return;
    }
    const bool whole = contents(from).read(offset, offset + bytes, [&](Origin part) {
      part.begin += to - offset;
      part.end += to - offset;
      parts_.push_back(part);
    });
    if (!whole)
      complain(undefined_, program_.describe(step) + " reads " + name(from.buffer) + " bytes [" +
                               std::to_string(offset) + ", " + std::to_string(offset + bytes) +
                               "), not all of which have been written");
  }

  static bool is_inside(const Range& hull, std::int64_t offset, std::int64_t bytes) {
    return hull.offset <= offset && offset + bytes <= hull.end();
  }

  const Program& program_;
  Sums& sums_;
  Report& undefined_;
  std::span<const Range> send_hulls_;
  Report outside_;
  Sent sent_;
  Completed completed_;
  std::vector<Contents> contents_;  // by rank and buffer
  std::vector<Origin> parts_;
};

void compare(Rank rank, const std::vector<Origin>& actual, const std::vector<Origin>& expected, const Sums& sums,
             Report& report) {
  const auto byte_of = [&](const Origin& origin, std::int64_t at) { return sums.describe(origin, at); };
  auto a = actual.begin();
  auto e = expected.begin();
  while (a != actual.end() && e != expected.end() && *a == *e) {
    ++a;
    ++e;
  }
  if (a == actual.end() && e == expected.end()) return;
  const std::string who = "rank " + std::to_string(rank) + ": receive byte ";
  const bool extra = e == expected.end() || (a != actual.end() && a->begin < e->begin);
  if (extra) {
    complain(report,
             who + std::to_string(a->begin) + " is written (" + byte_of(*a, a->begin) + "), but no edge ends there");
    return;
  }
  const bool missing = a == actual.end() || e->begin < a->begin;
  if (missing || a->rank != e->rank || a->from != e->from) {
    complain(report, who + std::to_string(e->begin) + " should hold " + byte_of(*e, e->begin) + ", but " +
                         (missing ? "nothing is written there" : "holds " + byte_of(*a, a->begin)));
    return;
  }
  // They begin alike; one is longer.
  const std::int64_t at = std::min(a->end, e->end);
  const bool too_short = a->end < e->end;
  const auto next = too_short ? a + 1 : e + 1;
  const bool followed = next != (too_short ? actual.end() : expected.end()) && next->begin == at;
  const std::string longer = byte_of(too_short ? *e : *a, at);
  const std::string other = followed ? byte_of(*next, at) : "nothing";
  complain(report, who + std::to_string(at) + " should hold " + (too_short ? longer : other) + ", but holds " +
                       (too_short ? other : longer));
}

}  // namespace

namespace {

/// Each rank must have what is expected of it: null if that is not known. Where `initial_is_none`, bytes that hold what
/// they held before need not be written, and may be.
using Expected = std::vector<std::optional<std::vector<Origin>>>;

bool is_initial(const Origin& origin, Rank rank, Rank ranks) {
  return origin.rank == ranks + rank && origin.from == origin.begin;
}

Report prove_contents(const Program& program, Sums& sums, Expected expected, bool initial_is_none, Report report,
                      std::span<const Range> send_hulls = {}) {
  Report contents;  // named behind what does not complete, which is why
  const auto check = [&](Rank rank, int exchange, const std::vector<Origin>& received) {
    const auto r = static_cast<std::size_t>(rank);
    if (!expected[r]) return;
    for (Origin& origin : *expected[r]) origin.exchange = exchange;
    if (!initial_is_none) return compare(rank, received, *expected[r], sums, contents);
    const auto without = [&](std::vector<Origin> all) {
      std::erase_if(all, [&](const Origin& origin) { return is_initial(origin, rank, program.ranks()); });
      return all;
    };
    compare(rank, without(received), without(*expected[r]), sums, contents);
  };
  const int exchanges = program.shares_memory() ? program.period() + 1 : 1;
  const Nodes nodes(program, exchanges);
  SymbolicRun symbolic(
      program, sums, report, [](Rank, Rank, const std::vector<Origin>&) {}, check, send_hulls);
  const std::vector<State> state = run(program, exchanges, symbolic).state;
  for (int e = 1; e <= exchanges; ++e)
    for (int s = 0; s < program.steps(); ++s)
      if (state[static_cast<std::size_t>(nodes.node(s, e))] != State::done)
        complain(report, program.describe(s) + " never completes");
  for (const Report* found : {&std::as_const(contents), &symbolic.outside()})
    for (const std::string& problem : found->problems) complain(report, problem);
  return report;
}

/// From the first byte that some edge sends to the last one, of each rank.
std::vector<Range> hulls_of_sends(std::span<const RankPattern> pattern) {
  std::vector<Range> hulls;
  for (const RankPattern& p : pattern) {
    RangeList all;
    for (const Edge& edge : p.out) all.append(edge.ranges);
    hulls.push_back(hull(all));
  }
  return hulls;
}

bool is_of_all(const Program& program, std::size_t ranks, Report& report) {
  if (ranks == static_cast<std::size_t>(program.ranks())) return true;
  complain(report, "there are " + std::to_string(program.ranks()) + " plans for " + std::to_string(ranks) + " ranks");
  return false;
}

}  // namespace

Report prove_delivery(const Program& program, std::span<const RankPattern> pattern, const Combination* how) {
  Report report;
  Sums sums(program.ranks());
  if (!is_of_all(program, pattern.size(), report)) return report;
  Expected expected;
  Expectation expectation(pattern);
  for (Rank r = 0; r < program.ranks(); ++r) {
    Report mismatch;
    expected.emplace_back(expectation.receive_buffer(r, how, sums, mismatch));
    if (mismatch.ok) continue;
    expected.back().reset();
    complain(report, mismatch.problems.front());
  }
  const std::vector<Range> hulls = hulls_of_sends(pattern);
  return prove_contents(program, sums, std::move(expected), false, std::move(report), hulls);
}

Report prove_outcomes(const Program& program, std::span<const std::vector<DenseOutcome>> outcomes,
                      const Combination* how) {
  Report report;
  Sums sums(program.ranks());
  if (!is_of_all(program, outcomes.size(), report)) return report;
  Expected expected;
  for (const std::vector<DenseOutcome>& of_rank : outcomes) {
    std::vector<Origin>& all = expected.emplace_back(std::vector<Origin>{}).value();
    for (const auto& [place, contributions] : of_rank) {
      std::optional<Origin> result;
      for (const Contribution& from : contributions) {
        const Origin operand{place.offset, place.end(), from.rank + (from.received ? program.ranks() : 0), from.offset};
        result = result && how != nullptr ? sums.combine(*result, operand, *how) : operand;
      }
      if (result) append_joined(all, *result);
    }
  }
  return prove_contents(program, sums, std::move(expected), true, std::move(report));
}

}  // namespace verification

namespace {

using verification::Origin;

/// Bytes [begin, end) of `source` for a region.
struct Demand {
  Rank region = 0;
  Rank source = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] bool same_block(const Demand& other) const { return region == other.region && source == other.source; }
  friend auto operator<=>(const Demand&, const Demand&) = default;
};

std::string describe(const Demand& d) {
  return "bytes [" + std::to_string(d.begin) + ", " + std::to_string(d.end) + ") of rank " + std::to_string(d.source) +
         " to region " + std::to_string(d.region);
}

/// Sorted and joined. Calls twice(Demand) for what is in the list more than once.
template <class F>
std::vector<Demand> joined(std::vector<Demand> demands, F&& twice) {
  std::sort(demands.begin(), demands.end());
  std::vector<Demand> result;
  for (const Demand& d : demands) {
    if (result.empty() || !result.back().same_block(d) || result.back().end < d.begin) {
      result.push_back(d);
      continue;
    }
    Demand& last = result.back();
    if (d.begin < last.end) twice(Demand{d.region, d.source, d.begin, std::min(last.end, d.end)});
    last.end = std::max(last.end, d.end);
  }
  return result;
}

std::int64_t total(const std::vector<Demand>& demands) {
  std::int64_t bytes = 0;
  for (const Demand& d : demands) bytes += d.end - d.begin;
  return bytes;
}

}  // namespace

Crossing crosses_once(std::span<const Plan> plans, std::span<const RankPattern> pattern,
                      std::span<const Rank> region_of_rank) {
  Crossing result;
  Report& report = result.report;
  report = well_formed(plans);
  if (!report.ok) return result;
  if (plans.size() != pattern.size() || plans.size() != region_of_rank.size()) {
    verification::complain(report, "plans, pattern and regions are of different numbers of ranks");
    return result;
  }
  auto region_of = [&](Rank rank) { return region_of_rank[static_cast<std::size_t>(rank)]; };

  std::vector<Demand> asked;
  for (std::size_t r = 0; r < pattern.size(); ++r) {
    const auto source = static_cast<Rank>(r);
    for (const Edge& edge : pattern[r].out)
      if (region_of(edge.peer) != region_of(source))
        edge.ranges.for_each([&](Range range) {
          asked.push_back({region_of(edge.peer), source, range.offset, range.end()});
        });
  }
  asked = joined(std::move(asked), [](const Demand&) {});
  result.minimal_bytes = total(asked);

  const verification::Program program(plans);
  std::vector<Demand> crossed;
  Report undefined;
  const auto sent = [&](Rank from, Rank to, const std::vector<Origin>& parts) {
    if (region_of(from) == region_of(to)) return;
    for (const Origin& part : parts) {
      crossed.push_back({region_of(to), part.rank, part.from, part.from + part.end - part.begin});
      if (region_of(part.rank) != region_of(from))
        verification::complain(report, describe(crossed.back()) + " cross from rank " + std::to_string(from) +
                                           ", which is in another region");
    }
  };
  verification::Sums sums(program.ranks());
  verification::SymbolicRun symbolic(program, sums, undefined, sent, [](Rank, int, const std::vector<Origin>&) {});
  const std::vector<verification::State> state = verification::run(program, 1, symbolic).state;
  for (const std::string& problem : undefined.problems) verification::complain(report, problem);
  if (std::find_if(state.begin(), state.end(), [](verification::State s) { return s != verification::State::done; }) !=
      state.end())
    verification::complain(report, "not all steps complete");
  result.bytes = total(crossed);
  crossed = joined(std::move(crossed),
                   [&](const Demand& d) { verification::complain(report, describe(d) + " cross more than once"); });
  if (crossed != asked) {
    const auto [c, a] = std::mismatch(crossed.begin(), crossed.end(), asked.begin(), asked.end());
    verification::complain(report,
                           "what crosses is not what is asked for: " + (c == crossed.end() ? "nothing" : describe(*c)) +
                               " cross, " + (a == asked.end() ? "nothing" : describe(*a)) + " are asked for");
  }
  return result;
}

}  // namespace laneway
