// MPI_THREAD_MULTIPLE: threads with communicators and requests of their own.
#include <array>
#include <memory>
#include <thread>

#include "exchange.hpp"

namespace laneway::test {
namespace {

class ThreadsTest : public MpiTest {};

TEST_F(ThreadsTest, EachWithItsOwnCommunicatorAndRequests) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "SKIP: this MPI library does not provide MPI_THREAD_MULTIPLE";
  (void)pair_types();
  // Open MPI 4.1 loads its topology component at the first graph, without a lock.
  const Comm first_graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  constexpr int threads = 3;
  // Threads meet inside a rank, so more ranks than a node has show no more.
  const bool slow = size() > 8 || (is_mpich() && size() > 1);
  std::vector<Comm> parents;
  for (int t = 0; t < threads; ++t) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    parents.emplace_back(comm);
  }
  const std::string machine = uneven_machine();
  auto work = [&](int t) {
    // Creation, first use, discovery, exchanges and destruction, all at the same time as in the other threads.
    const auto seed = static_cast<std::uint64_t>(t) + 1;
    for (int turn = 0; turn < (slow ? 1 : 3); ++turn) {
      const MPI_Comm parent = parents[static_cast<std::size_t>(t)].get();
      {
        // Begun by a nonblocking call.
        const int whole = size(), periodic = 1;
        MPI_Comm cart = MPI_COMM_NULL;
        MPI_Cart_create(parent, 1, &whole, &periodic, 0, &cart);
        const Comm owner(cart);
        Exchange exchange(Op::alltoallw, cart, seed, true);
        exchange.fill(0);
        exchange.reference();
        LNW_Request request = LNW_REQUEST_NULL;
        EXPECT_MPI(exchange.nonblocking(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(exchange.arrived()) << "thread " << t;
      }
      const Comm graph = make_graph(parent, random_shape(seed, rank(), size()));
      for (const std::string& on : {std::string(), machine}) {
        for (const Choice& choice : choices(on)) {
          Exchange first(all_ops[(seed + static_cast<std::uint64_t>(turn)) % 5], graph.get(), seed, true),
              second(Op::alltoallv, graph.get(), seed + 50, false);
          const Info info(choice.hints());
          LNW_Request requests[2] = {LNW_REQUEST_NULL, LNW_REQUEST_NULL};
          EXPECT_MPI(first.init(info.get(), &requests[0]));
          EXPECT_MPI(second.init(info.get(), &requests[1]));
          for (int iteration = 0; iteration < (slow ? 1 : 4); ++iteration) {
            first.fill(iteration);
            first.reference();
            second.fill(iteration);
            second.reference();
            EXPECT_MPI(LNW_Startall(2, requests));
            if (iteration % 2 == 0) {
              EXPECT_MPI(LNW_Waitall(2, requests, MPI_STATUSES_IGNORE));
            } else {
              for (LNW_Request& request : requests)
                for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
            }
            EXPECT_TRUE(first.arrived()) << choice.text() << ", thread " << t;
            EXPECT_TRUE(second.arrived()) << choice.text() << ", thread " << t;
          }
          for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
          first.fill(9);
          first.reference();
          EXPECT_MPI(first.blocking());
          EXPECT_TRUE(first.arrived());
          for (Exchange* exchange : {&first, &second}) exchange->clear();
          EXPECT_MPI(first.nonblocking(&requests[0]));
          EXPECT_MPI(second.nonblocking(&requests[1]));
          EXPECT_MPI(LNW_Waitall(2, requests, MPI_STATUSES_IGNORE));
          EXPECT_TRUE(first.arrived());
          EXPECT_TRUE(second.arrived());
        }
      }
    }
  };
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) running.emplace_back(work, t);
  for (std::thread& thread : running) thread.join();
}

/// Made by one thread, and each used by another.
TEST_F(ThreadsTest, RequestsOfOneCommunicator) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "SKIP: this MPI library does not provide MPI_THREAD_MULTIPLE";
  constexpr std::size_t threads = 3;
  const Shape shape = ring_shape(rank(), size());
  const Comm graph = make_graph(MPI_COMM_WORLD, shape);
  const std::vector<Choice> all = choices("node:* rank:2");
  for (std::size_t first = 0; first < all.size(); first += is_mpich() && size() > 1 ? 2 * threads : threads) {
    std::array<int, threads> send{}, wrong{};
    std::array<std::array<int, 2>, threads> receive{};
    std::array<LNW_Request, threads> requests{};
    for (std::size_t t = 0; t < threads; ++t) {
      const Info info(all[(first + t) % all.size()].hints());
      EXPECT_MPI(LNW_Neighbor_allgather_init(&send[t], 1, MPI_INT, receive[t].data(), 1, MPI_INT, graph.get(),
                                             info.get(), &requests[t]));
    }
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        for (int turn = 0; turn < 10; ++turn) {
          const auto value = [&](int from) { return 1000 * turn + 10 * from + static_cast<int>(t); };
          send[t] = value(rank());
          wrong[t] +=
              LNW_Start(&requests[t]) != MPI_SUCCESS || LNW_Wait(&requests[t], MPI_STATUS_IGNORE) != MPI_SUCCESS;
          for (std::size_t i = 0; i < 2; ++i) wrong[t] += receive[t][i] != value(shape.sources[i]);
        }
      });
    for (std::thread& thread : running) thread.join();
    EXPECT_EQ(wrong, (std::array<int, threads>{})) << all[first].text();
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

}  // namespace
}  // namespace laneway::test
