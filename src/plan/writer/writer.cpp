#include "plan/writer/writer.hpp"

#include <algorithm>

#include "base/bytes/disjoint.hpp"
#include "base/bytes/sort_unique.hpp"
#include "base/error.hpp"
#include "plan/writer/bundles.hpp"
#include "plan/writer/copy_runs.hpp"
#include "plan/writer/reserve.hpp"

namespace laneway {

PlanWriter::PlanWriter(Plan plan, Reuse reuse) : plan_(std::move(plan)), dependencies_(reuse) {
  std::vector<int> known;
  for (int s = 0; s < next(); ++s) {
    find_dependencies(plan_.steps[static_cast<std::size_t>(s)], s, known);
    known.clear();
  }
}

Span PlanWriter::stage(std::int64_t bytes) {
  return {Buffer::staging, reserve(plan_.staging_bytes, bytes), bytes};
}

std::int8_t PlanWriter::combination(const Combination& how) {
  const auto it = std::ranges::find(plan_.combinations, how);
  const auto index = static_cast<std::int8_t>(it - plan_.combinations.begin());
  if (it == plan_.combinations.end()) plan_.combinations.push_back(how);
  return index;
}

int PlanWriter::move(const Segment& from, const Segment& to, Stage stage) {
  Step step;
  step.stage = stage;
  return from == to ? -1 : move(std::move(step), from, to);
}

int PlanWriter::combine(const Segment& from, const Segment& to, std::int8_t how) {
  Step step;
  step.combination = how;
  return move(std::move(step), from, to);
}

int PlanWriter::move(Step&& step, const Segment& from, const Segment& to) {
  step.from = from.buffer;
  step.to = to.buffer;
  step.runs = copy_runs(from.ranges, to.ranges);
  return step.runs.empty() ? -1 : add_move(std::move(step), from.ranges, to.ranges);
}

int PlanWriter::send(Rank peer, Parts from, std::vector<int> after) {
  return message(StepKind::send, peer, std::move(from), std::move(after));
}

int PlanWriter::receive(Rank peer, Parts to, std::vector<int> after) {
  return message(StepKind::receive, peer, std::move(to), std::move(after));
}

int PlanWriter::message(StepKind kind, Rank peer, Parts parts, std::vector<int> after) {
  const std::int64_t bytes = bytes_of(parts);
  if (bytes == 0) return -1;
  std::erase(after, -1);
  const int channel = count(kind, Stage::direct, peer) % own_channels;
  Step step = message_of(kind, Stage::direct, peer, channel, End(std::move(parts), {{0, bytes}}, bytes));
  step.after = std::move(after);
  return add_in_turn(std::move(step), channel);
}

int PlanWriter::add(Step&& step) {
  find_dependencies(step, next(), step.after);
  return push(std::move(step));
}

int PlanWriter::add_in_turn(Step&& message, int turn, bool if_waiting) {
  int& last = last_.try_emplace({message.peer, message.kind, turn}, -1).first->second;
  if (last >= 0 && !(if_waiting && plan_.steps[static_cast<std::size_t>(last)].after.empty()))
    message.after.push_back(last);
  return last = add(std::move(message));
}

template <class Ranges>
void PlanWriter::reads(Buffer buffer, const Ranges& ranges, int step, std::vector<int>& after) {
  const bool is_written = dependencies_.reads(buffer, ranges, step, after);
  reads_unwritten_ = reads_unwritten_ || (buffer == Buffer::staging && !is_written);
}

/// An operator whose operands are in order may write both.
bool PlanWriter::writes_source(const Step& step) const {
  return combines(step) && plan_.combinations[static_cast<std::size_t>(step.combination)].in_order;
}

void PlanWriter::find_dependencies(const Step& step, int index, std::vector<int>& after) {
  const auto for_each_place = [&](auto&& f) {
    if (!step.span.is_scattered()) return f(step.span.buffer, Range{step.span.offset, step.span.bytes});
    for (const Segment& part : step.span.parts()) f(part.buffer, part.ranges);
  };
  const auto writes = [&](Buffer buffer, const auto& ranges) { dependencies_.writes(buffer, ranges, index, after); };
  if (step.kind == StepKind::send) {
    for_each_place([&](Buffer buffer, const auto& ranges) { reads(buffer, ranges, index, after); });
  } else if (step.kind == StepKind::receive) {
    for_each_place(writes);
  } else {
    const auto source = [](const CopyRun& block) { return Range{block.from, block.bytes}; };
    for_each_block(step.runs, [&](const CopyRun& block) { reads(step.from.buffer, source(block), index, after); });
    if (writes_source(step))
      for_each_block(step.runs, [&](const CopyRun& block) { writes(step.from.buffer, source(block)); });
    for_each_block(step.runs, [&](const CopyRun& block) { writes(step.to.buffer, Range{block.to, block.bytes}); });
  }
}

int PlanWriter::add_move(Step&& step, const RangeList& read, const RangeList& written) {
  reads(step.from.buffer, read, next(), step.after);
  if (writes_source(step)) dependencies_.writes(step.from.buffer, read, next(), step.after);
  dependencies_.writes(step.to.buffer, written, next(), step.after);
  return push(std::move(step));
}

int PlanWriter::push(Step&& step) {
  sort_unique(step.after);
  plan_.steps.push_back(std::move(step));
  return next() - 1;
}

/// Where memory of a plan is in the one that takes it in.
class PlanWriter::Relocation {
 public:
  Relocation(const Redirect& redirect, std::int64_t staging) : redirect_(redirect), staging_(staging) {}

