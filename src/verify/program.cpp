#include "verify/program.hpp"

#include <algorithm>
#include <utility>

namespace laneway::verification {

void complain(Report& report, std::string problem) {
  constexpr std::size_t most = 8;
  report.ok = false;
  if (report.problems.size() < most) report.problems.push_back(std::move(problem));
}

std::string describe(const Plan& plan, int step) {
  const Step& s = plan.steps[static_cast<std::size_t>(step)];
  std::string text = "rank " + std::to_string(plan.rank) + " step " + std::to_string(step) + " (" + name(s.kind);
  if (s.kind == StepKind::copy) return text + " from " + name(s.from) + " to " + name(s.to) + ")";
  text += s.kind == StepKind::send ? " to " : " from ";
  return text + std::to_string(s.peer) + ", channel " + std::to_string(s.channel) + ")";
}

std::int64_t blocks(std::span<const Plan> plans) {
  std::int64_t all = 0;
  const auto add = [&](std::int64_t more) { all = std::min(all + std::min(more, most_blocks + 1), most_blocks + 1); };
  for (const Plan& plan : plans)
    for (const Step& step : plan.steps) {
      for (const CopyRun& run : step.runs) add(run.count);
      if (!step.span.is_scattered()) continue;
      add(step.span.stream().blocks());
      for (const Segment& part : step.span.parts()) add(part.ranges.blocks());
    }
  return all;
}

namespace {

std::uint64_t pair_of(Rank from, Rank to) {
  return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
}

}  // namespace

Program::Program(std::span<const Plan> plans) : plans_(plans) {
  first_.reserve(plans.size() + 1);
  first_.push_back(0);
  for (const Plan& plan : plans) first_.push_back(first_.back() + static_cast<int>(plan.steps.size()));
  rank_.reserve(static_cast<std::size_t>(steps()));
  for (Rank r = 0; r < ranks(); ++r) {
    int id = first(r);
    for (const Step& step : plan(r).steps) {
      rank_.push_back(r);
      if (step.kind == StepKind::send) sends_.push_back({pair_of(r, step.peer), step.channel, id});
      if (step.kind == StepKind::receive) receives_.push_back({pair_of(step.peer, r), step.channel, id});
      ++id;
    }
  }
  std::sort(sends_.begin(), sends_.end());
  std::sort(receives_.begin(), receives_.end());
  partner_.assign(static_cast<std::size_t>(steps()), -1);
  auto send = sends_.begin();
  auto receive = receives_.begin();
  while (send != sends_.end() && receive != receives_.end()) {
    const auto channel = std::pair(send->pair, send->channel);
    const auto other = std::pair(receive->pair, receive->channel);
    if (channel < other) {
      ++send;
    } else if (other < channel) {
      ++receive;
    } else {
      partner_[static_cast<std::size_t>(send->step)] = receive->step;
      partner_[static_cast<std::size_t>(receive->step)] = send->step;
      ++send;
      ++receive;
    }
  }
}

bool Order::ordered(int earlier, int later) {
  if (earlier >= later) return false;
  if (later != searched_ || earlier < floor_) {
    searched_ = later;
    floor_ = earlier;
    stack_.assign(1, later);
    while (!stack_.empty()) {
      const Step& step = plan_.steps[static_cast<std::size_t>(stack_.back())];
      stack_.pop_back();
      for (int before : step.after) {
        int& mark = mark_[static_cast<std::size_t>(before)];
        if (before < floor_ || mark == later) continue;
        mark = later;
        stack_.push_back(before);
      }
    }
  }
  return mark_[static_cast<std::size_t>(earlier)] == later;
}

}  // namespace laneway::verification
