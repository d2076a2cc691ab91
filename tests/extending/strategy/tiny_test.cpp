#include <gtest/gtest.h>

#include <vector>

#include "algorithms/neighborhood/strategy.hpp"

namespace laneway {
namespace {

TEST(ExtendingStrategy, ChoosesTheseLanes) {
  RegionView view;
  view.region = {0, {0, 1}};
  view.in = {{2, {{2, 150}}, {{2, 0, 10}, {2, 1, 150}}}, {4, {{4, 120}}, {{4, 1, 120}}}};
  const std::vector<Lane> in = make_strategy("tiny")->assign_receivers(view);
  ASSERT_EQ(in.size(), 2U);
  EXPECT_EQ(in[0], (Lane{2, 0, -1, 0, {{2, 0, 150}}}));
  EXPECT_EQ(in[1], (Lane{4, 0, -1, 0, {{4, 0, 120}}}));
}

}  // namespace
}  // namespace laneway
