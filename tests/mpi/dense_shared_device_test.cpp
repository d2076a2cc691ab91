// Allreduce of vectors on devices that ranks of a node share: against MPI's own on the host, and where data went.
#include <laneway/sim_device.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "device_memory.hpp"
#include "setting.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

using Bytes = std::vector<unsigned char>;

class DenseSharedDeviceTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (!uses_devices() || sim_device() == nullptr) GTEST_SKIP() << "SKIP: the sim device is not loaded";
  }
};

enum class Where { host, managed, device };

void expect_ok(int status) {
  EXPECT_EQ(status, LNW_DEVICE_OK) << device_table()->message(status);
}

/// Bytes in some memory, of the device that the thread has chosen.
class There {
 public:
  There(Where where, const Bytes& bytes) : where_(where), here_(where == Where::host ? bytes : Bytes(bytes.size())) {
    expect_ok(device_table()->current_device(&device_));
    void* made = here_.data();
    if (where == Where::managed) expect_ok(device_table()->managed_malloc(device_, bytes.size(), &made));
    if (where == Where::device) expect_ok(device_table()->device_malloc(device_, bytes.size(), &made));
    data_ = static_cast<unsigned char*>(made);
    if (where != Where::host) expect_ok(sim_device()->copy_now(data_, bytes.data(), bytes.size()));
  }
  ~There() {
    if (where_ != Where::host) expect_ok(device_table()->device_free(device_, data_));
  }
  There(const There&) = delete;
  There& operator=(const There&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] Bytes read() const {
    Bytes bytes(here_.size());
    expect_ok(sim_device()->copy_now(bytes.data(), data_, bytes.size()));
    return bytes;
  }

 private:
  Where where_;
  Bytes here_;
  int device_ = 0;
  unsigned char* data_ = nullptr;
};

/// Since the process began, in both directions.
std::uint64_t bytes_through_host() {
  lnw_sim_counters counters{};
  expect_ok(sim_device()->counters(&counters));
  return counters.host_to_device_bytes + counters.device_to_host_bytes + counters.host_to_host_bytes;
}
std::uint64_t kernels() {
  lnw_sim_counters counters{};
  expect_ok(sim_device()->counters(&counters));
  return counters.kernels;
}
bool devices_can_be_shared() {
  lnw_device_info info{};
  expect_ok(device_table()->device_info(0, &info));
  return (info.features & LNW_DEVICE_HAS_IPC_MEMORY) != 0;
}

struct Numbers {
  MPI_Datatype type;
  int bytes;
  char kind;  // i: integers, f: floating-point
};
const Numbers all_numbers[] = {{MPI_INT, 4, 'i'},           {MPI_UNSIGNED, 4, 'i'}, {MPI_INT64_T, 8, 'i'},
                               {MPI_UNSIGNED_LONG, 8, 'i'}, {MPI_FLOAT, 4, 'f'},    {MPI_DOUBLE, 8, 'f'}};

/// `exact`: so small that any order of combining gives the same bits.
Bytes made_up(const Numbers& numbers, int count, std::uint64_t seed, int of_rank, bool exact = true) {
  Bytes bytes(static_cast<std::size_t>(count) * static_cast<std::size_t>(numbers.bytes));
  Random random(static_cast<Random::result_type>(mix({seed, static_cast<std::uint64_t>(of_rank)})));
  const auto put = [&](auto number) {
    for (int i = 0; i < count; ++i) {
      const int picked = exact ? pick(random, 1, 3) : pick(random, 1, 1 << 30);
      number = static_cast<decltype(number)>(exact ? picked : picked / 977.);
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof number, &number, sizeof number);
    }
  };
  if (numbers.kind == 'i' && numbers.bytes == 4) put(std::int32_t{});
  if (numbers.kind == 'i' && numbers.bytes == 8) put(std::int64_t{});
  if (numbers.kind == 'f' && numbers.bytes == 4) put(float{});
  if (numbers.kind == 'f' && numbers.bytes == 8) put(double{});
  return bytes;
}

