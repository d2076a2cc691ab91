#pragma once

#include <cstdint>
#include <vector>

#include "plan/verify/execution/program.hpp"

namespace laneway::verification {

enum class State : std::uint8_t { waiting, started, done };

/// The points of exchanges 1 to `exchanges`, numbered through, exchange by exchange.
class Nodes {
 public:
  Nodes(const Program& program, int exchanges) : points_(program.points()), exchanges_(exchanges) {}

  [[nodiscard]] int exchanges() const { return exchanges_; }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(points_) * static_cast<std::size_t>(exchanges_);
  }
  [[nodiscard]] int node(int point, int exchange) const { return (exchange - 1) * points_ + point; }
  [[nodiscard]] int exchange(int node) const { return node / points_ + 1; }
  [[nodiscard]] int point(int node) const { return node % points_; }

 private:
  int points_;
  int exchanges_;
};

/// By point: what waits for it, in the exchange that is later by `lag`.
class Dependents {
 public:
  struct Next {
    int point = 0;
    std::int64_t lag = 0;
  };

  explicit Dependents(const Program& program);

  [[nodiscard]] std::span<const Next> of(int point) const {
    const auto p = static_cast<std::size_t>(point);
    return std::span(next_).subspan(begin_[p], begin_[p + 1] - begin_[p]);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<Next> next_;
};

/// By node: how many others it waits for, those that never are among them.
[[nodiscard]] std::vector<int> count_awaited(const Program& program, const Nodes& nodes);

/// Of `exchanges` exchanges: where each node ends up, and in which order they have begun.
struct Run {
  std::vector<State> state;
  std::vector<int> order;
};

/// Lets each step happen as soon as it may, in some order, each rank exchange after exchange; a message needs both
/// sides to have started. Calls `visitor.move(step, exchange)` and `visitor.message(send, receive, exchange)` where
/// data moves, and `visitor.completed(rank, exchange)`. No order can get further than this one: a step that may happen
/// stays possible until it does.
template <class Visitor>
Run run(const Program& program, int exchanges, Visitor&& visitor) {
  const Nodes nodes(program, exchanges);
  const Dependents dependents(program);
  std::vector<int> missing = count_awaited(program, nodes);
  Run result{std::vector<State>(nodes.size(), State::waiting), {}};
  std::vector<int>& ready = result.order;
  ready.reserve(nodes.size());
  for (Rank r = 0; r < program.ranks(); ++r) ready.push_back(nodes.node(program.started(r), 1));
  const auto meet = [&](int point, int exchange) {
    const int node = nodes.node(point, exchange);
    if (--missing[static_cast<std::size_t>(node)] == 0) ready.push_back(node);
  };
  const auto complete = [&](int point, int exchange) {
    result.state[static_cast<std::size_t>(nodes.node(point, exchange))] = State::done;
    for (const Dependents::Next& next : dependents.of(point)) {
      const std::int64_t later = exchange + next.lag;
      if (later >= 1 && later <= exchanges) meet(next.point, static_cast<int>(later));
    }
    const Rank rank = program.rank(point);
    if (point < program.started(0) + program.ranks()) return meet(program.completed(rank), exchange);
    visitor.completed(rank, exchange);
    if (exchange < exchanges) meet(program.started(rank), exchange + 1);
  };
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const int node = ready[next];
    const int point = nodes.point(node);
    const int exchange = nodes.exchange(node);
    result.state[static_cast<std::size_t>(node)] = State::started;
    if (point >= program.steps()) {
      complete(point, exchange);
      continue;
    }
    const StepKind kind = program.step(point).kind;
    if (kind != StepKind::send && kind != StepKind::receive) {
      if (kind == StepKind::move) visitor.move(point, exchange);
      complete(point, exchange);
      continue;
    }
    const int other = program.partner(point);
    if (other < 0 || result.state[static_cast<std::size_t>(nodes.node(other, exchange))] != State::started) continue;
    if (kind == StepKind::send)
      visitor.message(point, other, exchange);
    else
      visitor.message(other, point, exchange);
    complete(point, exchange);
    complete(other, exchange);
  }
  return result;
}

/// For runs in which only the order matters.
struct NoData {
  void move(int, int) const {}
  void message(int, int, int) const {}
  void completed(Rank, int) const {}
};

}  // namespace laneway::verification
