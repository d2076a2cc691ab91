// Blocking and nonblocking operations that use plans: routes made with the topology, and plans under a promise.
#include <sstream>
#include <string>

#include "exchange.hpp"

namespace laneway::test {
namespace {

class RoutesTest : public MpiTest {};

std::string strategy_of(LNW_Request request) {
  const char* name = nullptr;
  EXPECT_MPI(LNW_Request_get_strategy(request, &name));
  return name;
}

TEST_F(RoutesTest, EveryStrategyAndOperation) {
  std::uint64_t seed = 900;
  for (const std::string& machine : {std::string("node:* rank:2"), uneven_machine()})
    for (const Choice& choice : choices(machine)) {
      ++seed;
      Hints hints = choice.hints();
      if (seed % 2 == 0) hints.emplace_back("lnw_fixed_counts", "true");
      const Info info(hints);
      const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size()), info.get());
      for (Op op : all_ops) {
        Exchange exchange(op, graph.get(), mix({seed, static_cast<std::uint64_t>(op)}), seed % 3 != 0);
        for (int iteration = 0; iteration < 3; ++iteration) {
          exchange.fill(iteration);
          exchange.reference();
          exchange.expect_calls(choice.text());
        }
      }
    }
}

/// The strategy in use by size: relayed up to the limit of staging memory, direct above; the same on all ranks.
TEST_F(RoutesTest, LargerOnesAreDirect) {
  const Info info(
      Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}, {"lnw_staging_limit", "65536"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()), info.get());
  bool relayed = true;
  for (int bytes = 1; bytes <= 1 << 20; bytes *= 4) {
    std::vector<char> send(static_cast<std::size_t>(bytes), static_cast<char>(rank() + 1));
    std::vector<char> receive(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(size()));
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(
        LNW_Ineighbor_allgather(send.data(), bytes, MPI_CHAR, receive.data(), bytes, MPI_CHAR, graph.get(), &request));
    const bool relays = strategy_of(request) == "three_step";
    EXPECT_TRUE(relayed || !relays) << bytes;
    relayed = relays;
    int all = relays, any = relays;
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    EXPECT_EQ(all, any) << bytes;
    if (bytes == 1) {
      EXPECT_TRUE(relays);
    }
    if (bytes == 1 << 20 && size() > 2) {
      EXPECT_FALSE(relays);
    }
    for (int source = 0; source < size(); ++source)
      EXPECT_EQ(receive[static_cast<std::size_t>(source) * static_cast<std::size_t>(bytes)],
                static_cast<char>(source + 1));
  }
}

/// With a strategy to be chosen, blocking calls plan, and nonblocking ones use what they have planned.
TEST_F(RoutesTest, BlockingCallsPlanForNonblockingOnes) {
  const Info info(Hints{{"lnw_strategy", "auto"}, {"lnw_machine", "node:* rank:4"}, {"lnw_exchanges", "1000000000"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()), info.get());
  const int mine = 1000 + rank();
  const auto nonblocking = [&] {
    std::vector<int> receive(static_cast<std::size_t>(size()));
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Ineighbor_allgather(&mine, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), &request));
    const std::string strategy = strategy_of(request);
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    for (int source = 0; source < size(); ++source) EXPECT_EQ(receive[static_cast<std::size_t>(source)], 1000 + source);
    return strategy;
  };
  EXPECT_EQ(nonblocking(), "direct");
  std::vector<int> receive(static_cast<std::size_t>(size()));
  EXPECT_MPI(LNW_Neighbor_allgather(&mine, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get()));
  for (int source = 0; source < size(); ++source) EXPECT_EQ(receive[static_cast<std::size_t>(source)], 1000 + source);
  const std::string strategy = nonblocking();
  if (size() >= 8) {
    EXPECT_NE(strategy, "direct");
  }
}

