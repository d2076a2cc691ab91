// A halo backwards shares the setup of the exchange: no second graph, and nothing planned again. Messages and calls
// that all ranks make are counted where the library calls them.

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "laneway/halo.h"
#include "laneway/laneway.hpp"
#include "support.hpp"

namespace {

struct Counts {
  long messages = 0;
  long bytes = 0;  ///< of messages
  long graphs = 0;
  long collectives = 0;  ///< others than graphs
};
Counts counts;

void count_message(int count, MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  ++counts.messages;
  counts.bytes += static_cast<long>(count) * bytes;
}

}  // namespace

// In place of the MPI library's, for the library as well.
#pragma GCC visibility push(default)
extern "C" {

int MPI_Send(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  count_message(count, type);
  return PMPI_Send(data, count, type, peer, tag, comm);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  count_message(count, type);
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}
int MPI_Issend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  count_message(count, type);
  return PMPI_Issend(data, count, type, peer, tag, comm, request);
}
int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[], const int source_weights[],
                                   int outdegree, const int destinations[], const int destination_weights[],
                                   MPI_Info info, int reorder, MPI_Comm* graph) {
  ++counts.graphs;
  return PMPI_Dist_graph_create_adjacent(comm, indegree, sources, source_weights, outdegree, destinations,
                                         destination_weights, info, reorder, graph);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  ++counts.collectives;
  return PMPI_Comm_dup(comm, copy);
}
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* copy, MPI_Request* request) {
  ++counts.collectives;
  return PMPI_Comm_idup(comm, copy, request);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
  ++counts.collectives;
  return PMPI_Comm_split(comm, color, key, part);
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++counts.collectives;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  ++counts.collectives;
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

}  // extern "C"
#pragma GCC visibility pop

