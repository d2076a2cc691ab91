#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/cost/cost_model.hpp"
#include "algorithms/lowering/transpose.hpp"
#include "algorithms/planner/choice.hpp"
#include "cases.hpp"
#include "offline/random_graphs.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {
namespace {

Levels only(const StrategyRow& row) {
  return {{{"", {&row, true}}}, {}};
}

Levels automatic() {
  return choose_levels("auto");
}

std::vector<const StrategyRow*> candidates() {
  return automatic().choices.front().choice.rows();
}

/// Parameters in which every cost is some multiple of a microsecond or nanosecond.
Parameters some_parameters(cases::Random& random) {
  Parameters parameters = Parameters::read("default-ethernet");
  parameters.network_overhead.message = 1e-7 * static_cast<double>(random.between(1, 1000));
  parameters.shared_overhead.message = 1e-8 * static_cast<double>(random.between(1, 1000));
  parameters.injection_beta = 1e-11 * static_cast<double>(random.between(1, 10000));
  parameters.cores = static_cast<int>(random.between(0, 2));
  return parameters;
}

TEST(Selection, IsTheCheapestCandidateAndItsPlanIsThatOfTheStrategyAlone) {
  const std::vector<const StrategyRow*> rows = candidates();
  std::vector<int> chosen(rows.size());
  for (std::uint64_t seed = 0; seed < cases::effort(300); ++seed) {
    cases::Random random(seed);
    const cases::Case c = cases::make_case(seed);
    const Parameters parameters = some_parameters(random);
    const VirtualSetup setup = plan_virtual_ranks(c.pattern, c.machine, automatic(), {}, {}, &parameters);
    const std::vector<Prediction>& predictions = setup.selection.predictions;
    ASSERT_EQ(predictions.size(), rows.size());
    for (const Prediction& prediction : predictions)
      ASSERT_LE(predictions[setup.selection.chosen].seconds, (1 + least_gain(parameters, 0)) * prediction.seconds)
          << "seed " << seed;
    const VirtualSetup alone = plan_virtual_ranks(c.pattern, c.machine, only(*rows[setup.selection.chosen]));
    ASSERT_EQ(setup.plans, alone.plans) << "seed " << seed << ", " << rows[setup.selection.chosen]->name;
    ++chosen[setup.selection.chosen];
  }
  EXPECT_GT(std::count_if(chosen.begin(), chosen.end(), [](int times) { return times > 0; }), 1);
  const auto merges_nothing =
      std::find_if(rows.begin(), rows.end(), [](const StrategyRow* row) { return !row->traits.deduplicates; });
  ASSERT_NE(merges_nothing, rows.end());
  EXPECT_GT(chosen[static_cast<std::size_t>(merges_nothing - rows.begin())], 0);
}

/// Which of these candidates is taken: each with what it is predicted to take, and the stages in which a node hands on.
struct Predicted {
  const char* name;
  double seconds;
  std::vector<Stage> handed_on;
};
std::string taken_of(const std::vector<Predicted>& all, int cores) {
  Parameters parameters;
  parameters.cores = cores;
  const CostModel costs(parameters, {});
  PlanOptions options;
  options.costs = &costs;
  Selection selection;
  std::vector<std::unique_ptr<Strategy>> made;
  Strategies strategies;
  for (const Predicted& one : all) {
    Prediction prediction;
    prediction.seconds = one.seconds;
    for (const Stage stage : one.handed_on)
      prediction.parts[static_cast<std::size_t>(stage)][static_cast<std::size_t>(LinkClass::node)] = 1e-7;
    selection.predictions.push_back(prediction);
    strategies.push_back(made.emplace_back(make_strategy(one.name)).get());
  }
  return all[best_of(selection, strategies, options)].name;
}

/// Predicted and simulated times of levels of BoomerAMG on 2,048 ranks differ by more than these candidates do.
TEST(Selection, OfEqualsTakesThatWhichHandsOnLess) {
  const std::vector<Stage> both = {Stage::gather, Stage::scatter};
  const std::vector<Predicted> level = {
      {"direct", 6.14e-6, {}}, {"two_step", 5.71e-6, {Stage::scatter}}, {"grouped", 5.61e-6, both}};
  EXPECT_EQ(taken_of(level, 0), "two_step");
  EXPECT_EQ(taken_of(level, 1), "direct") << "where ranks share cores a tenth must be saved";
  EXPECT_EQ(taken_of({level[0], level[1], {"grouped", 5.2e-6, both}}, 0), "grouped");
  EXPECT_EQ(taken_of({level[0], level[1], {"grouped", 5.2e-6, both}}, 1), "grouped");
  EXPECT_EQ(taken_of({level[0], {"two_step", 5.95e-6, {Stage::scatter}}}, 0), "direct");
}

TEST(Selection, CandidatesAreThoseThatNeedNothingButTheView) {
  std::vector<std::string> names;
  for (const StrategyRow* row : candidates()) names.emplace_back(row->name);
  EXPECT_EQ(names, (std::vector<std::string>{"direct", "three_step", "two_step", "split", "load_aware", "grouped",
                                             "common_neighborhood"}));
}

TEST(Selection, LanesAndPlansPutTheSameLoadOnLinks) {
  for (std::uint64_t seed = 0; seed < cases::effort(200); ++seed) {
    cases::Random random(seed);
    const cases::Case c = cases::make_case(seed);
    const Parameters parameters = some_parameters(random);
    const VirtualSetup setup = plan_virtual_ranks(c.pattern, c.machine, automatic(), {}, {}, &parameters);
    const std::vector<const StrategyRow*> rows = candidates();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<Plan> plans = plan_virtual_ranks(c.pattern, c.machine, only(*rows[i])).plans;
      const Prediction of_plans = predict(plans, c.machine, parameters, ModelKind::overlap);
      const Prediction& of_lanes = setup.selection.predictions[i];
      const auto expect_same = [&](double lanes, double other) {  // the same sum in another order
        EXPECT_NEAR(lanes, other, 1e-12 * other) << "seed " << seed << ", " << rows[i]->name;
      };
      expect_same(of_lanes.injection, of_plans.injection);
      expect_same(of_lanes.link, of_plans.link);
      if (!rows[i]->traits.deduplicates) expect_same(of_lanes.part(Stage::scatter), of_plans.part(Stage::scatter));
    }
  }
}

