// Parts of the world that use this library while the other ranks do the same in parts of theirs, use the world, or are
// in MPI, waiting.
#include <cstdint>
#include <string>

#include "exchange.hpp"

namespace laneway::test {
namespace {

class SubcommunicatorsTest : public MpiTest {};

/// Parts of `ranks` consecutive ranks; the last has what is left.
struct Part {
  Part(int ranks, int key) : number(rank() / ranks), parts((size() + ranks - 1) / ranks) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, number, key, &made);
    comm = Comm(made);
    MPI_Comm_rank(made, &rank_in);
    MPI_Comm_size(made, &size_in);
  }
  Part(Part&&) = default;
  Comm comm;
  int number;
  int parts;
  int rank_in = 0;
  int size_in = 0;
};

/// Sanitizers, and ranks that never yield, make each exchange slow.
std::size_t stride_of(std::size_t wanted) {
#ifdef LANEWAY_TEST_SANITIZED
  constexpr bool is_slow = true;
#else
  const bool is_slow = is_mpich() && size() > 2;
#endif
  return long_tests() ? 1 : is_slow ? 7 * wanted : wanted;
}

/// Blocking, nonblocking and persistent operations by every `wanted`-th choice of strategies, or fewer where they are
/// slow.
void exchange_in(const Part& part, std::uint64_t seed, std::size_t wanted) {
  const std::size_t stride = stride_of(wanted);
  std::size_t turn = 0;
  for (const std::string& machine : {std::string("node:* rank:2"), std::string(), uneven_machine()})
    for (const Choice& choice : choices(machine)) {
      if (++turn % stride != 0) continue;
      ++seed;
      Hints hints = choice.hints(part.comm.get());
      if (seed % 2 == 0) hints.emplace_back("lnw_fixed_counts", "true");
      if (seed % 4 == 1) hints.emplace_back("lnw_shared_staging", "1048576");
      const Info info(hints);
      const Comm graph = make_graph(part.comm.get(), random_shape(seed, part.rank_in, part.size_in), info.get());
      for (Op op : all_ops) {
        Exchange exchange(op, graph.get(), mix({seed, static_cast<std::uint64_t>(op)}), seed % 3 != 0);
        LNW_Request persistent = LNW_REQUEST_NULL;
        EXPECT_MPI(exchange.init(info.get(), &persistent));
        for (int iteration = 0; iteration < 2; ++iteration) {
          exchange.fill(iteration);
          exchange.reference();
          exchange.expect_calls(choice.text());
          exchange.clear();
          EXPECT_MPI(LNW_Start(&persistent));
          EXPECT_MPI(LNW_Wait(&persistent, MPI_STATUS_IGNORE));
          EXPECT_TRUE(exchange.arrived()) << "persistent, " << choice.text();
        }
        EXPECT_MPI(LNW_Request_free(&persistent));
      }
    }
}

