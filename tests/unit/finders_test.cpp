// Finders on virtual ranks: each of the table, on random graphs, whatever the order in which messages arrive.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "algorithms/rendezvous/finder.hpp"
#include "algorithms/rendezvous/node_board.hpp"
#include "algorithms/rendezvous/places.hpp"
#include "allocations.hpp"
#include "machine/machine.hpp"

namespace laneway {
namespace {

/// Messages between virtual ranks. Any that is under way may arrive next; even those of one rank to another overtake.
class VirtualNetwork {
 public:
  struct UnderWay {
    RoundMessage incoming;
    bool acknowledged;
  };
  struct Box {
    std::vector<UnderWay> under_way;
    int unacknowledged = 0;
    int counter = 0;
    std::size_t bytes = 0;  // of all that has been here: sent and taken
  };

  VirtualNetwork(Rank ranks, std::uint32_t seed) : boxes(static_cast<std::size_t>(ranks)), random(seed) {}

  Box& box(Rank rank) { return boxes[static_cast<std::size_t>(rank)]; }

  std::vector<Box> boxes;
  std::mt19937 random;
  Rank counted = 0;
  std::int64_t messages = 0;
  std::int64_t inside = 0;         // of these, between ranks of a node
  const NodeMap* nodes = nullptr;  // where these are to be counted
};

class VirtualMessenger final : public Messenger {
 public:
  VirtualMessenger(VirtualNetwork& network, Rank rank) : network_(network), rank_(rank) {}

  using Messenger::send;
  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] Rank size() const override { return static_cast<Rank>(network_.boxes.size()); }
  void send(Rank to, Topic topic, int step, Bytes data, bool acknowledged) override {
    ASSERT_GE(to, 0);
    ASSERT_LT(to, size());
    ASSERT_NE(to, rank_);
    ++network_.messages;
    if (network_.nodes != nullptr && network_.nodes->node_of(to) == network_.nodes->node_of(rank_)) ++network_.inside;
    network_.box(rank_).bytes += data.size();
    network_.box(to).bytes += data.size();
    if (acknowledged) ++network_.box(rank_).unacknowledged;
    network_.box(to).under_way.push_back({{rank_, topic, step, std::move(data)}, acknowledged});
  }
  [[nodiscard]] bool all_taken() override { return network_.box(rank_).unacknowledged == 0; }
  [[nodiscard]] std::optional<RoundMessage> take() override {
    auto& under_way = network_.box(rank_).under_way;
    if (under_way.empty() || network_.random() % 3 == 0) return std::nullopt;
    std::swap(under_way[network_.random() % under_way.size()], under_way.back());
    VirtualNetwork::UnderWay next = std::move(under_way.back());
    under_way.pop_back();
    if (next.acknowledged) --network_.box(next.incoming.source).unacknowledged;
    return std::move(next.incoming);
  }
  void count_at(const std::vector<Rank>& ranks) override {
    for (const Rank rank : ranks) ++network_.box(rank).counter;
    ++network_.counted;
  }
  [[nodiscard]] std::optional<int> counted() override {
    if (network_.counted < size()) return std::nullopt;
    return network_.box(rank_).counter;
  }

 private:
  VirtualNetwork& network_;
  Rank rank_;
};

using Heard = std::map<Rank, Bytes>;  // by source

/// Boards of all nodes, with memory of their own.
class VirtualBoards {
 public:
  explicit VirtualBoards(const NodeMap& nodes, Rank ranks) : boards_(static_cast<std::size_t>(ranks)) {
    for (Rank node = 0; node < nodes.nodes(); ++node) {
      const std::vector<Rank> members = nodes.members_of(node);
      std::vector<std::byte*> parts;
      for (std::size_t i = 0; i < members.size(); ++i) {
        memory_.emplace_back(static_cast<std::size_t>(NodeBoard::bytes_of_rank()) / sizeof(Line));
        parts.push_back(memory_.back().front().bytes.data());
      }
      for (std::size_t i = 0; i < members.size(); ++i)
        boards_[static_cast<std::size_t>(members[i])] = std::make_unique<NodeBoard>(parts, i);
    }
  }
  NodeBoard* of(std::size_t rank) { return boards_[rank].get(); }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };
  std::vector<std::vector<Line>> memory_;
  std::vector<std::unique_ptr<NodeBoard>> boards_;
};

