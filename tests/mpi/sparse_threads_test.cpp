// Sparse exchanges of several threads: requests of one communicator, and communicators of their own.
#include <array>
#include <thread>
#include <vector>

#include "support.hpp"

namespace laneway::test {
namespace {

class SparseThreadsTest : public MpiTest {
 protected:
  void SetUp() override {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "SKIP: no MPI_THREAD_MULTIPLE";
    MpiTest::SetUp();
  }
};

/// Two values to each rank, which say from whom and in which round.
struct ToAll {
  std::vector<int> destinations;
  std::vector<int> data;

  explicit ToAll(int round) {
    for (int other = 0; other < size(); ++other) {
      destinations.push_back(other);
      data.push_back(rank());
      data.push_back(round);
    }
  }
};

int count_wrong(LNW_Arrivals& arrivals, int round) {
  std::vector<int> values(static_cast<std::size_t>(2 * size()), -1);
  int wrong =
      LNW_Arrivals_copy(arrivals, 0, nullptr, nullptr, nullptr, values.data(), 2 * size(), MPI_INT) != MPI_SUCCESS;
  for (int source = 0; source < size(); ++source) {
    const auto at = static_cast<std::size_t>(2 * source);
    wrong += values[at] != source || values[at + 1] != round;
  }
  return wrong + (LNW_Arrivals_free(&arrivals) != MPI_SUCCESS);
}

TEST_F(SparseThreadsTest, EachThreadWaitsForItsOwnRequest) {
  constexpr std::size_t threads = 4;
  // Some by the memory of the node, in which the rounds of all threads have a part.
  const std::array<const char*, 3> names = {"auto", "personalized_node", "nbx_node"};
  for (int turn = 0; turn < effort(9); ++turn) {
    const Info info(laneway::test::Hints{{"lnw_find", names[static_cast<std::size_t>(turn) % names.size()]}});
    std::array<LNW_Arrivals, threads> arrivals{};
    std::array<LNW_Request, threads> requests{};
    std::array<int, threads> wrong{};
    for (std::size_t i = 0; i < threads; ++i) {
      const ToAll what(static_cast<int>(i));
      EXPECT_MPI(LNW_Isparse_alltoall(size(), what.destinations.data(), what.data.data(), 2, MPI_INT, MPI_COMM_WORLD,
                                      info.get(), &arrivals[i], &requests[i]));
    }
    std::vector<std::thread> running;
    for (std::size_t i = 0; i < threads; ++i)
      running.emplace_back([&, i] {
        wrong[i] = LNW_Wait(&requests[i], MPI_STATUS_IGNORE) != MPI_SUCCESS;
        wrong[i] += count_wrong(arrivals[i], static_cast<int>(i));
      });
    for (std::thread& thread : running) thread.join();
    EXPECT_EQ(wrong, (std::array<int, threads>{}));
  }
}

TEST_F(SparseThreadsTest, ThreadsUseCommunicatorsOfTheirOwn) {
  constexpr std::size_t threads = 2;
  std::array<MPI_Comm, threads> comms{};
  std::array<int, threads> wrong{};
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  // The first call on each lets all ranks meet, one after another.
  const auto exchange = [&](std::size_t i, int round) {
    const ToAll what(round);
    LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
    if (LNW_Sparse_alltoall(size(), what.destinations.data(), what.data.data(), 2, MPI_INT, comms[i], MPI_INFO_NULL,
                            &arrivals) != MPI_SUCCESS)
      return 1;
    return count_wrong(arrivals, round);
  };
  for (std::size_t i = 0; i < threads; ++i) wrong[i] = exchange(i, 0);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      for (int round = 1; round < 1 + effort(20); ++round) wrong[i] += exchange(i, round);
    });
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, (std::array<int, threads>{}));
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

TEST_F(SparseThreadsTest, TopologiesFromArrivalsHaveDuplicatesOfTheirOwn) {
  const int right = (rank() + 1) % size(), left = (rank() + size() - 1) % size();
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  EXPECT_MPI(LNW_Sparse_alltoall(1, &right, nullptr, 0, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals));
  std::array<LNW_Topology, 2> topologies{};
  EXPECT_MPI(LNW_Topology_from_arrivals(arrivals, MPI_INFO_NULL, &topologies[0]));
  EXPECT_MPI(LNW_Topology_from_arrivals_reversed(arrivals, MPI_INFO_NULL, &topologies[1]));
  EXPECT_MPI(LNW_Arrivals_free(&arrivals));
  const int mine = rank();
  for (std::size_t i = 0; i < 2; ++i) {
    const int expected = i == 0 ? left : right;
    int arrived = -1;
    EXPECT_MPI(LNW_Neighbor_alltoall_topology(&mine, 1, MPI_INT, &arrived, 1, MPI_INT, topologies[i]));
    EXPECT_EQ(arrived, expected);
    arrived = -1;
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_alltoall_init_topology(&mine, 1, MPI_INT, &arrived, 1, MPI_INT, topologies[i],
                                                   MPI_INFO_NULL, &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(arrived, expected);
    EXPECT_MPI(LNW_Request_free(&request));
    EXPECT_MPI(LNW_Topology_free(&topologies[i]));
  }
}

}  // namespace
}  // namespace laneway::test
