// Dense operations with buffers in memory of any kind: all rules and MPI's own operations, in every way.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "dense_operations.hpp"
#include "device_memory.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class DenseDeviceTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (!uses_devices()) GTEST_SKIP() << "SKIP: no device plugin is loaded";
  }
};

/// In all ways, in place and not, against MPI's own operation on the host; on the buffers' gaps, too.
void expect_dense_on_devices(MPI_Comm comm, const std::string& operation, std::uint64_t seed, int count = 300) {
  for (const bool in_place : {false, true}) {
    if (in_place && !takes_in_place(operation)) continue;
    Dense dense{.operation = operation, .comm = comm, .count = count, .in_place = in_place, .seed = seed};
    MPI_Comm_size(comm, &dense.root);
    dense.root /= 2;
    const std::vector<std::byte> expected = dense.run(Way::mpi);
    ASSERT_EQ(dense.code, MPI_SUCCESS) << operation;
    dense.on_devices = true;
    for (const Way way : {Way::blocking, Way::blocking, Way::nonblocking, Way::persistent, Way::large_persistent}) {
      const std::vector<std::byte> received = dense.run(way);
      ASSERT_EQ(dense.code, MPI_SUCCESS) << operation << ' ' << name(way) << ": " << error_text(dense.code);
      int rank = 0;
      MPI_Comm_rank(comm, &rank);
      if (operation == "exscan" && rank == 0) continue;
      ASSERT_TRUE(received == expected) << operation << ' ' << name(way) << (in_place ? " in place" : "") << ", seed "
                                        << seed;
    }
  }
}

TEST_F(DenseDeviceTest, EveryDenseOperationTakesDevicesByEveryRule) {
  setenv("LANEWAY_PROGRESS", "wait", 1);
  std::uint64_t seed = 0;
  for (const laneway::DenseRule& rule : laneway::dense_rules()) {
    const std::string family = laneway::name(rule.kind);
    setenv("LANEWAY_COLLECTIVE", (family + ":" + std::string(rule.name)).c_str(), 1);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    const Comm comm(copy);
    for (const std::vector<std::string>* list : {&movements(), &reductions()})
      for (const std::string& operation : *list)
        if (operation == family || operation == family + "v" || operation == family + "w" ||
            operation == family + "_block")
          expect_dense_on_devices(comm.get(), operation, ++seed);
  }
  unsetenv("LANEWAY_COLLECTIVE");
  unsetenv("LANEWAY_PROGRESS");
}

/// An MPI library that takes no addresses on devices gets images, of what it reads and writes alone.
TEST_F(DenseDeviceTest, MpisOwnDenseOperationsTakeDevices) {
  setenv("LANEWAY_COLLECTIVE", "mpi", 1);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const Comm comm(copy);
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const std::vector<std::string>* list : {&movements(), &reductions()})
      for (const std::string& operation : *list) expect_dense_on_devices(comm.get(), operation, seed, 50);
  unsetenv("LANEWAY_COLLECTIVE");
}