/// How a round goes between nodes and inside them.
struct HowByNodes {
  NodeRoute route;
  VirtualBoards* boards = nullptr;
};

/// A round of all ranks, which other rounds may be under way beside.
class VirtualRound {
 public:
  VirtualRound(const FinderRow& row, const NodeMap& nodes, HowByNodes how, std::int64_t number,
               std::vector<std::vector<Payload>> payloads, std::vector<RoundVotes> own, std::uint32_t seed)
      : payloads_(std::move(payloads)),
        own_(std::move(own)),
        number_(number),
        allocated_(payloads_.size(), 0),
        network(static_cast<Rank>(payloads_.size()), seed),
        state(payloads_.size(), 0),
        received(payloads_.size()),
        votes(payloads_.size()) {
    network.nodes = &nodes;
    for (std::size_t rank = 0; rank < payloads_.size(); ++rank) {
      posts_.push_back(std::make_unique<VirtualMessenger>(network, static_cast<Rank>(rank)));
      NodeBoard* const board = how.boards == nullptr ? nullptr : how.boards->of(rank);
      boards_.push_back(board);
      const std::int64_t before = allocated_bytes_so_far();
      std::unique_ptr<Finder> made = row.make(*posts_.back(), {nodes, board, number, how.route});
      allocated_[rank] += allocated_bytes_so_far() - before;
      finders_.push_back(std::move(made));
    }
  }

  /// A rank goes on as far as it comes. True when the round is over on it. Where messages cannot bring it further it
  /// does not look for any.
  bool turn(std::size_t rank) {
    if (state[rank] == 2) return true;
    const std::int64_t before = allocated_bytes_so_far();
    const bool over = advance(rank);
    allocated_[rank] += allocated_bytes_so_far() - before;
    return over;
  }

  [[nodiscard]] std::int64_t most_allocated() const { return *std::ranges::max_element(allocated_); }
  [[nodiscard]] std::size_t most_bytes() const {
    std::size_t most = 0;
    for (const VirtualNetwork::Box& box : network.boxes) most = std::max(most, box.bytes);
    return most;
  }
  void expect_nothing_left(const char* name) const {
    for (const VirtualNetwork::Box& box : network.boxes) EXPECT_TRUE(box.under_way.empty()) << name << ": left over";
  }

 private:
  bool advance(std::size_t rank) {
    Finder& finder = *finders_[rank];
    if (state[rank] == 0) {
      finder.start(payloads_[rank], own_[rank]);
      state[rank] = 1;
    }
    if (finder.listens())
      while (std::optional<RoundMessage> incoming = posts_[rank]->take()) finder.on(std::move(*incoming));
    const bool over = finder.proceed();
    if (over) {
      votes[rank] = finder.votes();
      state[rank] = 2;
      if (boards_[rank] != nullptr) boards_[rank]->complete(number_);
    }
    for (Payload& payload : finder.take_received()) {
      EXPECT_FALSE(received[rank].contains(payload.peer)) << "heard twice";
      received[rank][payload.peer] = std::move(payload.data);
    }
    return over;
  }

  std::vector<std::vector<Payload>> payloads_;
  std::vector<RoundVotes> own_;
  const std::int64_t number_;
  std::vector<NodeBoard*> boards_;
  std::vector<std::int64_t> allocated_;
  std::vector<std::unique_ptr<VirtualMessenger>> posts_;
  std::vector<std::unique_ptr<Finder>> finders_;