// Must stay the first test, so that nothing is known of the world. The other parts wait in MPI.
TEST_F(SubcommunicatorsTest, BeforeTheWorldAndOneAfterTheOther) {
  for (const int ranks : {2, 1, 3}) {
    const Part part(ranks, rank());
    for (int turn = part.parts; turn-- > 0;) {
      if (turn == part.number) exchange_in(part, 100, 5);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

TEST_F(SubcommunicatorsTest, AllAtOnce) {
  for (const int ranks : {1, 2, 3}) exchange_in(Part(ranks, -rank()), 200 + static_cast<std::uint64_t>(ranks), 2);
}

/// Some parts have made no communicator when others have made and freed many.
TEST_F(SubcommunicatorsTest, AtDifferentSpeeds) {
  const Part part(2, rank());
  for (int i = 0; i < part.number % 3; ++i) exchange_in(part, 300 + static_cast<std::uint64_t>(i), 3);
}

TEST_F(SubcommunicatorsTest, BesideTheWorld) {
  const Part part(2, rank());
  std::uint64_t seed = 400;
  const std::size_t stride = stride_of(1);
  for (const std::string& machine : {std::string("node:* rank:2"), std::string(), uneven_machine()})
    for (const Choice& choice : choices(machine)) {
      if (++seed % stride != 0) continue;
      const Info of_world(choice.hints());
      const Info of_part(choice.hints(part.comm.get()));
      const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size()));
      const Comm small = make_graph(part.comm.get(), random_shape(seed, part.rank_in, part.size_in));
      Exchange all(all_ops[seed % std::size(all_ops)], graph.get(), seed, true);
      Exchange few(all_ops[(seed / 2) % std::size(all_ops)], small.get(), seed, true);
      LNW_Request world = LNW_REQUEST_NULL, inside = LNW_REQUEST_NULL;
      EXPECT_MPI(all.init(of_world.get(), &world));
      EXPECT_MPI(few.init(of_part.get(), &inside));
      for (Exchange* exchange : {&all, &few}) {
        exchange->fill(1);
        exchange->reference();
        exchange->clear();
      }
      // The world's is under way while a part's begins, runs and ends; other parts end theirs after the world's.
      if (part.number % 2 == 0) {
        EXPECT_MPI(LNW_Start(&world));
        EXPECT_MPI(LNW_Start(&inside));
        EXPECT_MPI(LNW_Wait(&inside, MPI_STATUS_IGNORE));
        exchange_in(part, seed, 50);
        EXPECT_MPI(LNW_Wait(&world, MPI_STATUS_IGNORE));
      } else {
        EXPECT_MPI(LNW_Start(&inside));
        EXPECT_MPI(LNW_Start(&world));
        EXPECT_MPI(LNW_Wait(&world, MPI_STATUS_IGNORE));
        EXPECT_MPI(LNW_Wait(&inside, MPI_STATUS_IGNORE));
      }
      EXPECT_TRUE(all.arrived()) << "the world's, " << choice.text();
      EXPECT_TRUE(few.arrived()) << "the part's, " << choice.text();
      EXPECT_MPI(LNW_Request_free(&world));
      EXPECT_MPI(LNW_Request_free(&inside));
    }
}

/// A description counts the ranks of the world: one that counts a part's is refused on all its ranks, and the part goes
/// on.
TEST_F(SubcommunicatorsTest, MachinesDescribeTheWorld) {
  const Part part(2, rank());
  const Handler handler(part.comm.get(), MPI_ERRORS_RETURN);
  const Shape shape = ring_shape(part.rank_in, part.size_in);
  const std::string of_part = "ranks:" + std::to_string(part.size_in), of_world = "ranks:" + std::to_string(size());
  for (const std::string& machine : {of_part, of_world}) {
    const Info info(Hints{{"lnw_machine", machine}, {"lnw_strategy", "three_step"}});
    MPI_Comm made = MPI_COMM_NULL;
    const int code = LNW_Dist_graph_create_adjacent(part.comm.get(), 2, shape.sources.data(), MPI_UNWEIGHTED, 2,
                                                    shape.destinations.data(), MPI_UNWEIGHTED, info.get(), 0, &made);
    const Comm graph(made);
    if (machine == of_world || part.size_in == size()) {
      EXPECT_MPI(code);
    } else {
      const std::string text = error_text(code);
      EXPECT_NE(text.find("machine '" + of_part + "' describes " + std::to_string(part.size_in) + " ranks, there are " +
                          std::to_string(size())),
                std::string::npos)
          << text;
    }
  }
  exchange_in(part, 500, 10);
}

/// What is never freed ends with the job, though parts have made it in different orders.
TEST_F(SubcommunicatorsTest, LeftToTheEnd) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "what is left on purpose counts as leaked";
#endif
  // Until the process ends: nothing may be destroyed after MPI_Finalize.
  static std::vector<std::vector<int>>& received = *new std::vector<std::vector<int>>(4);
  static std::vector<LNW_Request>& requests = *new std::vector<LNW_Request>;
  static const int mine = rank();
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() / 2, rank(), &part);
  const Info info(Hints{{"lnw_machine", "node:* rank:2"}, {"lnw_strategy", "three_step"}});
  const auto keep = [&](MPI_Comm comm) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    const Shape shape = complete_shape(ranks);
    MPI_Comm graph = MPI_COMM_NULL;
    EXPECT_MPI(LNW_Dist_graph_create_adjacent(comm, ranks, shape.sources.data(), MPI_UNWEIGHTED, ranks,
                                              shape.destinations.data(), MPI_UNWEIGHTED, info.get(), 0, &graph));
    std::vector<int>& to = received[requests.size()];
    to.resize(static_cast<std::size_t>(ranks));
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_allgather_init(&mine, 1, MPI_INT, to.data(), 1, MPI_INT, graph, info.get(), &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    requests.push_back(request);
  };
  const bool part_is_first = rank() / 2 % 2 == 0;
  if (part_is_first) keep(part);
  keep(MPI_COMM_WORLD);
  if (!part_is_first) keep(part);
  keep(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace laneway::test
