#include "algorithms/trials/autotuner.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace laneway {
namespace {

TEST(Elimination, WhoFallsBehindIsOutAndKeepsItsTime) {
  Autotuner ways(trial_of_rules, 3);
  ways.add_round(std::array{4.0, 1.0, 1.4}, 1.5);
  EXPECT_FALSE(ways.is_in(0));
  EXPECT_TRUE(ways.is_in(1));
  EXPECT_TRUE(ways.is_in(2));
  // What is said of one that is out does not count, nor who was slow, or fast, in one round only.
  ways.add_round(std::array{0.1, 9.0, 1.2}, 1.5);
  EXPECT_TRUE(ways.is_in(1));
  ways.add_round(std::array{0.1, 1.1, 0.8}, 1.5);
  EXPECT_EQ(ways.typical(), (std::vector{4.0, 1.1, 1.2}));
}

TEST(Elimination, TheFastestIsNeverOut) {
  Autotuner ways(trial_of_rules, 2);
  for (const double most : {1.5, 1.0}) ways.add_round(std::array{2.0, 1.0}, most);
  EXPECT_TRUE(ways.is_in(1));
  EXPECT_FALSE(ways.is_in(0));
}

TEST(Elimination, WithoutARoundNothingIsKnown) {
  const Autotuner ways(trial_of_rules, 1);
  EXPECT_TRUE(ways.is_in(0));
  EXPECT_TRUE(ways.samples(0).empty());
}

TEST(Elimination, ARuleIsTakenForItsGainAlone) {
  Autotuner ways(trial_of_rules, 3);
  ways.add_round(std::array{1.0, 0.98, 9.0}, 4);
  EXPECT_EQ(ways.decide(ways.typical()), 0U);
  ways.add_round(std::array{1.0, 0.9, 0.1}, 4);
  EXPECT_EQ(ways.decide(ways.typical()), 1U);
}

TEST(CallsBeforeTrial, ShortCallsAreMoreThanLongOnes) {
  EXPECT_EQ(calls_before_trial(0), number_of_exchanges(exchanges_of_requests));
  EXPECT_EQ(calls_before_trial(65536), number_of_exchanges(exchanges_of_requests));
  EXPECT_EQ(calls_before_trial(131072), number_of_exchanges(exchanges_of_requests) / 2);
  EXPECT_EQ(calls_before_trial(std::int64_t{1} << 40), 8);
  double before = calls_before_trial(1);
  for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 30; bytes *= 2) {
    EXPECT_LE(calls_before_trial(bytes), before);
    before = calls_before_trial(bytes);
  }
}

}  // namespace
}  // namespace laneway
