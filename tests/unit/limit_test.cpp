#include "offline/limit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cases.hpp"
#include "offline/virtual_ranks.hpp"

namespace laneway {
namespace {

Parameters drawn_parameters(cases::Random& random) {
  Parameters parameters = Parameters::read(random.one_of<const char*>({"lassen", "default-ethernet", "mi250-ib"}));
  parameters.network_overhead.message = 1e-7 * static_cast<double>(random.between(1, 100));
  parameters.injection_beta = 1e-11 * static_cast<double>(random.between(1, 10000));
  return parameters;
}

TEST(Limit, NoPlanIsPredictedToTakeLess) {
  for (std::uint64_t seed = 0; seed < cases::effort(300); ++seed) {
    cases::Random random(seed);
    const cases::Case c = cases::make_case(seed);
    const Parameters parameters = drawn_parameters(random);
    for (const StrategyRow& row : strategies()) {
      const auto strategy = row.make();
      if (row.traits.needs == Traits::Needs::grid || row.traits.levels > 1) continue;
      const VirtualSetup setup = plan_virtual_ranks(c.pattern, c.machine, *strategy);
      for (const ModelKind kind : {ModelKind::overlap, ModelKind::max_rate, ModelKind::postal})
        EXPECT_GE(predict(setup.plans, c.machine, parameters, kind).seconds,
                  least_seconds(c.pattern, c.machine, parameters, kind) * (1 - 1e-9))
            << "seed " << seed << ", " << row.name << ", " << name(kind);
    }
  }
}

TEST(Limit, IsReachedByOneMessage) {
  const Machine machine = Machine::parse("node:2 rank:2", 4);
  const Parameters parameters = Parameters::read("lassen");
  Pattern pattern(4);
  pattern[0].out.push_back({2, {{0, 64}}});
  pattern[2].in.push_back({0, {{0, 64}}});
  const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *make_strategy("direct"));
  // 64 bytes at the rate of large messages, which the bound takes, are 50 ns less than at that of small ones.
  for (const ModelKind kind : {ModelKind::overlap, ModelKind::max_rate}) {
    Prediction prediction = predict(setup.plans, machine, parameters, kind);
    prediction.fill = 0;  // not in the bound: with more messages nothing may wait for one
    EXPECT_NEAR(least_seconds(pattern, machine, parameters, kind),
                kind == ModelKind::overlap ? overlapped(prediction) : prediction.seconds, 1e-7);
  }
}

/// What two ranks of a node need of one source is injected once.
TEST(Limit, CountsDifferentBytesOnce) {
  const Machine machine = Machine::parse("node:2 rank:2", 4);
  Parameters parameters = Parameters::read("lassen");
  parameters.injection_beta = 1e-6;
  Pattern pattern(4);
  for (const Rank to : {2, 3}) {
    pattern[0].out.push_back({to, {{0, 1000}}});
    pattern[static_cast<std::size_t>(to)].in.push_back({0, {{0, 1000}}});
  }
  EXPECT_NEAR(least_seconds(pattern, machine, parameters, ModelKind::max_rate), 1e-3, 1e-5);
}

/// Small messages between nodes of 16 ranks: latencies, waits and messages that no plan can do without.
TEST(Limit, IsNotFarFromWhatPlansTake) {
  const Machine machine = Machine::parse("node:4 rank:16", 64);
  const Parameters parameters = Parameters::read("lassen");
  for (const int percent : {2, 5, 10, 30}) {
    cases::Random random(7);
    Pattern pattern(64);
    for (Rank from = 0; from < 64; ++from)
      for (Rank to = 0; to < 64; ++to) {
        if (from == to || random.between(0, 99) >= percent) continue;
        pattern[static_cast<std::size_t>(from)].out.push_back({to, {{0, 64}}});
        pattern[static_cast<std::size_t>(to)].in.push_back({from, {{64 * from, 64}}});
      }
    double best = 1;
    for (const StrategyRow& row : strategies()) {
      const auto strategy = row.make();
      if (row.traits.needs == Traits::Needs::grid || row.traits.levels > 1) continue;
      const VirtualSetup setup = plan_virtual_ranks(pattern, machine, *strategy);
      best = std::min(best, predict(setup.plans, machine, parameters, ModelKind::overlap).seconds);
    }
    EXPECT_GE(least_seconds(pattern, machine, parameters, ModelKind::overlap), 0.3 * best) << percent << "%";
  }
}

}  // namespace
}  // namespace laneway
