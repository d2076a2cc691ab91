// Calls of all families between the program's own on the same communicators, in all orders that MPI allows; what may
// be freed early is. LANEWAY_TEST_SEED has others drawn; with LANEWAY_TEST_LONG=1 those of 2, 3 and 5 ranks are 10^6.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "mixed_calls.hpp"

namespace laneway::test {
namespace {

int topologies_asked_for = 0;

}  // namespace
}  // namespace laneway::test

#pragma GCC visibility push(default)
extern "C" int MPI_Topo_test(MPI_Comm comm, int* status) {
  ++laneway::test::topologies_asked_for;
  return PMPI_Topo_test(comm, status);
}
#pragma GCC visibility pop

namespace laneway::test {
namespace {

class MixedTest : public MpiTest {
 protected:
  /// Whoever reads behind an array, or what has been freed, finds neither zeros nor what was there.
  static void SetUpTestSuite() { mallopt(M_PERTURB, 90); }
  static void TearDownTestSuite() { mallopt(M_PERTURB, 0); }
};

void ignore_error(MPI_Comm*, int*, ...) {}

std::uint64_t own_seed() {
  const char* const text = std::getenv("LANEWAY_TEST_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

void shuffle(std::vector<Planned>& calls, std::uint64_t seed) {
  Random random(static_cast<unsigned>(seed));
  std::ranges::shuffle(calls, random);
}

/// The program's operations that do not block, some of them, and its messages.
std::vector<const CallRow*> some_of_program(std::uint64_t seed, std::size_t count) {
  std::vector<const CallRow*> all = program_rows();
  Random random(static_cast<unsigned>(seed));
  std::ranges::shuffle(all, random);
  all.resize(count);
  return all;
}

TEST_F(MixedTest, EachCallIsTheFirstBetweenTheProgramsOwn) {
  std::uint64_t turn = 0;
  for (const CallRow* const row : own_rows())
    for (int round = 0; round < effort(4); ++round) {
      const std::uint64_t seed = mix({own_seed(), ++turn});
      MPI_Comm ring = make_ring(MPI_COMM_WORLD);
      std::vector<Planned> calls = {{row, ring}};
      for (const CallRow* const program : some_of_program(seed, 5)) calls.push_back({program, ring});
      shuffle(calls, seed);
      EXPECT_EQ(Sequence{seed}.run(calls), 0) << row->name << ", seed " << seed;
      MPI_Comm_free(&ring);
    }
}

TEST_F(MixedTest, CallsFollowEachOtherOnOneCommunicator) {
  MPI_Comm ring = make_ring(MPI_COMM_WORLD, true);
  std::uint64_t turn = 0;
  for (const CallRow* const row : own_rows()) {
    const std::uint64_t seed = mix({own_seed(), 5, ++turn});
    std::vector<Planned> calls = {{row, ring}, {row, ring}};
    for (const CallRow* const program : some_of_program(seed, 3)) calls.push_back({program, ring});
    shuffle(calls, seed);
    EXPECT_EQ(Sequence{seed}.run(calls), 0) << row->name << ", seed " << seed;
  }
  MPI_Comm_free(&ring);
}

/// Frees the communicators of all calls, and lets others have their handles.
void free_communicators(std::vector<Planned>& calls) {
  MPI_Comm ring = calls.front().comm;
  MPI_Comm_free(&ring);
  ring = make_ring(MPI_COMM_WORLD);
  std::vector<Planned> others;
  for (const Planned& call : calls) others.push_back({call.row, ring});
  EXPECT_EQ((Sequence{.seed = 3, .frees = true}.run(others)), 0);
  MPI_Comm_free(&ring);
}

/// Of the program's. Open MPI goes on with its own nonblocking collectives on what it has freed with the communicator,
/// and crashes in NBC_Progress or where it gives the datatypes of alltoallw back, also in a program of MPI alone.
std::vector<const CallRow*> rows_that_outlive_communicators(std::uint64_t seed) {
#if defined(OPEN_MPI)
  (void)seed;
  std::vector<const CallRow*> rows = program_rows();
  std::erase_if(rows, [](const CallRow* row) { return row->name.ends_with(" MPI"); });
  return rows;
#else
  return some_of_program(seed, 2);
#endif
}

TEST_F(MixedTest, WhatMayBeFreedEarlyIs) {
  std::uint64_t turn = 0;
  for (const CallRow* const row : own_rows())
    for (const bool is_known : {false, true}) {
      const std::uint64_t seed = mix({own_seed(), 9, ++turn});
      MPI_Comm ring = make_ring(MPI_COMM_WORLD, is_known);
      MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
      MPI_Comm_create_errhandler(ignore_error, &handler);
      MPI_Comm_set_errhandler(ring, handler);
      MPI_Errhandler_free(&handler);
      std::vector<Planned> calls = {{row, ring}};
      for (const CallRow* const program : rows_that_outlive_communicators(seed)) calls.push_back({program, ring});
      shuffle(calls, seed);
      EXPECT_EQ((Sequence{.seed = seed, .frees = true, .between = free_communicators}.run(calls)), 0)
          << row->name << ", seed " << seed;
    }
}

int first_handler_calls = 0, second_handler_calls = 0;
void count_first(MPI_Comm*, int*, ...) {
  ++first_handler_calls;
}
void count_second(MPI_Comm*, int*, ...) {
  ++second_handler_calls;
}

/// Error handlers are freed as soon as a communicator has them, and their handles used for others; then the
/// communicator is freed. What was made of it calls them all the same.
TEST_F(MixedTest, ErrorHandlersAreCalledThatWereFreedEarly) {
  MPI_Comm ring = make_ring(MPI_COMM_WORLD);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL, other = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_first, &handler);
  MPI_Comm_set_errhandler(ring, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_create_errhandler(count_second, &other);
  const int next = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  int sent = rank(), received[2] = {-1, -1};
  LNW_Request persistent = LNW_REQUEST_NULL, partitioned = LNW_REQUEST_NULL;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  LNW_Channel channel = LNW_CHANNEL_NULL;
  LNW_Bag bag = LNW_BAG_NULL;
  LNW_Halo halo = LNW_HALO_NULL;
  LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
  const MPI_Count ghost = next;
  EXPECT_MPI(LNW_Neighbor_allgather_init(&sent, 1, MPI_INT, received, 1, MPI_INT, ring, MPI_INFO_NULL, &persistent));
  EXPECT_MPI(LNW_Topology_create(ring, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, &topology));
  EXPECT_MPI(LNW_Channel_create(ring, next, LNW_CHANNEL_SEND, 8, 1, MPI_INFO_NULL, &channel));
  EXPECT_MPI(LNW_Psend_init(&sent, 1, 1, MPI_INT, next, 0, ring, MPI_INFO_NULL, &partitioned));
  EXPECT_MPI(LNW_Bag_create(ring, MPI_INFO_NULL, &bag));
  EXPECT_MPI(LNW_Halo_create(ring, rank(), 1, 1, &ghost, MPI_INFO_NULL, &halo));
  EXPECT_MPI(LNW_Distributor_create(ring, 1, &next, MPI_INFO_NULL, &distributor));
  MPI_Comm_free(&ring);
  int wrong = 0;
  const auto expect_call = [&](int code, const char* what) {
    EXPECT_NE(code, MPI_SUCCESS) << what;
    EXPECT_EQ(first_handler_calls, ++wrong) << what;
    wrong = first_handler_calls;
  };
  EXPECT_MPI(LNW_Start(&persistent));
  expect_call(LNW_Start(&persistent), "a request that is active is started");
  EXPECT_MPI(LNW_Wait(&persistent, MPI_STATUS_IGNORE));
  expect_call(LNW_Neighbor_allgather_topology(&sent, -1, MPI_INT, received, 1, MPI_INT, topology), "topology");
  expect_call(LNW_Channel_put(channel, 7, &sent, sizeof sent), "channel");
  expect_call(LNW_Pready(9, partitioned), "partitioned");
  expect_call(LNW_Bag_send(bag, size(), &sent, sizeof sent), "bag");
  LNW_Request made = LNW_REQUEST_NULL;
  expect_call(LNW_Halo_init(halo, received, MPI_DATATYPE_NULL, MPI_INFO_NULL, &made), "halo");
  expect_call(LNW_Distributor_exchange(distributor, &sent, received, MPI_DATATYPE_NULL), "distributor");
  EXPECT_EQ(second_handler_calls, 0);
  EXPECT_MPI(LNW_Request_free(&persistent));
  EXPECT_MPI(LNW_Request_free(&partitioned));
  EXPECT_MPI(LNW_Topology_free(&topology));
  EXPECT_MPI(LNW_Channel_free(&channel));
  EXPECT_MPI(LNW_Bag_free(&bag));
  EXPECT_MPI(LNW_Halo_free(&halo));
  EXPECT_MPI(LNW_Distributor_free(&distributor));
  MPI_Errhandler_free(&other);
}

/// Three communicators at a time, each of which is freed and made anew now and then.
class Rings {
 public:
  explicit Rings(std::uint64_t seed) : seed_(seed) {
    for (MPI_Comm& ring : rings_) ring = make();
  }
  ~Rings() {
    for (MPI_Comm& ring : rings_) MPI_Comm_free(&ring);
  }
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;
  [[nodiscard]] MPI_Comm pick(std::uint64_t seed) const { return rings_[seed % 3]; }
  void renew(std::uint64_t seed) {
    MPI_Comm& ring = rings_[seed % 3];
    MPI_Comm_free(&ring);
    ring = make();
  }

 private:
  [[nodiscard]] MPI_Comm make() { return make_ring(MPI_COMM_WORLD, mix({seed_, ++made_}) % 2 == 0); }
  std::uint64_t seed_;
  std::uint64_t made_ = 0;
  MPI_Comm rings_[3] = {};
};

/// Each makes as many calls as fit into the time of one test.
class MixedRandomTest : public MixedTest, public testing::WithParamInterface<int> {};

TEST_P(MixedRandomTest, AnyCallsMixed) {
  const int part = GetParam();
  const std::uint64_t first =
      mix({own_seed(), 21, static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(size())});
  const int wanted = effort(long_tests() ? 5000 : 1200);
  Rings rings(first);
  int made = 0;
  for (std::uint64_t round = 0; made < wanted; ++round) {
    const std::uint64_t seed = mix({first, round});
    std::vector<Planned> calls(2 + seed % 7);
    for (std::size_t i = 0; i < calls.size(); ++i)
      calls[i] = {&call_rows()[mix({seed, i, 1}) % call_rows().size()], rings.pick(mix({seed, i, 2}))};
    made += static_cast<int>(calls.size());
    ASSERT_EQ((Sequence{.seed = seed, .frees = seed % 2 == 0}.run(calls)), 0) << "part " << part << ", seed " << seed;
    if (seed % 11 == 0) rings.renew(seed / 11);
  }
}

/// LANEWAY_TEST_PARTS: how many, each of 20,000 calls with LANEWAY_TEST_LONG at 2 to 5 ranks.
int parts() {
  const char* const wanted = std::getenv("LANEWAY_TEST_PARTS");
  return wanted != nullptr ? std::atoi(wanted) : long_tests() ? 5 : 1;
}
INSTANTIATE_TEST_SUITE_P(Parts, MixedRandomTest, testing::Range(0, parts()));

/// Such a graph may say of itself that it is Cartesian.
TEST_F(MixedTest, GraphOfACartesianCommunicatorIsNotAskedForItsTopology) {
  const int dims[] = {size()}, periods[] = {1};
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
  topologies_asked_for = 0;
  MPI_Comm ring = make_ring(cart, true);
  const long sent = rank();
  long received[] = {-1, -1};
  EXPECT_EQ(LNW_Neighbor_allgather(&sent, 1, MPI_LONG, received, 1, MPI_LONG, ring), MPI_SUCCESS);
  EXPECT_EQ(received[0], (rank() + size() - 1) % size());
  EXPECT_EQ(received[1], (rank() + 1) % size());
  EXPECT_EQ(topologies_asked_for, 0);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&cart);
}

/// A datatype of `n` longs for each block, from MPI_BOTTOM on.
MPI_Datatype from_bottom(long* memory, int n) {
  MPI_Aint address = 0;
  MPI_Get_address(memory, &address);
  MPI_Datatype block = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(1, &n, &address, MPI_LONG, &block);
  MPI_Type_create_resized(block, 0, static_cast<MPI_Aint>(sizeof(long)) * n, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&block);
  return type;
}

TEST_F(MixedTest, WindowsFromBottom) {
  constexpr int n = 5;
  const auto elements = static_cast<std::size_t>(n * size());
  for (const char* const rule : {"alltoall:rma_fence", "alltoall:rma_lock"}) {
    std::vector<long> sent(elements), received(elements, -1);
    for (std::size_t i = 0; i < elements; ++i) sent[i] = 1000L * rank() + static_cast<long>(i);
    MPI_Datatype from = from_bottom(sent.data(), n), to = from_bottom(received.data(), n);
    const Info info(Hints{{"lnw_collective", rule}});
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_EQ(LNW_Alltoall_init(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, MPI_COMM_WORLD, info.get(), &request),
              MPI_SUCCESS);
    LNW_Start(&request);
    LNW_Wait(&request, MPI_STATUS_IGNORE);
    LNW_Request_free(&request);
    for (std::size_t i = 0; i < elements; ++i)
      EXPECT_EQ(received[i], 1000L * static_cast<long>(i / n) + rank() * n + static_cast<long>(i % n)) << rule;
    MPI_Type_free(&from);
    MPI_Type_free(&to);
  }
}

#if !defined(OPEN_MPI)
/// What `duplicates_apart` in src/communicator/private_comm.hpp says, of MPI alone.
TEST_F(MixedTest, ADuplicateThatIsBegunLeavesOthersAlone) {
  for (int round = 0; round < 20; ++round) {
    MPI_Comm comm = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Request begun = MPI_REQUEST_NULL, own = MPI_REQUEST_NULL;
    MPI_Comm_idup(comm, &copy, &begun);
    int has_ended = 0, mine = INT_MAX, least = 7;
    for (int i = 0; i < 3 && has_ended == 0; ++i) {
      if (rank() == round % size()) usleep(300);
      MPI_Test(&begun, &has_ended, MPI_STATUS_IGNORE);
    }
    MPI_Iallreduce(&mine, &least, 1, MPI_INT, MPI_MIN, comm, &own);
    MPI_Wait(&own, MPI_STATUS_IGNORE);
    EXPECT_EQ(least, INT_MAX);
    MPI_Wait(&begun, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
  }
}
#endif

}  // namespace
}  // namespace laneway::test
