#include "plan/verify/execution/timeline.hpp"

namespace laneway::verification {

Dependents::Dependents(const Program& program) {
  const auto for_each = [&](auto&& f) {
    for (int point = 0; point < program.steps(); ++point) {
      const Rank rank = program.rank(point);
      const std::vector<int>& after = program.step(point).after;
      if (after.empty()) f(program.started(rank), point, std::int64_t{0});
      for (int before : after) f(program.first(rank) + before, point, std::int64_t{0});
      for (const Await& await : program.awaits(point))
        if (await.point >= 0) f(await.point, point, await.lag);
    }
  };
  begin_.assign(static_cast<std::size_t>(program.points()) + 1, 0);
  for_each([&](int before, int, std::int64_t) { ++begin_[static_cast<std::size_t>(before) + 1]; });
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  next_.resize(begin_.back());
  std::vector<std::size_t> at(begin_.begin(), begin_.end() - 1);
  for_each([&](int before, int point, std::int64_t lag) {
    next_[at[static_cast<std::size_t>(before)]++] = {point, lag};
  });
}

std::vector<int> count_awaited(const Program& program, const Nodes& nodes) {
  std::vector<int> missing(nodes.size(), 0);
  for (int e = 1; e <= nodes.exchanges(); ++e)
    for (int point = 0; point < program.steps(); ++point) {
      const std::size_t before = program.step(point).after.size();
      int& count = missing[static_cast<std::size_t>(nodes.node(point, e))];
      count = before == 0 ? 1 : static_cast<int>(before);
      for (const Await& await : program.awaits(point)) count += e > await.lag ? 1 : 0;
    }
  for (int e = 1; e <= nodes.exchanges(); ++e)
    for (Rank r = 0; r < program.ranks(); ++r) {
      missing[static_cast<std::size_t>(nodes.node(program.started(r), e))] = 1;
      missing[static_cast<std::size_t>(nodes.node(program.completed(r), e))] =
          static_cast<int>(program.plan(r).steps.size()) + 1;
    }
  return missing;
}

}  // namespace laneway::verification
