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
  EXPECT_MPI(MPIX_Neighbor_topo_alltoallv_init(send.data(), counts.data(), displacements.data(), MPI_INT,
                                               receive.data(), counts.data(), displacements.data(), MPI_INT, topo,
                                               plain, info, &request));
  EXPECT_MPI(MPIX_Request_reorder(request, 1));
  run(request);
  EXPECT_MPI(MPIX_Neighbor_part_locality_alltoallv_init(send.data(), counts.data(), displacements.data(), MPI_INT,
                                                        receive.data(), counts.data(), displacements.data(), MPI_INT,
                                                        graph, info, &request));
  run(request);
  EXPECT_MPI(MPIX_Neighbor_locality_alltoallv_init(send.data(), counts.data(), displacements.data(), numbers.data(),
                                                   MPI_INT, receive.data(), counts.data(), displacements.data(),
                                                   nullptr, MPI_INT, graph, info, &request));
  run(request);
  EXPECT_MPI(MPIX_Neighbor_topo_alltoallv(send.data(), counts.data(), displacements.data(), MPI_INT, receive.data(),
                                          counts.data(), displacements.data(), MPI_INT, topo, plain));
  expect_received();
  EXPECT_MPI(MPIX_Neighbor_part_locality_topo_alltoallv(send.data(), counts.data(), displacements.data(), MPI_INT,
                                                        receive.data(), counts.data(), displacements.data(), MPI_INT,
                                                        topo, plain));
  expect_received();
  EXPECT_MPI(MPIX_Neighbor_part_locality_alltoallv(send.data(), counts.data(), displacements.data(), MPI_INT,
                                                   receive.data(), counts.data(), displacements.data(), MPI_INT,
                                                   graph));
  expect_received();
  EXPECT_MPI(MPIX_Neighbor_locality_alltoallv(send.data(), counts.data(), displacements.data(), numbers.data(), MPI_INT,
                                              receive.data(), counts.data(), displacements.data(), nullptr, MPI_INT,
                                              graph));
  expect_received();
  EXPECT_MPI(MPIX_Topo_free(&topo));
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

/// Outputs of a `crs` call, freed.
struct Outputs {
  int entries = -1, elements = -1;
  int *sources = nullptr, *counts = nullptr, *places = nullptr;
  void* values = nullptr;

  Outputs() = default;
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  ~Outputs() {
    for (void* one : {static_cast<void*>(sources), static_cast<void*>(counts), static_cast<void*>(places), values})
      MPIL_Free(one);
  }
  void expect_none() const {
    EXPECT_EQ(entries, 0);
    for (const void* one : {static_cast<const void*>(sources), static_cast<const void*>(counts),
                            static_cast<const void*>(places), static_cast<const void*>(values)})
      EXPECT_EQ(one, nullptr);
  }
};

TEST_F(MpiAdvanceTest, SparseExchangesThatDoNotFit) {
  MPIL_Comm* comm = nullptr;
  EXPECT_MPI(MPIL_Comm_init(&comm, MPI_COMM_WORLD));
  const Handler returns(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int to = right(), one = 1, none = 0;
  const auto equal = [&](int recvcount, MPI_Datatype type, Outputs& out) {
    return MPIL_Alltoall_crs(1, &to, 2, MPI_INT, send.data(), &out.entries, &out.sources, recvcount, type, &out.values,
                             nullptr, comm);
  };
  const auto counted = [&](int n, const int* count, MPI_Datatype sent, MPI_Datatype type, Outputs& out) {
    const std::array<int, 2> both = {to, to}, places = {none, none};
    return MPIL_Alltoallv_crs(n, n, both.data(), count, places.data(), sent, send.data(), &out.entries, &out.elements,
                              &out.sources, &out.counts, &out.places, type, &out.values, nullptr, comm);
  };
  const auto refused = [](int code, int wanted, const Outputs& out) {
    expect_error_class(code, wanted);
    out.expect_none();
  };
  Outputs out;
  refused(equal(2, MPI_DOUBLE, out), MPI_ERR_TYPE, out);
  refused(equal(1, MPI_INT, out), MPI_ERR_TRUNCATE, out);
  refused(equal(3, MPI_INT, out), MPI_ERR_COUNT, out);
  refused(counted(1, &one, MPI_INT, MPI_SHORT, out), MPI_ERR_TYPE, out);
  EXPECT_EQ(out.elements, 0);
  // More elements, of no bytes, than an int counts.
  MPI_Datatype nothing = MPI_DATATYPE_NULL, wide = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  const std::array<int, 2> most = {INT_MAX, INT_MAX};
  refused(counted(2, most.data(), nothing, nothing, out), MPI_ERR_COUNT, out);
  EXPECT_EQ(out.elements, 0);
  // Elements of the receive type, with its gaps.
  MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &wide);
  MPI_Type_commit(&wide);
  EXPECT_MPI(equal(2, wide, out));
  ASSERT_EQ(out.entries, 1);
  EXPECT_EQ(static_cast<int*>(out.values)[0], left());
  EXPECT_EQ(static_cast<int*>(out.values)[3], left() + 100);
  MPI_Type_free(&nothing);
  MPI_Type_free(&wide);
  EXPECT_MPI(MPIL_Comm_free(&comm));
}

