// Topologies of which each rank knows one side, or any edges: compared with whole lists that every rank makes.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class OneSideTest : public MpiTest {};

std::vector<int> random_neighbors(std::uint64_t seed, int rank, int size) {
  Random random(static_cast<std::uint32_t>(mix({seed, static_cast<std::uint64_t>(rank)})));
  std::vector<int> neighbors(static_cast<std::size_t>(pick(random, 0, 6)));
  for (int& neighbor : neighbors) neighbor = pick(random, 0, size - 1);
  return neighbors;
}

int weight_of(int from, int to, std::size_t position) {
  return from * 1000 + to * 10 + static_cast<int>(position);
}

/// Who names this rank, ascending, and with which weights.
struct Others {
  std::vector<int> ranks;
  std::vector<int> weights;
};
Others who_names(int rank, std::uint64_t seed, int size) {
  Others others;
  for (int other = 0; other < size; ++other) {
    const std::vector<int> named = random_neighbors(seed, other, size);
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (named[i] != rank) continue;
      others.ranks.push_back(other);
      others.weights.push_back(weight_of(other, rank, i));
    }
  }
  return others;
}

struct Lists {
  std::vector<int> sources;
  std::vector<int> destinations;
};
Lists lists_of(LNW_Topology topology) {
  int in = -1, out = -1;
  EXPECT_MPI(LNW_Topology_get_neighbors_count(topology, &in, &out));
  Lists lists{std::vector<int>(static_cast<std::size_t>(in)), std::vector<int>(static_cast<std::size_t>(out))};
  EXPECT_MPI(LNW_Topology_get_neighbors(topology, in, lists.sources.data(), out, lists.destinations.data()));
  return lists;
}

/// Each block tells its sender, its receiver, and which of the parallel edges it is.
void expect_exchanges(LNW_Topology topology, const char* strategy) {
  const Lists lists = lists_of(topology);
  const auto stamp = [](int from, int to, std::ptrdiff_t parallel) {
    return from * 10000 + to * 100 + static_cast<int>(parallel);
  };
  const auto blocks = [&](const std::vector<int>& ranks, bool is_source) {
    std::vector<int> values;
    for (auto at = ranks.begin(); at != ranks.end(); ++at) {
      const std::ptrdiff_t parallel = std::count(ranks.begin(), at, *at);
      values.push_back(is_source ? stamp(*at, rank(), parallel) : stamp(rank(), *at, parallel));
    }
    return values;
  };
  const std::vector<int> sent = blocks(lists.destinations, false), expected = blocks(lists.sources, true);
  std::vector<int> received(expected.size(), -1);
  const Info info(Hints{{"lnw_strategy", strategy}});
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_alltoall_init_topology(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, topology,
                                                 info.get(), &request));
  EXPECT_MPI(LNW_Start(&request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(received, expected) << strategy;
  EXPECT_MPI(LNW_Request_free(&request));
  std::fill(received.begin(), received.end(), -1);
  EXPECT_MPI(LNW_Neighbor_alltoall_topology(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, topology));
  EXPECT_EQ(received, expected);
  std::fill(received.begin(), received.end(), -1);
  EXPECT_MPI(LNW_Ineighbor_alltoall_topology(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, topology, &request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(received, expected);
}

void expect_weights(LNW_Arrivals& arrivals, const Others& others) {
  int entries = -1;
  EXPECT_MPI(LNW_Arrivals_get_count(arrivals, &entries));
  ASSERT_EQ(entries, static_cast<int>(others.ranks.size()));
  std::vector<int> ranks(others.ranks.size() + 1), weights(others.ranks.size() + 1);
  EXPECT_MPI(
      LNW_Arrivals_copy(arrivals, entries + 1, ranks.data(), nullptr, nullptr, weights.data(), entries + 1, MPI_INT));
  ranks.pop_back();
  weights.pop_back();
  EXPECT_EQ(ranks, others.ranks);
  EXPECT_EQ(weights, others.weights);
  EXPECT_MPI(LNW_Arrivals_free(&arrivals));
}

std::vector<int> weights_of(const std::vector<int>& named) {
  std::vector<int> weights;
  for (std::size_t i = 0; i < named.size(); ++i) weights.push_back(weight_of(rank(), named[i], i));
  weights.push_back(0);  // a place, where there are none
  return weights;
}

TEST_F(OneSideTest, FromArrivalsWithoutTalking) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(6)); ++seed) {
    const std::vector<int> named = random_neighbors(seed, rank(), size());
    LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
    EXPECT_MPI(LNW_Sparse_alltoall(static_cast<int>(named.size()), named.data(), nullptr, 0, MPI_INT, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &arrivals));
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    EXPECT_MPI(LNW_Topology_from_arrivals(arrivals, MPI_INFO_NULL, &topology));
    EXPECT_MPI(LNW_Arrivals_free(&arrivals));
    EXPECT_EQ(lists_of(topology).destinations, named);
    EXPECT_EQ(lists_of(topology).sources, who_names(rank(), seed, size()).ranks);
    for (const char* strategy : {"direct", "three_step", "auto"}) expect_exchanges(topology, strategy);
    EXPECT_MPI(LNW_Topology_free(&topology));
  }
}