/// Every rank sends the same bytes to all others.
Pattern dense(Rank ranks, std::int64_t bytes) {
  Pattern pattern;
  for (Rank rank = 0; rank < ranks; ++rank)
    pattern.push_back(allgather_pattern(neighborhood("rsg:density=1,seed=1", rank, ranks), bytes));
  return pattern;
}

std::string chosen_name(const Parameters& parameters) {
  const VirtualSetup setup =
      plan_virtual_ranks(dense(12, 1024), Machine::parse("node:3 rank:4", 12), automatic(), {}, {}, &parameters);
  return std::string(candidates()[setup.selection.chosen]->name);
}

Parameters free_parameters() {
  Parameters parameters;
  parameters.name = "free";
  parameters.links[static_cast<std::size_t>(LinkClass::network)].protocols = {{"eager", -1, 0, 0}};
  return parameters;
}

TEST(Selection, RelaysNothingWhereTheNetworkIsFree) {
  Parameters parameters = free_parameters();
  parameters.shared_overhead.message = 1e-6;
  EXPECT_EQ(chosen_name(parameters), "direct");
}

TEST(Selection, SendsFewMessagesWhereTheyAreDear) {
  Parameters parameters = free_parameters();
  parameters.cores = 1;
  parameters.network_overhead.message = 1e-4;
  parameters.shared_overhead.message = 1e-6;
  const std::string chosen = chosen_name(parameters);
  EXPECT_TRUE(chosen == "three_step" || chosen == "split") << chosen;  // both have one lane for each pair of nodes
}

