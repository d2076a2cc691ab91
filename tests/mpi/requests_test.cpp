// Requests: many at once, in different orders, outliving what they were made from, beside the user's own messages.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <numeric>

#include "communicator/communicator.hpp"
#include "exchange.hpp"
#include "operations/request/request.hpp"
#include "runtime/executor/progress.hpp"
#include "system_limits.hpp"

namespace laneway::test {
namespace {

/// An exchange with a request of its own.
struct Operation {
  Operation(MPI_Comm comm, std::uint64_t seed, const Choice& choice)
      : exchange(all_ops[seed % 5], comm, seed, seed % 3 == 0), words(choice.text()) {
    const Info info(choice.hints());
    EXPECT_MPI(exchange.init(info.get(), &request));
  }
  ~Operation() {
    if (request != LNW_REQUEST_NULL) EXPECT_MPI(LNW_Request_free(&request));
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  void fill(int iteration) {
    exchange.fill(iteration);
    exchange.reference();
  }

  Exchange exchange;
  std::string words;
  LNW_Request request = LNW_REQUEST_NULL;
};

/// A choice for the n-th operation, the same on all ranks.
Choice nth_choice(std::size_t n) {
  static const std::vector<std::string> on{uneven_machine(), "node:* rank:2", "node:* rank:3"};
  const std::vector<Choice> all = choices(on[n % on.size()]);
  return all[n % all.size()];
}

class RequestsTest : public MpiTest {
 protected:
  Random shuffled{static_cast<unsigned>(rank() + 1)};  // other orders on other ranks
};

/// Two messages to rank 0, of which now one and now the other is late. Tests that come part of the way, and a wait,
/// leave nothing behind that makes the next exchange look complete.
TEST_F(RequestsTest, TestsAndWaitsTakeTurns) {
  if (size() < 3) GTEST_SKIP() << "SKIP: needs 3 ranks";
  constexpr int count = 1024;
  Shape shape;
  if (rank() == 0) shape.sources = {1, 2};
  if (rank() == 1 || rank() == 2) shape.destinations = {0};
  const Info info({{"lnw_strategy", "direct"}, {"lnw_transport", "p2p"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, shape, info.get());
  std::vector<double> send(count);
  std::vector<double> receive(2 * count);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), count, MPI_DOUBLE, receive.data(), count, MPI_DOUBLE, graph.get(),
                                         MPI_INFO_NULL, &request));
  for (int turn = 0; turn < 6; ++turn) {
    const int late = turn % 2 == 0 ? 2 : 1;
    std::ranges::fill(send, 10 * turn + rank());
    std::ranges::fill(receive, -1);
    MPI_Barrier(MPI_COMM_WORLD);
    int token = 0;
    if (rank() == late) MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_MPI(LNW_Start(&request));
    if (rank() == 0) {
      int complete = 0;
      for (const double end = MPI_Wtime() + 0.02; MPI_Wtime() < end && !complete;)
        EXPECT_MPI(LNW_Test(&request, &complete, MPI_STATUS_IGNORE));
      EXPECT_FALSE(complete) << "turn " << turn;
      MPI_Send(&token, 1, MPI_INT, late, 9, MPI_COMM_WORLD);
    }
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; rank() == 0 && i < 2 * count; ++i)
      ASSERT_EQ(receive[static_cast<std::size_t>(i)], 10 * turn + 1 + i / count);
  }
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(RequestsTest, FiftyInFlightInAnyOrder) {
  std::vector<Comm> comms;
  for (std::uint64_t seed : {11U, 12U, 13U})
    comms.push_back(make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size())));
  const int whole = size(), periodic = 1;
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &whole, &periodic, 0, &cart);
  comms.emplace_back(cart);
  std::vector<std::unique_ptr<Operation>> operations;
  const std::size_t count = is_mpich() && size() > 2 ? 50 : 64;
  for (std::size_t n = 0; n < count; ++n)
    operations.push_back(std::make_unique<Operation>(comms[n % comms.size()].get(), 100 + n, nth_choice(n)));
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int iteration = 0; iteration < (is_mpich() && size() > 2 ? 1 : 3); ++iteration) {
    for (auto& operation : operations) operation->fill(iteration);
    std::shuffle(order.begin(), order.end(), shuffled);
    for (std::size_t n : order) EXPECT_MPI(LNW_Start(&operations[n]->request));
    std::shuffle(order.begin(), order.end(), shuffled);
    // Half of them waited for one by one, the others tested until all are complete.
    for (std::size_t i = 0; i < count / 2; ++i) EXPECT_MPI(LNW_Wait(&operations[order[i]]->request, MPI_STATUS_IGNORE));
    for (std::size_t open = count - count / 2; open > 0;) {
      open = 0;
      for (std::size_t i = count / 2; i < count; ++i) {
        int flag = 0;
        EXPECT_MPI(LNW_Test(&operations[order[i]]->request, &flag, MPI_STATUS_IGNORE));
        open += !flag;
      }
    }
    for (auto& operation : operations)
      EXPECT_TRUE(operation->exchange.arrived()) << operation->words << ", iteration " << iteration;
  }
}