 public:
  VirtualNetwork network;
  std::vector<int> state;  // 1: started, 2: done
  std::vector<Heard> received;
  std::vector<RoundVotes> votes;
};

struct FinderOutcome {
  std::vector<Heard> received;
  std::vector<RoundVotes> votes;
  std::int64_t messages = 0;
  std::int64_t inside = 0;
  std::size_t most_bytes = 0;       // that any rank has had in its hands
  std::int64_t most_allocated = 0;  // by any rank, all together; 0 under sanitizers
};

/// Runs a round of all ranks, in random turns.
FinderOutcome run_round(const FinderRow& row, const NodeMap& nodes, const std::vector<std::vector<Payload>>& payloads,
                        const std::vector<RoundVotes>& votes, std::uint32_t seed, HowByNodes how = {},
                        std::int64_t number = 0) {
  const std::size_t ranks = payloads.size();
  VirtualRound round(row, nodes, how, number, payloads, votes, seed);
  std::size_t done = 0;
  for (std::int64_t turn = 0; done < ranks; ++turn) {
    EXPECT_LT(turn, 4'000'000) << row.name << ": no end";
    if (testing::Test::HasFatalFailure() || turn >= 4'000'000) return {};
    const std::size_t rank = round.network.random() % ranks;
    if (round.state[rank] != 2 && round.turn(rank)) ++done;
  }
  round.expect_nothing_left(row.name);
  return {std::move(round.received), std::move(round.votes), round.network.messages,
          round.network.inside,      round.most_bytes(),     round.most_allocated()};
}

/// Between nodes: each way, and of steps one and several, with one rank of a node that speaks and with all.
const std::vector<NodeRoute> routes = {{NodeWay::lanes},       {NodeWay::straight},     {NodeWay::steps, 1, 1},
                                       {NodeWay::steps, 2, 1}, {NodeWay::steps, 1, 16}, {NodeWay::steps, 2, 16},
                                       {NodeWay::steps, 3, 2}};

/// All that there is of a finder.
std::vector<HowByNodes> hows_of(const FinderRow& row, VirtualBoards& boards) {
  std::vector<HowByNodes> hows = {{}};
  if (!row.by_nodes) return hows;
  for (const NodeRoute& route : routes)
    for (VirtualBoards* const some : {static_cast<VirtualBoards*>(nullptr), &boards}) hows.push_back({route, some});
  return hows;
}

NodeMap map_of(const std::string& machine, Rank ranks) {
  const Machine described = Machine::parse(machine, ranks);
  std::vector<Rank> first;
  for (Rank rank = 0; rank < ranks; ++rank) first.push_back(described.region_id(0, rank));
  return NodeMap(first);
}

std::string text_of(const NodeRoute& route) {
  return "way " + std::to_string(static_cast<int>(route.way)) + ", steps " + std::to_string(route.steps) +
         ", speakers " + std::to_string(route.delegates);
}

Bytes text_of(Rank from, Rank to, std::size_t bytes) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(from * 31 + to * 7 + static_cast<Rank>(i));
  return data;
}

std::vector<std::vector<Payload>> random_notes(Rank ranks, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<Payload>> payloads(static_cast<std::size_t>(ranks));
  // Several of the longest but one do not fit into what a rank says or is told in memory.
  const std::array<std::size_t, 7> sizes = {0, 0, 1, 8, 300, 7000, most_relayed_payload + 1};
  for (Rank from = 0; from < ranks; ++from) {
    const auto degree = static_cast<Rank>(random() % 3 == 0 ? 0 : random() % 8);
    for (Rank to = 0; to < ranks; ++to)
      if (to != from && static_cast<Rank>(random() % static_cast<std::uint32_t>(ranks)) < degree)
        payloads[static_cast<std::size_t>(from)].push_back({to, text_of(from, to, sizes[random() % sizes.size()])});
  }
  return payloads;
}

