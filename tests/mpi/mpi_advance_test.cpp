// MPI Advance's names: what each call moves, on a ring and in sparse exchanges.
#include "laneway/mpi_advance.h"

#include <algorithm>
#include <array>
#include <vector>

#include "support.hpp"

namespace laneway::test {
namespace {

class MpiAdvanceTest : public MpiTest {
 protected:
  [[nodiscard]] static int left() { return (rank() + size() - 1) % size(); }
  [[nodiscard]] static int right() { return (rank() + 1) % size(); }
  /// Two values to each neighbour; the first is the same for both.
  std::array<int, 2> neighbors = {left(), right()};
  std::array<int, 2> counts = {2, 2};
  std::array<int, 2> displacements = {0, 2};
  std::array<int, 4> send = {rank(), rank() + 100, rank(), rank() + 200};
  std::array<int, 4> receive = {-1, -1, -1, -1};
  std::array<long, 4> numbers = {2L * rank(), 1000L + 2 * rank(), 2L * rank(), 2001L + 2 * rank()};

  /// What is sent to the left comes from the right; of two ranks and of one, in the order of the edges.
  void expect_received() {
    std::array<int, 4> expected{};
    for (std::size_t i = 0; i < 2; ++i) {
      const int source = neighbors[i];
      const bool is_second = size() > 2 ? i == 0 : i == 1;
      expected[2 * i] = source;
      expected[2 * i + 1] = source + (is_second ? 200 : 100);
    }
    EXPECT_EQ(receive, expected);
    receive.fill(-1);
  }
  void run(MPIL_Request*& request) {
    for (int again = 0; again < 2; ++again) {
      EXPECT_MPI(MPIL_Start(request));
      EXPECT_MPI(MPIL_Wait(request, MPI_STATUS_IGNORE));
      expect_received();
    }
    EXPECT_MPI(MPIL_Request_free(&request));
    EXPECT_EQ(request, nullptr);
  }
};

TEST_F(MpiAdvanceTest, NeighborAlltoallvOfAllForms) {
  MPIL_Info* info = nullptr;
  MPIL_Comm* graph = nullptr;
  MPIL_Comm* plain = nullptr;
  MPIL_Topo* topo = nullptr;
  MPIL_Request* request = nullptr;
  EXPECT_MPI(MPIL_Info_init(&info));
  EXPECT_MPI(MPIL_Comm_init(&plain, MPI_COMM_WORLD));
  EXPECT_MPI(MPIL_Comm_topo_init(plain));
  EXPECT_MPI(MPIL_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors.data(), MPI_UNWEIGHTED, 2, neighbors.data(),
                                             MPI_UNWEIGHTED, info, 0, &graph));
  EXPECT_MPI(MPIL_Neighbor_alltoallv(send.data(), counts.data(), displacements.data(), MPI_INT, receive.data(),
                                     counts.data(), displacements.data(), MPI_INT, graph));
  expect_received();
  EXPECT_MPI(MPIL_Neighbor_alltoallv_init(send.data(), counts.data(), displacements.data(), MPI_INT, receive.data(),
                                          counts.data(), displacements.data(), MPI_INT, graph, info, &request));
  run(request);
  EXPECT_MPI(MPIL_Neighbor_alltoallv_init_ext(send.data(), counts.data(), displacements.data(), numbers.data(), MPI_INT,
                                              receive.data(), counts.data(), displacements.data(), nullptr, MPI_INT,
                                              graph, info, &request));
  run(request);
  EXPECT_MPI(MPIL_Topo_from_neighbor_comm(graph, &topo));
  EXPECT_EQ(topo->indegree, 2);
  EXPECT_EQ(topo->destinations[1], right());
  EXPECT_MPI(MPIL_Topo_free(&topo));
  EXPECT_MPI(MPIL_Topo_init(2, neighbors.data(), nullptr, 2, neighbors.data(), nullptr, info, &topo));
  EXPECT_MPI(MPIL_Neighbor_alltoallv_topo(send.data(), counts.data(), displacements.data(), MPI_INT, receive.data(),
                                          counts.data(), displacements.data(), MPI_INT, topo, plain));
  expect_received();
  // The first generation's names.
  EXPECT_MPI(MPIX_Neighbor_part_locality_topo_alltoallv_init(send.data(), counts.data(), displacements.data(), MPI_INT,
                                                             receive.data(), counts.data(), displacements.data(),
                                                             MPI_INT, topo, plain, info, &request));
  run(request);
  EXPECT_MPI(MPIX_Neighbor_locality_topo_alltoallv_init(
      send.data(), counts.data(), displacements.data(), numbers.data(), MPI_INT, receive.data(), counts.data(),
      displacements.data(), nullptr, MPI_INT, topo, plain, info, &request));
  run(request);
  EXPECT_MPI(MPIL_Topo_free(&topo));
  EXPECT_MPI(MPIL_Comm_topo_free(plain));
  EXPECT_MPI(MPIL_Comm_free(&plain));
  EXPECT_MPI(MPIL_Comm_free(&graph));
  EXPECT_MPI(MPIL_Info_free(&info));
}

TEST_F(MpiAdvanceTest, SparseExchanges) {
  MPIX_Comm* comm = nullptr;
  EXPECT_MPI(MPIX_Comm_init(&comm, MPI_COMM_WORLD));
  const int to = right();
  int entries = -1, elements = -1;
  int *sources = nullptr, *received = nullptr, *places = nullptr;
  void* values = nullptr;
  EXPECT_MPI(
      MPIX_Alltoall_crs(1, &to, 2, MPI_INT, send.data(), &entries, &sources, 2, MPI_INT, &values, nullptr, comm));
  ASSERT_EQ(entries, 1);
  EXPECT_EQ(sources[0], left());
  EXPECT_EQ(static_cast<int*>(values)[1], left() + 100);
  MPIX_Free(sources);
  MPIX_Free(values);
  const int count = 1, place = 3;
  EXPECT_MPI(MPIX_Alltoallv_crs(1, 1, &to, &count, &place, MPI_INT, send.data(), &entries, &elements, &sources,
                                &received, &places, MPI_INT, &values, nullptr, comm));
  ASSERT_EQ(entries, 1);
  EXPECT_EQ(elements, 1);
  EXPECT_EQ(received[0], 1);
  EXPECT_EQ(places[0], 0);
  EXPECT_EQ(static_cast<int*>(values)[0], left() + 200);
  for (void* one : {static_cast<void*>(sources), static_cast<void*>(received), static_cast<void*>(places), values})
    MPIX_Free(one);
  EXPECT_MPI(MPIX_Comm_free(&comm));
}

TEST_F(MpiAdvanceTest, DenseOperations) {
  MPIL_Comm* comm = nullptr;
  MPIL_Info* info = nullptr;
  MPIL_Request* request = nullptr;
  EXPECT_MPI(MPIL_Comm_init(&comm, MPI_COMM_WORLD));
  EXPECT_MPI(MPIL_Info_init(&info));
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<int> values(ranks), blocks(ranks, 1), places(ranks), got(ranks), expected(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    values[i] = 100 * rank() + static_cast<int>(i);
    places[i] = static_cast<int>(i);
  }
  const auto check = [&](auto&& by_mpi, auto&& call) {
    by_mpi(expected.data());
    std::fill(got.begin(), got.end(), -1);
    EXPECT_MPI(call());
    if (request != nullptr) {
      for (int again = 0; again < 2; ++again) {
        std::fill(got.begin(), got.end(), -1);
        EXPECT_MPI(MPIL_Start(request));
        EXPECT_MPI(MPIL_Wait(request, MPI_STATUS_IGNORE));
        EXPECT_EQ(got, expected);
      }
      EXPECT_MPI(MPIL_Request_free(&request));
    }
    EXPECT_EQ(got, expected);
  };
  const auto all_to_all = [&](int* out) { MPI_Alltoall(values.data(), 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD); };
  const auto gather = [&](int* out) { MPI_Allgather(values.data(), 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD); };
  const auto reduce = [&](int* out) { MPI_Allreduce(values.data(), out, size(), MPI_INT, MPI_SUM, MPI_COMM_WORLD); };
  check(all_to_all, [&] { return MPIL_Alltoall(values.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm); });
  check(all_to_all, [&] {
    return MPIX_Alltoallv(values.data(), blocks.data(), places.data(), MPI_INT, got.data(), blocks.data(),
                          places.data(), MPI_INT, comm);
  });
  check(gather, [&] { return MPIL_Allgather(values.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm); });
  check(reduce, [&] { return MPIL_Allreduce(values.data(), got.data(), size(), MPI_INT, MPI_SUM, comm); });
  // Without setters, and with each that has an algorithm.
  for (int i = -1; i < 4; ++i) {
    if (i >= 0) {
      MPIL_Set_alltoall_init_algorithm(static_cast<AlltoallInitMethod>(i));
      MPIL_Set_alltoallv_init_algorithm(static_cast<AlltoallvInitMethod>(i));
      MPIL_Set_allreduce_init_algorithm(static_cast<AllreduceInitMethod>(i));
      MPIL_Set_allgather_init_algorithm(static_cast<AllgatherInitMethod>(i % 3));
    }
    check(all_to_all,
          [&] { return MPIL_Alltoall_init(values.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm, info, &request); });
    check(all_to_all, [&] {
      return MPIX_Alltoallv_init(values.data(), blocks.data(), places.data(), MPI_INT, got.data(), blocks.data(),
                                 places.data(), MPI_INT, comm, info, &request);
    });
    check(gather,
          [&] { return MPIL_Allgather_init(values.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm, info, &request); });
    check(reduce, [&] {
      return MPIL_Allreduce_init(values.data(), got.data(), size(), MPI_INT, MPI_SUM, comm, info, &request);
    });
  }
  EXPECT_MPI(MPIL_Info_free(&info));
  EXPECT_MPI(MPIL_Comm_free(&comm));
}

TEST_F(MpiAdvanceTest, SettersNameFinders) {
  MPIL_Comm* comm = nullptr;
  EXPECT_MPI(MPIL_Comm_init(&comm, MPI_COMM_WORLD));
  const int to = right();
  for (const AlltoallCRSMethod method : {ALLTOALL_CRS_NONBLOCKING, ALLTOALL_CRS_NONBLOCKING_LOC,
                                         ALLTOALL_CRS_PERSONALIZED, ALLTOALL_CRS_PERSONALIZED_LOC}) {
    EXPECT_MPI(MPIL_Set_alltoall_crs(method));
    int entries = -1;
    int* sources = nullptr;
    void* values = nullptr;
    EXPECT_MPI(
        MPIL_Alltoall_crs(1, &to, 2, MPI_INT, send.data(), &entries, &sources, 2, MPI_INT, &values, nullptr, comm));
    EXPECT_EQ(entries, 1);
    EXPECT_EQ(entries == 1 ? sources[0] : -1, left());
    MPIL_Free(sources);
    MPIL_Free(values);
  }
  EXPECT_MPI(MPIL_Set_alltoall_crs(ALLTOALL_CRS_LANEWAY));
  EXPECT_EQ(lnw_ma_hint(lnw_ma_alltoall_crs), nullptr);
  // What is set is what the hint says.
  EXPECT_MPI(MPIL_Set_alltoallv_crs(ALLTOALLV_CRS_PERSONALIZED));
  EXPECT_STREQ(lnw_ma_hint(lnw_ma_alltoallv_crs), "personalized");
  EXPECT_MPI(MPIL_Set_alltoallv_neighbor_init_algorithm(NEIGHBOR_ALLTOALLV_INIT_LOCALITY));
  EXPECT_STREQ(lnw_ma_hint(lnw_ma_neighbor_init), "three_step");
  // Or programs write the variables.
  mpil_alltoallv_crs_implementation = ALLTOALLV_CRS_NONBLOCKING;
  EXPECT_STREQ(lnw_ma_hint(lnw_ma_alltoallv_crs), "nbx");
  mpix_neighbor_alltoallv_init_implementation = NEIGHBOR_ALLTOALLV_INIT_STANDARD;
  EXPECT_STREQ(lnw_ma_hint(lnw_ma_neighbor_init), "direct");
  mpil_alltoallv_crs_implementation = ALLTOALLV_CRS_LANEWAY;
  mpil_neighbor_alltoallv_init_implementation = NEIGHBOR_ALLTOALLV_INIT_LANEWAY;
  EXPECT_MPI(MPIL_Comm_free(&comm));
}

TEST_F(MpiAdvanceTest, TheWorldAndItsTags) {
  int tag = -1, next = -1;
  EXPECT_EQ(MPIL_COMM_WORLD->global_comm, MPI_COMM_WORLD);
  EXPECT_MPI(MPIL_Comm_tag(MPIL_COMM_WORLD, &tag));
  EXPECT_MPI(MPIL_Comm_tag(MPIL_COMM_WORLD, &next));
  EXPECT_NE(tag, next);
  EXPECT_EQ(MPIL_Comm_update_locality(MPIL_COMM_WORLD, 1), MPI_ERR_ARG);
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  const Comm other(duplicate);
  EXPECT_MPI(MPIL_Init(other.get()));
  int sum = 0;
  const int one = 1;
  EXPECT_MPI(MPIL_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPIL_COMM_WORLD));
  EXPECT_EQ(sum, size());
  EXPECT_EQ(MPIL_COMM_WORLD->global_comm, other.get());
  EXPECT_MPI(MPIL_Init(MPI_COMM_WORLD));
  EXPECT_MPI(MPIL_Finalize());
}