TEST_F(RequestsTest, StartallAndWaitallWithNullRequests) {
  const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(21, rank(), size()));
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<LNW_Request> requests;
  for (std::size_t n = 0; n < 6; ++n) {
    operations.push_back(std::make_unique<Operation>(graph.get(), 200 + n, nth_choice(n)));
    operations.back()->fill(1);
    requests.push_back(operations.back()->request);
  }
  std::shuffle(requests.begin(), requests.end(), shuffled);
  EXPECT_MPI(LNW_Startall(static_cast<int>(requests.size()), requests.data()));
  requests.insert(requests.begin() + 2, LNW_REQUEST_NULL);
  std::vector<MPI_Status> statuses(requests.size());
  EXPECT_MPI(LNW_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()));
  for (MPI_Status& status : statuses) {
    int count = -1, cancelled = 1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Test_cancelled(&status, &cancelled);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
    EXPECT_EQ(count, 0);
    EXPECT_FALSE(cancelled);
  }
  for (auto& operation : operations) EXPECT_TRUE(operation->exchange.arrived()) << operation->words;
  // Inactive requests are complete; waiting again changes nothing.
  EXPECT_MPI(LNW_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  EXPECT_MPI(LNW_Startall(0, nullptr));
  EXPECT_MPI(LNW_Waitall(0, nullptr, MPI_STATUSES_IGNORE));
  int flag = 0;
  EXPECT_MPI(LNW_Test(&requests[2], &flag, MPI_STATUS_IGNORE));
  EXPECT_TRUE(flag);
}

