// Bags on virtual ranks: random messages in random rounds, whatever the order in which bundles of different ranks
// arrive, against lists of what was sent; by threads, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/rendezvous/bag.hpp"
#include "cases.hpp"

namespace laneway {
namespace {

/// What goes wrong on the way.
enum class Fault { none, lost_credit, lost_bundle, early_end };

/// From one rank to another in order; else any messages may arrive next.
class BagNetwork {
 public:
  BagNetwork(Rank ranks, std::uint32_t seed, Fault what = Fault::none)
      : fault(what), boxes(static_cast<std::size_t>(ranks)), random(seed) {}

  Fault fault;
  std::mutex mutex;
  std::vector<std::map<Rank, std::deque<BagMessage>>> boxes;
  std::mt19937 random;
  std::int64_t faults = 0;

  /// What a rank has reserved for bundles that nobody has given credit for yet.
  struct Flying {
    std::map<Rank, std::deque<std::int64_t>> to;
    std::int64_t now = 0;
    std::int64_t most = 0;
  };
  std::vector<Flying> flying = std::vector<Flying>(boxes.size());
};

class VirtualBagMessenger final : public BagMessenger {
 public:
  VirtualBagMessenger(BagNetwork& network, Rank rank) : network_(network), rank_(rank) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  void send(Rank to, BagMessage incoming) override {
    EXPECT_NE(to, rank_);
    const std::lock_guard lock(network_.mutex);
    if (spoil(incoming)) return;
    count(to, incoming);
    network_.boxes[static_cast<std::size_t>(to)][rank_].push_back(std::move(incoming));
  }
  [[nodiscard]] std::optional<BagMessage> take() override {
    const std::lock_guard lock(network_.mutex);
    auto& box = network_.boxes[static_cast<std::size_t>(rank_)];
    if (box.empty() || network_.random() % 4 == 0) return std::nullopt;
    const auto from = std::next(box.begin(), static_cast<std::ptrdiff_t>(network_.random() % box.size()));
    BagMessage incoming = std::move(from->second.front());
    from->second.pop_front();
    if (from->second.empty()) box.erase(from);
    return incoming;
  }
  [[nodiscard]] bool all_sent() override { return true; }

 private:
  void count(Rank to, const BagMessage& incoming) {
    if (incoming.topic == BagTopic::lane || incoming.topic == BagTopic::local) {
      BagNetwork::Flying& own = network_.flying[static_cast<std::size_t>(rank_)];
      own.to[to].push_back(static_cast<std::int64_t>(incoming.data.capacity()));
      own.now += own.to[to].back();
      own.most = std::max(own.most, own.now);
    } else if (incoming.topic == BagTopic::credit) {
      BagNetwork::Flying& other = network_.flying[static_cast<std::size_t>(to)];
      other.now -= other.to[rank_].front();
      other.to[rank_].pop_front();
    }
  }

  /// True where the messages is lost.
  bool spoil(BagMessage& incoming) {
    const bool bundle = incoming.topic == BagTopic::lane || incoming.topic == BagTopic::local;
    if (network_.fault == Fault::lost_credit) return incoming.topic == BagTopic::credit && ++network_.faults == 3;
    if (network_.fault == Fault::lost_bundle) return bundle && ++network_.faults == 3;
    if (network_.fault == Fault::early_end && incoming.topic == BagTopic::down) {
      incoming.data.assign(1, std::byte{1});
      ++network_.faults;
    }
    return false;
  }

  BagNetwork& network_;
  Rank rank_;
};

struct BagCase {
  std::vector<Rank> first;  // of the node of each rank
  std::int64_t memory = 0;
  bool relays = true;
  int rounds = 3;
  int messages = 20;  // at most, of a rank in a round
  bool takes = true;  // while it sends
  std::uint32_t seed = 0;
  Fault fault = Fault::none;
};

/// A message says where it is from, where to, in which round, and which one of these it is.
Bytes bag_message(Rank from, Rank to, int round, int number, std::size_t bytes) {
  Writer writer;
  for (const int word : {from, to, round, number}) writer.put(word);
  Bytes data = writer.take();
  for (std::size_t i = 0; i < bytes; ++i) data.push_back(static_cast<std::byte>(i * 7 + data.size() * 3));
  return data;
}

/// A rank of the campaign: sends, flushes, and takes until it hears that the round is over.
class BagRank {
 public:
  BagRank(BagNetwork& network, const BagCase& what, Rank rank)
      : case_(what),
        rank_(rank),
        random_(what.seed * 7919 + static_cast<std::uint32_t>(rank)),
        nodes_(what.first),
        messenger_(network, rank),
        bag_(messenger_, nodes_, {what.memory, what.relays}) {}

