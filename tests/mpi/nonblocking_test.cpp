// Nonblocking operations, and functions that complete many requests.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "communicator/private_comm.hpp"
#include "exchange.hpp"
#include "operations/request/request.hpp"
#include "runtime/executor/progress.hpp"
#include "setting.hpp"

namespace laneway::test {
namespace {

/// A graph that this library has not seen.
Comm unknown_graph(const Shape& shape) {
  // Open MPI refuses null arrays.
  Shape copy = shape;
  copy.sources.reserve(1);
  copy.destinations.reserve(1);
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(shape.sources.size()), copy.sources.data(),
                                            MPI_UNWEIGHTED, static_cast<int>(shape.destinations.size()),
                                            copy.destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  return Comm(comm);
}

Comm unknown_cart(std::vector<int> dimensions = {size()}, std::vector<int> periodic = {1}) {
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(dimensions.size()), dimensions.data(), periodic.data(), 0,
                             &comm));
  return Comm(comm);
}

/// By MPI_Graph_create, of all ranks in a ring.
Comm unknown_old_graph() {
  std::vector<int> ends, neighbors;
  for (int r = 0; r < size(); ++r) {
    const Shape shape = ring_shape(r, size());
    neighbors.insert(neighbors.end(), shape.sources.begin(), shape.sources.end());
    ends.push_back(static_cast<int>(neighbors.size()));
  }
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Graph_create(MPI_COMM_WORLD, size(), ends.data(), neighbors.data(), 0, &comm));
  return Comm(comm);
}

/// Communicators that this library has not seen, with all that MPI knows: neighbours twice, itself, MPI_PROC_NULL,
/// none.
std::vector<Comm> unknown_topologies() {
  std::vector<Comm> all;
  all.push_back(unknown_graph(complete_shape(size())));
  for (std::uint64_t seed : {21U, 22U, 23U}) all.push_back(unknown_graph(random_shape(seed, rank(), size())));
  all.push_back(unknown_old_graph());
  all.push_back(unknown_cart());
  all.push_back(unknown_cart({size()}, {0}));
  all.push_back(unknown_cart({1, size()}, {1, 1}));
  if (size() % 2 == 0) all.push_back(unknown_cart({2, size() / 2, 1}, {1, 0, 1}));
  return all;
}