TEST_F(OneSideTest, FromDestinationsAndFromSourcesWithWeights) {
  for (std::uint64_t seed = 11; seed <= 10 + static_cast<std::uint64_t>(effort(4)); ++seed) {
    const std::vector<int> named = random_neighbors(seed, rank(), size());
    const std::vector<int> weights = weights_of(named);
    const Others others = who_names(rank(), seed, size());
    const auto degree = static_cast<int>(named.size());
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
    EXPECT_MPI(LNW_Topology_create_from_destinations(MPI_COMM_WORLD, degree, named.data(), weights.data(),
                                                     MPI_INFO_NULL, &topology, &arrivals));
    EXPECT_EQ(lists_of(topology).destinations, named);
    EXPECT_EQ(lists_of(topology).sources, others.ranks);
    expect_weights(arrivals, others);
    expect_exchanges(topology, "three_step");
    EXPECT_MPI(LNW_Topology_free(&topology));
    EXPECT_MPI(LNW_Topology_create_from_sources(MPI_COMM_WORLD, degree, named.data(), weights.data(), MPI_INFO_NULL,
                                                &topology, &arrivals));
    EXPECT_EQ(lists_of(topology).sources, named);
    EXPECT_EQ(lists_of(topology).destinations, others.ranks);
    expect_weights(arrivals, others);
    expect_exchanges(topology, "three_step");
    EXPECT_MPI(LNW_Topology_free(&topology));
    EXPECT_MPI(LNW_Topology_create_from_sources(MPI_COMM_WORLD, degree, named.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                                                &topology, nullptr));
    EXPECT_EQ(lists_of(topology).destinations, others.ranks);
    EXPECT_MPI(LNW_Topology_free(&topology));
  }
}

/// Edges that a rank names in the general call: of any ranks.
struct Named {
  std::vector<int> sources, degrees, destinations, weights;
};
Named random_edges(std::uint64_t seed, int rank, int size) {
  Random random(static_cast<std::uint32_t>(mix({seed, 5, static_cast<std::uint64_t>(rank)})));
  Named named;
  const int n = pick(random, 0, 3);
  for (int i = 0; i < n; ++i) {
    named.sources.push_back(pick(random, 0, size - 1));
    named.degrees.push_back(pick(random, 0, 3));
    for (int k = 0; k < named.degrees.back(); ++k) {
      named.destinations.push_back(pick(random, 0, size - 1));
      named.weights.push_back(pick(random, 0, 99));
    }
  }
  // A place, where there are none: Open MPI refuses null arrays.
  for (std::vector<int>* list : {&named.sources, &named.degrees, &named.destinations, &named.weights})
    list->push_back(0);
  return named;
}

using Pairs = std::vector<std::array<int, 2>>;
Pairs sorted_pairs(const std::vector<int>& ranks, const std::vector<int>& weights) {
  Pairs pairs;
  for (std::size_t i = 0; i < ranks.size(); ++i) pairs.push_back({ranks[i], weights.empty() ? 1 : weights[i]});
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

struct GraphOf {
  Pairs in, out;
  std::vector<int> sources, destinations;
};
GraphOf graph_of(MPI_Comm comm) {
  int in = 0, out = 0, weighted = 0;
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  const auto room = [](int degree) { return std::vector<int>(static_cast<std::size_t>(degree) + 1); };
  std::vector<int> sources = room(in), source_weights = room(in), destinations = room(out), weights = room(out);
  MPI_Dist_graph_neighbors(comm, in, sources.data(), source_weights.data(), out, destinations.data(), weights.data());
  sources.resize(static_cast<std::size_t>(in));
  destinations.resize(static_cast<std::size_t>(out));
  if (!weighted) source_weights = weights = {};
  return {sorted_pairs(sources, source_weights), sorted_pairs(destinations, weights), sources, destinations};
}

TEST_F(OneSideTest, TheGeneralCallMakesTheGraphThatMpiMakes) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(6)); ++seed) {
    const Named named = random_edges(seed, rank(), size());
    const bool weighted = seed % 2 == 0;
    const int* const weights = weighted ? named.weights.data() : MPI_UNWEIGHTED;
    const auto n = static_cast<int>(named.sources.size()) - 1;
    MPI_Comm reference = MPI_COMM_NULL, made = MPI_COMM_NULL;
    MPI_Dist_graph_create(MPI_COMM_WORLD, n, named.sources.data(), named.degrees.data(), named.destinations.data(),
                          weights, MPI_INFO_NULL, 0, &reference);
    EXPECT_MPI(LNW_Dist_graph_create(MPI_COMM_WORLD, n, named.sources.data(), named.degrees.data(),
                                     named.destinations.data(), weights, MPI_INFO_NULL, 0, &made));
    const GraphOf graph = graph_of(made);
    EXPECT_EQ(graph.in, graph_of(reference).in);
    EXPECT_EQ(graph.out, graph_of(reference).out);
    EXPECT_TRUE(std::is_sorted(graph.sources.begin(), graph.sources.end()));
    EXPECT_TRUE(std::is_sorted(graph.destinations.begin(), graph.destinations.end()));
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    EXPECT_MPI(LNW_Topology_from_comm(made, &topology));
    expect_exchanges(topology, "three_step");
    EXPECT_MPI(LNW_Topology_free(&topology));
    MPI_Comm_free(&reference);
    MPI_Comm_free(&made);
  }
}

