#include "interpose/trial.hpp"

#include <gtest/gtest.h>

namespace laneway::interpose {
namespace {

/// Calls until the trial compares, each of which takes so many seconds; returns how many.
int calls_until_it_compares(Trial& trial, double& now, double mpi, double plan) {
  int calls = 0;
  for (; !trial.over(now); ++calls) now += trial.take() == Trial::Way::mpi ? mpi : plan;
  return calls;
}

TEST(Trial, ComparesEarlyAndGoesOnWhereThatTellsTooLittle) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Trial trial(20, seed);
    double now = 5;
    EXPECT_EQ(calls_until_it_compares(trial, now, 2, 3), 16);
    EXPECT_DOUBLE_EQ(trial.seconds(Trial::Way::mpi), 2);
    EXPECT_DOUBLE_EQ(trial.seconds(Trial::Way::plan), 3);
    ASSERT_TRUE(trial.go_on());
    now += trial.take() == Trial::Way::mpi ? 2 : 3;
    EXPECT_EQ(calls_until_it_compares(trial, now, 2, 3), 23);
    EXPECT_DOUBLE_EQ(trial.seconds(Trial::Way::mpi), 2);
    EXPECT_DOUBLE_EQ(trial.seconds(Trial::Way::plan), 3);
    EXPECT_FALSE(trial.go_on());
  }
}

TEST(Trial, OfFewCallsComparesOnce) {
  Trial trial(3, 1);
  double now = 0;
  EXPECT_EQ(calls_until_it_compares(trial, now, 1, 1), 6);
  EXPECT_FALSE(trial.go_on());
}

}  // namespace
}  // namespace laneway::interpose