std::vector<Heard> expected_of(const std::vector<std::vector<Payload>>& payloads) {
  std::vector<Heard> expected(payloads.size());
  for (std::size_t from = 0; from < payloads.size(); ++from)
    for (const Payload& payload : payloads[from])
      expected[static_cast<std::size_t>(payload.peer)][static_cast<Rank>(from)] = payload.data;
  return expected;
}

const std::vector<std::pair<Rank, std::string>> finder_machines = {
    {1, "node:1"},       {2, "rank:2"},         {3, "ranks:1,2"},     {5, "node:* rank:2"},
    {16, "ranks:5,3,8"}, {13, "node:* rank:1"}, {12, "node:3 rank:4"}};

TEST(Finders, HearWhatIsSaidWhateverTheOrder) {
  for (const FinderRow& row : finders())
    for (const auto& [ranks, machine] : finder_machines) {
      const NodeMap nodes = map_of(machine, ranks);
      VirtualBoards boards(nodes, ranks);
      std::int64_t number = 0;
      for (std::uint32_t seed = 1; seed <= 12; ++seed)
        for (const HowByNodes& how : hows_of(row, boards)) {
          const auto payloads = random_notes(ranks, seed);
          std::vector<RoundVotes> votes(payloads.size());
          for (std::size_t rank = 0; rank < votes.size(); ++rank) votes[rank].bytes = static_cast<std::int64_t>(rank);
          const FinderOutcome outcome = run_round(row, nodes, payloads, votes, seed * 77, how, number);
          if (how.boards != nullptr) ++number;
          EXPECT_EQ(outcome.received, expected_of(payloads))
              << row.name << " on " << machine << ", seed " << seed << ", " << text_of(how.route);
          for (const RoundVotes& all : outcome.votes) EXPECT_EQ(all.bytes, ranks - 1) << row.name;
        }
    }
}

TEST(Finders, NoMessageIsSentInsideANodeThatSharesMemory) {
  for (const FinderRow& row : finders()) {
    if (!row.by_nodes) continue;
    for (const auto& [ranks, machine] : finder_machines) {
      const NodeMap nodes = map_of(machine, ranks);
      VirtualBoards boards(nodes, ranks);
      std::int64_t number = 0;
      for (const NodeRoute& route : routes) {
        if (route.delegates > 1) continue;
        std::vector<std::vector<Payload>> payloads(static_cast<std::size_t>(ranks));
        for (Rank from = 0; from < ranks; ++from)
          for (Rank to = 0; to < ranks; ++to)
            if (to != from && (from + to) % 3 != 0)
              payloads[static_cast<std::size_t>(from)].push_back({to, text_of(from, to, 64)});
        const std::vector<RoundVotes> votes(payloads.size());
        const FinderOutcome outcome = run_round(row, nodes, payloads, votes, 5, {route, &boards}, number++);
        EXPECT_EQ(outcome.received, expected_of(payloads)) << row.name << " on " << machine;
        EXPECT_EQ(outcome.inside, 0) << row.name << " on " << machine;
        if (std::string_view(row.name) == "personalized_node" && route == NodeRoute{NodeWay::steps, 1, 1}) {
          EXPECT_EQ(outcome.messages, std::int64_t{nodes.nodes()} * (nodes.nodes() - 1)) << machine;
        }
        if (ranks == nodes.nodes()) continue;
        EXPECT_GT(run_round(row, nodes, payloads, votes, 5, {route, nullptr}).inside, 0)
            << row.name << " on " << machine;
      }
    }
  }
}