TEST_F(MpiAdvanceTest, NodesOfSoManyRanks) {
  MPIL_Comm* graph = nullptr;
  MPIL_Info* info = nullptr;
  MPIL_Request* request = nullptr;
  EXPECT_MPI(MPIL_Info_init(&info));
  EXPECT_MPI(MPIL_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors.data(), MPI_UNWEIGHTED, 2, neighbors.data(),
                                             MPI_UNWEIGHTED, info, 0, &graph));
  // Of one rank, where all leaves a node; of two, where of 3 ranks one is left; of all, where nothing does.
  for (const int each : {1, 2, size(), 0}) {
    EXPECT_MPI(MPIL_Comm_update_locality(graph, each));
    EXPECT_MPI(MPIL_Neighbor_alltoallv_init(send.data(), counts.data(), displacements.data(), MPI_INT, receive.data(),
                                            counts.data(), displacements.data(), MPI_INT, graph, info, &request));
    LNW_Request_statistics statistics;
    EXPECT_MPI(LNW_Request_get_statistics(request->request, &statistics));
    if (size() > 1 && each == 1) {
      EXPECT_GT(statistics.net_messages, 0);
    }
    if (each == size()) {
      EXPECT_EQ(statistics.net_messages, 0);
    }
    EXPECT_MPI(MPIL_Request_win_init(request, receive.data(), static_cast<int>(sizeof receive), 4, MPI_COMM_WORLD));
    EXPECT_MPI(MPIL_Request_win_free(request));
    run(request);
  }
  EXPECT_EQ(MPIL_Comm_update_locality(graph, -1), MPI_ERR_ARG);
  EXPECT_MPI(MPIL_Comm_free(&graph));
  EXPECT_MPI(MPIL_Info_free(&info));
}

}  // namespace
}  // namespace laneway::test