/// MPI gets them as they are, if it takes them: else the argument is named, on the rank that gave it.
TEST_F(DenseDeviceTest, IntercommunicatorsTakeDevicesOnlyIfMpiDoes) {
  if (size() < 2) GTEST_SKIP() << "SKIP: an intercommunicator needs two ranks";
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  const Comm own(half);
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank() % 2, 1, &between);
  const Comm comm(between);
  const Handler handler(between, MPI_ERRORS_RETURN);
  const Mirror mine(Mirror::Kind::device, sizeof(int));
  const Mirror theirs(Mirror::Kind::device, sizeof(int));
  const std::vector<unsigned char> zero(sizeof(int));
  mine.write(zero);
  theirs.write(zero);
  int on_host = 0;
  LNW_Request request = LNW_REQUEST_NULL;
  const auto expect_named = [](int code, const std::string& argument) {
    ASSERT_NE(code, MPI_SUCCESS);
    EXPECT_NE(error_text(code).find(argument + ": memory of a device, which the MPI library does not take"),
              std::string::npos)
        << error_text(code);
  };
  // All ranks give such buffers, so that nobody waits for those who are refused.
  const int code = LNW_Allreduce(mine.data(), theirs.data(), 1, MPI_INT, MPI_SUM, between);
  if (code == MPI_SUCCESS) GTEST_SKIP() << "SKIP: this MPI library takes memory of the device";
  expect_named(code, "sendbuf");
  expect_named(LNW_Iallreduce(&on_host, theirs.data(), 1, MPI_INT, MPI_SUM, between, &request), "recvbuf");
  EXPECT_EQ(request, LNW_REQUEST_NULL);
  expect_named(LNW_Allreduce_init(&on_host, theirs.data(), 1, MPI_INT, MPI_SUM, between, MPI_INFO_NULL, &request),
               "recvbuf");
  // What a rank of a rooted operation does not use may be anything.
  const bool is_roots = rank() % 2 == 0;
  const int root = is_roots ? (rank() == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  int value = is_roots ? 17 : -1;
  void* const buffer = is_roots && rank() != 0 ? mine.data() : static_cast<void*>(&value);
  EXPECT_MPI(LNW_Bcast(buffer, 1, MPI_INT, root, between));
  EXPECT_EQ(value, 17);
  int peers = 0;
  MPI_Comm_remote_size(between, &peers);
  std::vector<int> all(static_cast<std::size_t>(peers), -1);
  EXPECT_MPI(LNW_Gather(is_roots ? mine.data() : static_cast<void*>(&value), 1, MPI_INT,
                        is_roots && rank() == 0 ? static_cast<void*>(all.data()) : theirs.data(), 1, MPI_INT, root,
                        between));
  if (rank() == 0) {
    EXPECT_EQ(all, std::vector<int>(all.size(), 17));
  }
  // And MPI's own operations go on as before.
  int sum = 0;
  const int one = 1;
  EXPECT_MPI(LNW_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between));
  EXPECT_EQ(sum, peers);
}

/// Two requests write every second block of one buffer at the same time.
TEST_F(DenseDeviceTest, DenseRequestsLeaveGapsAlone) {
  setenv("LANEWAY_COLLECTIVE", "allgather:bruck", 1);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const Comm comm(copy);
  constexpr int block = 64;
  MPI_Datatype every_second = MPI_DATATYPE_NULL;
  EXPECT_MPI(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second));
  EXPECT_MPI(MPI_Type_commit(&every_second));
  const auto all = static_cast<std::size_t>(size()) * block * 2 * sizeof(int);
  const Mirror mine(Mirror::Kind::device, block * sizeof(int));
  const Mirror theirs(Mirror::Kind::device, all);
  std::vector<unsigned char> bytes(block * sizeof(int)), result(all, 0);
  for (int i = 0; i < block; ++i) {
    const int value = rank() * 1000 + i;
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
  }
  mine.write(bytes);
  theirs.write(result);
  LNW_Request requests[2] = {LNW_REQUEST_NULL, LNW_REQUEST_NULL};
  for (int n = 0; n < 2; ++n)
    EXPECT_MPI(LNW_Allgather_init(mine.data(), block, MPI_INT,
                                  theirs.data() + static_cast<std::size_t>(n) * sizeof(int), block, every_second,
                                  comm.get(), MPI_INFO_NULL, &requests[n]));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_MPI(LNW_Startall(2, requests));
    EXPECT_MPI(LNW_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  theirs.read(result);
  for (int from = 0; from < size(); ++from)
    for (int i = 0; i < 2 * block; ++i) {
      int value = -1;
      std::memcpy(&value, result.data() + static_cast<std::size_t>(from * 2 * block + i) * sizeof value, sizeof value);
      ASSERT_EQ(value, from * 1000 + i / 2) << from << ' ' << i;
    }
  EXPECT_MPI(MPI_Type_free(&every_second));
  unsetenv("LANEWAY_COLLECTIVE");
}

lnw_sim_counters counters() {
  lnw_sim_counters now{};
  EXPECT_EQ(sim_device()->counters(&now), LNW_DEVICE_OK);
  return now;
}