  [[nodiscard]] bool done() const { return round_ == case_.rounds && bag_done_; }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  [[nodiscard]] Bag& bag() { return bag_; }
  /// Messages of each pair and round, in order.
  using Lists = std::map<std::pair<Rank, int>, std::vector<Bytes>>;  // by the other rank and round
  [[nodiscard]] const Lists& sent() const { return sent_; }
  [[nodiscard]] const Lists& got() const { return got_; }

  void step() {
    switch (state_) {
      case State::sending:
        return send();
      case State::flushing:
        if (random_() % 8 == 0) take();
        if (bag_.flushed()) state_ = State::taking;
        return;
      case State::taking:
        if (take()) return;
        ++round_;
        left_ = -1;
        state_ = round_ == case_.rounds ? State::over : State::sending;
        return;
      case State::over:
        bag_done_ = bag_.quiet();
    }
  }

 private:
  enum class State { sending, flushing, taking, over };

  void send() {
    if (left_ < 0) left_ = random_() % 3 == 0 ? 0 : static_cast<int>(random_() % static_cast<unsigned>(case_.messages));
    if (case_.takes && random_() % 3 == 0) take();
    if (left_ == 0) {
      if (!bag_.begin_flush()) wrong_ = "a flush is active";
      state_ = State::flushing;
      return;
    }
    if (!waiting_) {
      const auto ranks = static_cast<unsigned>(case_.first.size());
      to_ = static_cast<Rank>(random_() % 5 == 0 ? 0 : random_() % ranks);
      const std::size_t bytes = random_() % 50 == 0 ? 5000 : random_() % 4 == 0 ? random_() % 400 : random_() % 12;
      std::vector<Bytes>& list = sent_[{to_, round_}];
      data_ = bag_message(rank_, to_, round_, static_cast<int>(list.size()), bytes);
      list.push_back(data_);
    }
    waiting_ = !bag_.try_send(to_, data_, waiting_);
    if (!waiting_) --left_;
  }

  bool take() {
    const std::optional<Bag::Message> message = bag_.next();
    if (!message) return false;
    if (reinterpret_cast<std::uintptr_t>(message->data.data()) % alignof(std::max_align_t) != 0) wrong_ = "unaligned";
    Reader reader(message->data);
    const int from = reader.get<int>();
    const int to = reader.get<int>();
    const int round = reader.get<int>();
    if (from != message->source || to != rank_) wrong_ = "a message of others";
    if (round != round_) wrong_ = "a message of another round";
    got_[{from, round}].emplace_back(message->data.begin(), message->data.end());
    return true;
  }