struct Call {
  Numbers numbers = all_numbers[5];
  MPI_Op op = MPI_SUM;
  int count = 1000;
  bool in_place = false;
  MPI_Comm comm = MPI_COMM_WORLD;
  std::uint64_t seed = 1;
  Where where = Where::device;
};

/// Compares with MPI's own. Returns how many bytes of this rank have crossed the host.
std::uint64_t expect_reduced(const Call& call) {
  int own = 0;
  MPI_Comm_rank(call.comm, &own);
  const Bytes mine = made_up(call.numbers, call.count, call.seed, own);
  Bytes expected(mine.size());
  EXPECT_MPI(MPI_Allreduce(mine.data(), expected.data(), call.count, call.numbers.type, call.op, call.comm));
  const There sent(call.where, mine);
  const There received(call.where, call.in_place ? mine : Bytes(mine.size(), 0xee));
  const std::uint64_t before = bytes_through_host();
  EXPECT_MPI(LNW_Allreduce(call.in_place ? MPI_IN_PLACE : sent.data(), received.data(), call.count, call.numbers.type,
                           call.op, call.comm));
  const std::uint64_t crossed = bytes_through_host() - before;
  EXPECT_TRUE(received.read() == expected) << "count " << call.count << (call.in_place ? " in place" : "");
  if (!call.in_place) {
    EXPECT_TRUE(sent.read() == mine);
  }
  return crossed;
}

Comm duplicate() {
  MPI_Comm copy = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  return Comm(copy);
}

/// Every operator and type that kernels know: nothing crosses the host.
TEST_F(DenseSharedDeviceTest, CombinesOnTheDevice) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Comm comm = duplicate();
  const bool is_shared = size() > 1 && devices_can_be_shared();
  std::uint64_t seed = 0;
  for (const Numbers& numbers : all_numbers)
    for (const MPI_Op op : {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD})
      for (const int count : {1, 7, 1000, 5003})
        for (const bool in_place : {false, true}) {
          const std::uint64_t launched = kernels();
          const std::uint64_t crossed = expect_reduced(
              {.numbers = numbers, .op = op, .count = count, .in_place = in_place, .comm = comm.get(), .seed = ++seed});
          if (is_shared) {
            EXPECT_EQ(crossed, 0u);
          } else {
            EXPECT_GT(crossed, 0u);
          }
          if (is_shared && count >= size()) {
            EXPECT_EQ(kernels() - launched, static_cast<unsigned>(size() - 1));
          }
        }
}

/// Counts that do not divide, in several pieces, which a slot's size cuts.
TEST_F(DenseSharedDeviceTest, CombinesInPieces) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Setting limit("LANEWAY_STAGING_LIMIT", std::to_string(8192 * size()));
  const Comm comm = duplicate();
  std::uint64_t seed = 100;
  for (const int count : {1024, 3, 1025, 10007, 40001, 10007, 5})
    for (const bool in_place : {false, true}) {
      const std::uint64_t crossed =
          expect_reduced({.count = count, .in_place = in_place, .comm = comm.get(), .seed = ++seed});
      if (size() > 1 && devices_can_be_shared()) {
        EXPECT_EQ(crossed, 0u);
      }
    }
}

/// Only what goes along lanes crosses the host: a part of the vector, out and back in.
TEST_F(DenseSharedDeviceTest, CombinesBetweenNodesAlongLanes) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  std::vector<std::string> described = machines();
  if (size() > 2) described.push_back("ranks:1," + std::to_string(size() - 1));
  std::uint64_t seed = 200;
  for (const std::string& machine : described) {
    const Setting nodes("LANEWAY_MACHINE", machine);
    const Comm comm = duplicate();
    for (const int count : {1, 1000, 5003, 40001})
      for (const Numbers& numbers : {all_numbers[0], all_numbers[5]}) {
        const std::uint64_t crossed =
            expect_reduced({.numbers = numbers, .count = count, .comm = comm.get(), .seed = ++seed});
        const bool is_two_nodes = machine.starts_with("ranks:1,") && size() > 2;
        const auto bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(numbers.bytes);
        if (is_two_nodes && devices_can_be_shared()) {
          EXPECT_EQ(crossed, rank() < 2 ? 2 * bytes : 0) << machine;
        }
      }
  }
}

