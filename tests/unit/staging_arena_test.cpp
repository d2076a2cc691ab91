#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "offline/in_process.hpp"
#include "virtual_node.hpp"

namespace laneway {
namespace {

/// A plan for each rank, one of several that share staging memory, and the receive buffers before each exchange.
struct Sharer {
  Pattern pattern;
  std::vector<Plan> plans;
  std::vector<Memory> before;
};

struct Turn {
  std::size_t sharer = 0;
  std::vector<Memory> send;
  std::vector<Memory> expected;
};

/// Staging memory of all ranks for all sharers.
class Arenas {
 public:
  Arenas(const std::vector<Region>& nodes, const std::vector<Sharer>& sharers) {
    std::int64_t bytes = 0;
    for (const Sharer& sharer : sharers)
      for (const Plan& plan : sharer.plans) bytes = std::max(bytes, plan.staging_bytes);
    memory_.resize(nodes.size(),
                   std::vector<std::uint64_t>(static_cast<std::size_t>(arena_header_bytes + bytes) / 8 + 1));
    for (std::size_t r = 0; r < nodes.size(); ++r) {
      std::map<Rank, StagingArena::Part> parts;
      for (Rank peer : nodes[r].members) {
        auto* const words = reinterpret_cast<std::byte*>(memory_[static_cast<std::size_t>(peer)].data());
        parts[peer] = {words, words + arena_header_bytes};
      }
      all_.push_back(std::make_shared<StagingArena>(static_cast<Rank>(r), bytes, std::move(parts), nullptr));
    }
    for (const Sharer& sharer : sharers)
      for (const Plan& plan : sharer.plans)
        for (const Step& step : plan.steps)
          if (cases::is_pulled(step)) all_[static_cast<std::size_t>(step.peer)]->add_readers({plan.rank});
  }

  void give(std::size_t rank, PlanMemory& memory) const { use_arena(memory, all_[rank]); }

 private:
  std::vector<std::vector<std::uint64_t>> memory_;
  std::vector<std::shared_ptr<StagingArena>> all_;
};

/// A rank that runs the sharers' exchanges one after another, at its own pace.
class SharingRank {
 public:
  SharingRank(std::size_t rank, const std::vector<Sharer>& sharers, const std::vector<Turn>& turns)
      : rank_(rank), sharers_(sharers), turns_(turns) {}

  void bind(const Sharer& sharer, const std::vector<Memory>& send, std::shared_ptr<PlanMemory> memory,
            InProcessNetwork& network) {
    const std::unique_ptr<Transport> transport = network.transport(static_cast<Rank>(rank_));
    Bound& bound = *bound_.emplace_back(std::make_unique<Bound>(Bound{send[rank_], sharer.before[rank_], nullptr}));
    bound.executor = std::make_unique<Executor>(std::make_shared<const Plan>(sharer.plans[rank_]),
                                                Buffers{cases::base_of(bound.send), cases::base_of(bound.received)},
                                                *transport, std::move(memory));
  }

  [[nodiscard]] bool finished() const { return !active_ && turn_ == turns_.size(); }

  /// Starts or advances an exchange; false if it ended with wrong bytes.
  bool act() {
    const Turn& turn = turns_[turn_];
    Bound& bound = *bound_[turn.sharer];
    if (!active_) {
      bound.send.bytes = turn.send[rank_].bytes;
      bound.received.bytes = sharers_[turn.sharer].before[rank_].bytes;
      bound.executor->start();
      active_ = true;
      return true;
    }
    if (!bound.executor->progress()) return true;
    active_ = false;
    ++turn_;
    return bound.received == turn.expected[rank_];
  }

 private:
  struct Bound {
    Memory send;
    Memory received;
    std::unique_ptr<Executor> executor;
  };
  std::size_t rank_;
  const std::vector<Sharer>& sharers_;
  const std::vector<Turn>& turns_;
  std::vector<std::unique_ptr<Bound>> bound_;
  std::size_t turn_ = 0;
  bool active_ = false;
};

/// Several plans on one machine, in random order.
struct SharingCase {
  explicit SharingCase(std::uint64_t seed) : random(seed) {
    const cases::Case c = cases::make_case(seed);
    const auto ranks = static_cast<Rank>(c.pattern.size());
    const Machine memory = random.chance(70) ? c.machine : cases::random_machine(random, ranks);
    for (Rank r = 0; r < ranks; ++r) nodes.push_back(memory.region(0, r));
    const std::vector<cases::Candidate> candidates = cases::candidates(seed);
    for (std::int64_t n = random.between(2, 4); n > 0; --n) {
      Sharer& sharer = sharers.emplace_back();
      sharer.pattern = sharers.size() == 1 ? c.pattern : cases::random_pattern(random, ranks, {});
      const cases::Candidate& candidate = random.pick(candidates);
      PlanOptions options = c.options;
      options.deduplicate = candidate.deduplicate;
      options.packs = false;
      const LocalOptions local{.mailbox_bytes = random.one_of<std::int64_t>({0, 16, 65536}),
                               .shares_staging = true,
                               .slots = random.one_of<std::int64_t>({2, 4, 8})};
      sharer.plans = localize_virtual_ranks(
          plan_virtual_ranks(sharer.pattern, c.machine, *candidate.strategy, options).plans, nodes, local);
      sharer.before = cases::buffers(random, sharer.pattern, &RankPattern::in);
    }
    for (int t = 0; t < 10; ++t) {
      Turn& turn = turns.emplace_back();
      turn.sharer = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(sharers.size()) - 1));
      const Sharer& sharer = sharers[turn.sharer];
      turn.send = cases::buffers(random, sharer.pattern, &RankPattern::out);
      turn.expected = sharer.before;
      exchange(sharer.pattern, turn.send, turn.expected);
    }
  }

