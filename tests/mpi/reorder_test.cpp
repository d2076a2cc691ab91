// Ranks reordered by LNW_Dist_graph_create_adjacent: who plays which vertex, what is reported, what arrives.
#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>

#include "exchange.hpp"
#include "machine/machine.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

struct WeightedShape {
  Shape shape;
  std::vector<int> source_weights;
  std::vector<int> destination_weights;
};

/// The neighbours of a vertex, as both of its sides give them.
using Describe = std::function<WeightedShape(int vertex, int vertices)>;

int rank_in(MPI_Comm comm) {
  int r = 0;
  MPI_Comm_rank(comm, &r);
  return r;
}

int size_of(MPI_Comm comm) {
  int n = 0;
  MPI_Comm_size(comm, &n);
  return n;
}

int create(MPI_Comm comm, const WeightedShape& w, bool weighted, MPI_Info info, int reorder, MPI_Comm* made) {
  return LNW_Dist_graph_create_adjacent(comm, static_cast<int>(w.shape.sources.size()), w.shape.sources.data(),
                                        weighted ? w.source_weights.data() : MPI_UNWEIGHTED,
                                        static_cast<int>(w.shape.destinations.size()), w.shape.destinations.data(),
                                        weighted ? w.destination_weights.data() : MPI_UNWEIGHTED, info, reorder, made);
}

/// Node of each rank of `comm`, by description or, without one, by MPI.
std::vector<int> nodes_of(MPI_Comm comm, const std::string& machine) {
  int mine = rank();
  if (machine.empty()) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Bcast(&mine, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
  } else {
    mine = Machine::parse(machine, size()).region_id(0, rank());
  }
  std::vector<int> nodes(static_cast<std::size_t>(size_of(comm)));
  MPI_Allgather(&mine, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm);
  return nodes;
}

/// Sum over all edges, and over those between nodes.
std::pair<MPI_Count, MPI_Count> sums(const Describe& describe, const std::vector<int>& nodes, bool weighted) {
  std::pair<MPI_Count, MPI_Count> result{0, 0};
  const int n = static_cast<int>(nodes.size());
  for (int v = 0; v < n; ++v) {
    const WeightedShape w = describe(v, n);
    for (std::size_t i = 0; i < w.shape.destinations.size(); ++i) {
      const MPI_Count weight = weighted ? w.destination_weights[i] : 1;
      result.first += weight;
      const auto destination = static_cast<std::size_t>(w.shape.destinations[i]);
      if (nodes[static_cast<std::size_t>(v)] != nodes[destination]) result.second += weight;
    }
  }
  return result;
}

void expect_neighbors(MPI_Comm comm, const WeightedShape& expected, bool weighted) {
  int indegree = -1, outdegree = -1, has_weights = -1;
  EXPECT_MPI(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &has_weights));
  ASSERT_EQ(indegree, static_cast<int>(expected.shape.sources.size()));
  ASSERT_EQ(outdegree, static_cast<int>(expected.shape.destinations.size()));
  EXPECT_EQ(has_weights != 0, weighted);
  const auto in = static_cast<std::size_t>(indegree), out = static_cast<std::size_t>(outdegree);
  std::vector<int> sources(in + 1), source_weights(in + 1), destinations(out + 1), destination_weights(out + 1);
  EXPECT_MPI(MPI_Dist_graph_neighbors(comm, indegree, sources.data(), weighted ? source_weights.data() : MPI_UNWEIGHTED,
                                      outdegree, destinations.data(),
                                      weighted ? destination_weights.data() : MPI_UNWEIGHTED));
  for (auto* list : {&sources, &source_weights, &destinations, &destination_weights}) list->pop_back();
  EXPECT_EQ(sources, expected.shape.sources);
  EXPECT_EQ(destinations, expected.shape.destinations);
  if (!weighted) return;
  EXPECT_EQ(source_weights, expected.source_weights);
  EXPECT_EQ(destination_weights, expected.destination_weights);
}

