#include "setup/localizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cases.hpp"
#include "exec/executor.hpp"
#include "exec/reference.hpp"
#include "setup/virtual_ranks.hpp"
#include "transport/in_process.hpp"

namespace laneway {
namespace {

void* base_of(const Memory& memory) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory.bytes.data()) -
                                 static_cast<std::uintptr_t>(memory.first));
}

/// Windows and staging memory of all ranks, which each of them sees.
struct Shared {
  explicit Shared(const std::vector<Plan>& plans) {
    for (const Plan& plan : plans) {
      windows.emplace_back(static_cast<std::size_t>(plan.window_bytes / 8 + 1));
      staging.emplace_back(static_cast<std::size_t>(plan.staging_bytes / 8 + 1));
    }
  }
  NodeMemory::Part part(std::size_t rank) {
    return {reinterpret_cast<std::byte*>(windows[rank].data()), reinterpret_cast<std::byte*>(staging[rank].data())};
  }
  std::shared_ptr<NodeMemory> seen_by(std::size_t rank, const Region& node) {
    auto memory = std::make_shared<NodeMemory>();
    memory->own = part(rank);
    for (Rank peer : node.members) memory->peers[peer] = part(static_cast<std::size_t>(peer));
    return memory;
  }

  std::vector<std::vector<std::uint64_t>> windows;
  std::vector<std::vector<std::uint64_t>> staging;
};

/// A rank that runs exchange after exchange with new data, at its own pace.
class VirtualRank {
 public:
  VirtualRank(std::size_t rank, const Plan& plan, std::shared_ptr<NodeMemory> memory, InProcessNetwork& network,
              const std::vector<std::vector<Memory>>& send, const Memory& before,
              const std::vector<std::vector<Memory>>& expected)
      : rank_(rank), send_(send), before_(before), expected_(expected), mine_(send[0][rank]), received_(before) {
    const std::unique_ptr<Transport> transport = network.transport(static_cast<Rank>(rank));
    executor_ = std::make_unique<Executor>(std::make_shared<const Plan>(plan),
                                           Buffers{base_of(mine_), base_of(received_)}, *transport, std::move(memory));
  }

  [[nodiscard]] bool finished() const { return !active_ && exchange_ == send_.size(); }

  /// Starts or advances an exchange; false if it ended with wrong bytes.
  bool act() {
    if (!active_) {
      std::copy(send_[exchange_][rank_].bytes.begin(), send_[exchange_][rank_].bytes.end(), mine_.bytes.begin());
      std::copy(before_.bytes.begin(), before_.bytes.end(), received_.bytes.begin());
      executor_->start();
      active_ = true;
      return true;
    }
    if (!executor_->progress()) return true;
    active_ = false;
    std::fill(mine_.bytes.begin(), mine_.bytes.end(), std::byte{0});
    return received_ == expected_[exchange_++][rank_];
  }

 private:
  std::size_t rank_;
  const std::vector<std::vector<Memory>>& send_;
  const Memory& before_;
  const std::vector<std::vector<Memory>>& expected_;
  Memory mine_;
  Memory received_;
  std::unique_ptr<Executor> executor_;
  std::size_t exchange_ = 0;
  bool active_ = false;
};

struct Counts {
  std::int64_t puts = 0;
  std::int64_t pushed = 0;
  std::int64_t pulled = 0;
  std::int64_t messages = 0;
};

Counts count(const std::vector<Plan>& plans) {
  Counts counts;
  for (const Plan& plan : plans)
    for (const Step& step : plan.steps) {
      counts.messages += step.kind == StepKind::send;
      counts.puts += step.kind == StepKind::put;
      counts.pushed += step.kind == StepKind::put && step.to == Buffer::staging;
      counts.pulled += step.kind == StepKind::take && step.from == Buffer::staging;
    }
  return counts;
}

/// Ranks at their own pace, with memory reused from exchange to exchange, agree with the oracle.
TEST(Localizer, ExchangesAgreeWithTheOracle) {
  constexpr std::size_t exchanges = 4;
  Counts total;
  for (std::uint64_t seed = 1; seed <= cases::effort(200); ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      PlanOptions options = c.options;
      options.deduplicate = candidate.deduplicate;
      std::vector<Plan> plans = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans;
      const auto ranks = static_cast<Rank>(plans.size());
      const Machine memory = random.chance(70) ? c.machine : cases::random_machine(random, ranks);
      std::vector<Region> nodes;
      for (Rank r = 0; r < ranks; ++r) nodes.push_back(memory.region(0, r));
      const LocalOptions local{random.one_of<std::int64_t>({0, 16, 4096, 65536})};
      plans = localize_virtual_ranks(std::move(plans), nodes, local);
      const Counts counts = count(plans);
      total.puts += counts.puts;
      total.pushed += counts.pushed;
      total.pulled += counts.pulled;
      total.messages += counts.messages;

      std::vector<std::vector<Memory>> send;
      std::vector<std::vector<Memory>> expected;
      const std::vector<Memory> before = cases::buffers(random, c.pattern, &RankPattern::in);
      for (std::size_t k = 0; k < exchanges; ++k) {
        send.push_back(cases::buffers(random, c.pattern, &RankPattern::out));
        expected.push_back(before);
        exchange(c.pattern, send.back(), expected.back());
      }
      Shared shared(plans);
      InProcessNetwork network;
      std::vector<VirtualRank> all;
      all.reserve(plans.size());
      for (std::size_t r = 0; r < plans.size(); ++r)
        all.emplace_back(r, plans[r], shared.seen_by(r, nodes[r]), network, send, before[r], expected);
      std::vector<std::size_t> busy;
      for (std::size_t r = 0; r < plans.size(); ++r) busy.push_back(r);
      for (int turn = 0; !busy.empty() && turn < 100000; ++turn) {
        const std::size_t r = random.pick(busy);
        for (std::int64_t n = random.one_of<std::int64_t>({1, 1, 1, 20}); n > 0 && !all[r].finished(); --n)
          ASSERT_TRUE(all[r].act()) << "seed " << seed << " " << candidate.name << " rank " << r;
        if (all[r].finished()) std::erase(busy, r);
      }
      ASSERT_TRUE(busy.empty()) << "seed " << seed << " " << candidate.name << ": rank " << busy.front() << " is stuck";
    }
  }
  EXPECT_GT(total.pushed, 0);
  EXPECT_GT(total.pulled, 0);
  EXPECT_GT(total.puts, total.pushed + total.pulled);
  EXPECT_GT(total.messages, 0);
}

}  // namespace
}  // namespace laneway