/// A rank's operands come after those of lower ranks, whatever the rounding: all ranks get the same bits, which are
/// also those of lnw_order=canonical.
TEST_F(DenseSharedDeviceTest, OrderIsThatOfRanks) {
  if (size() < 2 || !devices_can_be_shared()) GTEST_SKIP() << "SKIP: needs two ranks that share a device";
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  constexpr int count = 3001;
  const Numbers& numbers = all_numbers[5];
  std::vector<double> expected(count);
  for (int from = 0; from < size(); ++from) {
    std::vector<double> theirs(count);
    const Bytes bytes = made_up(numbers, count, 300, from, false);
    std::memcpy(theirs.data(), bytes.data(), bytes.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = from == 0 ? theirs[i] : expected[i] + theirs[i];
  }
  for (const char* const order : {"fixed", "canonical"}) {
    const Setting ordered("LANEWAY_ORDER", order);
    const Comm comm = duplicate();
    const There sent(Where::device, made_up(numbers, count, 300, rank(), false));
    const There received(Where::device, Bytes(count * sizeof(double)));
    const std::uint64_t before = bytes_through_host();
    EXPECT_MPI(LNW_Allreduce(sent.data(), received.data(), count, MPI_DOUBLE, MPI_SUM, comm.get()));
    EXPECT_EQ(bytes_through_host(), before);
    const Bytes result = received.read();
    EXPECT_EQ(std::memcmp(result.data(), expected.data(), result.size()), 0) << order;
  }
}

/// Of several nodes, canonical order is left to the plans of the host. Integers have none.
TEST_F(DenseSharedDeviceTest, CanonicalOrderOfSeveralNodesIsTheHosts) {
  if (size() < 3 || !devices_can_be_shared()) GTEST_SKIP() << "SKIP: needs three ranks that share a device";
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Setting order("LANEWAY_ORDER", "canonical");
  const Setting nodes("LANEWAY_MACHINE", "ranks:" + std::to_string(size() - 1) + ",1");
  const Comm comm = duplicate();
  constexpr int count = 900;
  constexpr std::uint64_t bytes = count * sizeof(double);
  EXPECT_GE(expect_reduced({.count = count, .comm = comm.get()}), 2 * bytes);  // out and back in, on all ranks
  const bool has_lane = rank() == 0 || rank() == size() - 1;
  EXPECT_EQ(expect_reduced({.numbers = all_numbers[2], .count = count, .comm = comm.get()}), has_lane ? 2 * bytes : 0);
}

TEST_F(DenseSharedDeviceTest, RanksOfPartsOfTheWorld) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  std::uint64_t seed = 400;
  for (const int parts : {1, 2, 3}) {
    MPI_Comm part = MPI_COMM_NULL;
    EXPECT_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank() % parts, -rank(), &part));
    const Comm comm(part);
    int ranks = 0;
    MPI_Comm_size(part, &ranks);
    for (const int count : {13, 6000}) {
      const std::uint64_t crossed = expect_reduced({.count = count, .comm = part, .seed = ++seed});
      if (ranks > 1 && devices_can_be_shared()) {
        EXPECT_EQ(crossed, 0u);
      }
    }
  }
}