TEST(Finders, RoundsThatAreUnderWayTogetherShareABoard) {
  // Each rank begins a round when it has completed the one most_rounds before, as SparseRounds lets it, and goes on
  // with its rounds in any order, so that later ones begin and end first.
  constexpr std::int64_t most_rounds = NodeBoard::rounds_at_once / 2, rounds = 60;
  for (const FinderRow& row : finders()) {
    if (!row.by_nodes) continue;
    for (const auto& [ranks, machine] : finder_machines) {
      const NodeMap nodes = map_of(machine, ranks);
      VirtualBoards boards(nodes, ranks);
      std::mt19937 random(static_cast<std::uint32_t>(ranks));
      std::vector<std::unique_ptr<VirtualRound>> all;
      std::vector<std::vector<std::vector<Payload>>> payloads;
      for (std::int64_t number = 0; number < rounds; ++number) {
        payloads.push_back(random_notes(ranks, static_cast<std::uint32_t>(number + 40)));
        const NodeRoute& route = routes[static_cast<std::size_t>(number) % routes.size()];
        all.push_back(std::make_unique<VirtualRound>(row, nodes, HowByNodes{route, &boards}, number, payloads.back(),
                                                     std::vector<RoundVotes>(payloads.back().size()),
                                                     static_cast<std::uint32_t>(number)));
      }
      std::size_t done = 0;
      for (std::int64_t turn = 0; done < static_cast<std::size_t>(rounds * ranks); ++turn) {
        ASSERT_LT(turn, 20'000'000) << row.name << " on " << machine << ": no end";
        const std::size_t rank = random() % static_cast<std::size_t>(ranks);
        const auto is_over = [&](std::int64_t number) {
          return number < 0 || all[static_cast<std::size_t>(number)]->state[rank] == 2;
        };
        std::int64_t first = 0;
        while (first < rounds && is_over(first)) ++first;
        const std::int64_t number = first + static_cast<std::int64_t>(random() % (2 * most_rounds));
        if (number >= rounds || !is_over(number - most_rounds)) continue;
        VirtualRound& round = *all[static_cast<std::size_t>(number)];
        if (round.state[rank] != 2 && round.turn(rank)) ++done;
      }
      for (std::size_t number = 0; number < all.size(); ++number) {
        ASSERT_EQ(all[number]->received, expected_of(payloads[number]))
            << row.name << " on " << machine << ", " << number;
        all[number]->expect_nothing_left(row.name);
      }
    }
  }
}

TEST(Finders, AllRanksLearnThatOneHasFailed) {
  const NodeMap nodes = map_of("ranks:5,3,3", 11);
  for (const FinderRow& row : finders()) {
    VirtualBoards boards(nodes, 11);
    std::int64_t number = 0;
    for (Rank failed = 0; failed < 11; ++failed) {
      auto payloads = random_notes(11, 5);
      payloads[static_cast<std::size_t>(failed)].clear();
      std::vector<RoundVotes> votes(11);
      votes[static_cast<std::size_t>(failed)].failed = failed;
      for (const HowByNodes& how : hows_of(row, boards))
        for (const RoundVotes& all :
             run_round(row, nodes, payloads, votes, 3, how, how.boards == nullptr ? 0 : number++).votes)
          EXPECT_EQ(all.failed, failed) << row.name;
    }
  }
}