/// Every vertex sends its number.
void expect_labels(MPI_Comm comm, const Shape& shape, MPI_Info info) {
  const int label = 7 + rank_in(comm);
  std::vector<int> received(shape.sources.size() + 1, -1), expected;
  for (int source : shape.sources) expected.push_back(7 + source);
  expected.push_back(-1);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_allgather_init(&label, 1, MPI_INT, received.data(), 1, MPI_INT, comm, info, &request));
  EXPECT_MPI(LNW_Start(&request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_MPI(LNW_Request_free(&request));
  EXPECT_EQ(received, expected);
  std::fill(received.begin(), received.end(), -1);
  EXPECT_MPI(LNW_Neighbor_allgather(&label, 1, MPI_INT, received.data(), 1, MPI_INT, comm));
  EXPECT_EQ(received, expected);
}

class ReorderTest : public MpiTest {
 protected:
  /// Creates the graph and checks everything that holds of every reordering.
  Comm reorder(MPI_Comm old, const Describe& describe, bool weighted, const std::string& machine, Hints hints = {}) {
    if (!machine.empty()) hints.emplace_back("lnw_machine", machine);
    const Info info(hints);
    MPI_Comm made = MPI_COMM_NULL;
    const int old_rank = rank_in(old), n = size_of(old);
    EXPECT_MPI(create(old, describe(old_rank, n), weighted, info.get(), 1, &made));
    Comm graph(made);
    EXPECT_EQ(size_of(made), n);
    const int vertex = rank_in(made);
    expect_neighbors(made, describe(vertex, n), weighted);

    EXPECT_MPI(LNW_Comm_get_reorder(made, &report_));
    const auto before = sums(describe, nodes_of(old, machine), weighted);
    const auto after = sums(describe, nodes_of(made, machine), weighted);
    EXPECT_EQ(report_.weight, before.first);
    EXPECT_EQ(report_.cut_before, before.second);
    EXPECT_EQ(report_.cut_after, after.second);
    const int other = vertex != old_rank;
    int moved = 0;
    MPI_Allreduce(&other, &moved, 1, MPI_INT, MPI_SUM, made);
    EXPECT_EQ(report_.moved, moved);
    EXPECT_TRUE(moved == 0 || report_.cut_after < report_.cut_before);
    if (!report_.has_partitioner) {
      EXPECT_EQ(moved, 0);
    }
    return graph;
  }

  bool has_partitioner() const { return report_.has_partitioner != 0; }

  LNW_Reorder report_{};
};

/// Vertex v and v + n/2 exchange much, neighbours on the ring little.
WeightedShape far_pairs(int vertex, int n) {
  WeightedShape w;
  const int half = n / 2;
  w.shape = ring_shape(vertex, n);
  w.source_weights = w.destination_weights = {1, 1};
  if (vertex >= 2 * half || half == 0) return w;
  const int partner = vertex < half ? vertex + half : vertex - half;
  w.shape.sources.push_back(partner);
  w.shape.destinations.push_back(partner);
  w.source_weights.push_back(1000);
  w.destination_weights.push_back(1000);
  return w;
}

WeightedShape random_weights(std::uint64_t seed, int vertex, int n) {
  WeightedShape w;
  w.shape = random_shape(seed, vertex, n);
  auto weight = [&](int source, int destination) {
    return static_cast<int>(
        mix({seed, 9, static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(destination)}) % 50);
  };
  for (int source : w.shape.sources) w.source_weights.push_back(weight(source, vertex));
  for (int destination : w.shape.destinations) w.destination_weights.push_back(weight(vertex, destination));
  return w;
}

TEST_F(ReorderTest, PartnersMeetOnANode) {
  for (const std::string& machine : machines()) {
    const Comm graph = reorder(MPI_COMM_WORLD, far_pairs, true, machine);
    expect_labels(graph.get(), far_pairs(rank_in(graph.get()), size()).shape, MPI_INFO_NULL);
    if (has_partitioner() && machine == "node:* rank:2" && size() > 3) {
      EXPECT_GT(report_.cut_before, 1000);
      EXPECT_LT(report_.cut_after, size() % 2 == 0 ? 1000 : 3000);
    }
    if (has_partitioner() && machine == "node:* rank:2" && size() > 3 && size() % 2 == 0) {
      EXPECT_GE(report_.moved, size() / 2);
    }
  }
}

TEST_F(ReorderTest, WeightsDecide) {
  // A ring whose heavy edges are every second one, on nodes of two.
  if (size() % 2 != 0 || size() < 4) GTEST_SKIP() << "SKIP: needs an even number of ranks from 4, there are " << size();
  for (const int heavy : {0, 1}) {
    auto ring = [&](int vertex, int n) {
      WeightedShape w{ring_shape(vertex, n), {}, {}};
      auto weight = [&](int from) { return from % 2 == heavy ? INT_MAX : 1; };
      const int left = weight((vertex + n - 1) % n), right = weight(vertex);
      w.source_weights = {left, right};
      w.destination_weights = {right, left};
      return w;
    };
    (void)reorder(MPI_COMM_WORLD, ring, true, "node:* rank:2");
    EXPECT_EQ(report_.weight, (MPI_Count{INT_MAX} + 1) * size());
    EXPECT_EQ(report_.cut_before, heavy == 0 ? size() : MPI_Count{INT_MAX} * size());
    EXPECT_EQ(report_.cut_after, heavy == 0 || has_partitioner() ? size() : report_.cut_before);
    if (heavy == 0) {
      EXPECT_EQ(report_.moved, 0);
    }
    (void)reorder(MPI_COMM_WORLD, ring, false, "node:* rank:2");
    EXPECT_EQ(report_.moved, 0);
    EXPECT_EQ(report_.weight, 2 * size());
  }
}

TEST_F(ReorderTest, IdentityWhereNothingCanBeGained) {
  auto complete = [](int, int n) { return WeightedShape{complete_shape(n), {}, {}}; };
  for (const std::string& machine : machines()) {
    (void)reorder(MPI_COMM_WORLD, complete, false, machine);
    EXPECT_EQ(report_.moved, 0);
    EXPECT_EQ(report_.cut_after, report_.cut_before);
    EXPECT_EQ(report_.weight, MPI_Count{size()} * size());
  }
  auto nothing = [](int, int) { return WeightedShape{}; };
  for (const std::string& machine : {"ranks:" + std::to_string(size()), std::string("node:* rank:1")}) {
    const Comm graph = reorder(MPI_COMM_WORLD, far_pairs, true, machine);
    EXPECT_EQ(report_.moved, 0);
    expect_labels(graph.get(), far_pairs(rank(), size()).shape, MPI_INFO_NULL);
    (void)reorder(MPI_COMM_WORLD, nothing, true, machine);
    EXPECT_EQ(report_.weight, 0);
  }
}

TEST_F(ReorderTest, ExchangesOnRandomGraphs) {
  const int cases = effort(12);
  for (int turn = 0; turn < cases; ++turn) {
    const auto seed = static_cast<std::uint64_t>(turn);
    const bool weighted = turn % 3 != 0;
    const std::vector<std::string> all = machines();
    const std::string& machine = all[static_cast<std::size_t>(turn) % all.size()];
    auto describe = [&](int vertex, int n) { return random_weights(seed, vertex, n); };
    const Comm graph = reorder(MPI_COMM_WORLD, describe, weighted, machine, {{"lnw_check", "true"}});
    const Shape shape = describe(rank_in(graph.get()), size()).shape;
    for (const Choice& choice : choices(machine)) {
      const Info info(choice.hints());
      expect_labels(graph.get(), shape, info.get());
      for (Op op : all_ops) {
        Exchange exchange(op, graph.get(), seed, turn % 2 == 0);
        LNW_Request request = LNW_REQUEST_NULL;
        EXPECT_MPI(exchange.init(info.get(), &request));
        exchange.fill(turn);
        exchange.reference();
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(exchange.arrived()) << name(op) << " " << choice.text();
        EXPECT_MPI(LNW_Request_free(&request));
      }
    }
  }
}

TEST_F(ReorderTest, OtherCommunicators) {
  for (const std::string& machine : machines()) {
    // Reversed, a part, and one that is reordered already.
    MPI_Comm split = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank(), &split);
    const Comm reversed(split);
    MPI_Comm_split(MPI_COMM_WORLD, rank() % 3 == 0, rank(), &split);
    const Comm part(split);
    for (const Comm* old : {&reversed, &part}) {
      const Comm graph = reorder(old->get(), far_pairs, true, machine);
      expect_labels(graph.get(), far_pairs(rank_in(graph.get()), size_of(graph.get())).shape, MPI_INFO_NULL);
    }
    const Comm once = reorder(MPI_COMM_WORLD, far_pairs, true, machine);
    const MPI_Count cut = report_.cut_after;
    const Comm twice = reorder(once.get(), far_pairs, true, machine);
    EXPECT_EQ(report_.cut_before, cut);
    expect_labels(twice.get(), far_pairs(rank_in(twice.get()), size()).shape, MPI_INFO_NULL);
  }
}

