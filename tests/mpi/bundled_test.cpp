// Blocking and nonblocking all-to-alls with unequal blocks, whose sizes only their two ends know, against MPI's own,
// bit for bit; and how many messages and allocations they take.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "dense_operations.hpp"
#include "device_memory.hpp"
#include "setting.hpp"

namespace {

std::atomic<long> allocations{0};
/// Messages that this rank has begun to send, by destination.
std::vector<int> sent_to(64);

[[maybe_unused]] bool count_allocation() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

#define LANEWAY_TEST_ALLOCATES(bytes) count_allocation()
#include "own_new.hpp"

/// In place of the MPI library's, for this library, too.
extern "C" __attribute__((visibility("default"))) int MPI_Isend(const void* data, int count, MPI_Datatype type, int to,
                                                                int tag, MPI_Comm comm, MPI_Request* request) {
  ++sent_to[static_cast<std::size_t>(to)];
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

namespace laneway::test {
namespace {

/// Nodes of so many ranks, in the order of ranks.
struct Nodes {
  std::vector<int> sizes;

  [[nodiscard]] std::string text() const {
    std::string text = "ranks:";
    for (const int size : sizes) text += (text.back() == ':' ? "" : ",") + std::to_string(size);
    return text;
  }
  [[nodiscard]] int of(int rank) const {
    int node = 0;
    for (int end = sizes[0]; rank >= end; end += sizes[static_cast<std::size_t>(node)]) ++node;
    return node;
  }
  [[nodiscard]] int count() const { return static_cast<int>(sizes.size()); }
};

/// 4x4 of 16 ranks; else uneven.
Nodes nodes() {
  if (size() == 16) return {{4, 4, 4, 4}};
  Nodes nodes;
  for (int left = size(), i = 0; left > 0; left -= nodes.sizes.back(), ++i)
    nodes.sizes.push_back(std::min(left, i % 2 == 0 ? 3 : 2));
  return nodes;
}

/// A call with blocks of `bytes(from, to)` bytes.
class Call {
 public:
  template <class Bytes>
  void fill(int turn, Bytes&& bytes) {
    sent.clear();
    expected.clear();
    sendcounts.clear();
    senddispls.clear();
    recvcounts.clear();
    recvdispls.clear();
    for (int peer = 0; peer < size(); ++peer) {
      sendcounts.push_back(bytes(rank(), peer));
      senddispls.push_back(static_cast<int>(sent.size()));
      recvcounts.push_back(bytes(peer, rank()));
      recvdispls.push_back(static_cast<int>(expected.size()));
      for (int i = 0; i < sendcounts.back(); ++i) sent.push_back(value(turn, rank(), peer, i));
      for (int i = 0; i < recvcounts.back(); ++i) expected.push_back(value(turn, peer, rank(), i));
    }
    received.assign(expected.size(), 0);
  }
  void run(MPI_Comm comm) {
    EXPECT_MPI(LNW_Alltoallv(sent.data(), sendcounts.data(), senddispls.data(), MPI_BYTE, received.data(),
                             recvcounts.data(), recvdispls.data(), MPI_UNSIGNED_CHAR, comm));
  }
  void start(MPI_Comm comm) {
    EXPECT_MPI(LNW_Ialltoallv(sent.data(), sendcounts.data(), senddispls.data(), MPI_BYTE, received.data(),
                              recvcounts.data(), recvdispls.data(), MPI_UNSIGNED_CHAR, comm, &request));
    // The program may use the arrays again.
    for (std::vector<int>* array : {&sendcounts, &senddispls, &recvcounts, &recvdispls})
      std::fill(array->begin(), array->end(), -1);
  }
  void wait() { EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE)); }
  [[nodiscard]] std::string strategy() const {
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Request_get_info(request, &info));
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info_get(info, "lnw_strategy", MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    return value;
  }

  LNW_Request request = LNW_REQUEST_NULL;

  void expect() const { EXPECT_EQ(received, expected); }

 private:
  static unsigned char value(int turn, int from, int to, int i) {
    return static_cast<unsigned char>(turn * 7 + from * 31 + to * 57 + i);
  }

  std::vector<unsigned char> sent, received, expected;
  std::vector<int> sendcounts, senddispls, recvcounts, recvdispls;
};

/// Those of all ranks to other nodes, and the others, since the last time.
struct Messages {
  int between = 0;
  int inside = 0;
};
Messages messages(const Nodes& nodes) {
  Messages mine;
  for (int to = 0; to < size(); ++to) {
    int& count = sent_to[static_cast<std::size_t>(to)];
    (nodes.of(to) == nodes.of(rank()) ? mine.inside : mine.between) += count;
    count = 0;
  }
  Messages all;
  MPI_Allreduce(&mine, &all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

class Bundled : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    MPI_Datatype gaps = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 4 * sizeof(int), &gaps_);
    MPI_Type_commit(&gaps_);
    MPI_Type_free(&gaps);
    MPI_Type_contiguous(2, MPI_INT, &two_ints_);
    MPI_Type_commit(&two_ints_);
    MPI_Type_create_resized(two_ints_, 0, -8, &backward_);
    MPI_Type_commit(&backward_);
  }
  void TearDown() override {
    for (MPI_Datatype* type : {&gaps_, &two_ints_, &backward_}) MPI_Type_free(type);
    MpiTest::TearDown();
  }

  /// The first calls of a communicator, and later ones, with other counts each time.
  void compare(test::Dense dense) {
    for (dense.turn = 0; dense.turn < 4; ++dense.turn) {
      dense.seed = 11 + 5 * dense.turn;
      dense.in_place = dense.turn == 2;
      const std::vector<std::byte> expected = dense.run(Way::mpi);
      const Way way = dense.turn % 2 == 0 ? Way::blocking : Way::large_blocking;
      const std::vector<std::byte> received = dense.run(way);
      ASSERT_EQ(dense.code, MPI_SUCCESS) << dense.operation << ": " << error_text(dense.code);
      ASSERT_TRUE(received == expected) << dense.operation << ", turn " << dense.turn << ", count " << dense.count;
    }
  }

  MPI_Datatype gaps_ = MPI_DATATYPE_NULL;  // two of four ints
  MPI_Datatype two_ints_ = MPI_DATATYPE_NULL;
  MPI_Datatype backward_ = MPI_DATATYPE_NULL;  // these, each before the last one
};

TEST_F(Bundled, AgreesWithMpiOnAllMachines) {
  const Elements gaps{gaps_, 4 * sizeof(int)};
  for (const std::string& described : machines()) {
    const Setting machine("LANEWAY_MACHINE", described);
    for (const std::string operation : {"alltoallv", "alltoallw"})
      for (const bool derived : {false, true}) {
        const Setting local("LANEWAY_LOCAL_MESSAGE", derived ? "64" : "1000");
        const Comm comm = duplicate_of(MPI_COMM_WORLD);
        for (const int count : {1, 40, 600}) {
          SCOPED_TRACE(operation + " on " + described);
          test::Dense dense{.operation = operation, .comm = comm.get(), .count = count};
          if (derived) dense.sent = dense.received = gaps;
          compare(dense);
          if (HasFatalFailure()) return;
        }
      }
  }
}

/// MPI libraries put the bytes of such datatypes elsewhere.
TEST_F(Bundled, AgreesWithMpiOnDatatypesThatGoBackward) {
  const Setting machine("LANEWAY_MACHINE", nodes().text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "200");
  const Elements forward{two_ints_, 8};
  const Elements backward{.type = backward_, .extent = 8, .backward = 8};
  for (const std::string operation : {"alltoallv", "alltoallw"}) {
    const Comm comm = duplicate_of(MPI_COMM_WORLD);
    for (int turn = 0; turn < 6; ++turn) {
      test::Dense dense{.operation = operation, .comm = comm.get(), .sent = forward, .received = forward};
      dense.count = turn % 2 == 0 ? 60 : 6;
      dense.seed = static_cast<std::uint64_t>(turn);
      dense.in_place = turn == 4;
      const std::vector<std::byte> expected = dense.run(Way::mpi);
      if (turn != 3) dense.sent = backward;
      dense.received = backward;
      const std::vector<std::byte> received = dense.run(Way::blocking);
      ASSERT_EQ(dense.code, MPI_SUCCESS) << error_text(dense.code);
      ASSERT_TRUE(received == expected) << operation << ", turn " << turn;
    }
  }
}

TEST_F(Bundled, BuffersMayBeOnDevices) {
  if (!uses_devices()) GTEST_SKIP() << "SKIP: no device plugin is loaded";
  const Setting machine("LANEWAY_MACHINE", nodes().text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "200");
  for (const std::string operation : {"alltoallv", "alltoallw"}) {
    const Comm comm = duplicate_of(MPI_COMM_WORLD);
    for (const int count : {6, 300}) {
      test::Dense dense{.operation = operation, .comm = comm.get(), .count = count, .on_devices = true};
      compare(dense);
      if (HasFatalFailure()) return;
    }
  }
}

/// Bundles that are cut into as many lanes as there can be.
TEST_F(Bundled, AgreesWithMpiInLanes) {
  const Setting lanes("LANEWAY_NETWORK_MESSAGE", "32");
  for (const std::string& described : machines()) {
    const Setting machine("LANEWAY_MACHINE", described);
    const Comm comm = duplicate_of(MPI_COMM_WORLD);
    for (const int count : {0, 1, 40}) {
      SCOPED_TRACE(described);
      compare({.operation = "alltoallv", .comm = comm.get(), .count = count});
      if (HasFatalFailure()) return;
    }
  }
}

/// Where there is a node of several ranks.
bool is_cluster(const Nodes& nodes) {
  return nodes.count() > 1 && *std::max_element(nodes.sizes.begin(), nodes.sizes.end()) > 1;
}

TEST_F(Bundled, ShortBlocksShareOneMessageBetweenTwoNodes) {
  const Nodes all = nodes();
  if (!is_cluster(all)) GTEST_SKIP() << "SKIP: one node";
  const Setting machine("LANEWAY_MACHINE", all.text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "1024");
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  const int pairs = all.count() * (all.count() - 1);
  Call call;
  for (int turn = 0; turn < 6; ++turn) {
    call.fill(turn, [&](int from, int to) { return 1 + (from * 5 + to * 3 + turn) * 97 % 700; });
    (void)messages(all);
    call.run(comm.get());
    call.expect();
    const Messages counted = messages(all);
    if (turn < 2) continue;  // by MPI, and where memory is shared
    EXPECT_EQ(counted.between, pairs);
    EXPECT_EQ(counted.inside, 0);
  }
  // From the first node to the last alone; and a long block.
  const int last = size() - 1;
  for (const bool has_long : {false, true}) {
    call.fill(9, [&](int from, int to) {
      if (from == 0 && to == last) return has_long ? 50'000 : 3;
      return all.of(from) == 0 && all.of(to) == all.of(last) ? 5 : 0;
    });
    call.run(comm.get());
    call.expect();
    const bool is_alone = all.sizes.front() * all.sizes.back() == 1;
    EXPECT_EQ(messages(all).between, has_long && !is_alone ? 2 : 1);
  }
}

/// Where there is no other node, short blocks are no messages at all, and others are one each.
TEST_F(Bundled, OnOneNodeShortBlocksGoThroughItsMemory) {
  if (size() == 1) GTEST_SKIP() << "SKIP: one rank";
  const Setting machine("LANEWAY_MACHINE", "node:1 rank:" + std::to_string(size()));
  const Setting local("LANEWAY_LOCAL_MESSAGE", "128");
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  const Nodes one{{size()}};
  Call call;
  for (int turn = 0; turn < 6; ++turn) {
    call.fill(turn, [&](int from, int to) { return from == 1 && to == 0 ? 100 : (from * 5 + to * 3 + turn) % 64; });
    (void)messages(one);
    call.run(comm.get());
    call.expect();
    const int counted = messages(one).inside;
    if (turn < 2) continue;  // by MPI, and where memory is shared
    EXPECT_EQ(counted, 1);
  }
}

/// What one rank would send or receive for long is sent and received by others of its node, too.
TEST_F(Bundled, LanesAreBetweenDifferentRanks) {
  const Nodes all = nodes();
  if (!is_cluster(all)) GTEST_SKIP() << "SKIP: one node";
  const Setting machine("LANEWAY_MACHINE", all.text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "1024");
  const Setting lanes("LANEWAY_NETWORK_MESSAGE", "600");
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  Call call;
  for (int turn = 0; turn < 4; ++turn) {
    call.fill(turn, [](int, int) { return 600; });
    std::fill(sent_to.begin(), sent_to.end(), 0);
    call.run(comm.get());
    call.expect();
    if (turn < 2) continue;
    EXPECT_LE(*std::max_element(sent_to.begin(), sent_to.end()), 1);
    int wanted = 0;
    for (int from = 0; from < all.count(); ++from)
      for (int to = 0; to < all.count(); ++to)
        if (from != to)
          wanted += std::min(all.sizes[static_cast<std::size_t>(from)], all.sizes[static_cast<std::size_t>(to)]);
    EXPECT_EQ(messages(all).between, wanted);
  }
}

TEST_F(Bundled, CallsAllocateNothing) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "SKIP: the sanitizer has its own operator new";
#endif
  const Nodes all = nodes();
  if (!is_cluster(all)) GTEST_SKIP() << "SKIP: one node";
  const Setting machine("LANEWAY_MACHINE", all.text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "512");
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  Call call;
  long counted = 0;
  for (int turn = 0; turn < 12; ++turn) {
    call.fill(turn, [&](int from, int to) { return (from * 5 + to * 3 + turn) * 97 % 1000; });
    const long before = allocations.load();
    call.run(comm.get());
    if (turn > 1) counted += allocations.load() - before;
    call.expect();
  }
  EXPECT_EQ(counted, 0);
}