TEST(Finders, NeitherMessagesNorMemoryGrowWithTheRanks) {
  // Of a fixed degree: a message more for each doubling of the ranks, and what it says.
  constexpr Rank few = 1024, many = 16384, degree = 8, on_a_node = 16;
  for (const FinderRow& row : finders())
    for (const NodeWay way : {NodeWay::lanes, NodeWay::steps, NodeWay::straight}) {
      if (way != NodeWay::lanes && row.routes == nullptr) continue;
      std::map<Rank, FinderOutcome> outcomes;
      for (const Rank ranks : {few, many}) {
        std::vector<std::vector<Payload>> payloads(static_cast<std::size_t>(ranks));
        for (Rank rank = 0; rank < ranks; ++rank)
          for (Rank edge = 1; edge <= degree; ++edge)
            payloads[static_cast<std::size_t>(rank)].push_back({(rank + edge * 37) % ranks, text_of(rank, edge, 8)});
        outcomes[ranks] =
            run_round(row, map_of("node:* rank:16", ranks), payloads,
                      std::vector<RoundVotes>(static_cast<std::size_t>(ranks)), 1, {{way, 3, on_a_node}, nullptr});
      }
      const auto each = [&](Rank ranks) { return static_cast<double>(outcomes[ranks].messages) / ranks; };
      if (way == NodeWay::steps) {
        // To and from the ranks of the node, of which those that are delegates hand on in two of three steps.
        EXPECT_LE(each(many), 4.01 * on_a_node) << row.name;
      } else {
        EXPECT_LE(each(many) - each(few), 4.01) << row.name;
        EXPECT_LE(each(many), degree + 14.01) << row.name;
      }
      // A step says what all ranks have voted, and of personalized exchanges some counts.
      constexpr std::size_t step_bytes = 2 * (sizeof(RoundVotes) + 8 * degree * on_a_node);
      EXPECT_LE(outcomes[many].most_bytes, outcomes[few].most_bytes + 4 * step_bytes) << row.name;
      EXPECT_LT(outcomes[many].most_bytes, static_cast<std::size_t>(many)) << row.name;  // not one byte a rank
      // All that any rank allocates in the round: for its partners, those of its node where it is the delegate of that,
      // and the steps among all. A step of counts may have one for each of these partners.
      std::printf("%s, way %d: most bytes that a rank allocates: %lld of 1,024 ranks, %lld of 16,384\n", row.name,
                  static_cast<int>(way), static_cast<long long>(outcomes[few].most_allocated),
                  static_cast<long long>(outcomes[many].most_allocated));
      constexpr std::int64_t of_a_partner = 512;
      const std::int64_t partners = row.by_nodes ? degree * on_a_node : degree;
      // Of a step between nodes one for each value of a digit: from 64 nodes to 1,024 these are 7 more.
      const std::int64_t of_a_step = way == NodeWay::straight ? 64 * partners : way == NodeWay::steps ? 3072 : 2048;
      EXPECT_LE(outcomes[many].most_allocated, outcomes[few].most_allocated + 4 * of_a_step) << row.name;
      EXPECT_LE(outcomes[many].most_allocated, of_a_partner * partners + 14 * of_a_step) << row.name;
    }
  // What is kept for a rank of a node that shares memory, whatever the ranks.
  EXPECT_LE(NodeBoard::bytes_of_rank(), 136 * 1024);
}

TEST(NodeMaps, SayWhoIsWhereInLittleMemory) {
  for (const auto& [machine, ranks] : std::vector<std::pair<std::string, Rank>>{
           {"node:4 rank:4", 16}, {"node:* rank:3", 16}, {"ranks:5,3,8", 16}, {"node:* rank:1", 7}}) {
    const Machine described = Machine::parse(machine, ranks);
    const NodeMap nodes = map_of(machine, ranks);
    for (Rank rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(nodes.leader_of(nodes.node_of(rank)), described.region_id(0, rank)) << machine;
      EXPECT_EQ(nodes.members_of(nodes.node_of(rank)), described.region(0, rank).members) << machine;
    }
  }
  const std::vector<Rank> scattered = {0, 1, 0, 1, 4, 0};
  const NodeMap nodes(scattered);
  EXPECT_EQ(nodes.nodes(), 3);
  EXPECT_EQ(nodes.largest(), 3);
  EXPECT_EQ(nodes.members_of(0), (std::vector<Rank>{0, 2, 5}));
  EXPECT_EQ(nodes.leader_of(nodes.node_of(3)), 1);
  EXPECT_LE(map_of("node:* rank:16", 16384).bytes(), sizeof(NodeMap));
  EXPECT_LE(map_of("node:* rank:16", 16390).bytes(), sizeof(NodeMap));
}