  [[nodiscard]] Redirect::To place(Buffer buffer, std::int64_t offset) const {
    if (buffer == Buffer::receive) return redirect_.receive;
    if (buffer != Buffer::send) return {buffer, staging_};
    return offset < redirect_.window ? redirect_.send : Redirect::To{Buffer::staging, -redirect_.window};
  }

  [[nodiscard]] End end(const End& end) const {
    if (!end.is_scattered()) {
      const auto [buffer, shift] = place(end.buffer, end.offset);
      return {buffer, end.offset + shift, end.bytes};
    }
    Parts parts;
    for (const Segment& part : end.parts()) append_located(parts, part);
    return {std::move(parts), end.stream(), end.bytes};
  }

 private:
  /// A part may lie in two buffers.
  void append_located(Parts& parts, const Segment& part) const {
    const Range all = hull(part.ranges);
    const Redirect::To whole = place(part.buffer, all.offset);
    if (whole == place(part.buffer, all.end() - 1)) {
      parts.push_back({whole.buffer, {}});
      parts.back().ranges.append(part.ranges, whole.shift);
      return;
    }
    const std::size_t first = parts.size();
    part.ranges.for_each([&](Range range) {
      const Redirect::To now = place(part.buffer, range.offset);
      if (parts.size() == first || parts.back().buffer != now.buffer) parts.push_back({now.buffer, {}});
      parts.back().ranges.append(Range{range.offset + now.shift, range.bytes});
    });
  }

  const Redirect& redirect_;
  const std::int64_t staging_;
};

void PlanWriter::append(const Plan& plan, const Redirect& redirect, const std::optional<Inside>& inside) {
  LANEWAY_ASSERT(plan.rank == plan_.rank && plan.window_bytes == 0 && plan.shadow_bytes == 0);
  const Relocation relocation(redirect, stage(plan.staging_bytes).offset);
  std::vector<int> begin;  // by step of `plan`: what it has become begins here, and ends where the next one begins
  begin.reserve(plan.steps.size());
  for (const Step& step : plan.steps) {
    LANEWAY_ASSERT(step.kind != StepKind::event && !signals(step));
    begin.push_back(next());
    Step own;
    own.kind = step.kind;
    own.stage = inside ? inside->stage : step.stage;
    for (const int before : step.after) {
      const auto b = static_cast<std::size_t>(before);
      for (int s = begin[b]; s < begin[b + 1]; ++s) own.after.push_back(s);
    }
    if (step.kind == StepKind::move) {
      if (combines(step)) own.combination = combination(plan.combinations[static_cast<std::size_t>(step.combination)]);
      append_move(step, relocation, std::move(own));
    } else if (step.span.bytes > 0) {
      own.span = relocation.end(step.span);
      append_message(step, std::move(own), inside);
    }
  }
}

/// One for each buffer that it reads.
void PlanWriter::append_move(const Step& step, const Relocation& relocation, Step&& like) {
  std::map<Buffer, std::vector<CopyRun>> by_source;
  const auto keep = [&](CopyRun run) {
    const Redirect::To from = relocation.place(step.from.buffer, run.from);
    const Redirect::To to = relocation.place(step.to.buffer, run.to);
    run.from += from.shift;
    run.to += to.shift;
    like.to = to.buffer;
    by_source[from.buffer].push_back(run);
  };
  for (const CopyRun& run : step.runs) {
    const std::int64_t last = run.from + (run.count - 1) * run.from_stride;
    if (relocation.place(step.from.buffer, run.from) == relocation.place(step.from.buffer, last))
      keep(run);
    else
      for_each_block({&run, 1}, keep);
  }
  for (auto& [from, runs] : by_source) {
    Step own = like;
    own.from = from;
    own.runs = std::move(runs);
    const RangeList written = written_by(own.runs);
    add_move(std::move(own), read_by(own.runs), written);
  }
}

void PlanWriter::append_message(const Step& step, Step&& own, const std::optional<Inside>& inside) {
  own.peer = step.peer;
  const int channel =
      inside ? embedded_channel(step.channel, inside->slot) : count(own.kind, own.stage, own.peer) % own_channels;
  LANEWAY_ASSERT(channel < plan_channels);
  own.channel = channel;
  // The data of direct ones inside may arrive in any order; others of them wait for each other already.
  if (!inside || (own.kind == StepKind::send && step.stage == Stage::direct))
    add_in_turn(std::move(own), channel);
  else
    add(std::move(own));
}

}  // namespace laneway
