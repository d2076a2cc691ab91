// The trial that all families have, of candidates that take as long as this test says.
#include "operations/choose/trial.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"
#include "support.hpp"

namespace {

bool has_own_clock = false;
double now = 0;
int exchanges_since_asked = 0;  // for the time

}  // namespace

#pragma GCC visibility push(default)
extern "C" double MPI_Wtime() {
  exchanges_since_asked = 0;
  return has_own_clock ? now : PMPI_Wtime();
}
#pragma GCC visibility pop

namespace laneway::test {
namespace {

class TrialsTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    comm_ = duplicate_of(MPI_COMM_WORLD);
    has_own_clock = true;
  }
  void TearDown() override {
    has_own_clock = false;
    comm_.free();
    MpiTest::TearDown();
  }

  /// Of candidates that take so many seconds on the last rank, and none on the others; what is found must be the same
  /// on all. `runs_`: how many exchanges of each this rank has made.
  TrialResult try_those(const std::vector<double>& seconds, const TrialRules& rules) {
    runs_.assign(seconds.size(), 0);
    std::vector<TrialCandidate> candidates;
    for (std::size_t c = 0; c < seconds.size(); ++c)
      candidates.push_back({std::to_string(c), [this, c, mine = rank() == size() - 1 ? seconds[c] : 0] {
                              ++runs_[c];
                              now += mine;
                            }});
    return decide(candidates, seconds, rules);
  }

  /// `seconds`: what is found of each.
  TrialResult decide(const std::vector<TrialCandidate>& candidates, const std::vector<double>& seconds,
                     const TrialRules& rules) {
    const std::shared_ptr<PrivateComm> priv = Communicator::of(comm_.get()).private_comm();
    TrialResult result = try_candidates(*priv, candidates, rules);
    EXPECT_EQ(result.measured.size(), seconds.size());
    for (std::size_t c = 0; c < seconds.size(); ++c) {
      EXPECT_EQ(result.measured[c].strategy, candidates[c].name);
      EXPECT_NEAR(result.measured[c].seconds, seconds[c], 1e-12);
    }
    return result;
  }

  Comm comm_;
  std::vector<int> runs_;
};

TEST_F(TrialsTest, AllRanksTakeTheFastestOfTheSlowestRank) {
  EXPECT_EQ(try_those({3e-3, 1e-3, 2e-3}, trial_of_plans).best, "1");
  EXPECT_EQ(try_those({1e-3, 1e-3}, trial_of_plans).best, "0");
  EXPECT_EQ(try_those({1e-3}, trial_of_plans).best, "0");
}

TEST_F(TrialsTest, PlansTakeTurnsForSoLong) {
  // Rounds of 3.9 ms for 0.2 s, one to warm up, one to find out how long they take.
  (void)try_those({3e-3, 9e-4}, trial_of_plans);
  EXPECT_EQ(runs_, (std::vector<int>{53, 53}));
  (void)try_those({1, 2, 3}, trial_of_plans);
  EXPECT_EQ(runs_, (std::vector<int>{7, 7, 7})) << "the fewest";
  (void)try_those({1e-6, 1e-6}, trial_of_plans);
  EXPECT_EQ(runs_, (std::vector<int>{102, 102})) << "the most";
}

TEST_F(TrialsTest, RulesRunInARowUntilTheyFallBehind) {
  // Five of the fastest are a turn of 2 ms, 15 one of 6 ms. Who takes more than one and a half times as long is out
  // after a turn.
  EXPECT_EQ(try_those({5e-4, 4e-4, 1e-3, 9}, trial_of_rules).best, "1");
  EXPECT_EQ(runs_, (std::vector<int>{1 + 5 + 3 * 15, 1 + 5 + 3 * 15, 1 + 5, 1 + 5}));
  // Of short ones 50 are the most, so that the first turn counts.
  (void)try_those({2e-5, 1e-5}, trial_of_rules);
  EXPECT_EQ(runs_, (std::vector<int>{1 + 50, 1 + 3 * 50}));
  // Where one exchange is a turn, the first ones count.
  EXPECT_EQ(try_those({1, 0.99, 9}, trial_of_rules).best, "0") << "for too small a gain";
  EXPECT_EQ(runs_, (std::vector<int>{4, 4, 1}));
  EXPECT_EQ(try_those({1, 0.9}, trial_of_long_rules).best, "1");
  (void)try_those({1e-5, 1e-5}, trial_of_long_rules);
  EXPECT_EQ(runs_, (std::vector<int>{1 + 3 * 3, 1 + 3 * 3}));
}