TEST(Finders, TheChoiceFollowsTheMachine) {
  const Parameters slow_network = Parameters::read("default-ethernet");
  const FinderRow& by_counts = find_finder("personalized_node");
  // 16 ranks on two processors: what messages between nodes take of these decides.
  const Parameters few_cores = Parameters::read("cluster-2x8-1gbit");
  EXPECT_TRUE(choose_finder({16, 2, 8, 8, 8 * 1024}, few_cores).finder->by_nodes);
  EXPECT_TRUE(choose_finder({16, 2, 8, 15, 15 * 1024}, few_cores).finder->by_nodes);
  EXPECT_TRUE(choose_finder({16, 4, 4, 8, 64}, slow_network).finder->by_nodes);
  // Steps take few messages also where each rank is alone on its node.
  EXPECT_EQ(choose_route(by_counts, {256, 256, 1, 4, 256}, slow_network).way, NodeWay::steps);
  // In memory of the node, all of it by nodes; one hop between few nodes, and counts of messages that go straight where
  // a message takes its ranks' time.
  const RoundFacts short_notes{16, 2, 8, 2, 2 * 8, true}, long_notes{16, 2, 8, 8, 8 * 16384, true};
  for (const RoundFacts& facts : {short_notes, long_notes})
    EXPECT_EQ(choose_finder(facts, few_cores).finder, &by_counts);
  EXPECT_EQ(choose_route(by_counts, short_notes, few_cores), (NodeRoute{NodeWay::steps, 1, 1}));
  EXPECT_EQ(choose_route(find_finder("nbx_node"), short_notes, few_cores).way, NodeWay::lanes);
  const Parameters each_a_core = Parameters::read("frontier-like");
  EXPECT_EQ(choose_route(by_counts, {2048, 256, 8, 8, 8 * 4000}, each_a_core).way, NodeWay::straight);
  const NodeRoute many_nodes = choose_route(by_counts, {2048, 256, 8, 8, 8 * 64, false, 8}, each_a_core);
  EXPECT_EQ(many_nodes.way, NodeWay::steps);
  EXPECT_EQ(many_nodes.delegates, 8);
  const FinderChoice choice = choose_finder({2048, 64, 32, 8, 512}, slow_network);
  EXPECT_EQ(choice.seconds.size(), 4U);
  for (const auto& [finder, seconds] : choice.seconds) EXPECT_GT(seconds, 0);
}

/// What ranks of a node write for each other says how they do the round.
TEST(Finders, OnABoardAMemberThatDoesItAnotherWayIsSeen) {
  const NodeMap nodes(std::vector<Rank>{0, 0, 0});
  VirtualBoards boards(nodes, 3);
  std::int64_t round = 0;
  for (const FinderRow& row : finders()) {
    if (!row.by_nodes) continue;
    for (const bool differs : {false, true}) {
      VirtualNetwork network(3, 1);
      std::vector<std::unique_ptr<VirtualMessenger>> posts;
      std::vector<std::unique_ptr<Finder>> ranks;
      for (Rank rank = 0; rank < 3; ++rank) {
        posts.push_back(std::make_unique<VirtualMessenger>(network, rank));
        const auto way = static_cast<std::uint8_t>(differs && rank == 2 ? 1 : 0);
        ranks.push_back(row.make(*posts.back(), {nodes, boards.of(static_cast<std::size_t>(rank)), round, {}, way}));
        ranks.back()->start({}, {});
      }
      for (int turn = 0; turn < 10; ++turn)
        for (const auto& rank : ranks) EXPECT_TRUE(!rank->proceed() || !differs) << row.name;
      EXPECT_EQ(ranks.front()->differs(), differs) << row.name;
      for (const auto& rank : ranks) EXPECT_EQ(rank->proceed(), !differs) << row.name;
      for (std::size_t rank = 0; rank < 3; ++rank) boards.of(rank)->complete(round);
      ++round;
    }
  }
}

TEST(Finders, AWayIsWhatItsCodeSays) {
  for (const FinderRow& row : finders())
    for (const bool chosen : {false, true})
      for (const bool asks : {false, true}) {
        const Way way{&row, chosen, asks};
        EXPECT_EQ(Way::of(way.code()), way);
      }
}

}  // namespace
}  // namespace laneway