/// Ranks come at different times, and others' operations are in between.
TEST_F(Bundled, RanksMayBeLate) {
  const Setting machine("LANEWAY_MACHINE", nodes().text());
  const Comm comms[] = {duplicate_of(MPI_COMM_WORLD), duplicate_of(MPI_COMM_WORLD)};
  Call call;
  for (int turn = 0; turn < 20; ++turn) {
    if (turn % size() == rank()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    // Nothing for some ranks, which then are ahead of the others.
    // The arguments of some change, and those of others do not.
    call.fill(turn, [&](int from, int to) {
      if (from % 2 == 0 && to % 2 == 0) return 20 + from + to;
      return (from + to) % 3 == 0 ? 0 : (from * 40 + to + turn) * (turn % 4);
    });
    call.run(comms[turn / 2 % 2].get());
    call.expect();
    int sum = 0;
    const int one = 1;
    if (turn % 5 == 4) {
      EXPECT_MPI(LNW_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[0].get()));
      EXPECT_EQ(sum, size());
    }
  }
}

/// A communicator on which nonblocking calls are bundled from the next one on.
Comm with_memory_for_nonblocking() {
  Comm comm = duplicate_of(MPI_COMM_WORLD);
  EXPECT_MPI(LNW_Barrier(comm.get()));  // after which it is known who shares a node
  for (int turn = 0; turn < 2; ++turn) {
    Call call;
    call.fill(turn, [](int from, int to) { return from + to; });
    call.start(comm.get());
    EXPECT_NE(call.strategy(), "bundled");
    call.wait();
    call.expect();
  }
  EXPECT_MPI(LNW_Barrier(comm.get()));
  return comm;
}