TEST_F(RequestsTest, RelaysForEachOtherWhileWaitingForDifferentRequests) {
  // Even ranks wait for the first request and odd ones for the second: each relays for the other's.
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  for (const Choice& choice : choices("node:* rank:2")) {
    Operation first(graph.get(), 301, choice), second(graph.get(), 302, choice);
    for (int iteration = 0; iteration < 5; ++iteration) {
      first.fill(iteration);
      second.fill(iteration);
      Operation& before = rank() % 2 == 0 ? first : second;
      Operation& after = rank() % 2 == 0 ? second : first;
      EXPECT_MPI(LNW_Start(&after.request));
      EXPECT_MPI(LNW_Start(&before.request));
      EXPECT_MPI(LNW_Wait(&before.request, MPI_STATUS_IGNORE));
      EXPECT_MPI(LNW_Wait(&after.request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(first.exchange.arrived()) << choice.text();
      EXPECT_TRUE(second.exchange.arrived()) << choice.text();
    }
  }
}

TEST_F(RequestsTest, OtherCallsWhileRequestsAreActive) {
  // Odd ranks do collective work among themselves before they wait, but for one, which waits first: for what the others
  // relay meanwhile. The first use of a communicator, graph creation, init and blocking operations must all go on
  // relaying.
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  const int odd = size() / 2;
  for (const Choice& choice : choices("node:* rank:2")) {
    for (int first = 0; first < std::min(odd, is_mpich() ? 2 : 8); ++first) {
      MPI_Comm part = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &part);
      const Comm owner(part);
      int r = 0, n = 0;
      MPI_Comm_rank(part, &r);
      MPI_Comm_size(part, &n);
      Operation active(graph.get(), 401, choice);
      active.fill(1);
      EXPECT_MPI(LNW_Start(&active.request));
      const bool waits_first = rank() % 2 == 0 || r == first;
      if (waits_first) EXPECT_MPI(LNW_Wait(&active.request, MPI_STATUS_IGNORE));
      if (rank() % 2 == 1) {
        const Comm inner = make_graph(part, ring_shape(r, n));
        Operation other(inner.get(), 402, {"three_step", "true", ""});
        other.fill(1);
        EXPECT_MPI(LNW_Start(&other.request));
        EXPECT_MPI(LNW_Wait(&other.request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(other.exchange.arrived());
        EXPECT_MPI(other.exchange.blocking());
      }
      if (!waits_first) EXPECT_MPI(LNW_Wait(&active.request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(active.exchange.arrived()) << choice.text();
    }
  }
}

TEST_F(RequestsTest, BlockingAndInitBetweenStartAndWait) {
  const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(51, rank(), size()));
  for (const Choice& choice : choices(uneven_machine())) {
    Operation active(graph.get(), 501, choice);
    for (int iteration = 0; iteration < 2; ++iteration) {
      active.fill(iteration);
      Exchange blocking(Op::alltoallv, graph.get(), 502, true);
      blocking.fill(iteration);
      blocking.reference();
      EXPECT_MPI(LNW_Start(&active.request));
      EXPECT_MPI(blocking.blocking());
      EXPECT_TRUE(blocking.arrived());
      {
        // Made, run and freed meanwhile.
        Operation other(graph.get(), 503, choice);
        other.fill(iteration);
        EXPECT_MPI(LNW_Start(&other.request));
        EXPECT_MPI(LNW_Wait(&other.request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(other.exchange.arrived());
      }
      EXPECT_MPI(LNW_Wait(&active.request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(active.exchange.arrived()) << choice.text();
    }
  }
}

TEST_F(RequestsTest, OutliveTheirCommunicator) {
  for (const Choice& choice : choices("node:* rank:2")) {
    Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    std::array<int, 2> receive{-1, -1};
    int send = rank();
    const Info info(choice.hints());
    std::array<LNW_Request, 2> requests{};
    for (LNW_Request& request : requests)
      EXPECT_MPI(LNW_Neighbor_allgather_init(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), info.get(),
                                             &request));
    EXPECT_MPI(LNW_Start(&requests[0]));
    graph.free();
    EXPECT_MPI(LNW_Wait(&requests[0], MPI_STATUS_IGNORE));
    EXPECT_EQ(receive, (std::array<int, 2>{left, right}));
    EXPECT_MPI(LNW_Request_free(&requests[0]));
    for (int iteration = 1; iteration < 3; ++iteration) {
      send = rank() + 100 * iteration;
      EXPECT_MPI(LNW_Start(&requests[1]));
      EXPECT_MPI(LNW_Wait(&requests[1], MPI_STATUS_IGNORE));
      EXPECT_EQ(receive, (std::array<int, 2>{left + 100 * iteration, right + 100 * iteration}));
    }
    EXPECT_MPI(LNW_Request_free(&requests[1]));
  }
}

TEST_F(RequestsTest, OtherBuffers) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  for (const Choice& choice : choices("node:* rank:2")) {
    const Info info(choice.hints());
    std::array<int, 2> first{}, second{};
    int a = rank(), b = rank() + 1000;
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(
        LNW_Neighbor_allgather_init(&a, 1, MPI_INT, first.data(), 1, MPI_INT, graph.get(), info.get(), &request));
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_MPI(LNW_Request_set_buffers(request, &b, second.data()));
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_EQ(second, (std::array<int, 2>{left + 1000, right + 1000}));
      EXPECT_MPI(LNW_Request_set_buffers(request, &a, first.data()));
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_EQ(first, (std::array<int, 2>{left, right}));
    }
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(RequestsTest, UsersReceiveFromAnybodyWithAnyTagIsLeftAlone) {
  const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(61, rank(), size()));
  int message = -1;
  MPI_Request any = MPI_REQUEST_NULL;
  MPI_Irecv(&message, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, graph.get(), &any);
  {
    // The oracle sends on the world's communicator of the same edges, not on the user's.
    const Comm other = make_graph(MPI_COMM_WORLD, random_shape(61, rank(), size()));
    for (std::size_t n = 0; n < 10; ++n) {
      const Info info(nth_choice(n).hints());
      Exchange expected(all_ops[n % 5], other.get(), 600 + n, true),
          exchange(all_ops[n % 5], graph.get(), 600 + n, true);
      expected.fill(1);
      exchange.fill(1);
      expected.reference();
      exchange.expect_as(expected);
      EXPECT_MPI(exchange.blocking());
      EXPECT_TRUE(exchange.arrived());
      LNW_Request request = LNW_REQUEST_NULL;
      EXPECT_MPI(exchange.init(info.get(), &request));
      exchange.fill(1);
      exchange.expect_as(expected);
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(exchange.arrived());
      EXPECT_MPI(LNW_Request_free(&request));
    }
  }
  int flag = 1;
  MPI_Test(&any, &flag, MPI_STATUS_IGNORE);
  EXPECT_FALSE(flag) << "the user's receive has taken a message of this library";
  MPI_Barrier(MPI_COMM_WORLD);
  const int mine = 7000 + rank();
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Isend(&mine, 1, MPI_INT, (rank() + 1) % size(), 5, graph.get(), &send);
  MPI_Status status;
  MPI_Wait(&any, &status);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  EXPECT_EQ(message, 7000 + (rank() + size() - 1) % size());
  EXPECT_EQ(status.MPI_TAG, 5);
}

int copies = 0;
int deletions = 0;
int count_copy(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  ++copies;
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int count_deletion(MPI_Comm, int, void*, void*) {
  ++deletions;
  return MPI_SUCCESS;
}

TEST_F(RequestsTest, UsersAttributesAreLeftAlone) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(count_copy, count_deletion, &key, nullptr);
  copies = deletions = 0;
  MPI_Comm user = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, &copies, MPI_UNWEIGHTED, 0, &copies, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &user);
  int value = 42;
  MPI_Comm_set_attr(user, key, &value);
  int copies_by_mpi = 0;
  {
    // The user's communicator is the old one here, and the one with operations there.
    const Comm graph = make_graph(user, ring_shape(rank(), size()));
    copies_by_mpi = std::exchange(copies, 0);  // Open MPI 5 gives a graph its parent's attributes
    Exchange exchange(Op::allgather, graph.get(), 1, false);
    exchange.fill(0);
    exchange.reference();
    EXPECT_MPI(exchange.blocking());
    EXPECT_TRUE(exchange.arrived());
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_allgather_init(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, user, MPI_INFO_NULL, &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Request_free(&request));
  }
  int* found_value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(user, key, &found_value, &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(found_value, &value);
  EXPECT_EQ(copies, 0);
  EXPECT_EQ(std::exchange(deletions, 0), copies_by_mpi);
  // A duplicate is a communicator of its own: the user's attribute goes along, this library's does not.
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(user, &copy);
  EXPECT_EQ(copies, 1);
  EXPECT_MPI(LNW_Neighbor_allgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, copy));
  MPI_Comm_free(&user);
  EXPECT_MPI(LNW_Neighbor_allgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, copy));
  MPI_Comm_free(&copy);
  EXPECT_EQ(copies, 1);
  EXPECT_EQ(deletions, 2);
  MPI_Comm_free_keyval(&key);
}

TEST_F(RequestsTest, FreshDuplicateWhenTagsRunOut) {
  const TagLimit limit(plan_channels + 5 * own_channels);
  {
    const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(71, rank(), size()));
    std::vector<std::unique_ptr<Operation>> operations;
    for (std::size_t n = 0; n < 9; ++n) {
      operations.push_back(std::make_unique<Operation>(graph.get(), 700 + n, nth_choice(n)));
      for (auto& operation : operations) operation->fill(static_cast<int>(n));
      for (auto& operation : operations) EXPECT_MPI(LNW_Start(&operation->request));
      for (auto& operation : operations) EXPECT_MPI(LNW_Wait(&operation->request, MPI_STATUS_IGNORE));
      for (auto& operation : operations) EXPECT_TRUE(operation->exchange.arrived()) << operation->words;
    }
    // Older ones leave first: their duplicates go with them.
    operations.erase(operations.begin(), operations.begin() + 6);
    for (auto& operation : operations) {
      operation->fill(100);
      EXPECT_MPI(LNW_Start(&operation->request));
      EXPECT_MPI(LNW_Wait(&operation->request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(operation->exchange.arrived()) << operation->words;
    }
  }
}

TEST_F(RequestsTest, HundredsShareTheTagsThatEveryMpiLibraryHas) {
  const TagLimit limit(32767);
  {
    const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
    const std::shared_ptr<PrivateComm> first = Communicator::of(graph.get()).private_comm();
    const int send = rank();
    std::array<int, 2> receive{};
    std::vector<LNW_Request> requests(400);
    for (LNW_Request& request : requests)
      EXPECT_MPI(LNW_Neighbor_allgather_init(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), MPI_INFO_NULL,
                                             &request));
    EXPECT_EQ(Communicator::of(graph.get()).private_comm(), first);
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(RequestsTest, CommunicatorsComeAndGo) {
  const int settled = 20;
  const int turns = std::max(2 * settled, effort(size() > 3 ? 100 : 2000));
  auto handle = [] {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    const int result = MPI_Comm_c2f(comm);
    MPI_Comm_free(&comm);
    return result;
  };
  const Shape shape = ring_shape(rank(), size());
  int first_handle = 0;
  for (int turn = 0; turn < turns; ++turn) {
    Comm graph = make_graph(MPI_COMM_WORLD, shape);
    int send = turn;
    std::array<int, 2> receive{-1, -1};
    const Info info(nth_choice(static_cast<std::size_t>(turn)).hints());
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(
        LNW_Neighbor_allgather_init(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), info.get(), &request));
    if (request == LNW_REQUEST_NULL) break;
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive, (std::array<int, 2>{turn, turn}));
    // Either may go first.
    if (turn % 2 == 0) graph.free();
    EXPECT_MPI(LNW_Request_free(&request));
    graph.free();
    if (turn == settled) first_handle = handle();
  }
  // Open MPI numbers its communicators, and gives free numbers out again.
  if (!is_mpich()) {
    EXPECT_LE(handle(), first_handle + 2) << "communicators have leaked";
  }
  EXPECT_FALSE(any_active());
}

TEST_F(RequestsTest, StatisticsOfKnownDuplicates) {
  // Every rank needs the same two blocks of every rank, one of which is named twice: between two nodes, 3 ints a rank
  // without duplicates.
  const int nodes = (size() + 1) / 2;
  if (nodes < 2) GTEST_SKIP() << "SKIP: needs 3 ranks, there are " << size();
  Shape all;
  for (int r = 0; r < size(); ++r) {
    all.sources.push_back(r);
    all.destinations.push_back(r);
  }
  const Comm graph = make_graph(MPI_COMM_WORLD, all);
  const std::vector<int> send{rank(), rank() + 100, rank() + 200};
  std::vector<int> receive(static_cast<std::size_t>(4 * size()));
  const std::vector<int> counts(static_cast<std::size_t>(size()), 4);
  std::vector<MPI_Count> from, to(receive.size());
  for (int r = 0; r < size(); ++r) from.insert(from.end(), {0, 1, 2, 1});
  std::iota(to.begin(), to.end(), MPI_Count{0});
  auto totals = [&](const char* strategy) {
    const Info info(Hints{{"lnw_strategy", strategy}, {"lnw_machine", "node:* rank:2"}});
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_alltoallv_init_indexed(send.data(), 3, counts.data(), from.data(), MPI_INT, receive.data(),
                                                   4 * size(), counts.data(), to.data(), MPI_INT, graph.get(),
                                                   info.get(), &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    for (int r = 0; r < size(); ++r) {
      const auto block = receive.begin() + 4 * r;
      EXPECT_EQ(std::vector<int>(block, block + 4), (std::vector<int>{r, r + 100, r + 200, r + 100}));
    }
    LNW_Request_statistics mine{};
    EXPECT_MPI(LNW_Request_get_statistics(request, &mine));
    const char* name = "";
    EXPECT_MPI(LNW_Request_get_strategy(request, &name));
    EXPECT_EQ(std::string(name), std::string(strategy).substr(0, std::string(name).size()));
    std::array<std::int64_t, 2> sum{mine.net_messages, mine.net_bytes};
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_LE(mine.net_bytes, mine.bytes);
    EXPECT_LE(mine.net_messages, mine.messages);
    EXPECT_MPI(LNW_Request_free(&request));
    return sum;
  };
  std::int64_t pairs_of_ranks = 0;
  for (int a = 0; a < size(); ++a)
    for (int b = 0; b < size(); ++b) pairs_of_ranks += a / 2 != b / 2;
  const std::int64_t pairs_of_nodes = std::int64_t{nodes} * (nodes - 1);
  EXPECT_EQ(totals("direct"), (std::array<std::int64_t, 2>{pairs_of_ranks, pairs_of_ranks * 16}));
  EXPECT_EQ(totals("three_step_nodedup"), (std::array<std::int64_t, 2>{pairs_of_nodes, pairs_of_ranks * 16}));
  // Each rank's three values go once to each other node.
  EXPECT_EQ(totals("three_step"),
            (std::array<std::int64_t, 2>{pairs_of_nodes, std::int64_t{size()} * (nodes - 1) * 12}));
}

TEST_F(RequestsTest, StatisticsOfMemory) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  const std::size_t elements = 300;
  const std::vector<int> send(elements, rank());
  std::vector<int> receive(elements * static_cast<std::size_t>(size()));
  const auto statistics = [&](const Hints& hints) {
    const Info info(hints);
    LNW_Request request = LNW_REQUEST_NULL;
    const int count = static_cast<int>(elements);
    EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, graph.get(),
                                           info.get(), &request));
    LNW_Request_statistics result{};
    EXPECT_MPI(LNW_Request_get_statistics(request, &result));
    const laneway::Plan& plan = reinterpret_cast<laneway::Request*>(request)->plan();
    EXPECT_EQ(result.staging_bytes, plan.staging_bytes);
    EXPECT_EQ(result.window_bytes, plan.window_bytes);
    EXPECT_GT(result.metadata_bytes, laneway::metadata_bytes(plan));
    EXPECT_MPI(LNW_Request_free(&request));
    return result;
  };
  const LNW_Request_statistics direct = statistics({{"lnw_transport", "p2p"}});
  EXPECT_EQ(direct.staging_bytes, 0);
  EXPECT_EQ(direct.window_bytes, 0);
  const Hints relayed{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}, {"lnw_transport", "node"}};
  const LNW_Request_statistics shared = statistics(relayed);
  EXPECT_EQ(shared.window_bytes > 0, size() > 1 && (size() % 2 == 0 || rank() + 1 < size()));
  std::int64_t staging = shared.staging_bytes;
  MPI_Allreduce(MPI_IN_PLACE, &staging, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(staging > static_cast<std::int64_t>(elements * sizeof(int)), size() > 2);
}

TEST_F(RequestsTest, PlanText) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  int send = 0;
  std::array<int, 2> receive{};
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(
      LNW_Neighbor_allgather_init(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), MPI_INFO_NULL, &request));
  MPI_Count length = 0;
  EXPECT_MPI(LNW_Request_get_plan(request, nullptr, 0, &length));
  std::string text(static_cast<std::size_t>(length) + 1, 'x');
  MPI_Count again = 0;
  EXPECT_MPI(LNW_Request_get_plan(request, text.data(), length + 1, &again));
  EXPECT_EQ(again, length);
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  EXPECT_EQ(to_json(plan_from_json(text)), text);
  std::array<char, 5> part{'#', '#', '#', '#', '#'};
  EXPECT_MPI(LNW_Request_get_plan(request, part.data(), 4, &again));
  EXPECT_EQ(std::string(part.data()), text.substr(0, 3));
  EXPECT_EQ(part[4], '#');
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(RequestsTest, MoreThanTwoToThe31Bytes) {
  if (!long_tests()) GTEST_SKIP() << "SKIP: needs 7 GB and time; set LANEWAY_TEST_LONG=1";
  if (size() > 2) GTEST_SKIP() << "SKIP: only with 1 or 2 ranks, there are " << size();
  const Comm graph = make_graph(MPI_COMM_WORLD, {{(rank() + 1) % size()}, {(rank() + 1) % size()}});
  const std::int64_t count = (std::int64_t{1} << 28) + 3;
  std::vector<double> send(static_cast<std::size_t>(rank() == 0 ? count : 1)),
      receive(static_cast<std::size_t>(rank() == size() - 1 ? count : 1));
  for (std::size_t i = 0; i < send.size(); i += 1000) send[i] = static_cast<double>(i);
  send.back() = 1.5;
  const int send_count = static_cast<int>(send.size()), receive_count = static_cast<int>(receive.size()), zero = 0;
  for (const char* strategy : {"direct", "three_step"}) {
    std::fill(receive.begin(), receive.end(), -1);
    const Info info(Hints{{"lnw_strategy", strategy}, {"lnw_machine", "node:* rank:1"}});
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_alltoallv_init(send.data(), &send_count, &zero, MPI_DOUBLE, receive.data(), &receive_count,
                                           &zero, MPI_DOUBLE, graph.get(), info.get(), &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    if (rank() == size() - 1) {
      for (std::size_t i = 0; i + 1 < receive.size(); i += 1000) ASSERT_EQ(receive[i], static_cast<double>(i));
      EXPECT_EQ(receive.back(), 1.5);
    }
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(RequestsTest, CountOfMoreThanTwoToThe31) {
  if (!long_tests()) GTEST_SKIP() << "SKIP: takes seconds; set LANEWAY_TEST_LONG=1";
  if (size() != 2) GTEST_SKIP() << "SKIP: only with 2 ranks, there are " << size();
  // The smallest answer of all ranks counts.
  const long long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  int enough = pages * page >= (6LL << 30);
  MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!enough) GTEST_SKIP() << "SKIP: needs 6 GiB of free memory";
  const Comm graph = make_graph(MPI_COMM_WORLD, {{1 - rank()}, {1 - rank()}});
  const MPI_Count large = (MPI_Count{1} << 31) + 5, one = 1;
  const MPI_Aint zero = 0;
  const MPI_Count send_count = rank() == 0 ? large : one, receive_count = rank() == 0 ? one : large;
  const auto value = [](std::size_t i) { return static_cast<unsigned char>(i * 7 + i / 251); };
  std::vector<unsigned char> send(static_cast<std::size_t>(send_count)),
      receive(static_cast<std::size_t>(receive_count));
  for (std::size_t i = 0; i < send.size(); ++i) send[i] = value(i);
  const auto check = [&](const char* what) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < receive.size(); i += 97) wrong += receive[i] != value(i);
    wrong += receive.back() != value(receive.size() - 1);
    EXPECT_EQ(wrong, 0U) << what;
    std::fill(receive.begin(), receive.end(), static_cast<unsigned char>(0));
  };
  EXPECT_MPI(LNW_Neighbor_alltoallv_c(send.data(), &send_count, &zero, MPI_BYTE, receive.data(), &receive_count, &zero,
                                      MPI_BYTE, graph.get()));
  check("blocking");
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Ineighbor_alltoallv_c(send.data(), &send_count, &zero, MPI_BYTE, receive.data(), &receive_count, &zero,
                                       MPI_BYTE, graph.get(), &request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  check("nonblocking");
  EXPECT_MPI(LNW_Neighbor_alltoallv_init_c(send.data(), &send_count, &zero, MPI_BYTE, receive.data(), &receive_count,
                                           &zero, MPI_BYTE, graph.get(), MPI_INFO_NULL, &request));
  EXPECT_MPI(LNW_Start(&request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  check("persistent");
  EXPECT_MPI(LNW_Request_free(&request));
}

/// The functions for requests, of MPI or of this library.
template <class R>
struct RequestCalls {
  int (*test)(R*, int*, MPI_Status*);
  int (*wait)(R*, MPI_Status*);
  int (*testall)(int, R*, int*, MPI_Status*);
  int (*waitall)(int, R*, MPI_Status*);
  int (*testany)(int, R*, int*, int*, MPI_Status*);
  int (*waitany)(int, R*, int*, MPI_Status*);
  int (*testsome)(int, R*, int*, int*, MPI_Status*);
  int (*waitsome)(int, R*, int*, int*, MPI_Status*);
  int (*start)(R*);
  int (*startall)(int, R*);
  int (*free)(R*);

  /// What they say of null and inactive requests.
  [[nodiscard]] std::vector<int> outcomes(R null, R inactive) const {
    std::vector<int> all;
    const auto put = [&](int code, std::initializer_list<int> results) {
      all.push_back(code == MPI_SUCCESS ? 1 : 0);
      if (code == MPI_SUCCESS) all.insert(all.end(), results);
    };
    for (R request : {null, inactive}) {
      int flag = -7;
      MPI_Status status{};
      const int tested = test(&request, &flag, &status);
      put(tested, {flag, status.MPI_SOURCE == MPI_ANY_SOURCE, status.MPI_TAG == MPI_ANY_TAG});
      put(wait(&request, &status), {status.MPI_SOURCE == MPI_ANY_SOURCE, request == null});
    }
    for (std::vector<R> requests : {std::vector<R>{}, {null}, {inactive}, {null, inactive}, {inactive, null, null}}) {
      const auto n = static_cast<int>(requests.size());
      std::array<int, 4> indices{};
      int flag = -7, index = -7, count = -7;
      int code = testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE);
      put(code, {flag});
      put(waitall(n, requests.data(), MPI_STATUSES_IGNORE), {});
      code = testany(n, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      put(code, {index, flag});
      code = waitany(n, requests.data(), &index, MPI_STATUS_IGNORE);
      put(code, {index});
      code = testsome(n, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      put(code, {count});
      code = waitsome(n, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      put(code, {count});
    }
    R request = null;
    put(start(&request), {});
    put(startall(1, &request), {});
    put(free(&request), {});
    return all;
  }
};

TEST_F(RequestsTest, NullAndInactiveRequestsAreAsMpiHasThem) {
  const Handler world(MPI_COMM_WORLD, MPI_ERRORS_RETURN), self(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  constexpr RequestCalls<MPI_Request> mpi{MPI_Test,    MPI_Wait,     MPI_Testall,     MPI_Waitall,
                                          MPI_Testany, MPI_Waitany,  MPI_Testsome,    MPI_Waitsome,
                                          MPI_Start,   MPI_Startall, MPI_Request_free};
  constexpr RequestCalls<LNW_Request> ours{LNW_Test,    LNW_Wait,     LNW_Testall,     LNW_Waitall,
                                           LNW_Testany, LNW_Waitany,  LNW_Testsome,    LNW_Waitsome,
                                           LNW_Start,   LNW_Startall, LNW_Request_free};
  int send = 0, receive = 0;
  MPI_Request of_mpi = MPI_REQUEST_NULL;
  MPI_Send_init(&send, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &of_mpi);
  LNW_Request of_ours = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Precv_init(&receive, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_INFO_NULL, &of_ours));
  EXPECT_EQ(ours.outcomes(LNW_REQUEST_NULL, of_ours), mpi.outcomes(MPI_REQUEST_NULL, of_mpi));
  // As MPI 4 says of MPI_Parrived.
  for (LNW_Request request : {LNW_Request(LNW_REQUEST_NULL), of_ours}) {
    int flag = 0;
    EXPECT_MPI(LNW_Parrived(request, 0, &flag));
    EXPECT_NE(flag, 0);
  }
  int flag = 0;
  EXPECT_MPI(LNW_Parrived_edge(LNW_REQUEST_NULL, 0, 0, &flag));
  EXPECT_NE(flag, 0);
  EXPECT_NE(LNW_Pready(0, LNW_REQUEST_NULL), MPI_SUCCESS);
  MPI_Request_free(&of_mpi);
  EXPECT_MPI(LNW_Request_free(&of_ours));
}

/// By calls that complete one request. The status of none is empty, without an error.
TEST_F(RequestsTest, ErrorsOfStatusesAreLeftAlone) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const int send = rank();
  std::array<int, 2> receive{};
  for (const bool persistent : {false, true})
    for (const std::string call : {"Wait", "Test", "Waitany", "Testany"}) {
      LNW_Request request = LNW_REQUEST_NULL;
      if (persistent) {
        EXPECT_MPI(LNW_Neighbor_allgather_init(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(),
                                               MPI_INFO_NULL, &request));
        EXPECT_MPI(LNW_Start(&request));
      } else {
        EXPECT_MPI(LNW_Ineighbor_allgather(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), &request));
      }
      MPI_Status status{};
      const auto complete = [&] {
        status.MPI_ERROR = MPI_ERR_PENDING;
        int index = 0, flag = 0;
        if (call == "Wait") EXPECT_MPI(LNW_Wait(&request, &status));
        if (call == "Waitany") EXPECT_MPI(LNW_Waitany(1, &request, &index, &status));
        while (call == "Test" && flag == 0) EXPECT_MPI(LNW_Test(&request, &flag, &status));
        while (call == "Testany" && flag == 0) EXPECT_MPI(LNW_Testany(1, &request, &index, &flag, &status));
        return status.MPI_ERROR;
      };
      EXPECT_EQ(complete(), MPI_ERR_PENDING) << call;
      EXPECT_EQ(complete(), MPI_SUCCESS) << call << ", of a request that is not active";
      if (persistent) EXPECT_MPI(LNW_Request_free(&request));
    }
}

}  // namespace
}  // namespace laneway::test