TEST_F(TrialsTest, WhatCountsIsTurnsLongEnoughForCallsThatFollowEachOther) {
  // The first two after a meeting take 0.7 ms, later ones 1 ms, where the other rule takes 0.8 ms each. Both took
  // longer when they came first, so that one was a turn of 2 ms.
  std::array<int, 2> runs{};
  const TrialCandidate gets_slower{"0", [&] {
                                     now += runs[0]++ == 0 ? 1.2e-3 : ++exchanges_since_asked <= 2 ? 0.7e-3 : 1e-3;
                                   }};
  const TrialCandidate is_steady{"1", [&] { now += runs[1]++ == 0 ? 1.2e-3 : 0.8e-3; }};
  EXPECT_EQ(decide({gets_slower, is_steady}, {(2 * 0.7e-3 + 3 * 1e-3) / 5, 0.8e-3}, trial_of_rules).best, "1");
}

TEST_F(TrialsTest, InARowAndApartAreSharesOfWhatTheFirstTakes) {
  const auto with = [](double apart, double next) {
    return [=] { now += ++exchanges_since_asked == 1 ? apart : next; };
  };
  const TrialRules rules = with_a_root(trial_of_rules);
  const auto best_of = [&](double apart, double next) {
    constexpr double own_apart = 200e-6;
    constexpr double own_next = 95e-6;
    const double n = rules.most_of_turn;
    const double own = (own_apart + (n - 1) * own_next) / n;
    const double other = (apart + (n - 1) * next) / n;
    const double scale = std::sqrt(own * own_apart);
    return decide({{"mpi", with(own_apart, own_next)}, {"rule", with(apart, next)}},
                  {scale, scale * std::hypot(other / own, apart / own_apart) / std::sqrt(2)}, rules)
        .best;
  };
  // How ranks leave the meeting is most of what one apart takes: a sum of both would hide the gain in a row.
  EXPECT_EQ(best_of(260e-6, 20e-6), "rule");
  // But not whatever it takes apart, or in a row.
  EXPECT_EQ(best_of(400e-6, 20e-6), "mpi");
  EXPECT_EQ(best_of(100e-6, 190e-6), "mpi");
}

TEST_F(TrialsTest, TheMiddleOfThreeSamplesCounts) {
  // One is fast in one turn of three, of two exchanges each, after a first exchange.
  int run = 0;
  const auto is_fast_once = [&] { now += (run++ - 1) / 2 == 1 ? 2.6e-3 : 3.5e-3; };
  EXPECT_EQ(decide({{"0", is_fast_once}, {"1", [] { now += 3e-3; }}}, {3.5e-3, 3e-3}, trial_of_rules).best, "1");
}

TEST_F(TrialsTest, TheMostPromisingAreTried) {
  const std::vector<Candidate> candidates = {{.name = "a", .seconds = 5},   {.name = "b", .seconds = 1},
                                             {.name = "c", .seconds = 2},   {.name = "d"},
                                             {.name = "e", .seconds = 1.5}, {.name = "f", .seconds = 60}};
  const auto of = [&](const TrialRules& rules, const char* first, const std::vector<Candidate>& those) {
    std::string names;
    for (const Candidate& one : most_promising(those, first, rules)) names += one.name;
    return names;
  };
  EXPECT_EQ(of(trial_of_plans, "f", {candidates.begin(), candidates.begin() + 3}), "bca");
  EXPECT_EQ(of(trial_of_plans, "c", {candidates.begin(), candidates.begin() + 3}), "cba");
  EXPECT_EQ(of(trial_of_rules, "d", candidates), "dbeca") << "f is hopeless";
  EXPECT_EQ(of(trial_of_long_rules, "d", candidates), "dbec");
  EXPECT_EQ(of(trial_of_rules, "a", {candidates.front()}), "a");
}

}  // namespace
}  // namespace laneway::test
