#include "algorithms/trials/autotuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>

namespace laneway {
namespace {

/// Seconds of sample `n` of all, of a way.
using Seconds = std::function<double(std::size_t way, std::int64_t n)>;

struct Outcome {
  std::size_t best = 0;
  std::int64_t samples = 0;  ///< of all ways
  std::vector<double> typical;
};

Outcome run(const TrialRules& rules, std::size_t ways, std::optional<std::uint64_t> seed, const Seconds& seconds) {
  Autotuner trial(rules, ways, seed);
  for (std::int64_t n = 0;; ++n) {
    if (trial.is_due())
      if (const auto best = trial.decide(trial.typical())) return {*best, n, trial.typical()};
    trial.add(seconds(trial.way(), n));
  }
}

Seconds steady(double first, double second) {
  return [=](std::size_t way, std::int64_t) { return way == 0 ? first : second; };
}

TEST(Trial, GivesEveryWayTheSameNumberOfTurnsInEveryRound) {
  for (const TrialRules& rules : {trial_of_calls, trial_of_cycles, trial_of_plans})
    for (std::size_t ways = 1; ways <= 3; ++ways)
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const Autotuner trial(rules, ways, seed > 0 ? std::optional(seed) : std::nullopt);
        std::vector<std::int64_t> count(ways);
        std::set<std::size_t> first;
        for (std::int64_t n = 0; n < rules.samples * static_cast<std::int64_t>(ways); ++n) {
          if (n % (rules.turn * static_cast<std::int64_t>(ways)) == 0) first.insert(trial.way_of(n));
          EXPECT_EQ(trial.way_of(n), trial.way_of(n - n % rules.turn)) << "a turn is of one way";
          ++count[trial.way_of(n)];
        }
        EXPECT_EQ(count, std::vector<std::int64_t>(ways, rules.samples));
        EXPECT_TRUE(first.size() == ways || rules.samples / rules.turn < 16) << "each way begins some round";
      }
}

/// The last turns are shorter where the samples of a way are no multiple of a turn.
TEST(Trial, EndsWithShorterTurns) {
  TrialRules rules = trial_of_calls;
  rules.samples = 6;
  const Autotuner trial(rules, 2, 3);
  std::vector<int> count(2);
  for (std::int64_t n = 8; n < 12; ++n) {
    EXPECT_EQ(trial.way_of(n), trial.way_of(n - n % 2));
    ++count[trial.way_of(n)];
  }
  EXPECT_EQ(count, (std::vector<int>{2, 2}));
}

TEST(Trial, OfTwoWaysFollowsTheThueMorseSequence) {
  const Autotuner trial(trial_of_cycles);
  std::vector<std::size_t> ways;
  for (std::int64_t n = 0; n < 16; ++n) ways.push_back(trial.way_of(n));
  EXPECT_EQ(ways, (std::vector<std::size_t>{0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0}));
}

TEST(Trial, SeedsDrawOtherOrders) {
  std::set<std::vector<std::size_t>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Autotuner trial(trial_of_calls, 2, seed);
    std::vector<std::size_t> ways;
    for (std::int64_t n = 0; n < 40; n += 4) ways.push_back(trial.way_of(n));
    orders.insert(ways);
  }
  EXPECT_GT(orders.size(), 10U);
}

TEST(Trial, ComparesEarlyAndGoesOnWhereThatTellsTooLittle) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(run(trial_of_calls, 2, seed, steady(2, 3)).samples, 16);
    EXPECT_EQ(run(trial_of_calls, 2, seed, steady(2, 1.6)).samples, 16);
    const Outcome close = run(trial_of_calls, 2, seed, steady(2, 1.9));
    EXPECT_EQ(close.samples, 40);
    EXPECT_EQ(close.typical.size(), 2U);
    EXPECT_DOUBLE_EQ(close.typical[0], 2);
    EXPECT_DOUBLE_EQ(close.typical[1], 1.9);
  }
}

TEST(Trial, OfFewSamplesComparesOnce) {
  TrialRules rules = trial_of_calls;
  rules.samples = 3;
  EXPECT_EQ(run(rules, 2, 1, steady(1, 1)).samples, 6);
  EXPECT_EQ(run(trial_of_cycles, 2, {}, steady(1, 1)).samples, 32);
}