TEST(Selection, SpreadsMessagesWhereEachRankIsSlow) {
  Parameters parameters = free_parameters();
  parameters.links[static_cast<std::size_t>(LinkClass::network)].protocols = {{"eager", -1, 0, 1e-8}};
  EXPECT_NE(chosen_name(parameters), "direct");
  EXPECT_NE(chosen_name(parameters), "three_step");
}

TEST(Selection, EachLevelChooses) {
  const Machine machine = Machine::parse("node:3 socket:2 rank:2", 12);
  const Levels levels = choose_levels("node:auto,socket:auto");
  Parameters parameters = free_parameters();
  parameters.network_overhead.message = 1e-4;
  const VirtualSetup setup = plan_virtual_ranks(dense(12, 1024), machine, levels, {}, {}, &parameters);
  EXPECT_EQ(setup.selection.predictions.size(), candidates().size());
}

TEST(Selection, ChoicesInsideANodeAreProven) {
  for (std::uint64_t seed = 0; seed < cases::effort(100); ++seed) {
    cases::Random random(seed);
    const cases::Case c = cases::make_case(seed);
    const Parameters parameters = some_parameters(random);
    const std::string ranks = std::to_string(c.pattern.size());
    const Machine node = Machine::parse("node:1 rank:" + ranks, static_cast<Rank>(c.pattern.size()));
    const Levels levels = choose_levels("node:auto,rank:auto");
    const VirtualSetup setup = plan_virtual_ranks(c.pattern, node, levels, {}, {}, &parameters);
    const Report report = verify(setup.plans, c.pattern);
    ASSERT_TRUE(report.ok) << "seed " << seed << ": " << to_string(report);
  }
}

TEST(Model, PlansHaveTheCostsOfTheirMessages) {
  const Machine machine = Machine::parse("node:2 rank:1", 2);
  const std::vector<Plan> plans = plan_virtual_ranks(dense(2, 1000), machine, *make_strategy("direct")).plans;
  Parameters parameters;
  parameters.links[static_cast<std::size_t>(LinkClass::network)].protocols = {{"short", 100, 1e-6, 1e-9},
                                                                              {"eager", -1, 2e-6, 3e-9}};
  parameters.injection_beta = 5e-9;
  EXPECT_DOUBLE_EQ(predict(plans, machine, parameters, ModelKind::postal).seconds, 2e-6 + 3e-6);
  EXPECT_DOUBLE_EQ(predict(plans, machine, parameters, ModelKind::max_rate).seconds, 2e-6 + 5e-6);
  const Prediction overlap = predict(plans, machine, parameters, ModelKind::overlap);
  EXPECT_DOUBLE_EQ(overlap.latency, 2e-6);
  EXPECT_DOUBLE_EQ(overlap.injection, 5e-6);
  EXPECT_DOUBLE_EQ(overlap.part(Stage::direct), 5e-6);
  EXPECT_DOUBLE_EQ(overlap.link, 3e-6);
  EXPECT_NEAR(overlap.seconds, 2e-6 + 5e-6 * std::pow(1 + std::pow(0.6, 6), 1.0 / 6), 1e-12);
  parameters.injection_short = LinearCost{2e-6, 4e-9};
  EXPECT_DOUBLE_EQ(predict(plans, machine, parameters, ModelKind::overlap).injection, 6e-6);
  parameters.injection_short = LinearCost{5e-7, 4e-9};
  EXPECT_DOUBLE_EQ(predict(plans, machine, parameters, ModelKind::overlap).injection, 5e-6);
}

