#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "verify/verify.hpp"

namespace laneway::verification {

/// Adds a problem to a report, which keeps the first few.
void complain(Report& report, std::string problem);

/// "rank 3 step 5 (send to 7, channel 2)".
[[nodiscard]] std::string describe(const Plan& plan, int step);

/// Blocks of all copies, which the provers look at one by one: runs are short to write, and may stand for any number.
/// No more than one more than `most_blocks`.
inline constexpr std::int64_t most_blocks = std::int64_t{1} << 25;
[[nodiscard]] std::int64_t blocks(std::span<const Plan> plans);

struct Message {
  std::uint64_t pair = 0;  // source, destination
  int channel = 0;
  int step = 0;  // in Program

  [[nodiscard]] Rank from() const { return static_cast<Rank>(pair >> 32); }
  [[nodiscard]] Rank to() const { return static_cast<Rank>(pair & 0xffffffffU); }
  [[nodiscard]] bool same_channel(const Message& other) const { return pair == other.pair && channel == other.channel; }
  friend auto operator<=>(const Message&, const Message&) = default;
};

/// The well-formed plans of all ranks as one program: steps numbered through, messages paired.
class Program {
 public:
  explicit Program(std::span<const Plan> plans);

  [[nodiscard]] int steps() const { return first_.back(); }
  [[nodiscard]] int ranks() const { return static_cast<int>(plans_.size()); }
  [[nodiscard]] const Plan& plan(Rank rank) const { return plans_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int first(Rank rank) const { return first_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Rank rank(int step) const { return rank_[static_cast<std::size_t>(step)]; }
  [[nodiscard]] int local(int step) const { return step - first(rank(step)); }
  [[nodiscard]] const Step& step(int step) const {
    return plan(rank(step)).steps[static_cast<std::size_t>(local(step))];
  }
  /// The other side of a message; -1 if it has none.
  [[nodiscard]] int partner(int step) const { return partner_[static_cast<std::size_t>(step)]; }
  [[nodiscard]] std::string describe(int s) const { return verification::describe(plan(rank(s)), local(s)); }

  /// All sends and all receives, by channel and then in plan order.
  [[nodiscard]] const std::vector<Message>& sends() const { return sends_; }
  [[nodiscard]] const std::vector<Message>& receives() const { return receives_; }

 private:
  std::span<const Plan> plans_;
  std::vector<int> first_;
  std::vector<Rank> rank_;
  std::vector<int> partner_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
};

/// Answers whether one step of a plan completes before another begins, by dependencies alone. Fast for questions that
/// come in ascending order of (`later`, `earlier`).
class Order {
 public:
  explicit Order(const Plan& plan) : plan_(plan), mark_(plan.steps.size(), -1) {}
  [[nodiscard]] bool ordered(int earlier, int later);

 private:
  const Plan& plan_;
  std::vector<int> mark_;  // the last step whose ancestors were searched and found to include this one
  std::vector<int> stack_;
  int searched_ = -1;
  int floor_ = 0;
};

enum class State : std::uint8_t { waiting, started, done };

/// Lets each step happen as soon as it may, in some order; a message needs both sides to have started. Calls
/// `copy(step)` and `message(send, receive)` where data moves, and returns where each step ends up. No order can get
/// further than this one: a step that may happen stays possible until it does.
template <class Copy, class Transfer>
std::vector<State> run(const Program& program, Copy&& copy, Transfer&& message) {
  const auto n = static_cast<std::size_t>(program.steps());
  std::vector<int> begin(n + 1, 0);  // dependents of each step, as compressed rows
  std::vector<int> missing(n, 0);
  auto for_each_dependency = [&](auto&& f) {
    for (Rank r = 0; r < program.ranks(); ++r) {
      int id = program.first(r);
      for (const Step& step : program.plan(r).steps) {
        for (int before : step.after) f(static_cast<std::size_t>(program.first(r) + before), id);
        ++id;
      }
    }
  };
  for_each_dependency([&](std::size_t before, int id) {
    ++begin[before + 1];
    ++missing[static_cast<std::size_t>(id)];
  });
  for (std::size_t i = 0; i < n; ++i) begin[i + 1] += begin[i];
  std::vector<int> dependents(static_cast<std::size_t>(begin[n]));
  std::vector<int> at(begin.begin(), begin.end() - 1);
  for_each_dependency([&](std::size_t before, int id) { dependents[static_cast<std::size_t>(at[before]++)] = id; });

  std::vector<State> state(n, State::waiting);
  std::vector<int> ready;
  ready.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    if (missing[i] == 0) ready.push_back(static_cast<int>(i));
  auto complete = [&](int id) {
    const auto i = static_cast<std::size_t>(id);
    state[i] = State::done;
    for (int d = begin[i]; d < begin[i + 1]; ++d) {
      const int dependent = dependents[static_cast<std::size_t>(d)];
      if (--missing[static_cast<std::size_t>(dependent)] == 0) ready.push_back(dependent);
    }
  };
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const int id = ready[next];
    state[static_cast<std::size_t>(id)] = State::started;
    const StepKind kind = program.step(id).kind;
    if (kind == StepKind::copy) {
      copy(id);
      complete(id);
      continue;
    }
    const int other = program.partner(id);
    if (other < 0 || state[static_cast<std::size_t>(other)] != State::started) continue;
    if (kind == StepKind::send)
      message(id, other);
    else
      message(other, id);
    complete(id);
    complete(other);
  }
  return state;
}

// The provers, for plans that are known to be well formed.
Report prove_matching(const Program& program);
Report prove_race_free(const Program& program);
Report prove_deadlock_free(const Program& program);
Report prove_delivery(const Program& program, std::span<const RankPattern> pattern);

}  // namespace laneway::verification