TEST_F(ReorderTest, HintsStay) {
  const Comm graph = reorder(MPI_COMM_WORLD, far_pairs, true, "node:* rank:2", {{"lnw_strategy", "three_step"}});
  const int value = 1;
  std::vector<int> received(3);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_allgather_init(&value, 1, MPI_INT, received.data(), 1, MPI_INT, graph.get(), MPI_INFO_NULL,
                                         &request));
  const char* strategy = "";
  EXPECT_MPI(LNW_Request_get_strategy(request, &strategy));
  EXPECT_STREQ(strategy, "three_step");
  // It sends between nodes exactly where the report sees edges between them.
  LNW_Request_statistics statistics{};
  EXPECT_MPI(LNW_Request_get_statistics(request, &statistics));
  const MPI_Count mine = statistics.net_messages;
  MPI_Count all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_COUNT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all > 0, report_.cut_after > 0);
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(ReorderTest, ActiveExchangesGoOn) {
  // Others wait for relays of this rank while the graph is made.
  const Info info(Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}});
  const Comm complete = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  std::vector<int> received(static_cast<std::size_t>(size())), expected(received.size());
  std::iota(expected.begin(), expected.end(), 0);
  const int value = rank();
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_allgather_init(&value, 1, MPI_INT, received.data(), 1, MPI_INT, complete.get(), info.get(),
                                         &request));
  EXPECT_MPI(LNW_Start(&request));
  if (rank() % 2 == 0) EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  const Comm graph = [&] {
    MPI_Comm made = MPI_COMM_NULL;
    EXPECT_MPI(create(MPI_COMM_WORLD, far_pairs(rank(), size()), true, info.get(), 1, &made));
    return Comm(made);
  }();
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(received, expected);
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(ReorderTest, OnlyIfAllRanksAsk) {
  if (size() < 2) GTEST_SKIP() << "SKIP: needs 2 ranks, there are " << size();
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Info info(Hints{{"lnw_machine", "node:* rank:2"}});
  MPI_Comm made = MPI_COMM_NULL;
  EXPECT_MPI(create(MPI_COMM_WORLD, far_pairs(rank(), size()), true, info.get(), rank() != 1, &made));
  const Comm graph(made);
  EXPECT_EQ(rank_in(made), rank());
  expect_neighbors(made, far_pairs(rank(), size()), true);
  LNW_Reorder report{};
  EXPECT_NE(LNW_Comm_get_reorder(made, &report), MPI_SUCCESS);
}

