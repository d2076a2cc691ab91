// Start, test and wait allocate nothing: counted in this program's and the library's operator new.
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "partitions.hpp"
#include "support.hpp"

namespace {

std::atomic<long> allocations{0};

[[maybe_unused]] bool count_allocation() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

#define LANEWAY_TEST_ALLOCATES(bytes) count_allocation()
#include "own_new.hpp"

namespace laneway::test {
namespace {

class Allocation : public MpiTest {};

TEST_F(Allocation, NoneInStartTestWait) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "SKIP: the sanitizer has its own operator new";
#endif
  const Shape shape = random_shape(7, rank(), size());
  const Comm graph = make_graph(MPI_COMM_WORLD, shape);
  const std::vector<double> send(64, rank());
  for (const char* progress : {"auto", "wait", "thread"}) {
    int number = 0;
    for (Choice choice : choices(uneven_machine())) {
      // Puts wait for their peers to call MPI, which takes long where ranks share cores and the library never yields.
      const bool puts = progress != std::string_view("auto");
      if (puts && number++ % 4 != 0) continue;
      const int exchanges = puts ? 4 : 20;
      if (puts) choice.transport = "rma";
      std::vector<LNW_Request> requests(3);
      std::vector<std::vector<double>> receive(requests.size(), std::vector<double>(64 * shape.sources.size() + 1));
      Hints hints = choice.hints();
      hints.emplace_back("lnw_progress", progress);
      const Info info(hints);
      for (std::size_t i = 0; i < requests.size(); ++i)
        EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), 64, MPI_DOUBLE, receive[i].data(), 64, MPI_DOUBLE,
                                               graph.get(), info.get(), &requests[i]));
      const long before = allocations.load();
      for (int i = 0; i < exchanges; ++i) {
        LNW_Start(&requests[0]);
        for (int done = 0; !done;) LNW_Test(&requests[0], &done, MPI_STATUS_IGNORE);
        LNW_Startall(static_cast<int>(requests.size()), requests.data());
        LNW_Wait(&requests[1], MPI_STATUS_IGNORE);
        LNW_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      }
      EXPECT_EQ(allocations.load(), before) << choice.text() << ", " << progress;
      for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
    }
  }
}

TEST_F(Allocation, NoneInChannelsAndPartitions) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "SKIP: the sanitizer has its own operator new";
#endif
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  std::vector<double> data(64, rank()), received(64);
  for (const char* transport : {"auto", "p2p"}) {
    const Info info(Hints{{"lnw_transport", transport}, {"lnw_partition_message", "1"}});
    LNW_Channel to = LNW_CHANNEL_NULL, from = LNW_CHANNEL_NULL;
    std::vector<LNW_Request> requests(2, LNW_REQUEST_NULL);
    EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, next, LNW_CHANNEL_SEND, 512, 2, info.get(), &to));
    EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, previous, LNW_CHANNEL_RECEIVE, 512, 2, info.get(), &from));
    EXPECT_MPI(LNW_Psend_init(data.data(), 8, 8, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, info.get(), &requests[0]));
    EXPECT_MPI(
        LNW_Precv_init(received.data(), 4, 16, MPI_DOUBLE, previous, 0, MPI_COMM_WORLD, info.get(), &requests[1]));
    long before = 0;
    for (int i = 0; i < 20; ++i) {
      if (i == 1) before = allocations.load();  // before the first exchange the ends meet
      const int segment = i % 2;
      int flag = 0;
      void* found = nullptr;
      MPI_Count bytes = 0;
      while (!flag) LNW_Channel_test_free(to, segment, &flag);
      LNW_Channel_put(to, segment, data.data(), 512);
      for (flag = 0; !flag;) LNW_Channel_test(from, segment, &flag, &found, &bytes);
      LNW_Channel_wait(from, segment, &found, &bytes);
      LNW_Channel_release(from, segment);
      LNW_Channel_flush(to);
      LNW_Startall(2, requests.data());
      for (int p = 7; p > 0; --p) LNW_Pready(p, requests[0]);
      LNW_Pready_range(0, 0, requests[0]);
      for (flag = 0; !flag;) LNW_Parrived(requests[1], 3, &flag);
      LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    }
    EXPECT_EQ(allocations.load(), before) << transport;
    EXPECT_EQ(received[0], previous);
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
    EXPECT_MPI(LNW_Channel_free(&to));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_MPI(LNW_Channel_free(&from));
  }
}

/// Edges that name the same bytes, so that partitions fire events that are shared, too; test by test until all has
/// come.
TEST_F(Allocation, NoneInPartitionsOfEdges) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "SKIP: the sanitizer has its own operator new";
#endif
  for (const char* transport : {"auto", "p2p"}) {
    const Info info(Hints{{"lnw_transport", transport}});
    PartitionedEdges edges(rank(), size(), info.get());
    long total = 0;
    int wrong = 0, calls = 0;
    const auto count = [](int, void* number) { ++*static_cast<int*>(number); };
    for (int i = 0; i < 20; ++i) {
      if (i == 10) {
        EXPECT_MPI(LNW_Request_on_complete(edges.request(), count, &calls));
        EXPECT_MPI(LNW_Request_on_arrival(edges.request(), 0, 1, count, &calls));
      }
      LNW_Start(&edges.request());
      const long before = allocations.load();
      for (int p = 0; p < PartitionedEdges::partitions; ++p) wrong += edges.ready(p);
      for (int edge = 0, partition = 0; edge != MPI_UNDEFINED;)
        wrong += LNW_Wait_any_edge(edges.request(), &edge, &partition) != MPI_SUCCESS;
      for (int p = 0; p < PartitionedEdges::partitions; ++p) wrong += edges.look(p);
      if (i > 0) total += allocations.load() - before;
      LNW_Wait(&edges.request(), MPI_STATUS_IGNORE);
    }
    EXPECT_EQ(wrong, 0) << transport;
    EXPECT_EQ(total, 0) << transport;
    EXPECT_EQ(calls, 20) << transport;
    edges.expect_all();
  }
}

}  // namespace
}  // namespace laneway::test