/// What a rank sends to itself never leaves the device, and all else crosses once each way.
TEST_F(DenseDeviceTest, OnlyWhatTravelsCrossesTheHost) {
  if (sim_device() == nullptr) GTEST_SKIP() << "SKIP: only the sim device counts bytes";
  if (size() < 2) GTEST_SKIP() << "SKIP: with one rank nothing travels";
  setenv("LANEWAY_COLLECTIVE", "alltoall:pairwise,allgather:ring", 1);
  setenv("LANEWAY_PROGRESS", "wait", 1);
  setenv("LANEWAY_TRANSPORT", "p2p", 1);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const Comm comm(copy);
  constexpr int block = 5000;
  const auto bytes = static_cast<std::size_t>(block) * static_cast<std::size_t>(size());
  const std::uint64_t others = bytes - block;
  const Mirror mine(Mirror::Kind::device, bytes), theirs(Mirror::Kind::device, bytes), one(Mirror::Kind::device, block);
  std::vector<unsigned char> data(bytes);
  const auto filled = [&](int from) {
    std::vector<unsigned char> result(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      result[i] = static_cast<unsigned char>(static_cast<std::size_t>(from) * 31 + i * 7 + i / 251);
    return result;
  };
  mine.write(filled(rank()));
  std::vector<unsigned char> own = filled(rank());
  own.resize(block);
  one.write(own);
  LNW_Request requests[4] = {LNW_REQUEST_NULL, LNW_REQUEST_NULL, LNW_REQUEST_NULL, LNW_REQUEST_NULL};
  EXPECT_MPI(LNW_Alltoall_init(mine.data(), block, MPI_BYTE, theirs.data(), block, MPI_BYTE, comm.get(), MPI_INFO_NULL,
                               &requests[0]));
  EXPECT_MPI(LNW_Allgather_init(one.data(), block, MPI_BYTE, theirs.data(), block, MPI_BYTE, comm.get(), MPI_INFO_NULL,
                                &requests[1]));
  const auto begin = [&](int which, bool is_persistent) {
    if (is_persistent) return LNW_Start(&requests[which]);
    LNW_Request& request = requests[2 + which];
    return which == 0
               ? LNW_Ialltoall(mine.data(), block, MPI_BYTE, theirs.data(), block, MPI_BYTE, comm.get(), &request)
               : LNW_Iallgather(one.data(), block, MPI_BYTE, theirs.data(), block, MPI_BYTE, comm.get(), &request);
  };
  int learnt = 1;  // which ranks share a node, without which a nonblocking call is MPI's own
  EXPECT_MPI(LNW_Allreduce(MPI_IN_PLACE, &learnt, 1, MPI_INT, MPI_SUM, comm.get()));
  for (int n = 0; n < 4; ++n)
    for (int turn = 0; turn < 3; ++turn) {
      const int which = n % 2;
      theirs.write(std::vector<unsigned char>(bytes, 0xEE));
      const lnw_sim_counters before = counters();
      EXPECT_MPI(begin(which, n < 2));
      EXPECT_MPI(LNW_Wait(&requests[n], MPI_STATUS_IGNORE));
      const lnw_sim_counters after = counters();
      // A gathered block is passed on from where it has come, this rank's own one, too.
      const std::uint64_t out = which == 0 ? others : block, in = which == 0 ? others : bytes;
      EXPECT_EQ(after.device_to_host_bytes - before.device_to_host_bytes, out) << n;
      EXPECT_EQ(after.host_to_device_bytes - before.host_to_device_bytes, in) << n;
      // The first nonblocking call leaves what it has bound to the next one.
      if (n < 2 || turn > 0) {
        EXPECT_EQ(after.allocations, before.allocations) << n;
      }
      theirs.read(data);
      for (int from = 0; from < size(); ++from) {
        const std::vector<unsigned char> all = filled(from);
        const auto* const sent = all.data() + (which == 0 ? static_cast<std::size_t>(rank()) * block : 0);
        ASSERT_EQ(std::memcmp(data.data() + static_cast<std::size_t>(from) * block, sent, block), 0) << from;
      }
    }
  for (int n = 0; n < 2; ++n) EXPECT_MPI(LNW_Request_free(&requests[n]));
  for (const char* const name : {"LANEWAY_COLLECTIVE", "LANEWAY_PROGRESS", "LANEWAY_TRANSPORT"}) unsetenv(name);
}

/// Blocking calls that come back to their buffers find what they have bound, unless these have been allocated anew.
TEST_F(DenseDeviceTest, RepeatedBlockingCallsAllocateNothing) {
  if (sim_device() == nullptr) GTEST_SKIP() << "SKIP: only the sim device counts allocations";
  setenv("LANEWAY_COLLECTIVE", "allreduce:recursive_doubling", 1);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const Comm comm(copy);
  constexpr int count = 3000;
  std::vector<unsigned char> bytes(count * sizeof(int));
  for (int kept = 0; kept < 3; ++kept) {
    const Mirror mine(Mirror::Kind::device, bytes.size()), sums(Mirror::Kind::device, bytes.size());
    std::uint64_t allocations = 0;
    for (int turn = 0; turn < 5; ++turn) {
      std::vector<int> numbers(count, rank() + turn + kept), all(count);
      std::memcpy(bytes.data(), numbers.data(), bytes.size());
      mine.write(bytes);
      EXPECT_MPI(LNW_Allreduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, comm.get()));
      if (turn == 2) allocations = counters().allocations;
      if (turn > 2) {
        EXPECT_EQ(counters().allocations, allocations);
      }
      sums.read(bytes);
      std::memcpy(all.data(), bytes.data(), bytes.size());
      ASSERT_EQ(all, std::vector<int>(count, size() * (size() - 1) / 2 + size() * (turn + kept)));
    }
  }
  unsetenv("LANEWAY_COLLECTIVE");
}

