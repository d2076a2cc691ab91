#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

#include "verify/contents.hpp"
#include "verify/program.hpp"

namespace laneway {

namespace verification {

namespace {

std::string byte_of(const Origin& origin, std::int64_t at) {
  return "byte " + std::to_string(origin.from + at - origin.begin) + " of rank " + std::to_string(origin.rank);
}

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

  /// The contents of a rank's receive buffer. Where edges name a byte more than once, the last one wins.
  std::vector<Origin> receive_buffer(Rank rank, Report& report) {
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
    for (std::size_t i = 0; i < in.size(); ++i)
      for_each_pair(source_of_[i]->ranges, in[i].ranges, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
        writes_.push_back({to, to + bytes, in[i].peer, from});
      });
    return last_writes();
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

/// Runs the plans on origins instead of bytes.
class SymbolicRun {
 public:
  explicit SymbolicRun(const Program& program)
      : program_(program),
        staging_(static_cast<std::size_t>(program.ranks())),
        shadow_(static_cast<std::size_t>(program.ranks())),
        receive_(static_cast<std::size_t>(program.ranks())) {}

  /// Calls sent(from, to, parts) for each message. `undefined` gets the reads of bytes that nothing wrote.
  template <class F>
  std::vector<State> run(Report& undefined, F&& sent) {
    return verification::run(
        program_, [&](int step) { copy(step, undefined); },
        [&](int send, int receive) {
          const End& from = program_.step(send).span;
          const End& to = program_.step(receive).span;
          parts_.clear();
          const std::int64_t begin = to.is_scattered() ? 0 : to.offset;
          from.for_each([&](Buffer buffer, Range place, std::int64_t at) {
            const std::int64_t bytes = std::min(place.bytes, to.bytes - at);
            if (bytes > 0) read(send, buffer, place.offset, bytes, begin + at, undefined);
          });
          sent(program_.rank(send), program_.rank(receive), std::as_const(parts_));
          if (to.is_scattered())
            scatter(program_.rank(receive), to);
          else
            contents(program_.rank(receive), to.buffer).write(parts_);
        });
  }

  [[nodiscard]] const std::vector<Origin>& received(Rank rank) const {
    return receive_[static_cast<std::size_t>(rank)].known();
  }

 private:
  Contents& contents(Rank rank, Buffer buffer) {
    return (buffer == Buffer::receive  ? receive_
            : buffer == Buffer::shadow ? shadow_
                                       : staging_)[static_cast<std::size_t>(rank)];
  }

  /// Writes `parts_`, which are places in a message, to where they go.
  void scatter(Rank rank, const End& to) {
    const std::vector<Origin> message = std::exchange(parts_, {});
    to.for_each([&](Buffer buffer, Range place, std::int64_t position) {
      auto part = std::partition_point(message.begin(), message.end(),
                                       [&](const Origin& origin) { return origin.end <= position; });
      for (; part != message.end() && part->begin < position + place.bytes; ++part) {
        Origin moved = part->part(std::max(part->begin, position), std::min(part->end, position + place.bytes));
        moved.begin += place.offset - position;
        moved.end += place.offset - position;
        parts_.assign(1, moved);
        contents(rank, buffer).write(parts_);
      }
    });
  }

  /// Appends to `parts_` what `bytes` bytes at `offset` hold, as it will be at `to`.
  void read(int step, Buffer buffer, std::int64_t offset, std::int64_t bytes, std::int64_t to, Report& undefined) {
    const Rank rank = program_.rank(step);
    if (buffer == Buffer::send) {
      if (bytes > 0) parts_.push_back({to, to + bytes, rank, offset});
      return;
    }
    const bool whole = contents(rank, buffer).read(offset, offset + bytes, [&](Origin part) {
      part.begin += to - offset;
      part.end += to - offset;
      parts_.push_back(part);
    });
    if (!whole)
      complain(undefined, program_.describe(step) + " reads " + name(buffer) + " bytes [" + std::to_string(offset) +
                              ", " + std::to_string(offset + bytes) + "), not all of which have been written");
  }

  void copy(int id, Report& undefined) {
    const Step& step = program_.step(id);
    parts_.clear();
    for (const CopyRun& run : step.runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        read(id, step.from, run.from + i * run.from_stride, run.bytes, run.to + i * run.to_stride, undefined);
    contents(program_.rank(id), step.to).write(parts_);
  }

  const Program& program_;
  std::vector<Contents> staging_;
  std::vector<Contents> shadow_;
  std::vector<Contents> receive_;
  std::vector<Origin> parts_;
};

void compare(Rank rank, const std::vector<Origin>& actual, const std::vector<Origin>& expected, Report& report) {
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

Report prove_delivery(const Program& program, std::span<const RankPattern> pattern) {
  Report report;
  if (pattern.size() != static_cast<std::size_t>(program.ranks())) {
    complain(report, "there are " + std::to_string(program.ranks()) + " plans for " + std::to_string(pattern.size()) +
                         " ranks");
    return report;
  }
  SymbolicRun symbolic(program);
  const std::vector<State> state = symbolic.run(report, [](Rank, Rank, const std::vector<Origin>&) {});
  for (std::size_t s = 0; s < state.size(); ++s)
    if (state[s] != State::done) complain(report, program.describe(static_cast<int>(s)) + " never completes");
  Expectation expectation(pattern);
  for (Rank r = 0; r < program.ranks(); ++r) {
    Report mismatch;
    const std::vector<Origin> expected = expectation.receive_buffer(r, mismatch);
    if (mismatch.ok)
      compare(r, symbolic.received(r), expected, report);
    else
      complain(report, mismatch.problems.front());
  }
  return report;
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
  verification::SymbolicRun symbolic(program);
  Report undefined;
  const std::vector<verification::State> state =
      symbolic.run(undefined, [&](Rank from, Rank to, const std::vector<Origin>& parts) {
        if (region_of(from) == region_of(to)) return;
        for (const Origin& part : parts) {
          crossed.push_back({region_of(to), part.rank, part.from, part.from + part.end - part.begin});
          if (region_of(part.rank) != region_of(from))
            verification::complain(report, describe(crossed.back()) + " cross from rank " + std::to_string(from) +
                                               ", which is in another region");
        }
      });
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
