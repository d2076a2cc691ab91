// A family that the library does not have goes through the pipeline of neighborhoods and collectives, which knows
// nothing of it: agreed, chosen, bound, proven and run, as a request and under a promise.
#include <array>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "base/error.hpp"
#include "communicator/control/check_edges.hpp"
#include "operations/pipeline/fixed_operation.hpp"
#include "operations/pipeline/pipeline.hpp"
#include "operations/plans/proof.hpp"
#include "setting.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

constexpr std::size_t most = 64;
using Numbers = std::array<int, most>;

struct ShiftCall {
  int distance = 1;  ///< from a rank to the one that gets its numbers
  int count = 0;
  const int* from = nullptr;
  int* to = nullptr;
  bool is_misplanned = false;
  bool lacks_memory = false;
};

/// A shift: all ranks know the edges from one number. Candidates are one message, and two halves: a hint names one, a
/// trial has found one, or counts are costs.
class ShiftFamily final : public AlgorithmFamily {
 public:
  ShiftFamily(Communicator&, PrivateComm& comm, const ShiftCall& call) : comm_(comm), call_(call) {}

  [[nodiscard]] const char* name() const override { return "shift"; }
  [[nodiscard]] Buffers buffers() const override { return {call_.from, call_.to}; }
  [[nodiscard]] CallSignature signature() const override { return {}; }
  [[nodiscard]] laneway::Hints& hints() override { return hints_; }
  [[nodiscard]] const RankPattern* pattern() const override { return &pattern_; }

  void propose(Proposal& proposal) override {
    require(call_.count >= 0 && call_.count <= static_cast<int>(most), ErrorKind::count, "count is odd");
    if (call_.lacks_memory) throw std::bad_alloc();
    pattern_ = in_pieces(1);
    proposal.flags = {call_.count > 1};
    proposal.edges = edge_sum(comm_.rank(), pattern_);
  }
  int agreed(Agreement agreement) override {
    require(agreement.edges_match, ErrorKind::topology, "the counts differ");
    may_halve_ = agreement.flags[0];
    return comm_.take_tags();
  }
  [[nodiscard]] Candidates candidates(Use) override {
    if (call_.count == 0) return {.only = "nothing"};
    Candidates candidates;
    candidates.reasons.candidates = {{"whole"}};
    if (may_halve_) candidates.reasons.candidates.push_back({"halves"});
    if (hints_.collective != "auto") candidates.only = hints_.collective == "mpi" && may_halve_ ? "halves" : "whole";
    return candidates;
  }
  /// Whoever measures finds that halves are slow.
  [[nodiscard]] std::optional<TrialResult> tuned(Candidates&) override {
    if (hints_.tuning != Tuning::measure) return std::nullopt;
    return TrialResult{.best = "whole", .measured = {{"whole", 1}, {"halves", 2}}};
  }
  void predict(Candidates& candidates) override {
    candidates.reasons.parameters = "counts";
    for (Candidate& one : candidates.reasons.candidates) one.seconds = one.name == "whole" ? call_.count : 8;
    candidates.cheapest = call_.count > 8 && may_halve_ ? "halves" : "whole";
  }
  void plan(const std::string& candidate, Chosen& chosen) override {
    if (candidate == "nothing") return;
    RankPattern planned = in_pieces(candidate == "halves" ? 2 : 1);
    if (call_.is_misplanned) planned.in.pop_back();
    chosen.ready.plan = std::make_shared<const Plan>(plan_direct(comm_.rank(), planned));
  }
  void prove(const Plan& plan, std::string_view what) const override { prove_plans(comm_, plan, pattern_, what); }
  [[nodiscard]] std::unique_ptr<Work> work_without_plan(Chosen&) override {
    class Nothing final : public Work {
     public:
      [[nodiscard]] bool start() override { return true; }
      [[nodiscard]] bool test() override { return true; }
      [[nodiscard]] bool done() override { return true; }
      [[nodiscard]] bool active() const override { return false; }
    };
    return std::make_unique<Nothing>();
  }

 private:
  [[nodiscard]] RankPattern in_pieces(int pieces) const {
    const Rank ranks = comm_.size();
    const Rank to = (comm_.rank() + call_.distance) % ranks;
    const Rank from = (comm_.rank() - call_.distance % ranks + ranks) % ranks;
    RankPattern pattern;
    for (int piece = 0; piece < pieces; ++piece) {
      const std::int64_t begin = call_.count * piece / pieces * std::int64_t{sizeof(int)};
      const std::int64_t end = call_.count * (piece + 1) / pieces * std::int64_t{sizeof(int)};
      pattern.out.push_back({to, {{begin, end - begin}}});
      pattern.in.push_back({from, {{begin, end - begin}}});
    }
    return pattern;
  }

  PrivateComm& comm_;
  const ShiftCall& call_;
  laneway::Hints hints_;
  RankPattern pattern_;
  bool may_halve_ = false;
};

class ThirdFamilyTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    comm_ = duplicate_of(MPI_COMM_WORLD);
    std::iota(from_.begin(), from_.end(), 100 * rank());
  }
  void TearDown() override {
    comm_.free();
    MpiTest::TearDown();
  }

  [[nodiscard]] Communicator& communicator() const { return Communicator::of(comm_.get()); }
  [[nodiscard]] std::unique_ptr<Request> make(const ShiftCall& call) const {
    const std::shared_ptr<PrivateComm> priv = communicator().private_comm();
    return together(*priv, [&] {
      ShiftFamily family(communicator(), *priv, call);
      return make_request(family, communicator(), *priv, MPI_INFO_NULL);
    });
  }
  /// Which kind of error all ranks have.
  template <class F>
  [[nodiscard]] ErrorKind kind_of(F&& f) const {
    try {
      f();
    } catch (const Error& error) {
      return error.kind();
    }
    ADD_FAILURE() << "no error on rank " << rank();
    return ErrorKind::internal;
  }
  void expect_shifted(const ShiftCall& call) const {
    const int source = ((rank() - call.distance) % size() + size()) % size();
    for (int i = 0; i < call.count; ++i) EXPECT_EQ(call.to[i], 100 * source + i) << "number " << i;
  }

  Comm comm_;
  Numbers from_{};
  Numbers to_{};
};

TEST_F(ThirdFamilyTest, IsRequested) {
  const Setting check("LANEWAY_CHECK", "plan");
  for (const int count : {1, 5, 20})
    for (const int distance : {0, 1, 2}) {
      const ShiftCall call{distance, count, from_.data(), to_.data()};
      const std::unique_ptr<Request> request = make(call);
      EXPECT_EQ(request->strategy(), count > 8 ? "halves" : "whole");
      for (int turn = 0; turn < 3; ++turn) {
        to_.fill(-1);
        EXPECT_TRUE(request->start());
        request->wait();
        expect_shifted(call);
      }
    }
}

TEST_F(ThirdFamilyTest, HintsChooseAndAllRanksMustHaveThem) {
  const ShiftCall call{1, 5, from_.data(), to_.data()};
  {
    const Setting hint("LANEWAY_COLLECTIVE", "mpi");
    EXPECT_EQ(make(call)->strategy(), "halves");
  }
  if (size() < 2) GTEST_SKIP() << "SKIP: to differ takes two ranks";
  const Setting hint("LANEWAY_COLLECTIVE", rank() == 0 ? "mpi" : "auto");
  EXPECT_EQ(kind_of([&] { (void)make(call); }), ErrorKind::info);
}

TEST_F(ThirdFamilyTest, WhatATrialHasFoundGoesBeforeCosts) {
  const ShiftCall call{1, 20, from_.data(), to_.data()};
  EXPECT_EQ(make(call)->reasons().candidates.size(), 2U);
  EXPECT_EQ(make(call)->reasons().candidates.back().seconds, 8);
  const Setting tune("LANEWAY_TUNE", "measure");
  const std::unique_ptr<Request> request = make(call);
  EXPECT_EQ(request->strategy(), "whole");
  EXPECT_EQ(request->reasons().measured.size(), 2U);
  EXPECT_FALSE(request->reasons().has_costs());
  const Setting hint("LANEWAY_COLLECTIVE", "mpi");
  EXPECT_EQ(make(call)->strategy(), "halves");
}

TEST_F(ThirdFamilyTest, WhatIsWrongOnOneRankIsSaidOnAll) {
  if (size() < 2) GTEST_SKIP() << "SKIP: to differ takes two ranks";
  const ShiftCall bad{1, rank() == 1 ? -1 : 5, from_.data(), to_.data()};
  EXPECT_EQ(kind_of([&] { (void)make(bad); }), rank() == 1 ? ErrorKind::count : ErrorKind::argument);
  const ShiftCall uneven{1, rank() == 1 ? 4 : 5, from_.data(), to_.data()};
  EXPECT_EQ(kind_of([&] { (void)make(uneven); }), ErrorKind::topology);
  const ShiftCall large{1, 5, from_.data(), to_.data(), false, rank() == 1};
  if (rank() == 1)
    EXPECT_THROW((void)make(large), std::bad_alloc);
  else
    EXPECT_EQ(kind_of([&] { (void)make(large); }), ErrorKind::argument);
  const Setting check("LANEWAY_CHECK", "plan");
  const ShiftCall misplanned{1, 5, from_.data(), to_.data(), rank() == 1};
  EXPECT_EQ(kind_of([&] { (void)make(misplanned); }), ErrorKind::internal);
}

TEST_F(ThirdFamilyTest, MayDoWithoutAPlan) {
  const std::unique_ptr<Request> request = make({1, 0, from_.data(), to_.data()});
  EXPECT_EQ(request->strategy(), "nothing");
  EXPECT_TRUE(request->start());
  request->wait();
}

TEST_F(ThirdFamilyTest, IsPromised) {
  const FixedKey key{.operation = 1 << 20, .root = 1};
  const ShiftCall call{1, 20, from_.data(), to_.data()};
  const FixedOperation& fixed = fixed_operation<ShiftFamily>(communicator(), key, Use::calls, call);
  EXPECT_EQ(&fixed, &fixed_operation<ShiftFamily>(communicator(), key, Use::calls, ShiftCall{}));
  EXPECT_EQ(fixed.reasons.strategy, "halves");
  std::vector<Numbers> received(12);
  for (Numbers& numbers : received) {
    fixed.bound->run({from_.data(), numbers.data()}, *fixed.order->comm(), fixed.order->tag());
    expect_shifted({1, 20, from_.data(), numbers.data()});
    const std::unique_ptr<Request> request = start_request(communicator(), fixed.order, fixed.bound,
                                                           {from_.data(), to_.data()}, Helper::none, fixed.reasons);
    request->wait();
    expect_shifted(call);
  }
}

}  // namespace
}  // namespace laneway::test