TEST_F(Bundled, NonblockingAgreesWithMpiOnAllMachines) {
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Elements gaps{gaps_, 4 * sizeof(int)};
  for (const std::string& described : machines()) {
    const Setting machine("LANEWAY_MACHINE", described);
    for (const std::string operation : {"alltoallv", "alltoallw"})
      for (const bool derived : {false, true}) {
        SCOPED_TRACE(operation + " on " + described);
        const Setting local("LANEWAY_LOCAL_MESSAGE", derived ? "64" : "1000");
        const Comm comm = with_memory_for_nonblocking();
        test::Dense dense{.operation = operation, .comm = comm.get()};
        if (derived) dense.sent = dense.received = gaps;
        for (const int count : {0, 1, 40, 600}) {
          dense.count = count;
          dense.in_place = !dense.in_place;
          const std::vector<std::byte> expected = dense.run(Way::mpi);
          const std::vector<std::byte> received = dense.run(derived ? Way::large_nonblocking : Way::nonblocking);
          ASSERT_EQ(dense.code, MPI_SUCCESS) << error_text(dense.code);
          ASSERT_TRUE(received == expected) << count;
        }
      }
  }
}

TEST_F(Bundled, NonblockingCallsMayBeOnDevices) {
  if (!uses_devices()) GTEST_SKIP() << "SKIP: no device plugin is loaded";
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Setting machine("LANEWAY_MACHINE", nodes().text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "200");
  const Comm comm = with_memory_for_nonblocking();
  for (const std::string operation : {"alltoallv", "alltoallw"})
    for (const int count : {6, 300, 0, 40}) {
      test::Dense dense{.operation = operation, .comm = comm.get(), .count = count, .on_devices = true};
      const std::vector<std::byte> expected = dense.run(Way::mpi);
      const std::vector<std::byte> received = dense.run(Way::nonblocking);
      ASSERT_EQ(dense.code, MPI_SUCCESS) << error_text(dense.code);
      ASSERT_TRUE(received == expected) << operation << ", " << count;
    }
}

