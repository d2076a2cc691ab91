// Topology objects: neighbours without a communicator of their own.
#include <array>
#include <memory>
#include <numeric>

#include "communicator/communicator.hpp"
#include "exchange.hpp"
#include "runtime/executor/progress.hpp"
#include "system_limits.hpp"

namespace laneway::test {
namespace {

class TopologyTest : public MpiTest {};

LNW_Topology create(MPI_Comm comm, const Shape& shape, const Hints& hints = {}) {
  const Info info(hints);
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  EXPECT_MPI(LNW_Topology_create(comm, static_cast<int>(shape.sources.size()), shape.sources.data(), MPI_UNWEIGHTED,
                                 static_cast<int>(shape.destinations.size()), shape.destinations.data(), MPI_UNWEIGHTED,
                                 info.get(), &topology));
  return topology;
}

Shape shape_of(LNW_Topology topology) {
  int indegree = -1, outdegree = -1;
  EXPECT_MPI(LNW_Topology_get_neighbors_count(topology, &indegree, &outdegree));
  Shape shape{std::vector<int>(static_cast<std::size_t>(indegree)),
              std::vector<int>(static_cast<std::size_t>(outdegree))};
  EXPECT_MPI(
      LNW_Topology_get_neighbors(topology, indegree, shape.sources.data(), outdegree, shape.destinations.data()));
  return shape;
}

TEST_F(TopologyTest, OperationsOnThePlainCommunicator) {
  // The graph communicator serves as a reference only.
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(6)); ++seed) {
    const Shape shape = random_shape(seed, rank(), size());
    const Comm graph = make_graph(MPI_COMM_WORLD, shape);
    LNW_Topology topology = create(MPI_COMM_WORLD, shape);
    EXPECT_EQ(shape_of(topology).sources, shape.sources);
    EXPECT_EQ(shape_of(topology).destinations, shape.destinations);
    for (Op op : all_ops) {
      const Form form{seed % 2 == 0, topology};
      Exchange exchange(op, graph.get(), mix({seed, static_cast<std::uint64_t>(op)}), seed % 3 != 0);
      exchange.fill(0);
      exchange.reference();
      EXPECT_MPI(exchange.blocking(form));
      EXPECT_TRUE(exchange.arrived());
      LNW_Request request = LNW_REQUEST_NULL;
      exchange.clear();
      EXPECT_MPI(exchange.nonblocking(&request, form));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(exchange.arrived());
      for (const Choice& choice : choices("node:* rank:2")) {
        const Info info(choice.hints());
        exchange.clear();
        EXPECT_MPI(exchange.init(info.get(), &request, form));
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(exchange.arrived()) << choice.text();
        EXPECT_MPI(LNW_Request_free(&request));
      }
    }
    EXPECT_MPI(LNW_Topology_free(&topology));
    EXPECT_EQ(topology, LNW_TOPOLOGY_NULL);
  }
}

TEST_F(TopologyTest, FromCartesianWithOpenEnds) {
  const int whole = size(), open = 0;
  MPI_Comm cart = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &whole, &open, 0, &cart));
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  EXPECT_MPI(LNW_Topology_from_comm(cart, &topology));
  const Neighborhood expected = neighborhood_of(cart);
  EXPECT_EQ(shape_of(topology).sources, expected.sources);
  EXPECT_EQ(shape_of(topology).destinations, expected.destinations);
  // Fewer than there are.
  std::array<int, 2> first{-7, -7};
  EXPECT_MPI(LNW_Topology_get_neighbors(topology, 1, first.data(), 0, nullptr));
  EXPECT_EQ(first, (std::array<int, 2>{expected.sources[0], -7}));
  EXPECT_MPI(LNW_Topology_free(&topology));
  MPI_Comm_free(&cart);
}

TEST_F(TopologyTest, OutlivesItsCommunicatorAndIsOutlivedByRequests) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  LNW_Topology topology = create(comm, ring_shape(rank(), size()));
  MPI_Comm_free(&comm);
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  const int send = rank();
  std::array<LNW_Request, 2> requests{};
  std::array<std::array<int, 2>, 2> receive{};
  EXPECT_MPI(LNW_Neighbor_allgather_init_topology(&send, 1, MPI_INT, receive[0].data(), 1, MPI_INT, topology,
                                                  MPI_INFO_NULL, &requests[0]));
  EXPECT_MPI(
      LNW_Ineighbor_allgather_topology(&send, 1, MPI_INT, receive[1].data(), 1, MPI_INT, topology, &requests[1]));
  EXPECT_MPI(LNW_Topology_free(&topology));
  EXPECT_MPI(LNW_Start(&requests[0]));
  EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
  for (const auto& got : receive) EXPECT_EQ(got, (std::array<int, 2>{left, right}));
  EXPECT_MPI(LNW_Request_free(&requests[0]));
}