TEST_F(OneSideTest, BadArgumentsOfOneRankAreAnErrorOnAll) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  const Comm comm(duplicate);
  const Handler returns(comm.get(), MPI_ERRORS_RETURN);
  const bool is_bad = rank() == size() - 1;
  const int to = is_bad ? -5 : 0, one = 1;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  const auto expect = [&](int code, const std::string& text) {
    EXPECT_NE(code, MPI_SUCCESS);
    const std::string said = error_text(code);
    EXPECT_NE(said.find(is_bad ? text : "has reported an error in this call"), std::string::npos) << said;
  };
  expect(LNW_Topology_create_from_destinations(comm.get(), 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, &topology, nullptr),
         "LNW_Topology_create_from_destinations on rank " + std::to_string(size() - 1) + ": destinations[0] is -5");
  expect(LNW_Topology_create_from_sources(comm.get(), 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, &topology, nullptr),
         "sources[0] is -5");
  MPI_Comm graph = MPI_COMM_NULL;
  expect(LNW_Dist_graph_create(comm.get(), 1, &one, &one, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
         size() == 1 ? "sources[0] is 1" : "destinations[0] is -5");
  EXPECT_EQ(graph, MPI_COMM_NULL);
  EXPECT_EQ(topology, LNW_TOPOLOGY_NULL);
}

TEST_F(OneSideTest, WeightsOfSomeRanksAreAnErrorOnAll) {
  if (size() == 1) GTEST_SKIP() << "SKIP: one rank agrees with itself";
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  const Comm comm(duplicate);
  const Handler returns(comm.get(), MPI_ERRORS_RETURN);
  const int to = (rank() + 1) % size(), own = rank(), one = 1, weight = 7;
  const int* const weights = rank() == size() / 2 ? &weight : MPI_UNWEIGHTED;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  MPI_Comm graph = MPI_COMM_NULL;
  const auto expect = [&](int code) {
    expect_error_class(code, MPI_ERR_ARG);
    EXPECT_NE(error_text(code).find("the ranks' calls differ"), std::string::npos) << error_text(code);
    EXPECT_EQ(topology, LNW_TOPOLOGY_NULL);
    EXPECT_EQ(arrivals, LNW_ARRIVALS_NULL);
    EXPECT_EQ(graph, MPI_COMM_NULL);
  };
  expect(LNW_Topology_create_from_destinations(comm.get(), 1, &to, weights, MPI_INFO_NULL, &topology, &arrivals));
  expect(LNW_Topology_create_from_sources(comm.get(), 1, &to, weights, MPI_INFO_NULL, &topology, &arrivals));
  expect(LNW_Dist_graph_create(comm.get(), 1, &own, &one, &to, weights, MPI_INFO_NULL, 0, &graph));
  // Nothing is left behind.
  EXPECT_MPI(LNW_Topology_create_from_destinations(comm.get(), 1, &to, &weight, MPI_INFO_NULL, &topology, &arrivals));
  void* data = nullptr;
  EXPECT_MPI(LNW_Arrivals_get_data(arrivals, &data, nullptr));
  EXPECT_EQ(*static_cast<int*>(data), weight);
  EXPECT_MPI(LNW_Arrivals_free(&arrivals));
  EXPECT_MPI(LNW_Topology_free(&topology));
}

}  // namespace
}  // namespace laneway::test