/// More calls than have memory, some of which block; all ranks start them in one order, and each waits in its own.
TEST_F(Bundled, CallsMayOverlapAndEndInAnyOrder) {
  const Nodes all = nodes();
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Setting machine("LANEWAY_MACHINE", all.text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "1024");
  const Comm comm = with_memory_for_nonblocking();
  Random shuffled{static_cast<unsigned>(rank() + 1)};
  for (int turn = 0; turn < 6; ++turn) {
    if (turn % size() == rank()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    std::vector<Call> calls(7);
    std::vector<std::size_t> order;
    (void)messages(all);
    for (std::size_t n = 0; n < calls.size(); ++n) {
      const int seed = 10 * turn + static_cast<int>(n);
      calls[n].fill(seed, [&](int from, int to) { return 1 + (from * 5 + to * 3 + seed) * 97 % 1000; });
      calls[n].start(comm.get());
      if (is_cluster(all)) {
        EXPECT_EQ(calls[n].strategy(), "bundled");
      }
      order.push_back(n);
    }
    std::shuffle(order.begin(), order.end(), shuffled);
    if (turn % 2 == 0) EXPECT_MPI(LNW_Barrier(comm.get()));
    for (const std::size_t n : order) {
      int flag = turn % 3;
      while (flag == 0) EXPECT_MPI(LNW_Test(&calls[n].request, &flag, MPI_STATUS_IGNORE));
      calls[n].wait();
      calls[n].expect();
    }
    const Messages counted = messages(all);
    if (!is_cluster(all) || turn % 2 == 0) continue;
    EXPECT_EQ(counted.between, static_cast<int>(calls.size()) * all.count() * (all.count() - 1));
    EXPECT_EQ(counted.inside, 0);
  }
}

/// Datatypes may be freed as soon as a call has started, also where it has to wait for its turn.
TEST_F(Bundled, DatatypesMayBeFreedWhileCallsWait) {
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Setting machine("LANEWAY_MACHINE", nodes().text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "64");
  const Comm comm = with_memory_for_nonblocking();
  const auto ranks = static_cast<std::size_t>(size());
  constexpr int most = 40;  // pairs of ints, of which every second one is a gap
  struct Started {
    std::vector<int> sent, received, counts, displacements;
    LNW_Request request = LNW_REQUEST_NULL;
  };
  std::vector<Started> calls(6);
  for (std::size_t n = 0; n < calls.size(); ++n) {
    Started& call = calls[n];
    call.sent.assign(ranks * 2 * most, rank() * 100 + static_cast<int>(n));
    call.received.assign(ranks * 2 * most, -1);
    call.counts.assign(ranks, n % 2 == 0 ? most : 3);
    for (int peer = 0; peer < size(); ++peer) call.displacements.push_back(peer * most);
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pair);
    MPI_Type_commit(&pair);
    EXPECT_MPI(LNW_Ialltoallv(call.sent.data(), call.counts.data(), call.displacements.data(), pair,
                              call.received.data(), call.counts.data(), call.displacements.data(), pair, comm.get(),
                              &call.request));
    MPI_Type_free(&pair);
  }
  for (std::size_t n = calls.size(); n-- > 0;) {
    Started& call = calls[n];
    EXPECT_MPI(LNW_Wait(&call.request, MPI_STATUS_IGNORE));
    for (std::size_t i = 0; i < call.received.size(); ++i) {
      const std::size_t element = i % (2 * most) / 2;
      const bool is_there = i % 2 == 0 && element < static_cast<std::size_t>(call.counts[0]);
      const int from = static_cast<int>(i / (2 * most));
      ASSERT_EQ(call.received[i], is_there ? from * 100 + static_cast<int>(n) : -1) << "call " << n << ", " << i;
    }
  }
}

TEST_F(Bundled, NonblockingCallsAllocateARequest) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "SKIP: the sanitizer has its own operator new";
#endif
  const Nodes all = nodes();
  if (!is_cluster(all)) GTEST_SKIP() << "SKIP: one node";
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Setting machine("LANEWAY_MACHINE", all.text());
  const Setting local("LANEWAY_LOCAL_MESSAGE", "512");
  const Comm comm = with_memory_for_nonblocking();
  long in_start = 0, in_wait = 0;
  constexpr int turns = 12;
  for (int turn = 0; turn < turns; ++turn) {
    Call call;
    call.fill(turn, [&](int from, int to) { return (from * 5 + to * 3 + turn) * 97 % 1000; });
    const long before = allocations.load();
    call.start(comm.get());
    const long started = allocations.load();
    int flag = 0;
    EXPECT_MPI(LNW_Test(&call.request, &flag, MPI_STATUS_IGNORE));
    call.wait();
    if (turn > 3) {
      in_start += started - before;
      in_wait += allocations.load() - started;
    }
    call.expect();
  }
  EXPECT_LE(in_start, 3 * (turns - 4));
  EXPECT_EQ(in_wait, 0);
}

}  // namespace
}  // namespace laneway::test