TEST_F(TopologyTest, NonblockingInOtherOrdersOnTopologiesOfOneCommunicator) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  std::array<LNW_Topology, 2> topologies{};
  for (LNW_Topology& topology : topologies) EXPECT_MPI(LNW_Topology_from_comm(graph.get(), &topology));
  for (std::uint64_t turn = 0; turn < 5; ++turn) {
    Exchange first(all_ops[turn], graph.get(), 10 + turn, true), second(all_ops[turn], graph.get(), 20 + turn, false),
        third(all_ops[turn], graph.get(), 30 + turn, true);
    for (Exchange* exchange : {&first, &second, &third}) {
      exchange->fill(1);
      exchange->reference();
    }
    std::array<LNW_Request, 3> requests{};
    for (int i = 0; i < 3; ++i) {
      const int which = (i + rank()) % 3;
      if (which == 0) EXPECT_MPI(first.nonblocking(&requests[0], {false, topologies[0]}));
      if (which == 1) EXPECT_MPI(second.nonblocking(&requests[1], {true, topologies[1]}));
      if (which == 2) EXPECT_MPI(third.nonblocking(&requests[2]));
    }
    EXPECT_MPI(LNW_Waitall(3, requests.data(), MPI_STATUSES_IGNORE));
    for (Exchange* exchange : {&first, &second, &third}) EXPECT_TRUE(exchange->arrived());
  }
  for (LNW_Topology& topology : topologies) EXPECT_MPI(LNW_Topology_free(&topology));
}

TEST_F(TopologyTest, HintsHold) {
  const Hints hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:1"}};
  const Shape shape = ring_shape(rank(), size());
  const Info info(hints);
  const Comm graph = make_graph(MPI_COMM_WORLD, shape, info.get());
  LNW_Topology from_comm = LNW_TOPOLOGY_NULL;
  EXPECT_MPI(LNW_Topology_from_comm(graph.get(), &from_comm));
  for (LNW_Topology topology : {create(MPI_COMM_WORLD, shape, hints), from_comm}) {
    const std::array<int, 2> counts{1, 1};
    const std::array<MPI_Count, 2> large_counts{1, 1}, indices{0, 0};
    const int send = rank();
    for (bool large : {false, true}) {
      std::array<int, 2> receive{};
      const std::array<MPI_Count, 2> places{0, 1};
      LNW_Request request = LNW_REQUEST_NULL;
      if (large)
        EXPECT_MPI(LNW_Neighbor_alltoallv_init_indexed_topology_c(
            &send, 1, large_counts.data(), indices.data(), MPI_INT, receive.data(), 2, large_counts.data(),
            places.data(), MPI_INT, topology, MPI_INFO_NULL, &request));
      else
        EXPECT_MPI(LNW_Neighbor_alltoallv_init_indexed_topology(&send, 1, counts.data(), indices.data(), MPI_INT,
                                                                receive.data(), 2, counts.data(), places.data(),
                                                                MPI_INT, topology, MPI_INFO_NULL, &request));
      const char* strategy = "";
      EXPECT_MPI(LNW_Request_get_strategy(request, &strategy));
      EXPECT_STREQ(strategy, "three_step");
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_EQ(receive, (std::array<int, 2>{shape.sources[0], shape.sources[1]}));
      EXPECT_MPI(LNW_Request_free(&request));
    }
    EXPECT_MPI(LNW_Topology_free(&topology));
  }
}