/// Each of several that are under way on the same buffers has its own memory, and later ones take it over.
TEST_F(DenseDeviceTest, OverlappingNonblockingCallsKeepTheirMemory) {
  if (sim_device() == nullptr) GTEST_SKIP() << "SKIP: only the sim device counts allocations";
  setenv("LANEWAY_COLLECTIVE", "allreduce:recursive_doubling", 1);
  setenv("LANEWAY_PROGRESS", "wait", 1);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const Comm comm(copy);
  constexpr int count = 3000, calls = 3;
  int one = 1;
  EXPECT_MPI(LNW_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, comm.get()));
  std::vector<unsigned char> bytes(count * sizeof(int));
  const Mirror mine(Mirror::Kind::device, bytes.size());
  std::vector<Mirror> sums;
  for (int n = 0; n < calls; ++n) sums.emplace_back(Mirror::Kind::device, bytes.size());
  std::uint64_t allocations = 0;
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<int> numbers(count), all(count);
    for (int i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = rank() + turn + i;
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    mine.write(bytes);
    LNW_Request requests[calls];
    for (int n = 0; n < calls; ++n)
      EXPECT_MPI(LNW_Iallreduce(mine.data(), sums[static_cast<std::size_t>(n)].data(), count, MPI_INT, MPI_SUM,
                                comm.get(), &requests[n]));
    EXPECT_MPI(LNW_Waitall(calls, requests, MPI_STATUSES_IGNORE));
    if (turn == 1) allocations = counters().allocations;
    if (turn > 1) {
      EXPECT_EQ(counters().allocations, allocations);
    }
    for (const Mirror& sum : sums) {
      sum.read(bytes);
      std::memcpy(all.data(), bytes.data(), bytes.size());
      for (int i = 0; i < count; ++i)
        ASSERT_EQ(all[static_cast<std::size_t>(i)], size() * (size() - 1) / 2 + size() * (turn + i)) << i;
    }
  }
  for (const char* const name : {"LANEWAY_COLLECTIVE", "LANEWAY_PROGRESS"}) unsetenv(name);
}

}  // namespace
}  // namespace laneway::test