/// Small pieces stay in caches between one end and the other.
TEST(Model, LargePiecesInSharedMemoryAreCopiedFromMemory) {
  Parameters parameters;
  parameters.shared_overhead.byte = 1e-10;
  parameters.copies = {{.active = 1, .beta = 0.4e-10}, {.active = 2, .beta = 3e-10}};
  const auto seconds = [&](std::int64_t bytes) {
    NodeLoad load(Machine::parse("node:1 rank:2", 2).region(0, 0));
    load.send(0, {Stage::gather, LinkClass::node, true, 2, 2 * bytes}, parameters);
    return predict({&load, 1}, parameters).processor;
  };
  EXPECT_DOUBLE_EQ(seconds(default_mailbox_bytes), 1e-10 * default_mailbox_bytes);
  EXPECT_DOUBLE_EQ(seconds(2 * default_mailbox_bytes), 6e-10 * 2 * default_mailbox_bytes);
  parameters.copies.clear();
  EXPECT_DOUBLE_EQ(seconds(2 * default_mailbox_bytes), 1e-10 * 2 * default_mailbox_bytes);
}

/// Messages of other nodes to ranks of one.
std::int64_t messages_into(const std::vector<Plan>& plans, const Machine& machine, Rank node) {
  std::int64_t messages = 0;
  for (const Plan& plan : plans)
    for (const Step& step : plan.steps)
      if (step.kind == StepKind::send && machine.region_id(0, step.peer) == node)
        messages += machine.region_id(0, plan.rank) != node;
  return messages;
}

/// All ranks have something for a few of one node: what a node has for them is joined, whoever asks.
TEST(Selection, HotReceiversHearFromNodesNotFromRanks) {
  constexpr Rank nodes = 8, members = 8, ranks = nodes * members, hot = 3;
  const Machine machine = Machine::parse("node:8 rank:8", ranks);
  Pattern pattern(ranks);
  for (Rank source = 0; source < ranks; ++source)
    for (Rank receiver = 0; receiver < hot; ++receiver) {
      if (source == receiver) continue;
      pattern[static_cast<std::size_t>(source)].out.push_back({receiver, {{receiver * 64, 64}}});
      pattern[static_cast<std::size_t>(receiver)].in.push_back({source, {{source * 64, 64}}});
    }
  const Parameters parameters = Parameters::read("default-hpc");
  const auto into = [&](const Levels& levels) {
    const VirtualSetup setup = plan_virtual_ranks(pattern, machine, levels, {}, {}, &parameters);
    const Report report = verify(setup.plans, pattern);
    EXPECT_TRUE(report.ok) << to_string(report);
    return messages_into(setup.plans, machine, 0);
  };
  EXPECT_EQ(into(only(find_strategy("direct"))), (nodes - 1) * members * hot);
  EXPECT_EQ(into(only(find_strategy("three_step"))), nodes - 1);
  EXPECT_LE(into(automatic()), (nodes - 1) * hot);
}

/// Of a reduction every byte that arrives is combined, which takes what copying it does.
TEST(Model, WhatIsCombinedIsReadAndWritten) {
  const Machine machine = Machine::parse("node:2 rank:1", 2);
  const Combination how{"sum", "number", 8, false};
  Parameters parameters;
  parameters.copies = {{.active = 1, .beta = 2e-10}};
  std::vector<TurnedRound> turned;
  Pattern forward;
  for (const RankPattern& rank : dense(2, 80)) {
    turned.push_back(turn_round(rank, how.element_bytes));
    forward.push_back(turned.back().forward);
  }
  std::vector<Plan> plans = plan_virtual_ranks(forward, machine, *make_strategy("direct")).plans;
  EXPECT_DOUBLE_EQ(predict(plans, machine, parameters, ModelKind::overlap).processor, 0);
  for (std::size_t rank = 0; rank < plans.size(); ++rank) plans[rank] = transpose(plans[rank], turned[rank], how);
  EXPECT_DOUBLE_EQ(predict(plans, machine, parameters, ModelKind::overlap).processor, 80 * 2e-10);
  // The same from sizes alone, of the exchange that is run backwards: what leaves comes back.
  for (const bool combines : {false, true}) {
    NodeLoad load(machine.region(0, 0), combines ? combining_seconds(parameters) : 0);
    load.send(0, {Stage::direct, LinkClass::network, false, 1, 80}, parameters);
    load.receive(0, {Stage::direct, LinkClass::network, false, 1, 160}, parameters);
    EXPECT_DOUBLE_EQ(predict({&load, 1}, parameters).processor, combines ? 80 * 2e-10 : 0);
  }
}