namespace laneway::test {
namespace {

class WayBackTest : public MpiTest {};

/// What all ranks together have counted in `body`.
template <class Body>
Counts count(Body&& body) {
  PMPI_Barrier(MPI_COMM_WORLD);
  counts = {};
  body();
  std::array<long, 4> all{counts.messages, counts.bytes, counts.graphs, counts.collectives};
  PMPI_Allreduce(MPI_IN_PLACE, all.data(), 4, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return {all[0], all[1], all[2], all[3]};
}

/// Each rank owns four elements, and has copies of those of the ranks after it: nobody sends to whom it receives from,
/// unless they are few.
struct Ahead {
  Ahead() {
    MPI_Count ghost = owned;
    for (int step = 1; step <= 3 && step < size(); ++step) {
      receive.ranks.push_back((rank() + step) % size());
      send.ranks.push_back((rank() + size() - step) % size());
      for (HaloSide* const side : {&send, &receive}) side->counts.push_back(2);
      for (MPI_Count i = 0; i < 2; ++i) {
        receive.indices.push_back(ghost++);
        send.indices.push_back((step + i) % owned);
      }
    }
    x.resize(static_cast<std::size_t>(ghost));
  }
  void fill() { std::iota(x.begin(), x.end(), 10.0 * rank()); }
  /// By values that follow from the number of an element's rank.
  [[nodiscard]] std::vector<double> summed() const {
    std::vector<double> sums = x;
    for (std::size_t i = 0; i < send.ranks.size(); ++i)
      for (std::size_t k = 0; k < 2; ++k)
        sums[static_cast<std::size_t>(send.indices[2 * i + k])] +=
            10.0 * send.ranks[i] + static_cast<double>(owned) + static_cast<double>(2 * i + k);
    return sums;
  }

  static constexpr MPI_Count owned = 4;
  HaloSide send, receive;
  std::vector<double> x;
};

TEST_F(WayBackTest, NothingIsPlannedAgain) {
  for (const char* const strategy : {"direct", "three_step", "auto"}) {
    SCOPED_TRACE(strategy);
    Ahead ahead;
    const auto wanted = static_cast<std::size_t>(ahead.owned) + ahead.receive.indices.size();
    Counts setup, first, second, again;
    {
      std::unique_ptr<Halo<double>> halo;
      setup = count([&] {
        halo = std::make_unique<Halo<double>>(MPI_COMM_WORLD, ahead.send, ahead.receive, wanted,
                                              laneway::Hints{{"lnw_strategy", strategy},
                                                             {"lnw_machine", "node:* rank:2"},
                                                             {"lnw_transport", "p2p"},
                                                             {"lnw_progress", "wait"}});
      });
      ahead.fill();
      const std::vector<double> expected = ahead.summed();
      first = count([&] { halo->accumulate(ahead.x); });
      EXPECT_EQ(ahead.x, expected);
      ahead.fill();
      again = count([&] { halo->accumulate(ahead.x); });
      EXPECT_EQ(ahead.x, expected);
      ahead.fill();
      second = count([&] { halo->accumulate(ahead.x, MPI_MAX); });
      halo->exchange(ahead.x);
    }
    EXPECT_EQ(setup.graphs, size());
    for (const Counts& made : {first, second}) {
      EXPECT_EQ(made.graphs, 0);
      EXPECT_EQ(made.collectives, 0);
      // That all ranks ask for the same, and that nothing failed: each time the first one hears from all and answers.
      EXPECT_LE(made.messages - again.messages, 4 * (size() - 1));
      EXPECT_TRUE(size() < 4 || made.bytes - again.bytes < setup.bytes) << made.bytes << " and " << setup.bytes;
    }
  }
}

TEST_F(WayBackTest, NorByTheHaloOfC) {
  const MPI_Count first = MPI_Count{4} * rank();
  std::vector<MPI_Count> ghosts;
  for (int step = 1; step <= 3; ++step) ghosts.push_back((first + MPI_Count{4} * step) % (MPI_Count{4} * size()));
  const Info info(Hints{{"lnw_strategy", "three_step"},
                        {"lnw_machine", "node:* rank:2"},
                        {"lnw_transport", "p2p"},
                        {"lnw_progress", "wait"}});
  LNW_Halo halo = LNW_HALO_NULL;
  EXPECT_MPI(LNW_Halo_create(MPI_COMM_WORLD, first, 4, 3, ghosts.data(), info.get(), &halo));
  std::vector<double> x(7, 1.0);
  LNW_Request there = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Halo_init(halo, x.data(), MPI_DOUBLE, info.get(), &there));
  // By other hints there might be another plan: of few ranks the first one makes it, of what all others tell it.
  const Info other(Hints{{"lnw_strategy", "two_step"},
                         {"lnw_machine", "node:* rank:2"},
                         {"lnw_transport", "p2p"},
                         {"lnw_progress", "wait"}});
  LNW_Request planned = LNW_REQUEST_NULL;
  const Counts planning =
      count([&] { EXPECT_MPI(LNW_Halo_reverse_init(halo, x.data(), MPI_DOUBLE, MPI_SUM, other.get(), &planned)); });
  EXPECT_MPI(LNW_Request_free(&planned));
  std::array<LNW_Request, 2> back = {LNW_REQUEST_NULL, LNW_REQUEST_NULL};
  std::size_t at = 0;
  for (const MPI_Op op : {MPI_SUM, MPI_MIN}) {
    LNW_Request& request = back[at++];
    const Counts made =
        count([&] { EXPECT_MPI(LNW_Halo_reverse_init(halo, x.data(), MPI_DOUBLE, op, info.get(), &request)); });
    EXPECT_EQ(made.graphs + made.collectives, 0);
    EXPECT_LE(made.messages, 4 * (size() - 1));
    EXPECT_TRUE(size() < 4 || made.bytes < planning.bytes) << made.bytes << " and " << planning.bytes;
  }
  EXPECT_MPI(LNW_Start(&back[0]));
  EXPECT_MPI(LNW_Wait(&back[0], MPI_STATUS_IGNORE));
  EXPECT_EQ(x.front(), 4.0);  // three copies, wherever they are
  for (LNW_Request& request : back) EXPECT_MPI(LNW_Request_free(&request));
  EXPECT_MPI(LNW_Request_free(&there));
  EXPECT_MPI(LNW_Halo_free(&halo));
}

/// Of an exchange with other lists nothing is taken.
TEST_F(WayBackTest, OtherListsAreAnotherExchange) {
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  const Comm graph = make_graph(MPI_COMM_WORLD, {{left, right}, {right, left}});
  const std::array<int, 2> ones{1, 1};
  const std::array<MPI_Count, 2> sent{0, 1}, received{2, 3};
  std::array<int, 4> x{1, 2, 0, 0};
  LNW_Request there = LNW_REQUEST_NULL, back = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_alltoallv_init_indexed(x.data(), 4, ones.data(), sent.data(), MPI_INT, x.data(), 4,
                                                 ones.data(), received.data(), MPI_INT, graph.get(), MPI_INFO_NULL,
                                                 &there));
  // The last rank alone has another element summed: all have to plan.
  const std::array<MPI_Count, 2> other{rank() == size() - 1 ? 1 : 0, 1};
  std::array<int, 4> y{10, 20, rank() + 1, rank() + 100};
  EXPECT_MPI(LNW_Neighbor_reducev_init_indexed(y.data(), 4, ones.data(), received.data(), MPI_INT, y.data(), 4,
                                               ones.data(), other.data(), MPI_INT, MPI_SUM, graph.get(), MPI_INFO_NULL,
                                               &back));
  EXPECT_MPI(LNW_Start(&back));
  EXPECT_MPI(LNW_Wait(&back, MPI_STATUS_IGNORE));
  // From the left comes what it sends to the right, and the other way.
  std::array<int, 4> expected{10, 20, rank() + 1, rank() + 100};
  expected[static_cast<std::size_t>(other[0])] += left + 1;
  expected[1] += right + 100;
  EXPECT_EQ(y, expected);
  EXPECT_MPI(LNW_Request_free(&back));
  EXPECT_MPI(LNW_Request_free(&there));
}

}  // namespace
}  // namespace laneway::test