TEST_F(MpiAdvanceTest, TopologiesOfTheFirstGeneration) {
  const std::array<int, 2> in_weights = {3, 4}, out_weights = {5, 6};
  for (const bool weighted : {false, true}) {
    MPIX_Topo* topo = nullptr;
    EXPECT_MPI(MPIX_Topo_dist_graph_create_adjacent(2, neighbors.data(), weighted ? in_weights.data() : MPI_UNWEIGHTED,
                                                    2, neighbors.data(), weighted ? out_weights.data() : MPI_UNWEIGHTED,
                                                    MPI_INFO_NULL, 0, &topo));
    int indegree = -1, outdegree = -1, has_weights = -1;
    EXPECT_MPI(MPIX_Topo_dist_graph_neighbors_count(topo, &indegree, &outdegree, &has_weights));
    EXPECT_EQ(indegree, 2);
    EXPECT_EQ(outdegree, 2);
    EXPECT_EQ(has_weights, weighted ? 1 : 0);
    std::array<int, 2> sources{}, destinations{}, from{}, to{};
    EXPECT_MPI(MPIX_Topo_dist_graph_neighbors(topo, 2, sources.data(), from.data(), 2, destinations.data(), to.data()));
    EXPECT_EQ(sources, neighbors);
    EXPECT_EQ(destinations, neighbors);
    EXPECT_EQ(from, (weighted ? in_weights : std::array<int, 2>{}));
    EXPECT_EQ(to, (weighted ? out_weights : std::array<int, 2>{}));
    EXPECT_MPI(MPIX_Topo_free(&topo));
  }
}

/// All that Laneway does by itself.
TEST_F(MpiAdvanceTest, CallsThatHaveNothingToDo) {
  MPIL_Comm* comm = nullptr;
  void* memory = nullptr;
  EXPECT_MPI(MPIL_Alloc(&memory, 16));
  static_cast<char*>(memory)[15] = 1;
  EXPECT_MPI(MPIL_Free(memory));
  EXPECT_MPI(MPIL_Alloc(&memory, 0));
  EXPECT_MPI(MPIL_Free(memory));
  EXPECT_MPI(MPIL_Comm_init(&comm, MPI_COMM_WORLD));
  EXPECT_MPI(MPIL_Comm_leader_init(comm, 4));
  EXPECT_MPI(MPIL_Comm_win_init(comm, 64, 4));
  EXPECT_MPI(MPIL_Comm_device_init(comm));
  EXPECT_MPI(MPIL_Comm_req_resize(comm, 10));
  const int one = 1;
  int sum = 0;
  EXPECT_MPI(MPIL_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT_EQ(sum, size());
  EXPECT_MPI(MPIL_Comm_device_free(comm));
  EXPECT_MPI(MPIL_Comm_win_free(comm));
  EXPECT_MPI(MPIL_Comm_leader_free(comm));
  EXPECT_MPI(MPIL_Comm_free(&comm));
  EXPECT_EQ(comm, nullptr);
}

TEST_F(MpiAdvanceTest, SettersOfBlockingCalls) {
  MPIL_Comm* graph = nullptr;
  MPIL_Comm* comm = nullptr;
  MPIL_Topo* topo = nullptr;
  EXPECT_MPI(MPIL_Comm_init(&comm, MPI_COMM_WORLD));
  EXPECT_MPI(MPIL_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors.data(), MPI_UNWEIGHTED, 2, neighbors.data(),
                                             MPI_UNWEIGHTED, nullptr, 0, &graph));
  EXPECT_MPI(MPIL_Topo_init(2, neighbors.data(), nullptr, 2, neighbors.data(), nullptr, nullptr, &topo));
  for (int i = 0; i <= NEIGHBOR_ALLTOALLV_LANEWAY; ++i) {
    EXPECT_MPI(MPIL_Set_alltoallv_neighbor_alogorithm(static_cast<NeighborAlltoallvMethod>(i)));
    EXPECT_EQ(lnw_ma_hint(lnw_ma_neighbor) == nullptr, i == NEIGHBOR_ALLTOALLV_LANEWAY);
    EXPECT_MPI(MPIL_Neighbor_alltoallv(send.data(), counts.data(), displacements.data(), MPI_INT, receive.data(),
                                       counts.data(), displacements.data(), MPI_INT, graph));
    expect_received();
    EXPECT_MPI(MPIL_Neighbor_alltoallv_topo(send.data(), counts.data(), displacements.data(), MPI_INT, receive.data(),
                                            counts.data(), displacements.data(), MPI_INT, topo, comm));
    expect_received();
  }
  EXPECT_MPI(MPIL_Topo_free(&topo));
  EXPECT_MPI(MPIL_Comm_free(&graph));
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<int> values(ranks), blocks(ranks, 1), places(ranks), got(ranks), expected(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    values[i] = 100 * rank() + static_cast<int>(i);
    places[i] = static_cast<int>(i);
  }
  const auto expect = [&](int code) {
    EXPECT_MPI(code);
    EXPECT_EQ(got, expected);
    std::fill(got.begin(), got.end(), -1);
  };
  MPI_Alltoall(values.data(), 1, MPI_INT, expected.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i <= ALLTOALL_LANEWAY; ++i) {
    EXPECT_MPI(MPIL_Set_alltoall_algorithm(static_cast<AlltoallMethod>(i)));
    expect(MPIL_Alltoall(values.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm));
  }
  for (int i = 0; i <= ALLTOALLV_LANEWAY; ++i) {
    EXPECT_MPI(MPIL_Set_alltoallv_algorithm(static_cast<AlltoallvMethod>(i)));
    expect(MPIL_Alltoallv(values.data(), blocks.data(), places.data(), MPI_INT, got.data(), blocks.data(),
                          places.data(), MPI_INT, comm));
  }
  MPI_Allgather(values.data(), 1, MPI_INT, expected.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i <= ALLGATHER_LANEWAY; ++i) {
    EXPECT_MPI(MPIL_Set_allgather_algorithm(static_cast<AllgatherMethod>(i)));
    expect(MPIL_Allgather(values.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm));
  }
  EXPECT_MPI(MPIL_Set_collective_radix(4));
  EXPECT_EQ(mpil_collective_radix, 4);
  MPI_Allreduce(values.data(), expected.data(), size(), MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i <= ALLREDUCE_LANEWAY; ++i) {
    EXPECT_MPI(MPIL_Set_allreduce_algorithm(static_cast<AllreduceMethod>(i)));
    expect(MPIL_Allreduce(values.data(), got.data(), size(), MPI_INT, MPI_MAX, comm));
  }
  EXPECT_MPI(MPIL_Comm_free(&comm));
}