TEST_F(ReorderTest, Errors) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  auto expect_error = [](int code, int wanted, const std::string& part) {
    const std::string text = error_text(code);
    expect_error_class(code, wanted);
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  };
  const std::string call = "LNW_Comm_get_reorder on rank " + std::to_string(rank()) + ": ";
  LNW_Reorder report{1, 1, 1, 1, 1};
  expect_error(LNW_Comm_get_reorder(MPI_COMM_WORLD, &report), MPI_ERR_TOPOLOGY, call + "comm: not created by");
  EXPECT_EQ(report.weight + report.cut_before + report.cut_after + report.moved + report.has_partitioner, 0);
  expect_error(LNW_Comm_get_reorder(MPI_COMM_NULL, &report), MPI_ERR_COMM, call + "comm: MPI_COMM_NULL");
  expect_error(LNW_Comm_get_reorder(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG, call + "report is NULL");
  const Comm plain = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  expect_error(LNW_Comm_get_reorder(plain.get(), &report), MPI_ERR_TOPOLOGY, "reorder");

  const Comm graph = reorder(MPI_COMM_WORLD, far_pairs, true, "");
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(graph.get(), &copy);
  const Comm duplicate(copy);
  expect_error(LNW_Comm_get_reorder(copy, &report), MPI_ERR_TOPOLOGY, "reorder");

  // Bad on one rank: an error on all, and the next call works.
  WeightedShape bad = far_pairs(rank(), size());
  if (rank() == size() - 1) bad.destination_weights.front() = -3;
  MPI_Comm made = MPI_COMM_NULL;
  const int code = create(MPI_COMM_WORLD, bad, true, MPI_INFO_NULL, 1, &made);
  const std::string last = std::to_string(size() - 1);
  expect_error(code, MPI_ERR_ARG,
               rank() == size() - 1 ? "destweights[0] is negative" : "rank " + last + " has reported an error");

  // The new communicator has the error handler of the old one, also where ranks have moved.
  const Comm moved = reorder(MPI_COMM_WORLD, far_pairs, true, "node:* rank:2");
  expect_error(LNW_Comm_get_reorder(moved.get(), nullptr), MPI_ERR_ARG, "report is NULL");
}

}  // namespace
}  // namespace laneway::test
