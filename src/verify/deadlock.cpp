#include <algorithm>
#include <vector>

#include "verify/program.hpp"

namespace laneway::verification {

namespace {

/// Follows what a step that never completes waits for, until that repeats or ends.
std::string explain(const Program& program, const std::vector<State>& state, int step) {
  std::vector<int> path;
  while (std::find(path.begin(), path.end(), step) == path.end()) {
    path.push_back(step);
    if (state[static_cast<std::size_t>(step)] == State::started) {
      step = program.partner(step);
      if (step < 0) break;
      continue;
    }
    const int first = program.first(program.rank(step));
    const std::vector<int>& after = program.step(step).after;
    step = first + *std::find_if(after.begin(), after.end(), [&](int before) {
             return state[static_cast<std::size_t>(first + before)] != State::done;
           });
  }
  const auto begin = step < 0 ? path.begin() : std::find(path.begin(), path.end(), step);
  constexpr std::ptrdiff_t most = 16;
  std::string text = program.describe(*begin);
  for (auto it = begin + 1; it != path.end(); ++it) {
    if (it - begin == most) {
      text += " waits for ... (" + std::to_string(path.end() - it) + " more)";
      break;
    }
    text += " waits for " + program.describe(*it);
  }
  return text + (step < 0 ? ", which has no partner" : ", which waits for the first");
}

}  // namespace

Report prove_deadlock_free(const Program& program) {
  Report report;
  const std::vector<State> state = run(
      program, [](int) {}, [](int, int) {});
  const auto stuck = std::find_if(state.begin(), state.end(), [](State s) { return s != State::done; });
  if (stuck == state.end()) return report;
  const auto done = std::count(state.begin(), state.end(), State::done);
  complain(report, std::to_string(program.steps() - done) + " of " + std::to_string(program.steps()) +
                       " steps never complete: " + explain(program, state, static_cast<int>(stuck - state.begin())));
  return report;
}

}  // namespace laneway::verification
