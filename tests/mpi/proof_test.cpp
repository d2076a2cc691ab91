// lnw_check=plan: the plans that will run are proven on rank 0, or all ranks get the first fault.
#include "operate/proof.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "exchange.hpp"
#include "setup/planner.hpp"

namespace laneway::test {
namespace {

class Free : public testing::Environment {
  void TearDown() override { free_pair_types(); }
};
const auto* const free_types = testing::AddGlobalTestEnvironment(new Free);

class ProofTest : public MpiTest {};

constexpr const char* all_proven = "laneway: proven: delivery, matching, races, deadlocks, reuse (";

/// What this rank writes to standard error meanwhile.
template <class F>
std::string told(F&& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

/// With node memory as discovered, by every strategy, with shared staging memory in every second case.
TEST_F(ProofTest, PlansOfPersistentOperationsAreProven) {
  std::size_t turn = 0;
  for (const std::string& machine : machines())
    for (const Choice& choice : choices(machine)) {
      const std::uint64_t seed = mix({17, ++turn});
      const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size()));
      Exchange exchange(all_ops[turn % std::size(all_ops)], graph.get(), seed, turn % 3 == 0);
      Hints hints = choice.hints(graph.get());
      hints.emplace_back("lnw_check", "plan");
      if (turn % 2 == 0) hints.emplace_back("lnw_shared_staging", "1048576");
      const Info info(hints);
      LNW_Request request = LNW_REQUEST_NULL;
      const std::string text = told([&] { EXPECT_MPI(exchange.init(info.get(), &request)); });
      ASSERT_NE(request, LNW_REQUEST_NULL) << choice.text();
      EXPECT_EQ(text.find(all_proven) != std::string::npos, rank() == 0) << choice.text() << ": " << text;
      exchange.fill(1);
      exchange.reference();
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(exchange.arrived()) << choice.text();
      EXPECT_MPI(LNW_Request_free(&request));
    }
}

TEST_F(ProofTest, NothingIsProvenUnasked) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  Exchange exchange(Op::allgather, graph.get(), 5, false);
  const Info info(Hints{{"lnw_check", "true"}});
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_EQ(told([&] { EXPECT_MPI(exchange.init(info.get(), &request)); }), "");
  EXPECT_MPI(LNW_Request_free(&request));
}

RankPattern ring_pattern() {
  RankPattern pattern;
  const Rank right = (rank() + 1) % size();
  const Rank left = (rank() + size() - 1) % size();
  pattern.out = {{right, {{0, 8}}}};
  pattern.in = {{left, {{0, 8}}}};
  return pattern;
}

/// Of one rank that sends to the wrong place, all ranks hear.
TEST_F(ProofTest, AFaultIsAnErrorOnAllRanks) {
  const std::shared_ptr<PrivateComm> comm = Communicator::of(MPI_COMM_WORLD).private_comm();
  const RankPattern pattern = ring_pattern();
  Plan plan = plan_direct(rank(), pattern);
  const std::string text = told([&] { prove_plans(*comm, plan, pattern, "direct"); });
  EXPECT_EQ(text.starts_with(all_proven), rank() == 0) << text;

  if (rank() == size() - 1)
    for (Step& step : plan.steps) {
      if (step.kind == StepKind::send) step.span.offset += 1;
      for (CopyRun& run : step.runs) run.from += 1;
    }
  std::string what;
  const std::string told_of_it = told([&] {
    try {
      together(*comm, [&] { prove_plans(*comm, plan, pattern, "direct"); });
    } catch (const Error& error) {
      what = error.what();
    }
  });
  EXPECT_NE(what.find("the plans of this operation are not proven (lnw_check=plan; direct): rank 0: receive byte 0 "
                      "should hold byte 0 of rank " +
                      std::to_string(size() - 1)),
            std::string::npos)
      << what;
  EXPECT_EQ(told_of_it, "");
}

}  // namespace
}  // namespace laneway::test
