// lnw_check=plan: the plans that will run are proven on rank 0, or all ranks get the first fault.
#include "operations/plans/proof.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "algorithms/planner/planner.hpp"
#include "base/error.hpp"
#include "exchange.hpp"

namespace laneway::test {
namespace {

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

/// A persistent request of ints by a rule; LNW_REQUEST_NULL of operations that are not tried here.
LNW_Request init_dense(laneway::Dense kind, std::vector<int>& sent, std::vector<int>& received, MPI_Info info) {
  const int n = 5;
  MPI_Comm const comm = MPI_COMM_WORLD;
  int root = 0;
  MPI_Comm_size(comm, &root);
  --root;
  LNW_Request request = LNW_REQUEST_NULL;
  int* const a = sent.data();
  int* const b = received.data();
  switch (kind) {
    case laneway::Dense::alltoall:
      EXPECT_MPI(LNW_Alltoall_init(a, n, MPI_INT, b, n, MPI_INT, comm, info, &request));
      break;
    case laneway::Dense::allgather:
      EXPECT_MPI(LNW_Allgather_init(a, n, MPI_INT, b, n, MPI_INT, comm, info, &request));
      break;
    case laneway::Dense::gather:
      EXPECT_MPI(LNW_Gather_init(a, n, MPI_INT, b, n, MPI_INT, root, comm, info, &request));
      break;
    case laneway::Dense::scatter:
      EXPECT_MPI(LNW_Scatter_init(a, n, MPI_INT, b, n, MPI_INT, root, comm, info, &request));
      break;
    case laneway::Dense::bcast:
      EXPECT_MPI(LNW_Bcast_init(a, n, MPI_INT, root, comm, info, &request));
      break;
    case laneway::Dense::reduce:
      EXPECT_MPI(LNW_Reduce_init(a, b, n, MPI_INT, MPI_SUM, root, comm, info, &request));
      break;
    case laneway::Dense::allreduce:
      EXPECT_MPI(LNW_Allreduce_init(MPI_IN_PLACE, b, n, MPI_INT, MPI_SUM, comm, info, &request));
      break;
    case laneway::Dense::reduce_scatter:
      EXPECT_MPI(LNW_Reduce_scatter_block_init(a, b, n, MPI_INT, MPI_SUM, comm, info, &request));
      break;
    case laneway::Dense::scan:
      EXPECT_MPI(LNW_Scan_init(a, b, n, MPI_INT, MPI_SUM, comm, info, &request));
      break;
    case laneway::Dense::exscan:
      EXPECT_MPI(LNW_Exscan_init(a, b, n, MPI_INT, MPI_SUM, comm, info, &request));
      break;
    case laneway::Dense::barrier:
      EXPECT_MPI(LNW_Barrier_init(comm, info, &request));
      break;
  }
  return request;
}

TEST_F(ProofTest, PlansOfDenseOperationsAreProven) {
  std::vector<int> sent(static_cast<std::size_t>(5 * size()), rank());
  std::vector<int> received(sent.size(), 1);
  int rules = 0;
  for (const laneway::DenseRule& rule : laneway::dense_rules()) {
    if (rule.traits.windows != laneway::Windows::none) continue;
    const Info info(Hints{{"lnw_check", "plan"},
                          {"lnw_progress", "wait"},
                          {"lnw_collective", std::string(laneway::name(rule.kind)) + ":" + std::string(rule.name)}});
    LNW_Request request = LNW_REQUEST_NULL;
    const std::string text = told([&] { request = init_dense(rule.kind, sent, received, info.get()); });
    ASSERT_NE(request, LNW_REQUEST_NULL) << rule.name;
    const bool is_proven = text.find("laneway: proven: delivery, matching, races") != std::string::npos;
    // MPI's own runs where a rule is not right for such a call.
    if (text.find("(" + std::string(rule.name) + ",") != std::string::npos) ++rules;
    EXPECT_TRUE(rank() == 0 || !is_proven) << rule.name << ": " << text;
    EXPECT_MPI(LNW_Request_free(&request));
  }
  EXPECT_TRUE(rank() != 0 || rules > 30) << rules;
}

TEST_F(ProofTest, AFaultOfADensePlanIsAnErrorOnAllRanks) {
  const std::shared_ptr<PrivateComm> comm = Communicator::of(MPI_COMM_WORLD).private_comm();
  DenseCall call;
  call.kind = laneway::Dense::bcast;
  call.rank = rank();
  call.receive = Blocks::contiguous(8);
  Plan nothing;
  nothing.rank = rank();
  if (size() == 1) return prove_dense_plans(*comm, nothing, call, "nothing");  // the root has what it sends
  EXPECT_THROW(together(*comm, [&] { prove_dense_plans(*comm, nothing, call, "nothing"); }), Error);
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
