// Start, test and wait allocate nothing: counted in this program's and the library's operator new.
#include <atomic>
#include <cstdlib>
#include <vector>

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
  constexpr int exchanges = 20;
  const Shape shape = random_shape(7, rank(), size());
  const Comm graph = make_graph(MPI_COMM_WORLD, shape);
  const std::vector<double> send(64, rank());
  for (const char* progress : {"auto", "wait", "thread"})
    for (const Choice& choice : choices(uneven_machine())) {
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

}  // namespace
}  // namespace laneway::test
