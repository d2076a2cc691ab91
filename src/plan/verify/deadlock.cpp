#include <algorithm>
#include <vector>

#include "plan/verify/execution/timeline.hpp"

namespace laneway::verification {

namespace {

/// Follows what a node that is never over waits for, until that repeats or ends.
class Explanation {
 public:
  Explanation(const Program& program, const Nodes& nodes, const std::vector<State>& state)
      : program_(program), nodes_(nodes), state_(state) {}

  [[nodiscard]] std::string from(int node) const {
    std::vector<int> path;
    while (node >= 0 && std::find(path.begin(), path.end(), node) == path.end()) {
      path.push_back(node);
      node = awaited(node);
    }
    const auto begin = node < 0 ? path.begin() : std::find(path.begin(), path.end(), node);
    constexpr std::ptrdiff_t most = 16;
    std::string text = describe(*begin);
    for (auto it = begin + 1; it != path.end(); ++it) {
      if (it - begin == most) {
        text += " waits for ... (" + std::to_string(path.end() - it) + " more)";
        break;
      }
      text += " waits for " + describe(*it);
    }
    const int last = nodes_.point(path.back());
    const bool is_message = last < program_.steps() && (program_.step(last).kind == StepKind::send ||
                                                        program_.step(last).kind == StepKind::receive);
    return text + (node >= 0    ? ", which waits for the first"
                   : is_message ? ", which has no partner"
                                : ", which waits for what never comes");
  }

 private:
  [[nodiscard]] bool is_over(int node) const { return state_[static_cast<std::size_t>(node)] == State::done; }

  [[nodiscard]] std::string describe(int node) const {
    const int exchange = nodes_.exchange(node);
    return program_.describe(nodes_.point(node)) + (exchange > 1 ? " in exchange " + std::to_string(exchange) : "");
  }

  /// -1: nothing that there is.
  [[nodiscard]] int awaited(int node) const {
    const int point = nodes_.point(node);
    const int exchange = nodes_.exchange(node);
    const Rank rank = program_.rank(point);
    const auto first_open = [&](int first, int last) {
      while (first < last && is_over(nodes_.node(first, exchange))) ++first;
      return first < last ? nodes_.node(first, exchange) : -1;
    };
    if (point >= program_.completed(0)) {
      const int first = program_.first(rank);
      const int step = first_open(first, first + static_cast<int>(program_.plan(rank).steps.size()));
      return step >= 0 ? step : nodes_.node(program_.started(rank), exchange);
    }
    if (point >= program_.steps()) return nodes_.node(program_.completed(rank), exchange - 1);
    if (state_[static_cast<std::size_t>(node)] == State::started) {
      const int partner = program_.partner(point);
      return partner < 0 ? -1 : nodes_.node(partner, exchange);
    }
    const std::vector<int>& after = program_.step(point).after;
    for (int before : after)
      if (const int earlier = nodes_.node(program_.first(rank) + before, exchange); !is_over(earlier)) return earlier;
    if (const int start = nodes_.node(program_.started(rank), exchange); after.empty() && !is_over(start)) return start;
    for (const Await& await : program_.awaits(point)) {
      const std::int64_t other = exchange - await.lag;
      if (other < 1) continue;
      if (await.point < 0 || other > nodes_.exchanges()) return -1;
      if (const int earlier = nodes_.node(await.point, static_cast<int>(other)); !is_over(earlier)) return earlier;
    }
    return -1;
  }

  const Program& program_;
  const Nodes& nodes_;
  const std::vector<State>& state_;
};

}  // namespace

Report prove_deadlock_free(const Program& program) {
  Report report;
  const int exchanges = program.shares_memory() ? program.period() + 1 : 1;
  const Nodes nodes(program, exchanges);
  const std::vector<State> state = run(program, exchanges, NoData{}).state;
  std::int64_t done = 0;
  int stuck = -1;
  for (int e = exchanges; e >= 1; --e)
    for (int s = program.steps() - 1; s >= 0; --s) {
      const int node = nodes.node(s, e);
      if (state[static_cast<std::size_t>(node)] == State::done)
        ++done;
      else
        stuck = node;
    }
  if (stuck < 0) return report;
  const std::int64_t all = std::int64_t{program.steps()} * exchanges;
  complain(report, std::to_string(all - done) + " of " + std::to_string(all) +
                       " steps never complete: " + Explanation(program, nodes, state).from(stuck));
  return report;
}

}  // namespace laneway::verification
