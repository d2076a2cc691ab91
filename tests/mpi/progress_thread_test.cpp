// lnw_progress=thread: exchanges go on while their ranks are in no call of this library.
#include <array>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "exchange.hpp"

namespace laneway::test {
namespace {

class ProgressThreadTest : public MpiTest {
 protected:
  void SetUp() override {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "SKIP: this MPI library does not provide MPI_THREAD_MULTIPLE";
    MpiTest::SetUp();
  }

  /// The late rank completes nothing before all others have completed everything.
  template <class Complete>
  static void complete_late(int late, Complete&& complete) {
    int done = 0;
    if (rank() != late) {
      complete();
      MPI_Send(&done, 1, MPI_INT, late, 0, MPI_COMM_WORLD);
      return;
    }
    for (int other = 0; other < size() - 1; ++other)
      MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    complete();
  }
};

Hints by_thread(Hints hints) {
  hints.emplace_back("lnw_progress", "thread");
  return hints;
}

TEST_F(ProgressThreadTest, RanksRelayWhileTheyBlockElsewhere) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  for (const Choice& choice : choices("node:* rank:2")) {
    Exchange first(Op::alltoallv, graph.get(), 11, true), second(Op::allgather, graph.get(), 12, false);
    const Info info(by_thread(choice.hints()));
    std::array<LNW_Request, 2> requests{};
    EXPECT_MPI(first.init(info.get(), &requests[0]));
    EXPECT_MPI(second.init(info.get(), &requests[1]));
    for (int late = 0; late < std::min(size(), effort(6)); ++late) {
      for (Exchange* exchange : {&first, &second}) {
        exchange->fill(late);
        exchange->reference();
      }
      EXPECT_MPI(LNW_Startall(2, requests.data()));
      complete_late(late, [&] { EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE)); });
      EXPECT_TRUE(first.arrived()) << choice.text() << ", late " << late;
      EXPECT_TRUE(second.arrived()) << choice.text() << ", late " << late;
    }
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(ProgressThreadTest, NonblockingOperationsToo) {
  const Info info(by_thread({{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}}));
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()), info.get());
  for (const Op op : {Op::allgather, Op::alltoall, Op::alltoallw}) {
    Exchange exchange(op, graph.get(), 21, true);
    for (int late = 0; late < std::min(size(), effort(6)); ++late) {
      exchange.fill(late);
      exchange.reference();
      LNW_Request request = LNW_REQUEST_NULL;
      EXPECT_MPI(exchange.nonblocking(&request));
      complete_late(late, [&] { EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE)); });
      EXPECT_TRUE(exchange.arrived()) << name(op) << ", late " << late;
    }
  }
}

TEST_F(ProgressThreadTest, TheEnvironmentAsksForItOnUnknownCommunicators) {
  // Without the thread, messages of the first call start in a later call of this library.
  setenv("LANEWAY_PROGRESS", "thread", 1);
  for (int late = 0; late < std::min(size(), 2); ++late) {
    const int whole = size(), periodic = 1;
    MPI_Comm cart = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &whole, &periodic, 0, &cart);
    const Comm owner(cart);
    Exchange first(Op::alltoallv, cart, 31, true), second(Op::allgather, cart, 32, false);
    std::array<LNW_Request, 2> requests{};
    for (Exchange* exchange : {&first, &second}) {
      exchange->fill(late);
      exchange->reference();
    }
    EXPECT_MPI(first.nonblocking(&requests[0]));
    EXPECT_MPI(second.nonblocking(&requests[1]));
    complete_late(late, [&] { EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE)); });
    EXPECT_TRUE(first.arrived());
    EXPECT_TRUE(second.arrived());
  }
  unsetenv("LANEWAY_PROGRESS");
}

TEST_F(ProgressThreadTest, CompletedInEveryWay) {
  const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(41, rank(), size()));
  Random random(static_cast<unsigned>(rank() + 1));  // other orders on other ranks
  constexpr std::size_t count = 6;
  for (const std::string& machine : {std::string(), uneven_machine()}) {
    const std::vector<Choice> all = choices(machine);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    std::vector<LNW_Request> requests(count, LNW_REQUEST_NULL);
    for (std::size_t n = 0; n < count; ++n) {
      exchanges.push_back(std::make_unique<Exchange>(all_ops[n % 5], graph.get(), 400 + n, n % 2 == 0));
      // The last one is advanced by calls only.
      const Hints hints = all[n * all.size() / count].hints();
      const Info info(n + 1 < count ? by_thread(hints) : hints);
      EXPECT_MPI(exchanges.back()->init(info.get(), &requests[n]));
    }
    for (int turn = 0; turn < effort(30); ++turn) {
      for (const auto& exchange : exchanges) {
        exchange->fill(turn);
        exchange->reference();
      }
      std::vector<std::size_t> order(count);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t n : order) EXPECT_MPI(LNW_Start(&requests[n]));
      const int all_count = static_cast<int>(count);
      if (turn % 4 == 0) {
        for (std::size_t n : order) EXPECT_MPI(LNW_Wait(&requests[n], MPI_STATUS_IGNORE));
      } else if (turn % 4 == 1) {
        for (std::size_t n : order)
          for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&requests[n], &flag, MPI_STATUS_IGNORE));
      } else if (turn % 4 == 2) {
        for (int index = 0; index != MPI_UNDEFINED;)
          EXPECT_MPI(LNW_Waitany(all_count, requests.data(), &index, MPI_STATUS_IGNORE));
      } else {
        for (int flag = 0; !flag;) EXPECT_MPI(LNW_Testall(all_count, requests.data(), &flag, MPI_STATUSES_IGNORE));
      }
      for (std::size_t n = 0; n < count; ++n) EXPECT_TRUE(exchanges[n]->arrived()) << "exchange " << n;
    }
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

}  // namespace
}  // namespace laneway::test