/// Two nodes on a host of one core: one with all the work, or both with half of it.
TEST(Model, NodesOfOneHostCountByWhatTheyDo) {
  const Machine machine = Machine::parse("node:2 rank:1", 2);
  Parameters parameters;
  parameters.cores = 1;
  parameters.host_nodes = 2;
  parameters.network_overhead.message = 2e-6;  // of both ends
  const auto processor = [&](std::int64_t sent, std::int64_t received) {
    std::vector<NodeLoad> nodes;
    for (const Rank rank : {0, 1}) nodes.emplace_back(machine.region(0, rank));
    nodes[0].send(0, {Stage::direct, LinkClass::network, false, sent, 8 * sent}, parameters);
    nodes[1].send(1, {Stage::direct, LinkClass::network, false, received, 8 * received}, parameters);
    return predict(nodes, parameters).processor;
  };
  EXPECT_DOUBLE_EQ(processor(4, 4), 8e-6);
  EXPECT_DOUBLE_EQ(processor(4, 1), 5e-6);
  EXPECT_DOUBLE_EQ(processor(4, 0), 4e-6);
  parameters.host_nodes = 1;
  EXPECT_DOUBLE_EQ(processor(4, 0), 4e-6);
  EXPECT_DOUBLE_EQ(processor(4, 4), 4e-6);
}

/// Where two ranks share a core, every stage in which a rank waits takes a turn of both but the first, whose turn is in
/// what was measured.
TEST(Model, StagesThatWaitTakeTurns) {
  const Machine machine = Machine::parse("node:2 rank:2", 4);
  Parameters parameters;
  parameters.cores = 1;
  parameters.shared_overhead.wait = 1e-6;
  parameters.network_overhead.wait = 3e-6;
  const auto latency = [&](const Strategy& strategy) {
    const std::vector<Plan> plans = plan_virtual_ranks(dense(4, 8), machine, strategy).plans;
    return predict(plans, machine, parameters, ModelKind::overlap).latency;
  };
  EXPECT_DOUBLE_EQ(latency(*make_strategy("direct")), 0);
  EXPECT_DOUBLE_EQ(latency(*make_strategy("three_step")),
                   3 * 2 * 1e-6);  // inside, gathering, between nodes, scattering
}

/// Messages that rank 0 of a node exchanges with others, and members of it with each other.
struct Messages {
  Parameters parameters;
  NodeLoad load{Machine::parse("node:2 rank:4", 8).region(0, 0)};

  Messages() {
    parameters.links[static_cast<std::size_t>(LinkClass::network)].protocols = {{"eager", -1, 5e-6, 0}};
    parameters.network_overhead = {.message = 1e-6, .byte = 0, .wait = 3e-6};
    parameters.shared_overhead = {.message = 2e-7, .byte = 0, .wait = 1e-6};
    parameters.flag = 5e-7;
  }
  void between_nodes(Stage stage, std::int64_t messages) {
    load.send(0, {stage, LinkClass::network, false, messages, 0}, parameters);
    load.receive(0, {stage, LinkClass::network, false, messages, 0}, parameters);
  }
  void inside(Stage stage, Rank from, Rank to) {
    load.send(from, {stage, LinkClass::node, true, 1, 0}, parameters);
    load.receive(to, {stage, LinkClass::node, true, 1, 0}, parameters);
  }
};