TEST_F(MpiAdvanceTest, EnumeratorsOfDevicesAreThoseOfTheHost) {
  EXPECT_EQ(static_cast<int>(ALLTOALL_GPU_PAIRWISE), ALLTOALL_PAIRWISE);
  EXPECT_EQ(static_cast<int>(ALLTOALLV_CTC_NONBLOCKING), ALLTOALLV_NONBLOCKING);
  EXPECT_EQ(static_cast<int>(ALLREDUCE_GPU_PMPI), ALLREDUCE_PMPI);
  EXPECT_EQ(static_cast<int>(ALLREDUCE_INIT_CTC_DISSEMINATION_ML), ALLREDUCE_INIT_DISSEMINATION_ML);
  EXPECT_EQ(static_cast<int>(ALLGATHER_CTC_BRUCK), ALLGATHER_BRUCK);
  EXPECT_EQ(static_cast<int>(ALLGATHER_INIT_GPU_RING), ALLGATHER_INIT_RING);
  EXPECT_EQ(static_cast<int>(ALLTOALL_INIT_GPU_NONBLOCKING), ALLTOALL_INIT_NONBLOCKING);
  EXPECT_EQ(static_cast<int>(ALLTOALLV_INIT_CTC_PMPI), ALLTOALLV_INIT_PMPI);
  EXPECT_EQ(static_cast<int>(NEIGHBOR_ALLTOALLV_GPU_LOCALITY), NEIGHBOR_ALLTOALLV_LOCALITY);
  EXPECT_EQ(static_cast<int>(NEIGHBOR_ALLTOALLV_INIT_CTC_STANDARD), NEIGHBOR_ALLTOALLV_INIT_STANDARD);
  for (const auto& [method, strategy] :
       {std::pair(NEIGHBOR_ALLTOALLV_INIT_COLL_A2A, "direct"), std::pair(NEIGHBOR_ALLTOALLV_INIT_RMA, "direct"),
        std::pair(NEIGHBOR_ALLTOALLV_INIT_PSCW, "direct"), std::pair(NEIGHBOR_ALLTOALLV_INIT_LOCALITY, "three_step")}) {
    EXPECT_MPI(MPIL_Set_alltoallv_neighbor_init_alogorithm(method));
    EXPECT_STREQ(lnw_ma_hint(lnw_ma_neighbor_init), strategy);
  }
  EXPECT_MPI(MPIL_Set_alltoallv_neighbor_init_algorithm(NEIGHBOR_ALLTOALLV_INIT_LANEWAY));
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
  for (const AlltoallCRSMethod method : {ALLTOALL_CRS_RMA, ALLTOALL_CRS_NONBLOCKING, ALLTOALL_CRS_NONBLOCKING_LOC,
                                         ALLTOALL_CRS_PERSONALIZED, ALLTOALL_CRS_PERSONALIZED_LOC}) {
    EXPECT_MPI(MPIL_Set_alltoall_crs(method));
    int entries = -1;
    int* sources = nullptr;
    void* values = nullptr;
    EXPECT_MPI(
        MPIL_Alltoall_crs(1, &to, 2, MPI_INT, send.data(), &entries, &sources, 2, MPI_INT, &values, nullptr, comm));
    EXPECT_EQ(entries, 1) << "method " << method;
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