TEST_F(TopologyTest, FreshDuplicatesWhenTagsRunOut) {
  const TagLimit limit(plan_channels + 6 * own_channels);
  {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const Comm owner(comm);
    const Shape shape = ring_shape(rank(), size());
    std::vector<LNW_Topology> topologies;
    std::vector<LNW_Request> requests;
    const int send = rank();
    std::vector<std::array<int, 2>> receive(12);
    for (std::size_t n = 0; n < receive.size(); n += 2) {
      topologies.push_back(create(comm, shape));
      requests.resize(n + 2);
      EXPECT_MPI(LNW_Neighbor_allgather_init_topology(&send, 1, MPI_INT, receive[n].data(), 1, MPI_INT,
                                                      topologies.back(), MPI_INFO_NULL, &requests[n]));
      EXPECT_MPI(LNW_Start(&requests[n]));
      EXPECT_MPI(LNW_Ineighbor_allgather_topology(&send, 1, MPI_INT, receive[n + 1].data(), 1, MPI_INT,
                                                  topologies[n / 4], &requests[n + 1]));
    }
    EXPECT_MPI(LNW_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (const auto& got : receive) EXPECT_EQ(got, (std::array<int, 2>{shape.sources[0], shape.sources[1]}));
    for (LNW_Request& request : requests)
      if (request != LNW_REQUEST_NULL) EXPECT_MPI(LNW_Request_free(&request));
    for (LNW_Topology& topology : topologies) EXPECT_MPI(LNW_Topology_free(&topology));
  }
}

int handler_calls = 0;
void count_call(MPI_Comm*, int*, ...) {
  ++handler_calls;
}

TEST_F(TopologyTest, Errors) {
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_call, &counting);
  handler_calls = 0;
  auto expect_error = [](int code, int wanted, const std::string& part) {
    const std::string text = error_text(code);
    if (!is_mpich() || error_class(code) <= MPI_ERR_LASTCODE) {
      EXPECT_EQ(error_class(code), wanted) << text;
    }
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
    EXPECT_EQ(std::exchange(handler_calls, 0), 1) << text;
  };
  const std::string here = " on rank " + std::to_string(rank()) + ": ";
  const int self = rank(), last = size() - 1;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, counting);
  LNW_Topology topology = LNW_TOPOLOGY_NULL;

  // A bad argument on the last rank.
  const int source = rank() == last ? size() : self;
  const std::string text =
      "LNW_Topology_create" + here +
      (rank() == last ? "sources[0] is " + std::to_string(size()) : "rank " + std::to_string(last) + " has reported");
  expect_error(
      LNW_Topology_create(comm, 1, &source, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, &topology),
      rank() == last ? MPI_ERR_RANK : MPI_ERR_ARG, text);
  EXPECT_EQ(topology, LNW_TOPOLOGY_NULL);
  expect_error(LNW_Topology_create(comm, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, nullptr),
               MPI_ERR_ARG, "LNW_Topology_create" + here + "topology is NULL");
  expect_error(LNW_Topology_from_comm(comm, &topology), MPI_ERR_TOPOLOGY,
               "LNW_Topology_from_comm" + here + "comm: the communicator has no topology");

  EXPECT_MPI(LNW_Topology_create(comm, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL, &topology));
  MPI_Comm_free(&comm);
  // The communicator's error handler, also when it is gone.
  int received = -1;
  LNW_Request request = LNW_REQUEST_NULL;
  const MPI_Count negative = -3, one = 1;
  const MPI_Aint zero = 0;
  expect_error(LNW_Neighbor_allgather_topology(&self, -1, MPI_INT, &received, 1, MPI_INT, topology), MPI_ERR_COUNT,
               "LNW_Neighbor_allgather_topology" + here + "sendcount is -1");
  expect_error(LNW_Ineighbor_alltoallv_topology_c(&self, &one, &zero, MPI_INT, &received, &negative, &zero, MPI_INT,
                                                  topology, &request),
               MPI_ERR_COUNT, "LNW_Ineighbor_alltoallv_topology_c" + here + "recvcounts[0] is -3");
  expect_error(LNW_Neighbor_alltoallv_init_topology_c(&self, &one, &zero, MPI_INT, &received, &negative, &zero, MPI_INT,
                                                      topology, MPI_INFO_NULL, &request),
               MPI_ERR_COUNT, "LNW_Neighbor_alltoallv_init_topology_c" + here + "recvcounts[0] is -3");
  const MPI_Count huge = MPI_Count{1} << 62;
  const MPI_Aint far = MPI_Aint{1} << 61;
  expect_error(LNW_Neighbor_allgather_topology_c(&self, huge, MPI_INT, &received, 1, MPI_INT, topology), MPI_ERR_COUNT,
               "sendcount is 4611686018427387904: more than 2^63 bytes");
  expect_error(LNW_Neighbor_alltoallv_topology_c(&self, &one, &far, MPI_INT, &received, &one, &zero, MPI_INT, topology),
               MPI_ERR_ARG, "sdispls[0] is 2305843009213693952: more than 2^63 bytes");
  int degree = 0;
  expect_error(LNW_Topology_get_neighbors_count(topology, nullptr, &degree), MPI_ERR_ARG, "indegree is NULL");
  expect_error(LNW_Topology_get_neighbors(topology, -1, &degree, 1, &degree), MPI_ERR_ARG, "maxindegree is -1");
  expect_error(LNW_Topology_get_neighbors(topology, 0, nullptr, 1, nullptr), MPI_ERR_ARG, "destinations is NULL");
  EXPECT_MPI(LNW_Neighbor_allgather_topology(&self, 1, MPI_INT, &received, 1, MPI_INT, topology));
  EXPECT_EQ(received, self);
  EXPECT_MPI(LNW_Topology_free(&topology));
  {
    const Handler world(MPI_COMM_WORLD, counting);
    expect_error(LNW_Topology_free(&topology), MPI_ERR_TOPOLOGY,
                 "LNW_Topology_free" + here + "topology is LNW_TOPOLOGY");
    expect_error(LNW_Topology_free(nullptr), MPI_ERR_ARG, "topology is NULL");
    expect_error(LNW_Topology_get_neighbors_count(topology, &degree, &degree), MPI_ERR_TOPOLOGY, "LNW_TOPOLOGY_NULL");
    expect_error(LNW_Neighbor_allgather_topology(&self, 1, MPI_INT, &received, 1, MPI_INT, topology), MPI_ERR_TOPOLOGY,
                 "LNW_TOPOLOGY_NULL");
    expect_error(LNW_Topology_from_comm(MPI_COMM_NULL, &topology), MPI_ERR_COMM, "MPI_COMM_NULL");
  }
  MPI_Errhandler_free(&counting);
}

}  // namespace
}  // namespace laneway::test