/// The first call of a class decides. Later ones may have other memory, and are right.
TEST_F(DenseSharedDeviceTest, LaterCallsMayHaveBuffersAnywhere) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  for (const Where first : {Where::device, Where::host, Where::managed}) {
    const Comm comm = duplicate();
    std::uint64_t seed = 500;
    expect_reduced({.comm = comm.get(), .seed = ++seed, .where = first});
    for (const Where where : {Where::host, Where::device, Where::managed, Where::device})
      for (const int count : {999, 1000, 100})
        expect_reduced({.count = count, .comm = comm.get(), .seed = ++seed, .where = where});
    // Ranks that differ.
    expect_reduced({.comm = comm.get(), .seed = ++seed, .where = rank() % 2 == 0 ? Where::device : Where::host});
  }
}

void add_all(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

/// What kernels do not know is combined on the host.
TEST_F(DenseSharedDeviceTest, OtherOperatorsAndTypesGoThroughTheHost) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Comm comm = duplicate();
  MPI_Op users = MPI_OP_NULL;
  EXPECT_MPI(MPI_Op_create(add_all, 1, &users));
  for (const MPI_Op op : {users, static_cast<MPI_Op>(MPI_BXOR)})
    EXPECT_GT(expect_reduced({.numbers = all_numbers[0], .op = op, .comm = comm.get()}), 0u);
  EXPECT_GT(expect_reduced({.numbers = {MPI_SHORT, 2, ' '}, .comm = comm.get()}), 0u);
  EXPECT_MPI(MPI_Op_free(&users));
}

/// lnw_memory_path and the size of the vector say whether it is worth it.
TEST_F(DenseSharedDeviceTest, HintsSayWhetherDevicesAreShared) {
  if (size() < 2 || !devices_can_be_shared()) GTEST_SKIP() << "SKIP: needs two ranks that share a device";
  const auto crossed = [&](const char* path, const char* collective, int count) {
    const Setting paths("LANEWAY_MEMORY_PATH", path);
    const Setting collectives("LANEWAY_COLLECTIVE", collective);
    const Comm comm = duplicate();
    return expect_reduced({.count = count, .comm = comm.get()}) > 0;
  };
  EXPECT_FALSE(crossed("auto", "auto", 5000));
  EXPECT_TRUE(crossed("auto", "auto", 100));
  EXPECT_FALSE(crossed("dd", "auto", 100));
  EXPECT_TRUE(crossed("staged", "auto", 5000));
  EXPECT_TRUE(crossed("dd", "allreduce:ring", 5000));
  EXPECT_TRUE(crossed("dd", "mpi", 5000));
}

/// A node's ranks share one device each, or do not.
TEST_F(DenseSharedDeviceTest, NodesMayHaveSeveralDevices) {
  int devices = 0;
  expect_ok(device_table()->device_count(&devices));
  if (devices < 2 || size() < 3) GTEST_SKIP() << "SKIP: needs two devices and three ranks";
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const int upper = (size() + 1) / 2;
  expect_ok(sim_device()->set_device(rank() < upper ? 0 : 1));
  {
    const Comm comm = duplicate();  // one node
    EXPECT_GT(expect_reduced({.comm = comm.get()}), 0u);
  }
  const Setting nodes("LANEWAY_MACHINE", "ranks:" + std::to_string(upper) + "," + std::to_string(size() - upper));
  const Comm comm = duplicate();
  constexpr std::uint64_t bytes = 1000 * sizeof(double);
  const int lanes = size() - upper;
  const bool has_lane = rank() >= upper || rank() < lanes;
  if (lanes == 1) {
    EXPECT_EQ(expect_reduced({.comm = comm.get()}), has_lane ? 2 * bytes : 0);
  }
  expect_reduced({.numbers = all_numbers[0], .count = 50001, .comm = comm.get()});
  expect_ok(sim_device()->set_device(rank() < upper ? 1 : 0));
  EXPECT_GT(expect_reduced({.numbers = all_numbers[1], .comm = comm.get()}), 0u);  // on another device than before
  expect_ok(sim_device()->set_device(0));
}

}  // namespace
}  // namespace laneway::test
