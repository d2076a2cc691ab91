// Finders on virtual ranks: each of the table, on random graphs, whatever the order in which messages arrive.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "discovery/finder.hpp"
#include "discovery/places.hpp"
#include "machine/machine.hpp"

namespace laneway {
namespace {

/// Messages between virtual ranks. Any that is under way may arrive next; even those of one rank to another overtake.
class VirtualNetwork {
 public:
  struct UnderWay {
    Mail mail;
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
};

class VirtualPost final : public Post {
 public:
  VirtualPost(VirtualNetwork& network, Rank rank) : network_(network), rank_(rank) {}

  using Post::send;
  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] Rank size() const override { return static_cast<Rank>(network_.boxes.size()); }
  void send(Rank to, Topic topic, int step, Bytes data, bool acknowledged) override {
    ASSERT_GE(to, 0);
    ASSERT_LT(to, size());
    ASSERT_NE(to, rank_);
    ++network_.messages;
    network_.box(rank_).bytes += data.size();
    network_.box(to).bytes += data.size();
    if (acknowledged) ++network_.box(rank_).unacknowledged;
    network_.box(to).under_way.push_back({{rank_, topic, step, std::move(data)}, acknowledged});
  }
  [[nodiscard]] bool all_taken() override { return network_.box(rank_).unacknowledged == 0; }
  [[nodiscard]] std::optional<Mail> take() override {
    auto& under_way = network_.box(rank_).under_way;
    if (under_way.empty() || network_.random() % 3 == 0) return std::nullopt;
    std::swap(under_way[network_.random() % under_way.size()], under_way.back());
    VirtualNetwork::UnderWay next = std::move(under_way.back());
    under_way.pop_back();
    if (next.acknowledged) --network_.box(next.mail.source).unacknowledged;
    return std::move(next.mail);
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

struct FinderOutcome {
  std::vector<Heard> heard;
  std::vector<RoundVotes> votes;
  std::int64_t messages = 0;
  std::size_t most_bytes = 0;  // that any rank has had in its hands
};

/// Runs a round of all ranks, in random turns.
FinderOutcome run_round(const FinderRow& row, const NodeMap& nodes, const std::vector<std::vector<Note>>& notes,
                        const std::vector<RoundVotes>& votes, std::uint32_t seed) {
  const std::size_t ranks = notes.size();
  VirtualNetwork network(static_cast<Rank>(ranks), seed);
  std::vector<std::unique_ptr<VirtualPost>> posts;
  std::vector<std::unique_ptr<Finder>> found;
  std::vector<int> state(ranks, 0);  // 1: started, 2: done
  FinderOutcome outcome{std::vector<Heard>(ranks), std::vector<RoundVotes>(ranks)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    posts.push_back(std::make_unique<VirtualPost>(network, static_cast<Rank>(rank)));
    found.push_back(row.make(*posts.back(), nodes));
  }
  std::size_t done = 0;
  for (std::int64_t turn = 0; done < ranks; ++turn) {
    EXPECT_LT(turn, 4'000'000) << row.name << ": no end";
    if (testing::Test::HasFatalFailure() || turn >= 4'000'000) return outcome;
    const std::size_t rank = network.random() % ranks;
    if (state[rank] == 2) continue;
    if (state[rank] == 0) {
      found[rank]->start(notes[rank], votes[rank]);
      state[rank] = 1;
    }
    while (std::optional<Mail> mail = posts[rank]->take()) found[rank]->on(std::move(*mail));
    if (found[rank]->proceed()) {
      state[rank] = 2;
      ++done;
      outcome.votes[rank] = found[rank]->votes();
    }
    for (Note& note : found[rank]->take_heard()) {
      EXPECT_FALSE(outcome.heard[rank].contains(note.peer)) << "heard twice";
      outcome.heard[rank][note.peer] = std::move(note.data);
    }
  }
  for (const VirtualNetwork::Box& box : network.boxes) EXPECT_TRUE(box.under_way.empty()) << row.name << ": left over";
  outcome.messages = network.messages;
  for (const VirtualNetwork::Box& box : network.boxes) outcome.most_bytes = std::max(outcome.most_bytes, box.bytes);
  return outcome;
}

NodeMap map_of(const std::string& machine, Rank ranks) {
  const Machine described = Machine::parse(machine, ranks);
  std::vector<Rank> first;
  for (Rank rank = 0; rank < ranks; ++rank) first.push_back(described.region_id(0, rank));
  return NodeMap(first);
}

Bytes text_of(Rank from, Rank to, std::size_t bytes) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(from * 31 + to * 7 + static_cast<Rank>(i));
  return data;
}

std::vector<std::vector<Note>> random_notes(Rank ranks, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<Note>> notes(static_cast<std::size_t>(ranks));
  const std::array<std::size_t, 6> sizes = {0, 0, 1, 8, 300, most_relayed_note + 1};
  for (Rank from = 0; from < ranks; ++from) {
    const auto degree = static_cast<Rank>(random() % 3 == 0 ? 0 : random() % 8);
    for (Rank to = 0; to < ranks; ++to)
      if (to != from && static_cast<Rank>(random() % static_cast<std::uint32_t>(ranks)) < degree)
        notes[static_cast<std::size_t>(from)].push_back({to, text_of(from, to, sizes[random() % sizes.size()])});
  }
  return notes;
}

std::vector<Heard> expected_of(const std::vector<std::vector<Note>>& notes) {
  std::vector<Heard> expected(notes.size());
  for (std::size_t from = 0; from < notes.size(); ++from)
    for (const Note& note : notes[from])
      expected[static_cast<std::size_t>(note.peer)][static_cast<Rank>(from)] = note.data;
  return expected;
}

TEST(Finders, HearWhatIsSaidWhateverTheOrder) {
  const std::vector<std::pair<Rank, std::string>> machines = {
      {1, "node:1"},       {2, "rank:2"},         {3, "ranks:1,2"},     {5, "node:* rank:2"},
      {16, "ranks:5,3,8"}, {13, "node:* rank:1"}, {12, "node:3 rank:4"}};
  for (const FinderRow& row : finders())
    for (const auto& [ranks, machine] : machines) {
      const NodeMap nodes = map_of(machine, ranks);
      for (std::uint32_t seed = 1; seed <= 12; ++seed) {
        const auto notes = random_notes(ranks, seed);
        std::vector<RoundVotes> votes(notes.size());
        for (std::size_t rank = 0; rank < votes.size(); ++rank) votes[rank].bytes = static_cast<std::int64_t>(rank);
        const FinderOutcome outcome = run_round(row, nodes, notes, votes, seed * 77);
        EXPECT_EQ(outcome.heard, expected_of(notes)) << row.name << " on " << machine << ", seed " << seed;
        for (const RoundVotes& all : outcome.votes) EXPECT_EQ(all.bytes, ranks - 1) << row.name;
      }
    }
}

TEST(Finders, AllRanksLearnThatOneHasFailed) {
  const NodeMap nodes = map_of("ranks:5,3,3", 11);
  for (const FinderRow& row : finders())
    for (Rank failed = 0; failed < 11; ++failed) {
      auto notes = random_notes(11, 5);
      notes[static_cast<std::size_t>(failed)].clear();
      std::vector<RoundVotes> votes(11);
      votes[static_cast<std::size_t>(failed)].failed = failed;
      for (const RoundVotes& all : run_round(row, nodes, notes, votes, 3).votes)
        EXPECT_EQ(all.failed, failed) << row.name;
    }
}

TEST(Finders, NeitherMessagesNorMemoryGrowWithTheRanks) {
  // Of a fixed degree: a message more for each doubling of the ranks, and what it says.
  constexpr Rank few = 1024, many = 16384, degree = 8, on_a_node = 16;
  for (const FinderRow& row : finders()) {
    std::map<Rank, FinderOutcome> outcomes;
    for (const Rank ranks : {few, many}) {
      std::vector<std::vector<Note>> notes(static_cast<std::size_t>(ranks));
      for (Rank rank = 0; rank < ranks; ++rank)
        for (Rank edge = 1; edge <= degree; ++edge)
          notes[static_cast<std::size_t>(rank)].push_back({(rank + edge * 37) % ranks, text_of(rank, edge, 8)});
      outcomes[ranks] = run_round(row, map_of("node:* rank:16", ranks), notes,
                                  std::vector<RoundVotes>(static_cast<std::size_t>(ranks)), 1);
    }
    const auto each = [&](Rank ranks) { return static_cast<double>(outcomes[ranks].messages) / ranks; };
    EXPECT_LE(each(many) - each(few), 4.01) << row.name;
    EXPECT_LE(each(many), degree + 14.01) << row.name;
    // A step says what all ranks have voted, and of personalized exchanges some counts.
    constexpr std::size_t step_bytes = 2 * (sizeof(RoundVotes) + 8 * degree * on_a_node);
    EXPECT_LE(outcomes[many].most_bytes, outcomes[few].most_bytes + 4 * step_bytes) << row.name;
    EXPECT_LT(outcomes[many].most_bytes, static_cast<std::size_t>(many)) << row.name;  // not one byte a rank
  }
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
  // 16 ranks on two processors: what messages between nodes take of these decides.
  const Parameters few_cores = Parameters::read("cluster-2x8-1gbit");
  EXPECT_TRUE(row_of(choose_finder({16, 2, 8, 8, 8 * 1024}, few_cores).find).by_nodes);
  EXPECT_TRUE(row_of(choose_finder({16, 2, 8, 15, 15 * 1024}, few_cores).find).by_nodes);
  EXPECT_FALSE(row_of(choose_finder({16, 2, 8, 8, 8 * 16384}, few_cores).find).by_nodes);
  EXPECT_TRUE(row_of(choose_finder({16, 4, 4, 8, 64}, slow_network).find).by_nodes);
  EXPECT_FALSE(row_of(choose_finder({16, 16, 1, 4, 256}, slow_network).find).by_nodes);
  const FinderChoice choice = choose_finder({2048, 64, 32, 8, 512}, slow_network);
  EXPECT_EQ(choice.seconds.size(), 4U);
  for (const auto& [find, seconds] : choice.seconds) EXPECT_GT(seconds, 0);
}

}  // namespace
}  // namespace laneway