/// What is in use stays unless another way saves more than the trial errs.
TEST(Trial, TakesAnotherWayOnlyForItsGain) {
  EXPECT_EQ(run(trial_of_calls, 2, 1, steady(1, 0.975)).best, 0U);
  EXPECT_EQ(run(trial_of_calls, 2, 1, steady(1, 0.965)).best, 1U);
  EXPECT_EQ(run(trial_of_cycles, 2, {}, steady(1, 0.995)).best, 0U);
  EXPECT_EQ(run(trial_of_cycles, 2, {}, steady(1, 0.985)).best, 1U);
  EXPECT_EQ(run(trial_of_plans, 2, {}, steady(1, 0.999)).best, 1U);
  EXPECT_EQ(run(trial_of_plans, 2, {}, steady(1, 1)).best, 0U) << "the first of equals";
  EXPECT_EQ(
      run(trial_of_plans, 3, {}, [](std::size_t way, std::int64_t) { return 3.0 - static_cast<double>(way); }).best,
      2U);
}

/// Times that grow by a half while the trial goes on meet all ways alike.
TEST(Trial, DriftHelpsNobody) {
  for (const double gain : {0.0, 0.05}) {
    const auto drifting = [&](const TrialRules& rules, std::size_t ways) -> Seconds {
      const double all = static_cast<double>(rules.samples) * static_cast<double>(ways);
      return [=](std::size_t way, std::int64_t n) {
        return (way + 1 == ways ? 1 - gain : 1) * (1 + 0.5 * static_cast<double>(n) / all);
      };
    };
    EXPECT_EQ(run(trial_of_cycles, 2, {}, drifting(trial_of_cycles, 2)).best, gain > 0 ? 1U : 0U);
    for (const std::size_t ways : {2U, 3U}) {
      const std::vector<double> typical = run(trial_of_plans, ways, {}, drifting(trial_of_plans, ways)).typical;
      for (std::size_t way = 1; way < ways; ++way)
        EXPECT_NEAR(typical[way] / typical[0], way + 1 == ways ? 1 - gain : 1, 0.005);
    }
  }
}

/// Accidents: one sample in ten takes ten times as long, on either side.
TEST(Trial, OutliersDoNotCount) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    std::mt19937_64 engine(seed);
    std::uniform_int_distribution<int> draw(0, 9);
    const auto hit = [&](double first, double second) -> Seconds {
      return [&engine, &draw, first, second](std::size_t way, std::int64_t) {
        return (way == 0 ? first : second) * (draw(engine) == 0 ? 10 : 1);
      };
    };
    const Outcome plans = run(trial_of_plans, 2, {}, hit(1, 0.98));
    EXPECT_EQ(plans.best, 1U) << seed;
    EXPECT_DOUBLE_EQ(plans.typical[0], 1) << seed;
  }
  // Of 20 calls two, and of 16 cycles four may be so.
  const auto some = [](std::int64_t every) -> Seconds {
    return [every, count = std::vector<std::int64_t>(2)](std::size_t way, std::int64_t) mutable {
      return (way == 0 ? 1 : 0.95) * (count[way]++ % every == 0 ? 10 : 1);
    };
  };
  EXPECT_EQ(run(trial_of_calls, 2, 7, some(10)).best, 1U);
  const Outcome cycles = run(trial_of_cycles, 2, {}, some(4));
  EXPECT_EQ(cycles.best, 1U);
  EXPECT_DOUBLE_EQ(cycles.typical[0], 1);
  EXPECT_DOUBLE_EQ(cycles.typical[1], 0.95);
}

/// What goes on for long keeps the last samples of each way, where they are in turns, and takes no more memory.
TEST(Trial, KeepsTheLast) {
  Autotuner trial(samples_of_calls, 2, 7);
  std::array<int, 2> first = {};
  const double* const memory = trial.samples(0).data();
  for (int i = 0; i < 10000; ++i) {
    first[trial.way()] += i < 100;
    trial.add(i);
  }
  EXPECT_EQ(first, (std::array<int, 2>{50, 50}));
  for (const std::size_t way : {0, 1}) {
    ASSERT_EQ(trial.samples(way).size(), 48U);
    EXPECT_GE(std::ranges::min(trial.samples(way)), 10000 - 2 * 48);
  }
  EXPECT_EQ(memory, trial.samples(0).data());
}

/// Noise of 5% of each sample: equal ways are hardly ever taken for different, and 10% are found.
TEST(Trial, NoiseRarelyDecides) {
  const auto times_changed = [](const TrialRules& rules, double second) {
    int changed = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      std::mt19937_64 engine(seed);
      std::normal_distribution<double> noise(1, 0.05);
      changed += run(rules, 2, seed, [&](std::size_t way, std::int64_t) {
                   return (way == 0 ? 1 : second) * noise(engine);
                 }).best == 1;
    }
    return changed;
  };
  EXPECT_LT(times_changed(trial_of_calls, 1), 20);
  EXPECT_GT(times_changed(trial_of_calls, 0.9), 190);
  EXPECT_GT(times_changed(trial_of_cycles, 0.9), 190);
  EXPECT_GT(times_changed(trial_of_plans, 0.9), 198);
}

}  // namespace
}  // namespace laneway