/// The work of a message is in its latency already. Of the work of n messages an n-th overlaps with nothing.
TEST(Model, WithACoreForEachRankTheFewerMessagesTheLessOverlaps) {
  for (const std::int64_t messages : {1, 4}) {
    Messages some;
    some.between_nodes(Stage::direct, messages);
    const Prediction prediction = predict({&some.load, 1}, some.parameters);
    EXPECT_DOUBLE_EQ(prediction.latency, 4e-6);
    EXPECT_DOUBLE_EQ(prediction.processor, static_cast<double>(messages) * 1e-6 + 3e-6);
    EXPECT_DOUBLE_EQ(prediction.fill, prediction.processor / static_cast<double>(messages));
  }
  Messages shared;
  shared.parameters.cores = 1;
  shared.between_nodes(Stage::direct, 1);
  EXPECT_DOUBLE_EQ(predict({&shared.load, 1}, shared.parameters).latency, 5e-6);
  EXPECT_DOUBLE_EQ(predict({&shared.load, 1}, shared.parameters).fill, 0);
}

TEST(Model, EdgesBesideLanesTakeNoTimeOfTheirOwn) {
  Messages lanes;
  lanes.inside(Stage::gather, 1, 0);
  lanes.between_nodes(Stage::network, 1);
  lanes.inside(Stage::scatter, 0, 1);
  const Prediction alone = predict({&lanes.load, 1}, lanes.parameters);
  EXPECT_DOUBLE_EQ(alone.latency, 4e-6 + 2 * (5e-7 - 2e-7));
  EXPECT_DOUBLE_EQ(alone.processor, 1e-6 + 3e-6 + 2 * (2e-7 + 1e-6));
  lanes.inside(Stage::direct, 1, 0);
  const Prediction beside = predict({&lanes.load, 1}, lanes.parameters);
  EXPECT_DOUBLE_EQ(beside.latency, alone.latency);
  EXPECT_DOUBLE_EQ(beside.processor, alone.processor);
}

/// Both ends of a message are on its way, whichever ranks they are: to let another rank send what one has to send saves
/// nothing of it.
TEST(Model, RelaysSaveNoWorkOfASingleMessage) {
  Messages straight;
  straight.between_nodes(Stage::direct, 1);
  Messages relayed;
  relayed.inside(Stage::gather, 0, 1);
  relayed.load.send(1, {Stage::network, LinkClass::network, false, 1, 0}, relayed.parameters);
  relayed.load.receive(0, {Stage::network, LinkClass::network, false, 1, 0}, relayed.parameters);
  EXPECT_GT(predict({&relayed.load, 1}, relayed.parameters).seconds,
            predict({&straight.load, 1}, straight.parameters).seconds);
}

/// Rings of messages between nodes, of which each rank at the end of a node sends one and receives one.
TEST(Selection, NothingIsRelayedOnARing) {
  for (const char* const name : {"frontier-like", "lassen", "default-hpc", "default-ethernet"}) {
    const Parameters parameters = Parameters::read(name);
    for (const std::int64_t bytes : {4, 1024}) {
      Pattern ring(16);
      for (Rank rank = 0; rank < 16; ++rank)
        for (const Rank step : {1, 15}) {
          const Rank peer = (rank + step) % 16;
          const std::int64_t at = step == 1 ? 0 : bytes;
          ring[static_cast<std::size_t>(rank)].out.push_back({peer, {{at, bytes}}});
          ring[static_cast<std::size_t>(peer)].in.push_back({rank, {{at, bytes}}});
        }
      const Machine machine = Machine::parse("node:4 rank:4", 16);
      const VirtualSetup setup = plan_virtual_ranks(ring, machine, automatic(), {}, {}, &parameters);
      EXPECT_EQ(setup.strategies[setup.selection.chosen]->name, "direct") << name << ", " << bytes << " B";
    }
  }
}

TEST(Model, OnlyRanksThatWaitTakeTurns) {
  Messages lanes;
  lanes.parameters.cores = 1;
  lanes.inside(Stage::gather, 1, 0);
  lanes.between_nodes(Stage::network, 1);
  lanes.inside(Stage::scatter, 0, 1);
  const double of_two = predict({&lanes.load, 1}, lanes.parameters).latency;
  lanes.inside(Stage::scatter, 0, 2);
  EXPECT_DOUBLE_EQ(predict({&lanes.load, 1}, lanes.parameters).latency, of_two + 2 * 1e-6);
}

}  // namespace
}  // namespace laneway