  const BagCase& case_;
  Rank rank_;
  std::mt19937 random_;
  NodeMap nodes_;
  VirtualBagMessenger messenger_;
  Bag bag_;
  State state_ = State::sending;
  int round_ = 0;
  int left_ = -1;
  bool waiting_ = false;
  bool bag_done_ = false;
  Rank to_ = 0;
  Bytes data_;
  Lists sent_;
  Lists got_;
  std::string wrong_;
};

/// What went wrong; empty: nothing. A rank reserves no more than it says, and twice what arrives for it while it waits.
std::string run_bags(const BagCase& what) {
  const std::size_t ranks = what.first.size();
  BagNetwork network(static_cast<Rank>(ranks), what.seed, what.fault);
  std::vector<std::unique_ptr<BagRank>> all;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    all.push_back(std::make_unique<BagRank>(network, what, static_cast<Rank>(rank)));
  std::mt19937 random(what.seed);
  const std::int64_t most_turns = std::int64_t{4000} * what.rounds * static_cast<std::int64_t>(ranks);
  std::int64_t turn = 0;
  while (!std::ranges::all_of(all, [](const auto& rank) { return rank->done(); })) {
    if (++turn > most_turns) return "no end";
    all[random() % ranks]->step();
  }
  for (std::size_t to = 0; to < ranks; ++to) {
    BagRank& receiver = *all[to];
    if (!receiver.wrong().empty()) return receiver.wrong();
    std::int64_t arrived = 0;
    for (const auto& [key, list] : receiver.got())
      for (const Bytes& data : list)
        arrived += static_cast<std::int64_t>(data.size()) + 2 * BagMessenger::appended_bytes;
    const std::int64_t most = receiver.bag().counts().most_bytes;
    if (most > receiver.bag().most_kept() + 2 * arrived)
      return "rank " + std::to_string(to) + " has reserved " + std::to_string(most) + " bytes";
    BagRank::Lists expected;
    for (std::size_t from = 0; from < ranks; ++from)
      for (const auto& [key, list] : all[from]->sent())
        if (key.first == static_cast<Rank>(to)) expected[{static_cast<Rank>(from), key.second}] = list;
    if (receiver.got() != expected) return "rank " + std::to_string(to) + " has got something else";
  }
  return {};
}

/// Nodes of 1 to 4 ranks, sometimes dealt out in turn.
std::vector<Rank> random_nodes(std::mt19937& random, Rank ranks) {
  std::vector<Rank> first;
  if (random() % 3 == 0) {
    const auto nodes = static_cast<Rank>(1 + random() % 3);
    for (Rank rank = 0; rank < ranks; ++rank) first.push_back(rank % nodes);
    return first;
  }
  while (static_cast<Rank>(first.size()) < ranks) {
    const auto begin = static_cast<Rank>(first.size());
    for (unsigned i = 0, size = 1 + random() % 4; i < size && static_cast<Rank>(first.size()) < ranks; ++i)
      first.push_back(begin);
  }
  return first;
}

BagCase random_bag_case(std::uint32_t seed, Rank most_ranks, int rounds) {
  std::mt19937 random(seed);
  BagCase what;
  what.seed = seed;
  what.first = random_nodes(random, static_cast<Rank>(1 + random() % static_cast<unsigned>(most_ranks)));
  what.memory = random() % 2 == 0 ? 0 : 1 << 20;
  what.relays = random() % 4 != 0;
  what.takes = random() % 2 == 0;
  what.rounds = rounds;
  return what;
}

TEST(Bag, RandomRounds) {
  for (std::uint64_t seed = 0; seed < cases::effort(120); ++seed) {
    const BagCase what = random_bag_case(static_cast<std::uint32_t>(seed), 9, 4);
    ASSERT_EQ(run_bags(what), "") << "seed " << seed << ", " << what.first.size() << " ranks";
  }
}

TEST(Bag, MillionRounds) {
  // Each of these takes its messages before it ends, so that a million rounds are not kept.
  const bool all = !cases::sanitized && std::getenv("LANEWAY_TEST_LONG") != nullptr;
  for (int seed = 0; seed < (all ? 10'000 : 20); ++seed) {
    BagCase what = random_bag_case(static_cast<std::uint32_t>(seed + 1000), 3, 100);
    what.messages = 5;
    ASSERT_EQ(run_bags(what), "") << "seed " << seed << ", " << what.first.size() << " ranks";
  }
}

TEST(Bag, ManyMessagesInLittleMemory) {
  // All ranks send far more than they may keep before any of them takes: those that wait take what comes.
  for (const bool takes : {false, true}) {
    BagCase what{{0, 0, 2, 2, 2, 5}};
    what.messages = 3000;
    what.rounds = 2;
    what.takes = takes;
    what.seed = 5;
    ASSERT_EQ(run_bags(what), "");
  }
}

/// The least memory: bundles of 1 KiB, counted by looking at all pairs of ranks.
std::int64_t least_memory(const std::vector<Rank>& first, bool relays) {
  std::map<Rank, std::vector<Rank>> nodes;
  for (std::size_t rank = 0; rank < first.size(); ++rank) nodes[first[rank]].push_back(static_cast<Rank>(rank));
  std::size_t most_in = 0, most_out = 0, largest = 0, smallest = first.size();
  for (const auto& [leader, members] : nodes) {
    largest = std::max(largest, members.size());
    smallest = std::min(smallest, members.size());
  }
  most_out = relays ? largest - 1 + nodes.size() - 1 : first.size() - 1;
  most_in = relays ? largest - 1 + (nodes.size() - 1) * ((largest + smallest - 1) / smallest) : most_out;
  return 1024 * static_cast<std::int64_t>(3 * most_out + 2 * most_in + 2);
}

/// One rank neither takes nor waits nor flushes, and all others send to it, and past it to its node. They stop; what it
/// and they have reserved is bounded; and when it takes, all arrives.
void expect_bounded(const std::vector<Rank>& first, std::int64_t memory, bool relays) {
  const auto ranks = static_cast<Rank>(first.size());
  const std::string where = std::to_string(ranks) + " ranks, memory " + std::to_string(memory);
  BagNetwork network(ranks, 3);
  const NodeMap nodes(first);
  std::vector<std::unique_ptr<VirtualBagMessenger>> posts;
  std::vector<std::unique_ptr<Bag>> bags;
  for (Rank rank = 0; rank < ranks; ++rank) {
    posts.push_back(std::make_unique<VirtualBagMessenger>(network, rank));
    bags.push_back(std::make_unique<Bag>(*posts.back(), nodes, Bag::Options{memory, relays}));
  }
  const std::int64_t limit = bags[0]->most_kept();
  EXPECT_LE(limit, std::max(memory, least_memory(first, relays))) << where;
  // Far more than fits; short messages, of which each leaves alone where nothing else is to be done.
  const std::int64_t all = 4 * limit / 60;
  std::vector<std::int64_t> sent(bags.size());
  std::vector<bool> waits(bags.size());
  std::mt19937 random(9);
  std::int64_t accepted = 0;
  const auto turn = [&](std::size_t rank) {
    if (rank == 0) return bags[0]->help();
    if (sent[rank] == all) return bags[rank]->help();
    const Bytes data(60 + static_cast<std::size_t>(sent[rank] % 7));
    const auto to = sent[rank] % 8 == 0 ? static_cast<Rank>(sent[rank] / 8 % ranks) : Rank{0};
    waits[rank] = !bags[rank]->try_send(to, data, waits[rank]);
    if (waits[rank]) return;
    ++sent[rank];
    ++accepted;
    if (sent[rank] % 3 == 0) (void)bags[rank]->next();
  };
  std::int64_t before = -1;
  while (before != accepted) {
    before = accepted;
    for (int i = 0; i < 3000; ++i) turn(random() % bags.size());
  }
  EXPECT_LT(accepted, all * (ranks - 1)) << where;
  EXPECT_LE(bags[0]->counts().most_bytes, limit) << where;
  EXPECT_GT(bags[0]->counts().most_bytes, limit / 8) << where;  // so much is of use
  for (const BagNetwork::Flying& one : network.flying) EXPECT_LE(one.most, limit) << where;
  // Rank 0 takes what comes.
  std::int64_t got = 0;
  for (std::int64_t turns = 0; accepted < all * (ranks - 1); ++turns) {
    ASSERT_LT(turns, 2000 * all) << where;
    while (bags[0]->next()) ++got;
    turn(1 + random() % (bags.size() - 1));
  }
  for (auto& bag : bags) ASSERT_TRUE(bag->begin_flush());
  const auto flushed = [&] {
    bool done = true;
    for (auto& bag : bags) done = bag->flushed() && done;
    return done;
  };
  for (int turns = 0; !flushed(); ++turns) ASSERT_LT(turns, 100000) << where;
  while (bags[0]->next()) ++got;
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < all; ++i) expected += i % 8 != 0 || i / 8 % ranks == 0 ? 1 : 0;
  EXPECT_EQ(got, expected * (ranks - 1)) << where;
}

TEST(Bag, ARankThatTakesNothingReservesNoMoreThanItsLimit) {
  for (const std::int64_t memory : {std::int64_t{0}, std::int64_t{100'000}})
    for (const bool relays : {false, true}) {
      expect_bounded({0, 0, 2, 2, 4, 4}, memory, relays);
      expect_bounded({0, 1, 1, 1, 1, 5}, memory, relays);  // rank 0 stands for its node alone, for all of a large one
      expect_bounded({0, 0, 0, 0}, memory, relays);
    }
}

TEST(Bag, FaultsShow) {
  BagCase what{{0, 0, 2, 2, 2, 5}};
  what.messages = 100;
  what.takes = false;
  for (const Fault fault : {Fault::lost_credit, Fault::lost_bundle, Fault::early_end}) {
    int shown = 0;
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      what.fault = fault;
      what.seed = seed;
      shown += run_bags(what).empty() ? 0 : 1;
    }
    EXPECT_EQ(shown, 5) << "fault " << static_cast<int>(fault);
  }
}

TEST(Bag, FewWavesAndFullBundles) {
  // Ranks that flush without having sent anything count once, and messages to one node share bundles.
  const std::vector<Rank> first = {0, 0, 0, 3, 3, 3};
  BagNetwork network(6, 1);
  const NodeMap nodes(first);
  std::vector<std::unique_ptr<VirtualBagMessenger>> posts;
  std::vector<std::unique_ptr<Bag>> bags;
  for (Rank rank = 0; rank < 6; ++rank) {
    posts.push_back(std::make_unique<VirtualBagMessenger>(network, rank));
    bags.push_back(std::make_unique<Bag>(*posts.back(), nodes, Bag::Options{}));
  }
  const auto flush = [&] {
    for (auto& bag : bags) ASSERT_TRUE(bag->begin_flush());
    for (int turn = 0; turn < 1000; ++turn)
      for (auto& bag : bags) (void)bag->flushed();
    for (auto& bag : bags) ASSERT_TRUE(bag->flushed());
  };
  flush();
  for (auto& bag : bags) EXPECT_EQ(bag->counts().waves, 1);
  const Bytes data(16);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(bags[0]->try_send(3 + i % 3, data, false));
  flush();
  EXPECT_EQ(bags[0]->counts().bundles, 1);  // to one rank of the other node
  EXPECT_EQ(bags[3]->counts().bundles, 2);  // and on to the other two
  for (Rank rank = 3; rank < 6; ++rank) {
    int messages = 0;
    while (bags[static_cast<std::size_t>(rank)]->next()) ++messages;
    EXPECT_EQ(messages, 100);
  }
}

TEST(Bag, MemoryIsThatOfPartnersAndNodes) {
  // 16,384 ranks on 256 nodes; only what rank 0 needs itself is made.
  std::vector<Rank> first(16384);
  for (std::size_t rank = 0; rank < first.size(); ++rank) first[rank] = static_cast<Rank>(rank / 64 * 64);
  const NodeMap nodes(first);
  EXPECT_LT(nodes.bytes(), 200U);
  BagNetwork network(16384, 1);
  VirtualBagMessenger messenger(network, 0);
  Bag bag(messenger, nodes, {});
  const Bytes data(16);
  for (Rank to = 1; to < 16384; to += 61) ASSERT_TRUE(bag.try_send(to, data, false));
  EXPECT_EQ(bag.counts().most_bytes, 269 * 64);  // what is reserved for each message
  ASSERT_TRUE(bag.begin_flush());
  EXPECT_LE(bag.counts().bundles, 256 + 64);
}

TEST(Bag, Threads) {
  constexpr int ranks = 3, senders = 2, each = 400, rounds = 3;
  BagNetwork network(ranks, 7);
  const NodeMap nodes(std::vector<Rank>{0, 1, 1});
  std::vector<std::unique_ptr<VirtualBagMessenger>> posts;
  std::vector<std::unique_ptr<Bag>> bags;
  for (Rank rank = 0; rank < ranks; ++rank) {
    posts.push_back(std::make_unique<VirtualBagMessenger>(network, rank));
    bags.push_back(std::make_unique<Bag>(*posts.back(), nodes, Bag::Options{0, true}));
  }
  std::array<int, ranks> got{};
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Bag& bag = *bags[static_cast<std::size_t>(rank)];
      int& count = got[static_cast<std::size_t>(rank)];
      for (int round = 0; round < rounds; ++round) {
        std::vector<std::thread> sending;
        for (int sender = 0; sender < senders; ++sender)
          sending.emplace_back([&, sender] {
            for (int i = 0; i < each; ++i) {
              const Bytes data = bag_message(rank, (i + sender) % ranks, round, i, 4);
              for (int turns = 0; !bag.try_send((i + sender) % ranks, data, turns > 0); relax(turns)) {
              }
            }
          });
        // Messages are taken, and others hand theirs on, while threads send.
        for (int i = 0; i < 50; ++i) {
          if (bag.next()) ++count;
          bag.help();
        }
        for (std::thread& thread : sending) thread.join();
        while (!bag.begin_flush()) bag.help();
        for (int turns = 0; !bag.flushed(); relax(turns)) {
        }
        while (bag.next()) ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  int all = 0;
  for (const int count : got) all += count;
  EXPECT_EQ(all, ranks * senders * each * rounds);
}

}  // namespace
}  // namespace laneway