/// The last rank makes its call when the others have made theirs and sent it a message after that.
template <class Call>
void call_after_messages(const Call& call) {
  constexpr int tag = 77;
  const int late = size() - 1;
  int word = 0;
  for (int other = 0; rank() == late && other < late; ++other)
    MPI_Recv(&word, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  call();
  if (rank() != late) MPI_Send(&word, 1, MPI_INT, late, tag, MPI_COMM_WORLD);
}

std::string strategy_of(LNW_Request request) {
  const char* strategy = "";
  EXPECT_MPI(LNW_Request_get_strategy(request, &strategy));
  return strategy;
}
/// Of a first call.
const char* first_strategy() {
  return duplicates_apart() ? "direct" : "mpi";
}

struct Operation {
  Operation(MPI_Comm comm, std::uint64_t seed) : exchange(all_ops[seed % 5], comm, seed, seed % 3 != 0) {
    exchange.fill(1);
    exchange.reference();
  }
  void start(const Form& form = {}) { EXPECT_MPI(exchange.nonblocking(&request, form)); }
  [[nodiscard]] testing::AssertionResult arrived() {
    if (request != LNW_REQUEST_NULL) return testing::AssertionFailure() << "the request is not null";
    return exchange.arrived();
  }

  Exchange exchange;
  LNW_Request request = LNW_REQUEST_NULL;
};

class NonblockingTest : public MpiTest {
 protected:
  void TearDown() override {
    EXPECT_FALSE(any_active());
    MpiTest::TearDown();
  }
  Random shuffled{static_cast<unsigned>(rank() + 1)};  // other orders on other ranks
};

/// Of collectives: equal calls have the plan of the first one, also while that is active, until there is a trial.
TEST_F(NonblockingTest, EqualCollectivesHaveOnePlan) {
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  const Setting collective("LANEWAY_COLLECTIVE", "allreduce:recursive_doubling,alltoall:pairwise");
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const Comm comm(copy);
  EXPECT_MPI(LNW_Barrier(comm.get()));  // after which it is known who shares a node
  struct Sum {
    std::array<int, 8> mine{}, all{};
    LNW_Request request = LNW_REQUEST_NULL;

    /// Returns its plan.
    const Plan* start(MPI_Comm comm, int count, MPI_Op op, int seed) {
      for (int i = 0; i < count; ++i) mine[static_cast<std::size_t>(i)] = seed + i + rank();
      EXPECT_MPI(LNW_Iallreduce(mine.data(), all.data(), count, MPI_INT, op, comm, &request));
      const auto& made = *reinterpret_cast<const Request*>(request);
      EXPECT_EQ(made.strategy(), "recursive_doubling");
      return &made.plan();
    }
    void end(int count, MPI_Op op, int seed) {
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      const int ranks = size();
      for (int i = 0; i < count; ++i)
        EXPECT_EQ(all[static_cast<std::size_t>(i)],
                  op == MPI_MAX ? seed + i + ranks - 1 : ranks * (seed + i) + ranks * (ranks - 1) / 2);
    }
  };
  Sum first, second, other, by_maximum, again;
  const Plan* const plan = first.start(comm.get(), 8, MPI_SUM, 1);
  EXPECT_EQ(second.start(comm.get(), 8, MPI_SUM, 50), plan);
  EXPECT_NE(other.start(comm.get(), 7, MPI_SUM, 2), plan);
  EXPECT_NE(by_maximum.start(comm.get(), 8, MPI_MAX, 3), plan);
  by_maximum.end(8, MPI_MAX, 3);
  second.end(8, MPI_SUM, 50);
  other.end(7, MPI_SUM, 2);
  first.end(8, MPI_SUM, 1);
  EXPECT_EQ(again.start(comm.get(), 8, MPI_SUM, 9), plan);
  again.end(8, MPI_SUM, 9);
  // What is wrong with a call is found as without a plan.
  const Handler handler(comm.get(), MPI_ERRORS_RETURN);
  EXPECT_NE(LNW_Iallreduce(nullptr, again.all.data(), 8, MPI_INT, MPI_SUM, comm.get(), &again.request), MPI_SUCCESS);
}

TEST_F(NonblockingTest, ManyInFlightCompletedInAnyOrder) {
  std::vector<Comm> comms;
  for (std::uint64_t seed : {11U, 12U}) {
    comms.push_back(make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size())));
    comms.push_back(unknown_graph(random_shape(seed + 10, rank(), size())));
  }
  comms.push_back(unknown_cart());
  for (int way = 0; way < 5; ++way) {
    std::vector<std::unique_ptr<Operation>> operations;
    for (std::uint64_t n = 0; n < 20; ++n)
      operations.push_back(std::make_unique<Operation>(comms[n % comms.size()].get(), 100 * (way + 1U) + n));
    for (auto& operation : operations) operation->start();
    std::vector<std::size_t> order(operations.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), shuffled);
    std::vector<LNW_Request> requests;
    for (std::size_t n : order) requests.push_back(std::exchange(operations[n]->request, LNW_REQUEST_NULL));
    const int count = static_cast<int>(requests.size());
    if (way == 0) {
      for (LNW_Request& request : requests) EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    } else if (way == 1) {
      for (LNW_Request& request : requests)
        for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
    } else if (way == 2) {
      EXPECT_MPI(LNW_Waitall(count, requests.data(), MPI_STATUSES_IGNORE));
    } else if (way == 3) {
      for (int i = 0; i < count; ++i) {
        int index = -1;
        EXPECT_MPI(LNW_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE));
        ASSERT_TRUE(index >= 0 && index < count);
        EXPECT_EQ(requests[static_cast<std::size_t>(index)], LNW_REQUEST_NULL);
      }
    } else {
      std::vector<int> indices(requests.size());
      for (int open = count, some = 0; open > 0; open -= some) {
        EXPECT_MPI(LNW_Waitsome(count, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE));
        ASSERT_TRUE(some > 0 && some <= open);
      }
    }
    for (LNW_Request request : requests) EXPECT_EQ(request, LNW_REQUEST_NULL);
    for (auto& operation : operations) EXPECT_TRUE(operation->arrived()) << "way " << way;
  }
}