TEST_F(RoutesTest, ReasonsOfAChoice) {
  const Info info(Hints{{"lnw_strategy", "auto"},
                        {"lnw_machine", "node:* rank:2"},
                        {"lnw_parameters", "default-ethernet"},
                        {"lnw_transport", "p2p"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()), MPI_INFO_NULL);
  const int mine = rank();
  std::vector<int> receive(static_cast<std::size_t>(size()));
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(
      LNW_Neighbor_allgather_init(&mine, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), info.get(), &request));
  MPI_Info reasons = MPI_INFO_NULL;
  EXPECT_MPI(LNW_Request_get_info(request, &reasons));
  const auto value = [&](const char* key) {
    char text[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info_get(reasons, key, MPI_MAX_INFO_VAL, text, &found);
    return std::string(found ? text : "-");
  };
  EXPECT_EQ(value("lnw_strategy"), strategy_of(request));
  EXPECT_EQ(value("lnw_parameters"), size() > 2 ? "default-ethernet" : "-");
  for (const char* key : {"lnw_cost_direct", "lnw_cost_three_step", "lnw_cost_split"}) {
    std::istringstream numbers(value(key));
    double seconds = -1;
    int count = 0;
    for (double number = 0; numbers >> number; ++count)
      if (count == 0) seconds = number;
    EXPECT_EQ(count, size() > 2 ? 5 : 0) << key;
    EXPECT_TRUE(size() <= 2 || seconds > 0) << key;
  }
  MPI_Info_free(&reasons);
  EXPECT_MPI(LNW_Request_free(&request));
}

/// Several in flight on one communicator, relayed, completed in another order than they were started.
TEST_F(RoutesTest, SeveralInFlight) {
  const Info info(Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", uneven_machine()}});
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()), info.get());
  constexpr int count = 4;
  std::vector<std::vector<int>> send(count), receive(count);
  std::vector<LNW_Request> requests(count, LNW_REQUEST_NULL);
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::size_t>(i);
    send[n] = {100 * i + rank()};
    receive[n].assign(static_cast<std::size_t>(size()), -1);
    EXPECT_MPI(
        LNW_Ineighbor_allgather(send[n].data(), 1, MPI_INT, receive[n].data(), 1, MPI_INT, graph.get(), &requests[n]));
    EXPECT_EQ(strategy_of(requests[n]), "three_step");
  }
  for (int i = 0; i < count; ++i)
    EXPECT_MPI(LNW_Wait(&requests[static_cast<std::size_t>((i + rank()) % count)], MPI_STATUS_IGNORE));
  for (int i = 0; i < count; ++i)
    for (int source = 0; source < size(); ++source)
      EXPECT_EQ(receive[static_cast<std::size_t>(i)][static_cast<std::size_t>(source)], 100 * i + source);
}

/// Under the promise, v operations with datatypes of two sizes have a plan each.
TEST_F(RoutesTest, FixedCountsWithTwoTypes) {
  const Info info(Hints{{"lnw_strategy", "two_step"}, {"lnw_machine", "node:* rank:2"}, {"lnw_fixed_counts", "true"}});
  const Shape shape = ring_shape(rank(), size());
  const Comm graph = make_graph(MPI_COMM_WORLD, shape, info.get());
  const std::vector<int> counts(2, 2), displacements{0, 2};
  for (int turn = 0; turn < 3; ++turn) {
    const auto run = [&](auto value, MPI_Datatype type) {
      using T = decltype(value);
      std::vector<T> send(4), receive(4);
      for (int i = 0; i < 4; ++i) send[static_cast<std::size_t>(i)] = static_cast<T>(1000 * turn + 10 * rank() + i);
      LNW_Request request = LNW_REQUEST_NULL;
      EXPECT_MPI(LNW_Ineighbor_alltoallv(send.data(), counts.data(), displacements.data(), type, receive.data(),
                                         counts.data(), displacements.data(), type, graph.get(), &request));
      EXPECT_EQ(strategy_of(request), "two_step");
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      std::vector<T> expected(4);
      const auto* edges = shape.sources.data();
      MPI_Request requests[4];
      for (int k = 0; k < 2; ++k) {
        MPI_Irecv(expected.data() + 2 * k, 2, type, edges[k], 5, graph.get(), &requests[k]);
        MPI_Isend(send.data() + 2 * k, 2, type, shape.destinations[static_cast<std::size_t>(k)], 5, graph.get(),
                  &requests[2 + k]);
      }
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      EXPECT_EQ(receive, expected);
    };
    run(int{}, MPI_INT);
    run(double{}, MPI_DOUBLE);
  }
}

}  // namespace
}  // namespace laneway::test
