#include "data/specs.hpp"

#include <gtest/gtest.h>

namespace laneway::bench {
namespace {

using Texts = std::vector<std::string>;

TEST(Specs, SpacesAndSemicolonsSeparate) {
  EXPECT_EQ(split_specs({"rsg:density=0.5,seed=1; moore:d=2,r=1", "line"}),
            (Texts{"rsg:density=0.5,seed=1", "moore:d=2,r=1", "line"}));
}

TEST(Specs, CommasSeparateStrategiesWithoutLevels) {
  EXPECT_EQ(split_strategies({"direct,split", "two_step"}), (Texts{"direct", "split", "two_step"}));
  EXPECT_EQ(split_strategies({"direct,split gpu:two_step,rank:direct;node:split,rank:split"}),
            (Texts{"direct", "split", "gpu:two_step,rank:direct", "node:split,rank:split"}));
}

}  // namespace
}  // namespace laneway::bench