TEST_F(NonblockingTest, OtherOrdersOnGraphsOfOneCommunicator) {
  // Even ranks start the first graph's exchanges first, odd ones the second's.
  const Comm one = make_graph(MPI_COMM_WORLD, complete_shape(size())),
             two = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  for (std::uint64_t turn = 0; turn < 5; ++turn) {
    Operation first(one.get(), 200 + turn), second(two.get(), 300 + turn);
    (rank() % 2 == 0 ? first : second).start();
    (rank() % 2 == 0 ? second : first).start();
    EXPECT_MPI(LNW_Wait(&first.request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Wait(&second.request, MPI_STATUS_IGNORE));
    EXPECT_TRUE(first.arrived());
    EXPECT_TRUE(second.arrived());
  }
}

TEST_F(NonblockingTest, FirstCallsDoNotWaitForALateRank) {
  const int late = size() - 1;
  for (bool typed : {false, true}) {
    const Comm graph = unknown_graph(complete_shape(size()));
    Exchange first(Op::alltoallv, graph.get(), 41, typed), second(Op::alltoallw, graph.get(), 42, typed);
    for (Exchange* exchange : {&first, &second}) {
      exchange->fill(1);
      exchange->reference();
    }
    std::array<LNW_Request, 2> requests{};
    auto start = [&] {
      EXPECT_MPI(first.nonblocking(&requests[0]));
      EXPECT_MPI(second.nonblocking(&requests[1]));
    };
    // The late rank calls after all others have returned from their calls.
    if (rank() != late) start();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != late) {
      int flag = 1;
      EXPECT_MPI(LNW_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
      EXPECT_FALSE(flag);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == late) start();
    EXPECT_MPI(LNW_Wait(&requests[rank() % 2], MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    EXPECT_TRUE(first.arrived());
    EXPECT_TRUE(second.arrived());
  }
}

TEST_F(NonblockingTest, ALateRankMayWaitForMessagesOfTheOthers) {
  for (const Comm& comm : unknown_topologies())
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      for (const bool large : {false, true}) {
        Operation operation(comm.get(), 1000 + seed);
        call_after_messages([&] { operation.start({.large = large}); });
        EXPECT_EQ(strategy_of(operation.request), first_strategy());
        EXPECT_MPI(LNW_Wait(&operation.request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(operation.arrived()) << "seed " << seed;
      }
}

TEST_F(NonblockingTest, ALateRankMayWaitBeforeDenseCalls) {
  MPI_Comm unknown = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &unknown);
  const Comm comm(unknown);
  const auto blocks = static_cast<std::size_t>(size());
  int word = rank() == 0 ? 41 : -1, mine = rank() + 1, sum = -1;
  const std::vector<int> sent(blocks, rank());
  std::vector<int> received(blocks, -1), counts(blocks, 1), places(blocks), expected(blocks);
  std::iota(places.begin(), places.end(), 0);
  std::iota(expected.begin(), expected.end(), 0);
  std::array<LNW_Request, 3> requests{};
  call_after_messages([&] { EXPECT_MPI(LNW_Ibcast(&word, 1, MPI_INT, 0, unknown, &requests[0])); });
  call_after_messages([&] { EXPECT_MPI(LNW_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, unknown, &requests[1])); });
  call_after_messages([&] {
    EXPECT_MPI(LNW_Ialltoallv(sent.data(), counts.data(), places.data(), MPI_INT, received.data(), counts.data(),
                              places.data(), MPI_INT, unknown, &requests[2]));
  });
  EXPECT_MPI(LNW_Waitall(3, requests.data(), MPI_STATUSES_IGNORE));
  EXPECT_EQ(word, 41);
  EXPECT_EQ(sum, size() * (size() + 1) / 2);
  EXPECT_EQ(received, expected);
}

TEST_F(NonblockingTest, ACommunicatorBecomesKnownInCallsThatBlock) {
  for (const bool by_init : {false, true})
    for (const Comm& comm : unknown_topologies()) {
      Operation first(comm.get(), 1100), second(comm.get(), 1101), last(comm.get(), 1102);
      Exchange between(Op::alltoallv, comm.get(), 1103, true);
      between.fill(1);
      between.reference();
      first.start();
      second.start();
      LNW_Request request = LNW_REQUEST_NULL;
      if (by_init) {
        EXPECT_MPI(between.init(MPI_INFO_NULL, &request));
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        EXPECT_MPI(LNW_Request_free(&request));
      } else {
        EXPECT_MPI(between.blocking());
      }
      EXPECT_TRUE(between.arrived());
      last.start();
      EXPECT_EQ(strategy_of(first.request), first_strategy());
      EXPECT_EQ(strategy_of(last.request), "direct");
      for (Operation* operation : {&last, &first, &second}) {
        EXPECT_MPI(LNW_Wait(&operation->request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(operation->arrived());
      }
    }
}

TEST_F(NonblockingTest, MoreElementsThanAnIntCanCountOnAnUnknownCommunicator) {
  const Comm graph = unknown_graph(ring_shape(rank(), size()));
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  LNW_Request request = LNW_REQUEST_NULL;
  int sent = 1, received = 2;
  EXPECT_MPI(LNW_Ineighbor_alltoall_c(&sent, MPI_Count{3} << 31, empty, &received, MPI_Count{3} << 31, empty,
                                      graph.get(), &request));
  MPI_Type_free(&empty);
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(received, 2);
}

TEST_F(NonblockingTest, RequestsSayThatMpiCarriesThemOut) {
  const Comm graph = unknown_graph(ring_shape(rank(), size()));
  Operation operation(graph.get(), 1200);
  operation.start();
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(LNW_Request_get_info(operation.request, &info));
  std::array<char, MPI_MAX_INFO_VAL + 1> text{};
  int there = 0;
  MPI_Info_get(info, "lnw_strategy", MPI_MAX_INFO_VAL, text.data(), &there);
  EXPECT_TRUE(there);
  EXPECT_STREQ(text.data(), first_strategy());
  MPI_Info_get(info, "lnw_reason", MPI_MAX_INFO_VAL, text.data(), &there);
  EXPECT_EQ(there != 0, !duplicates_apart());
  if (there != 0) {
    EXPECT_NE(std::string(text.data()).find("may wait for other ranks"), std::string::npos);
  }
  MPI_Info_free(&info);
  EXPECT_MPI(LNW_Wait(&operation.request, MPI_STATUS_IGNORE));
  EXPECT_TRUE(operation.arrived());
}

TEST_F(NonblockingTest, CallsOnKnownCommunicatorsStartTheirMessages) {
  // The others complete while rank 0 is in no call of this library.
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  for (bool typed : {false, true}) {
    Exchange first(Op::alltoallv, graph.get(), 51, typed), second(Op::allgather, graph.get(), 52, typed);
    for (Exchange* exchange : {&first, &second}) {
      exchange->fill(1);
      exchange->reference();
    }
    std::array<LNW_Request, 2> requests{};
    EXPECT_MPI(first.nonblocking(&requests[0]));
    EXPECT_MPI(second.nonblocking(&requests[1]));
    if (rank() != 0) EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    EXPECT_TRUE(first.arrived());
    EXPECT_TRUE(second.arrived());
  }
}

TEST_F(NonblockingTest, FirstCallsOnTwoCommunicatorsWaitedForInOtherOrders) {
  for (int turn = 0; turn < 3; ++turn) {
    const Comm one = unknown_graph(complete_shape(size())), two = unknown_cart();
    Operation first(one.get(), 61), second(two.get(), 62);
    first.start();
    second.start();
    Operation& before = rank() % 2 == 0 ? first : second;
    Operation& after = rank() % 2 == 0 ? second : first;
    EXPECT_MPI(LNW_Wait(&before.request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Wait(&after.request, MPI_STATUS_IGNORE));
    EXPECT_TRUE(first.arrived());
    EXPECT_TRUE(second.arrived());
  }
}

TEST_F(NonblockingTest, OtherOperationsWhileTheFirstIsInFlight) {
  for (int kind = 0; kind < 3; ++kind) {
    Comm graph = unknown_graph(random_shape(71, rank(), size()));
    Operation first(graph.get(), 71), last(graph.get(), 72);
    Exchange between(Op::alltoallv, graph.get(), 73, true);
    between.fill(1);
    between.reference();
    first.start();
    if (kind == 0) EXPECT_MPI(between.blocking());
    LNW_Request request = LNW_REQUEST_NULL;
    if (kind == 1) {
      const Info info(Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}});
      EXPECT_MPI(between.init(info.get(), &request));
      EXPECT_MPI(LNW_Start(&request));
    }
    Comm inner;
    if (kind == 2) {
      inner = make_graph(graph.get(), random_shape(71, rank(), size()));
      EXPECT_MPI(between.blocking());
    }
    last.start();
    EXPECT_MPI(LNW_Wait(&last.request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Wait(&first.request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    if (kind == 1) EXPECT_MPI(LNW_Request_free(&request));
    EXPECT_TRUE(first.arrived());
    EXPECT_TRUE(last.arrived());
    EXPECT_TRUE(between.arrived()) << "kind " << kind;
  }
}

TEST_F(NonblockingTest, ManyEdgesBetweenTwoRanks) {
  // More messages between two ranks than have tags of their own: later exchanges wait for their turn.
  Shape shape;
  const int edges = 40;
  for (int i = 0; i < edges; ++i) {
    shape.destinations.push_back((rank() + 1) % size());
    shape.sources.push_back((rank() + size() - 1) % size());
  }
  for (bool known : {true, false}) {
    const Comm graph = known ? make_graph(MPI_COMM_WORLD, shape) : unknown_graph(shape);
    std::vector<std::unique_ptr<Operation>> operations;
    for (std::uint64_t n = 0; n < 6; ++n) operations.push_back(std::make_unique<Operation>(graph.get(), 800 + n));
    for (auto& operation : operations) operation->start();
    std::shuffle(operations.begin(), operations.end(), shuffled);
    for (auto& operation : operations) {
      EXPECT_MPI(LNW_Wait(&operation->request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(operation->arrived());
    }
  }
}

TEST_F(NonblockingTest, OutliveTheirCommunicatorArraysAndDatatypes) {
  for (const bool known : {true, false}) {
    const Shape shape = ring_shape(rank(), size());
    Comm graph = known ? make_graph(MPI_COMM_WORLD, shape) : unknown_graph(shape);
    const std::array<int, 4> send{rank(), -1, rank() + 100, -1};
    std::array<int, 2> receive{-1, -1};
    LNW_Request request = LNW_REQUEST_NULL;
    {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Type_create_resized(MPI_INT, 0, 8, &type);
      MPI_Type_commit(&type);
      const std::vector<int> counts{1, 1}, places{0, 1};
      EXPECT_MPI(LNW_Ineighbor_alltoallv(send.data(), counts.data(), places.data(), type, receive.data(), counts.data(),
                                         places.data(), MPI_INT, graph.get(), &request));
      MPI_Type_free(&type);
    }
    graph.free();
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    EXPECT_EQ(receive, (std::array<int, 2>{left, right + 100}));
  }
}

int copies = 0;
int count_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  ++copies;
  *flag = 0;
  return MPI_SUCCESS;
}

TEST_F(NonblockingTest, OnlyTheFirstCallOnAnUnknownCommunicatorCopiesAttributes) {
  int key = MPI_KEYVAL_INVALID, value = 0;
  MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  for (bool known : {true, false}) {
    copies = 0;
    const Shape shape = ring_shape(rank(), size());
    const Comm graph = known ? make_graph(MPI_COMM_WORLD, shape) : unknown_graph(shape);
    MPI_Comm_set_attr(graph.get(), key, &value);
    for (std::uint64_t turn = 0; turn < 3; ++turn) {
      Operation operation(graph.get(), 900 + turn);
      operation.start();
      EXPECT_MPI(LNW_Wait(&operation.request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(operation.arrived());
    }
    EXPECT_EQ(copies, known || !duplicates_apart() ? 0 : 1);
  }
  MPI_Comm_free_keyval(&key);
}

/// A persistent and two nonblocking exchanges, in an array between null and inactive requests.
struct Mixed {
  explicit Mixed(MPI_Comm comm) : persistent(Op::allgatherv, comm, 81, true), idle(Op::allgather, comm, 82, false) {
    for (std::uint64_t seed : {83U, 84U}) nonblocking.push_back(std::make_unique<Operation>(comm, seed));
    persistent.fill(1);
    persistent.reference();
    EXPECT_MPI(persistent.init(MPI_INFO_NULL, &requests[1]));
    EXPECT_MPI(idle.init(MPI_INFO_NULL, &requests[2]));
  }
  ~Mixed() {
    EXPECT_MPI(LNW_Request_free(&requests[1]));
    EXPECT_MPI(LNW_Request_free(&requests[2]));
  }
  Mixed(const Mixed&) = delete;
  Mixed& operator=(const Mixed&) = delete;

  void start() {
    EXPECT_MPI(LNW_Start(&requests[1]));
    EXPECT_MPI(nonblocking[0]->exchange.nonblocking(&requests[3]));
    EXPECT_MPI(nonblocking[1]->exchange.nonblocking(&requests[4]));
  }
  void expect_complete() {
    EXPECT_EQ(requests[0], LNW_REQUEST_NULL);
    EXPECT_NE(requests[1], LNW_REQUEST_NULL);
    EXPECT_NE(requests[2], LNW_REQUEST_NULL);
    EXPECT_EQ(requests[3], LNW_REQUEST_NULL);
    EXPECT_EQ(requests[4], LNW_REQUEST_NULL);
    EXPECT_TRUE(persistent.arrived());
    for (auto& operation : nonblocking) EXPECT_TRUE(operation->arrived());
  }

  Exchange persistent, idle;
  std::vector<std::unique_ptr<Operation>> nonblocking;
  std::array<LNW_Request, 5> requests{};
};

void expect_empty(MPI_Status& status) {
  int count = -1, cancelled = 1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
  EXPECT_EQ(count, 0);
  EXPECT_FALSE(cancelled);
}

TEST_F(NonblockingTest, EachCompletionFunction) {
  const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(81, rank(), size()));
  constexpr int n = 5;
  for (const char* function : {"Waitall", "Testall", "Waitany", "Testany", "Waitsome", "Testsome"}) {
    const std::string name = function;
    Mixed mixed(graph.get());
    std::array<MPI_Status, n> statuses{};
    std::array<int, n> indices{};
    std::vector<int> completed;
    int flag = 0, index = -1, count = -1;
    LNW_Request* const requests = mixed.requests.data();
    mixed.start();
    if (name == "Waitall") {
      EXPECT_MPI(LNW_Waitall(n, requests, statuses.data()));
      for (MPI_Status& status : statuses) expect_empty(status);
    } else if (name == "Testall") {
      const auto before = mixed.requests;
      while (true) {
        EXPECT_MPI(LNW_Testall(n, requests, &flag, statuses.data()));
        if (flag) break;
        EXPECT_EQ(mixed.requests, before);
      }
      for (MPI_Status& status : statuses) expect_empty(status);
    } else if (name == "Waitany" || name == "Testany") {
      while (completed.size() < 3) {
        if (name == "Waitany") EXPECT_MPI(LNW_Waitany(n, requests, &index, statuses.data()));
        if (name == "Testany") {
          EXPECT_MPI(LNW_Testany(n, requests, &index, &flag, statuses.data()));
          EXPECT_EQ(flag != 0, index != MPI_UNDEFINED);
        }
        if (index == MPI_UNDEFINED) continue;
        expect_empty(statuses[0]);
        completed.push_back(index);
      }
    } else {
      while (completed.size() < 3) {
        if (name == "Waitsome") EXPECT_MPI(LNW_Waitsome(n, requests, &count, indices.data(), statuses.data()));
        if (name == "Testsome") EXPECT_MPI(LNW_Testsome(n, requests, &count, indices.data(), statuses.data()));
        ASSERT_TRUE(count >= (name == "Waitsome") && count <= 3);
        completed.insert(completed.end(), indices.begin(), indices.begin() + count);
      }
    }
    if (!completed.empty()) {
      std::sort(completed.begin(), completed.end());
      EXPECT_EQ(completed, (std::vector<int>{1, 3, 4})) << name;
    }
    mixed.expect_complete();

    // No request is active any more.
    EXPECT_MPI(LNW_Waitall(n, requests, MPI_STATUSES_IGNORE));
    EXPECT_MPI(LNW_Testall(n, requests, &flag, MPI_STATUSES_IGNORE));
    EXPECT_TRUE(flag);
    index = 0;
    EXPECT_MPI(LNW_Waitany(n, requests, &index, statuses.data()));
    EXPECT_EQ(index, MPI_UNDEFINED);
    expect_empty(statuses[0]);
    index = flag = 0;
    EXPECT_MPI(LNW_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE));
    EXPECT_TRUE(flag);
    EXPECT_EQ(index, MPI_UNDEFINED);
    EXPECT_MPI(LNW_Waitsome(n, requests, &count, indices.data(), MPI_STATUSES_IGNORE));
    EXPECT_EQ(count, MPI_UNDEFINED);
    count = 0;
    EXPECT_MPI(LNW_Testsome(n, requests, &count, indices.data(), MPI_STATUSES_IGNORE));
    EXPECT_EQ(count, MPI_UNDEFINED);
  }
  int flag = 0, index = 0, count = 0;
  EXPECT_MPI(LNW_Testall(0, nullptr, &flag, MPI_STATUSES_IGNORE));
  EXPECT_TRUE(flag);
  EXPECT_MPI(LNW_Waitany(0, nullptr, &index, MPI_STATUS_IGNORE));
  EXPECT_EQ(index, MPI_UNDEFINED);
  EXPECT_MPI(LNW_Waitsome(0, nullptr, &count, nullptr, MPI_STATUSES_IGNORE));
  EXPECT_EQ(count, MPI_UNDEFINED);
}

TEST_F(NonblockingTest, TestallLeavesCompleteRequestsForOthers) {
  // What Testall has found complete, while another request is not, is still to be returned by Waitsome.
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const Comm second = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  Operation first(graph.get(), 85);
  const int send = rank();
  std::vector<int> receive(static_cast<std::size_t>(size()), -1), expected(receive.size());
  std::iota(expected.begin(), expected.end(), 0);
  Exchange persistent(Op::alltoallw, graph.get(), 87, true);
  persistent.fill(1);
  persistent.reference();
  std::array<LNW_Request, 3> requests{};
  EXPECT_MPI(persistent.init(MPI_INFO_NULL, &requests[1]));
  EXPECT_MPI(LNW_Start(&requests[1]));
  EXPECT_MPI(first.exchange.nonblocking(&requests[0]));
  auto start_last = [&] {
    EXPECT_MPI(LNW_Ineighbor_allgather(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, second.get(), &requests[2]));
  };
  const bool late = rank() == size() - 1;
  if (!late) start_last();
  int flag = 0;
  for (int turn = 0; turn < 50; ++turn) {
    EXPECT_MPI(LNW_Testall(3, requests.data(), &flag, MPI_STATUSES_IGNORE));
    if (late) break;
    EXPECT_FALSE(flag);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (late && !flag) EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
  if (late) start_last();
  std::array<int, 3> indices{};
  for (int open = late ? 1 : 3, some = 0; open > 0; open -= some) {
    EXPECT_MPI(LNW_Waitsome(3, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE));
    ASSERT_GT(some, 0);
  }
  EXPECT_TRUE(first.exchange.arrived());
  EXPECT_EQ(receive, expected);
  EXPECT_TRUE(persistent.arrived());
  EXPECT_MPI(LNW_Request_free(&requests[1]));
}

int handler_calls = 0;
void count_call(MPI_Comm*, int*, ...) {
  ++handler_calls;
}

class NonblockingErrors : public NonblockingTest {
 protected:
  void SetUp() override {
    NonblockingTest::SetUp();
    MPI_Comm_create_errhandler(count_call, &handler_);
    handler_calls = 0;
  }
  void TearDown() override {
    MPI_Errhandler_free(&handler_);
    NonblockingTest::TearDown();
  }

  static void expect_error(int code, int wanted, const std::string& part) {
    const std::string text = error_text(code);
    expect_error_class(code, wanted);
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
    EXPECT_EQ(std::exchange(handler_calls, 0), 1) << text;
  }

  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

TEST_F(NonblockingErrors, Requests) {
  const std::string here = " on rank " + std::to_string(rank()) + ": ";
  for (bool known : {true, false}) {
    const Shape shape = ring_shape(rank(), size());
    const Comm graph = known ? make_graph(MPI_COMM_WORLD, shape) : unknown_graph(shape);
    MPI_Comm_set_errhandler(graph.get(), handler_);
    const int send = rank();
    std::array<int, 2> receive{};
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Ineighbor_allgather(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), &request));
    expect_error(LNW_Start(&request), MPI_ERR_REQUEST, "LNW_Start" + here + "request is nonblocking");
    expect_error(LNW_Startall(1, &request), MPI_ERR_REQUEST,
                 "LNW_Startall" + here + "array_of_requests[0] is nonblocking");
    expect_error(LNW_Request_free(&request), MPI_ERR_REQUEST, "LNW_Request_free" + here + "request is active");
    expect_error(LNW_Request_set_buffers(request, nullptr, nullptr), MPI_ERR_REQUEST,
                 "LNW_Request_set_buffers" + here + "request is nonblocking");
    LNW_Request_statistics statistics{};
    expect_error(LNW_Request_get_statistics(request, &statistics), MPI_ERR_REQUEST, "request is nonblocking");
    int index = 0, flag = 0;
    expect_error(LNW_Waitany(1, &request, nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, "index is NULL");
    expect_error(LNW_Testany(1, &request, &index, nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, "flag is NULL");
    expect_error(LNW_Testall(1, &request, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "flag is NULL");
    expect_error(LNW_Waitsome(1, &request, nullptr, &index, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "outcount is NULL");
    expect_error(LNW_Testsome(1, &request, &index, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG,
                 "array_of_indices is NULL");
    {
      const Handler world(MPI_COMM_WORLD, handler_);
      expect_error(LNW_Testall(-1, &request, &flag, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "count is -1");
      expect_error(LNW_Waitsome(-2, &request, &flag, &index, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "incount is -2");
      expect_error(LNW_Waitany(1, nullptr, &index, MPI_STATUS_IGNORE), MPI_ERR_ARG, "array_of_requests is NULL");
    }
    EXPECT_EQ(strategy_of(request), known ? "direct" : first_strategy());
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive, (std::array<int, 2>{(rank() + size() - 1) % size(), (rank() + 1) % size()}));
    EXPECT_EQ(handler_calls, 0);
  }
}

TEST_F(NonblockingErrors, ArgumentsOnUnknownCommunicators) {
  // The communicator is usable afterwards, and may also be freed with nothing else done.
  for (bool use : {true, false}) {
    const Comm graph = unknown_graph(ring_shape(rank(), size()));
    MPI_Comm_set_errhandler(graph.get(), handler_);
    const int send = rank();
    std::array<int, 2> receive{};
    LNW_Request request = LNW_REQUEST_NULL;
    const std::string here = "LNW_Ineighbor_allgather on rank " + std::to_string(rank()) + ": ";
    expect_error(LNW_Ineighbor_allgather(&send, -1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), &request),
                 MPI_ERR_COUNT, here + "sendcount is -1");
    expect_error(LNW_Ineighbor_allgather(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), nullptr),
                 MPI_ERR_ARG, here + "request is NULL");
    EXPECT_EQ(request, LNW_REQUEST_NULL);
    if (!use) continue;
    EXPECT_MPI(LNW_Ineighbor_allgather(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph.get(), &request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive, (std::array<int, 2>{(rank() + size() - 1) % size(), (rank() + 1) % size()}));
  }
  const Handler world(MPI_COMM_WORLD, handler_);
  LNW_Request request = LNW_REQUEST_NULL;
  expect_error(LNW_Ineighbor_alltoall(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, MPI_COMM_NULL, &request), MPI_ERR_COMM,
               "MPI_COMM_NULL");
  expect_error(LNW_Ineighbor_alltoall(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, MPI_COMM_WORLD, &request),
               MPI_ERR_TOPOLOGY, "no topology");
}

}  // namespace
}  // namespace laneway::test
