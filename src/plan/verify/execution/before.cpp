#include "plan/verify/execution/before.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace laneway::verification {

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

Before::Before(const Program& program, int exchanges) : program_(program), nodes_(program, exchanges) {
  const Run run = verification::run(program, exchanges, NoData{});
  position_.assign(nodes_.size(), std::numeric_limits<int>::max());
  for (std::size_t i = 0; i < run.order.size(); ++i)
    position_[static_cast<std::size_t>(run.order[i])] = static_cast<int>(i);
  mark_.assign(nodes_.size(), 0);
  group_ranks();
  clocks_.assign(clock_begin_.back() * static_cast<std::size_t>(exchanges), 0);
  for (int node : run.order) set_clock(node);
}

void Before::group_ranks() {
  group_.resize(static_cast<std::size_t>(program_.ranks()));
  std::iota(group_.begin(), group_.end(), Rank{0});
  const auto find = [&](Rank rank) {
    while (group_[static_cast<std::size_t>(rank)] != rank) {
      Rank& parent = group_[static_cast<std::size_t>(rank)];
      rank = parent = group_[static_cast<std::size_t>(parent)];
    }
    return rank;
  };
  for (Rank r = 0; r < program_.ranks(); ++r)
    for (const Step& step : program_.plan(r).steps)
      if (signals(step)) group_[static_cast<std::size_t>(find(r))] = find(step.peer);
  group_size_.assign(group_.size(), 0);
  index_.resize(group_.size());
  for (Rank r = 0; r < program_.ranks(); ++r) {
    group_[static_cast<std::size_t>(r)] = find(r);
    index_[static_cast<std::size_t>(r)] = group_size_[static_cast<std::size_t>(find(r))]++;
  }
  clock_begin_.assign(1, 0);
  for (int point = 0; point < program_.points(); ++point) {
    const auto group = static_cast<std::size_t>(group_[static_cast<std::size_t>(program_.rank(point))]);
    clock_begin_.push_back(clock_begin_.back() + static_cast<std::size_t>(group_size_[group]));
  }
}

std::size_t Before::clock_at(int node) const {
  return static_cast<std::size_t>(nodes_.exchange(node) - 1) * clock_begin_.back() +
         clock_begin_[static_cast<std::size_t>(nodes_.point(node))];
}

/// Calls f(node) for all that must be over before a node begins.
template <class F>
void Before::for_each_before(int node, F&& f) const {
  const int point = nodes_.point(node);
  const int exchange = nodes_.exchange(node);
  const Rank rank = program_.rank(point);
  if (point >= program_.completed(0)) {
    const int first = program_.first(rank);
    for (int s = 0; s < static_cast<int>(program_.plan(rank).steps.size()); ++s) f(nodes_.node(first + s, exchange));
    f(nodes_.node(program_.started(rank), exchange));
  } else if (point >= program_.steps()) {
    if (exchange > 1) f(nodes_.node(program_.completed(rank), exchange - 1));
  } else {
    const std::vector<int>& after = program_.step(point).after;
    for (int before : after) f(nodes_.node(program_.first(rank) + before, exchange));
    if (after.empty()) f(nodes_.node(program_.started(rank), exchange));
    for (const Await& await : program_.awaits(point)) {
      const std::int64_t earlier = exchange - await.lag;
      if (await.point >= 0 && earlier >= 1 && earlier <= nodes_.exchanges())
        f(nodes_.node(await.point, static_cast<int>(earlier)));
    }
  }
}

/// Adds what is known when the node is over; a rank of another group is not asked.
void Before::add_clock(int node, Rank rank, Clock* clock) const {
  const auto add = [&](int from) {
    const Rank other = program_.rank(nodes_.point(from));
    const Rank group = group_[static_cast<std::size_t>(rank)];
    if (group_[static_cast<std::size_t>(other)] != group) return;
    const Clock* const known = clocks_.data() + clock_at(from);
    const int size = group_size_[static_cast<std::size_t>(group)];
    for (int i = 0; i < size; ++i) clock[i] = std::max(clock[i], known[i]);
  };
  add(node);
  const int point = nodes_.point(node);
  if (point >= program_.steps() || program_.step(point).kind != StepKind::receive) return;
  const int send = program_.partner(point);
  if (send >= 0) add(nodes_.node(send, nodes_.exchange(node)));
}

void Before::set_clock(int node) {
  const int point = nodes_.point(node);
  const Rank rank = program_.rank(point);
  Clock* const clock = clocks_.data() + clock_at(node);
  for_each_before(node, [&](int before) { add_clock(before, rank, clock); });
  if (point >= program_.completed(0))
    clock[index_[static_cast<std::size_t>(rank)]] = static_cast<Clock>(nodes_.exchange(node));
}

bool Before::operator()(int earlier, int earlier_exchange, int later, int later_exchange) const {
  const Rank rank = program_.rank(earlier);
  const Rank other = program_.rank(later);
  const int target = nodes_.node(earlier, earlier_exchange);
  const int from = nodes_.node(later, later_exchange);
  if (earlier_exchange < later_exchange) {
    if (rank == other) return true;
    if (group_[static_cast<std::size_t>(rank)] == group_[static_cast<std::size_t>(other)] &&
        clocks_[clock_at(from) + static_cast<std::size_t>(index_[static_cast<std::size_t>(rank)])] >= earlier_exchange)
      return true;
  }
  const int known = position_[static_cast<std::size_t>(target)];
  const int floor = known == std::numeric_limits<int>::max() ? -1 : known;
  ++search_;
  bool found = false;
  const auto push = [&](int node) {
    found = found || node == target;
    int& mark = mark_[static_cast<std::size_t>(node)];
    if (found || mark == search_ || position_[static_cast<std::size_t>(node)] < floor ||
        nodes_.exchange(node) < earlier_exchange)
      return;
    mark = search_;
    queue_.push_back(node);
  };
  queue_.clear();
  for_each_before(from, push);
  for (std::size_t next = 0; next < queue_.size() && !found; ++next) {  // what is near is found soon
    const int node = queue_[next];
    for_each_before(node, push);
    const int point = nodes_.point(node);
    if (point >= program_.steps() || program_.step(point).kind != StepKind::receive) continue;
    const int send = program_.partner(point);
    if (send >= 0) for_each_before(nodes_.node(send, nodes_.exchange(node)), push);
  }
  return found;
}

}  // namespace laneway::verification