  enum class End : std::uint8_t { right, wrong, stuck };

  /// As the first rank ends that does not get what the oracle says.
  End run() {
    const Arenas arenas(nodes, sharers);
    std::vector<SharingRank> all;
    all.reserve(nodes.size());
    std::vector<std::size_t> busy;
    for (std::size_t r = 0; r < nodes.size(); ++r) {
      all.emplace_back(r, sharers, turns);
      busy.push_back(r);
    }
    std::vector<std::unique_ptr<cases::SharedByAll>> windows;
    std::vector<std::unique_ptr<InProcessNetwork>> networks;
    for (const Sharer& sharer : sharers) {
      cases::SharedByAll& shared = *windows.emplace_back(std::make_unique<cases::SharedByAll>(sharer.plans));
      InProcessNetwork& network = *networks.emplace_back(std::make_unique<InProcessNetwork>());
      const std::vector<Memory> send = cases::buffers(random, sharer.pattern, &RankPattern::out);
      for (std::size_t r = 0; r < nodes.size(); ++r) {
        const std::shared_ptr<PlanMemory> memory = shared.seen_by(r);
        arenas.give(r, *memory);
        all[r].bind(sharer, send, memory, network);
      }
    }
    for (int turn = 0; !busy.empty() && turn < 100000; ++turn) {
      const std::size_t r = random.pick(busy);
      for (std::int64_t n = random.one_of<std::int64_t>({1, 1, 1, 20}); n > 0 && !all[r].finished(); --n)
        if (!all[r].act()) return End::wrong;
      if (all[r].finished()) std::erase(busy, r);
    }
    return busy.empty() ? End::right : End::stuck;
  }

  cases::Random random;
  std::vector<Region> nodes;
  std::vector<Sharer> sharers;
  std::vector<Turn> turns;
};

TEST(StagingArena, SharersAgreeWithTheOracle) {
  std::int64_t pushed = 0;
  std::int64_t pulled = 0;
  for (std::uint64_t seed = 1; seed <= cases::effort(1500); ++seed) {
    SharingCase c(seed);
    for (const Sharer& sharer : c.sharers)
      for (const Plan& plan : sharer.plans)
        for (const Step& step : plan.steps) {
          pushed += cases::is_push(step);
          pulled += cases::is_pulled(step);
        }
    ASSERT_EQ(c.run(), SharingCase::End::right) << "seed " << seed;
  }
  EXPECT_GT(pushed, 0);
  EXPECT_GT(pulled, 0);
}

/// Each rule for shared staging memory is needed: without it, some case ends with wrong bytes.
TEST(StagingArena, SharersNeedTheReadyWord) {
  const auto is_ready_gate = [](const Step& step) { return cases::is_gate(step, Sign::ready); };
  const auto open = [](Step& gate) { gate.await->lag = 1 << 30; };
  const auto failures = [&](const std::function<void(Rank, Step&)>& change) {
    int wrong = 0;
    for (std::uint64_t seed = 1; seed <= cases::effort(600); ++seed) {
      SharingCase c(seed);
      for (Sharer& sharer : c.sharers)
        for (Plan& plan : sharer.plans)
          for (Step& step : plan.steps)
            if (is_ready_gate(step)) change(plan.rank, step);
      wrong += c.run() == SharingCase::End::wrong;
    }
    return wrong;
  };
  const int pushes = failures([&](Rank rank, Step& gate) {
    if (gate.peer != rank) open(gate);
  });
  const int own = failures([&](Rank rank, Step& gate) {
    if (gate.peer == rank) open(gate);
  });
  const int as_private = failures([&](Rank rank, Step& gate) {
    if (gate.peer == rank) return;
    gate.await->sign = Sign::completed;
    gate.await->lag = 1;
  });
  EXPECT_GT(pushes, 0);
  EXPECT_GT(own, 0);
  EXPECT_GT(as_private, 0);
  RecordProperty("pushes", pushes);
  RecordProperty("own", own);
  RecordProperty("as_private", as_private);
}

}  // namespace
}  // namespace laneway
