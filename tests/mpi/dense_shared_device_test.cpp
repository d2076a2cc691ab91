// Allreduce of vectors on devices that ranks of a node share: against MPI's own on the host, and where data went.
#include <laneway/sim_device.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "device_memory.hpp"
#include "setting.hpp"
#include "support.hpp"

namespace {

constexpr int text_bytes = 512;  // in which ranks compare what they call
int texts = 0;                   // that this rank has joined

}  // namespace

// In place of the MPI library's, for the library as well.
#pragma GCC visibility push(default)
extern "C" int MPI_Reduce_local(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op) {
  if (count == text_bytes && type == MPI_UINT8_T) ++texts;
  return PMPI_Reduce_local(from, to, count, type, op);
}
#pragma GCC visibility pop

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
  char kind;  // i: integers, f: floating-point, c: complex
};
const Numbers all_numbers[] = {{MPI_INT, 4, 'i'},           {MPI_UNSIGNED, 4, 'i'}, {MPI_INT64_T, 8, 'i'},
                               {MPI_UNSIGNED_LONG, 8, 'i'}, {MPI_FLOAT, 4, 'f'},    {MPI_DOUBLE, 8, 'f'}};
const Numbers more_numbers[] = {
    {MPI_INT8_T, 1, 'i'},           {MPI_UNSIGNED_CHAR, 1, 'i'}, {MPI_SHORT, 2, 'i'},
    {MPI_UINT16_T, 2, 'i'},         {MPI_BYTE, 1, 'b'},          {MPI_C_FLOAT_COMPLEX, 8, 'c'},
    {MPI_C_DOUBLE_COMPLEX, 16, 'c'}};

/// Those that MPI allows, and kernels know.
std::vector<MPI_Op> operators_of(const Numbers& numbers) {
  std::vector<MPI_Op> all;
  if (numbers.kind != 'b') all.push_back(MPI_SUM);
  if (numbers.kind == 'i' || numbers.kind == 'f') all.insert(all.end(), {MPI_MIN, MPI_MAX, MPI_PROD});
  if (numbers.kind == 'i') all.insert(all.end(), {MPI_LAND, MPI_LOR, MPI_LXOR});
  if (numbers.kind == 'i' || numbers.kind == 'b') all.insert(all.end(), {MPI_BAND, MPI_BOR, MPI_BXOR});
  return all;
}

/// `exact`: so small that any order of combining gives the same bits.
Bytes made_up(const Numbers& numbers, int count, std::uint64_t seed, int of_rank, bool exact = true) {
  Bytes bytes(static_cast<std::size_t>(count) * static_cast<std::size_t>(numbers.bytes));
  Random random(static_cast<Random::result_type>(mix({seed, static_cast<std::uint64_t>(of_rank)})));
  const auto put = [&](auto number) {
    for (int i = 0; i < count; ++i) {
      const int picked = exact ? pick(random, numbers.bytes < 4 ? 0 : 1, 3) : pick(random, 1, 1 << 30);
      number = static_cast<decltype(number)>(exact ? picked : picked / 977.);
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof number, &number, sizeof number);
    }
  };
  if (numbers.kind == 'c') {
    count *= 2;
    if (numbers.bytes == 8) put(float{});
    if (numbers.bytes == 16) put(double{});
  }
  if (numbers.bytes == 1) put(std::int8_t{});
  if (numbers.bytes == 2) put(std::int16_t{});
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
  std::vector<Numbers> every(std::begin(all_numbers), std::end(all_numbers));
  every.insert(every.end(), std::begin(more_numbers), std::end(more_numbers));
  for (const Numbers& numbers : every)
    for (const MPI_Op op : operators_of(numbers))
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
  EXPECT_GT(expect_reduced({.count = count, .comm = comm.get()}), 0u);  // on all ranks
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
  EXPECT_GT(expect_reduced({.numbers = all_numbers[0], .op = users, .comm = comm.get()}), 0u);
  EXPECT_GT(expect_reduced({.numbers = {MPI_2INT, 8, 'i'}, .op = MPI_MAXLOC, .comm = comm.get()}), 0u);
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

/// Texts that all ranks together have joined meanwhile.
template <class Calls>
int texts_of(Calls&& calls) {
  const int before = texts;
  calls();
  int all = texts - before;
  PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/// In each call, when they are compared: by LANEWAY_CHECK=1.
TEST_F(DenseSharedDeviceTest, ArgumentsAreComparedOnce) {
  const Setting check("LANEWAY_CHECK", "1");
  for (const char* const path : {"dd", "staged"}) {
    const Setting paths("LANEWAY_MEMORY_PATH", path);
    const Comm comm = duplicate();
    expect_reduced({.comm = comm.get()});
    const int once = texts_of([&] { EXPECT_MPI(LNW_Barrier(comm.get())); });
    EXPECT_EQ(once > 0, size() > 1);
    for (int call = 1; call <= 3; ++call)
      EXPECT_EQ(texts_of([&] { expect_reduced({.comm = comm.get(), .seed = static_cast<std::uint64_t>(call)}); }), once)
          << path;
  }
}

std::string told(LNW_Request request, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(LNW_Request_get_info(request, &info));
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  return found != 0 ? value : "";
}

/// A persistent request, with buffers of its own that get new data for each exchange.
class Persistent {
 public:
  explicit Persistent(const Call& call, MPI_Info info = MPI_INFO_NULL)
      : call_(call), sent_(call.where, made(0)), received_(call.where, made(0)) {
    EXPECT_MPI(LNW_Allreduce_init(call.in_place ? MPI_IN_PLACE : sent_.data(), received_.data(), call.count,
                                  call.numbers.type, call.op, call.comm, info, &request_));
  }
  ~Persistent() { EXPECT_MPI(LNW_Request_free(&request_)); }
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;

  [[nodiscard]] LNW_Request& request() { return request_; }
  [[nodiscard]] bool is_shared() const { return told(request_, "lnw_strategy") == "shared_device"; }
  /// Of all ranks, by MPI.
  void fill(std::uint64_t turn) {
    const Bytes mine = made(turn);
    expected_.resize(mine.size());
    EXPECT_MPI(MPI_Allreduce(mine.data(), expected_.data(), call_.count, call_.numbers.type, call_.op, call_.comm));
    expect_ok(sim_device()->copy_now(sent_.data(), mine.data(), mine.size()));
    const Bytes before = call_.in_place ? mine : Bytes(mine.size(), 0xee);
    expect_ok(sim_device()->copy_now(received_.data(), before.data(), before.size()));
  }
  [[nodiscard]] bool is_right() const { return received_.read() == expected_; }

 private:
  [[nodiscard]] Bytes made(std::uint64_t turn) const {
    int own = 0;
    MPI_Comm_rank(call_.comm, &own);
    return made_up(call_.numbers, call_.count, mix({call_.seed, turn}), own);
  }

  Call call_;
  There sent_, received_;
  Bytes expected_;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

/// What takes the device long, and is not to happen between start and wait.
std::vector<std::uint64_t> allocations_and_mappings() {
  lnw_sim_counters counters{};
  expect_ok(sim_device()->counters(&counters));
  return {counters.allocations, counters.memory_mappings_opened, counters.memory_mappings_closed};
}

TEST_F(DenseSharedDeviceTest, PersistentRequestsCombineOnTheDevice) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Comm comm = duplicate();
  const bool is_shared = size() > 1 && devices_can_be_shared();
  std::uint64_t seed = 600;
  for (const Numbers& numbers : all_numbers)
    for (const MPI_Op op : {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD})
      for (const int count : {1, 1000, 5003}) {
        const bool in_place = ++seed % 2 == 0;
        Persistent one(
            {.numbers = numbers, .op = op, .count = count, .in_place = in_place, .comm = comm.get(), .seed = seed});
        EXPECT_EQ(one.is_shared(), is_shared);
        for (std::uint64_t turn = 1; turn <= 2; ++turn) {
          one.fill(turn);
          const std::uint64_t before = bytes_through_host();
          const std::vector<std::uint64_t> made = allocations_and_mappings();
          EXPECT_MPI(LNW_Start(&one.request()));
          EXPECT_MPI(LNW_Wait(&one.request(), MPI_STATUS_IGNORE));
          if (is_shared) {
            EXPECT_EQ(bytes_through_host(), before);
            EXPECT_EQ(allocations_and_mappings(), made);
          }
          EXPECT_TRUE(one.is_right()) << "count " << count << (in_place ? " in place" : "") << ", turn " << turn;
        }
      }
}

/// Requests of one communicator that are all active, started and completed in another order on each rank.
TEST_F(DenseSharedDeviceTest, ManyPersistentRequestsAtOnce) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Setting progress("LANEWAY_PROGRESS", "wait");
  std::vector<std::string> described = machines();
  described.emplace_back("");
  if (size() > 2) described.push_back("ranks:1," + std::to_string(size() - 1));
  if (size() > 4) described.push_back("ranks:2," + std::to_string(size() - 2));
  std::uint64_t seed = 700;
  for (const std::string& machine : described)
    for (const std::int64_t limit : {std::int64_t{1} << 26, std::int64_t{8192} * size()}) {
      const Setting nodes("LANEWAY_MACHINE", machine);
      const Setting staging("LANEWAY_STAGING_LIMIT", std::to_string(limit));
      const Comm comm = duplicate();
      std::vector<std::unique_ptr<Persistent>> all;
      for (const int count : {1, 777, 1024, 5003, 20001})
        all.push_back(std::make_unique<Persistent>(
            Call{.numbers = all_numbers[count % 2 == 0 ? 0 : 5], .count = count, .comm = comm.get(), .seed = ++seed}));
      all.push_back(std::make_unique<Persistent>(Call{.count = 900, .comm = comm.get(), .where = Where::host}));
      std::vector<std::size_t> order(all.size());
      for (std::uint64_t turn = 1; turn <= 3; ++turn) {
        for (const auto& one : all) one->fill(turn);
        std::iota(order.begin(), order.end(), std::size_t{0});
        Random random(static_cast<Random::result_type>(mix({seed, turn, static_cast<std::uint64_t>(rank())})));
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order) EXPECT_MPI(LNW_Start(&all[i]->request()));
        // A blocking call in between, which has memory of its own.
        expect_reduced({.count = 1500, .comm = comm.get(), .seed = ++seed});
        std::vector<LNW_Request> requests;
        for (const auto& one : all) requests.push_back(one->request());
        if (turn % 2 == 0) {
          EXPECT_MPI(LNW_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
        } else {
          std::size_t complete = 0;
          while (complete < requests.size()) {
            int index = MPI_UNDEFINED;
            EXPECT_MPI(LNW_Waitany(static_cast<int>(requests.size()), requests.data(), &index, MPI_STATUS_IGNORE));
            ASSERT_NE(index, MPI_UNDEFINED);
            ++complete;
          }
        }
        for (std::size_t i = 0; i < all.size(); ++i)
          EXPECT_TRUE(all[i]->is_right()) << machine << ", request " << i << ", turn " << turn;
      }
    }
}

/// One rank's buffer on the host, or devices that cannot be shared: a plan of messages, the same on all ranks.
TEST_F(DenseSharedDeviceTest, PersistentRequestsOnOtherMemoryRunOtherwise) {
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Comm comm = duplicate();
  const bool is_last = rank() == size() - 1;
  Persistent one({.comm = comm.get(), .where = is_last ? Where::host : Where::device});
  EXPECT_FALSE(one.is_shared());
  one.fill(1);
  EXPECT_MPI(LNW_Start(&one.request()));
  EXPECT_MPI(LNW_Wait(&one.request(), MPI_STATUS_IGNORE));
  EXPECT_TRUE(one.is_right());
  const Handler handler(comm.get(), MPI_ERRORS_RETURN);
  Persistent shared({.comm = comm.get()});
  for (const LNW_Request request : {one.request(), shared.request()}) {
    const std::string text = error_text(LNW_Request_set_buffers(request, nullptr, nullptr));
    EXPECT_NE(text.find("request is of a dense operation, which keeps its buffers"), std::string::npos) << text;
  }
}

/// Nodes on which devices may fail, and how much work of a rank of an allreduce there is to fail.
std::vector<std::string> failing_machines() {
  std::vector<std::string> all = {""};
  if (size() > 2) all.push_back("ranks:1," + std::to_string(size() - 1));
  if (size() > 2) all.push_back("ranks:" + std::to_string(size() - 1) + ",1");
  if (size() > 3) all.push_back("ranks:2," + std::to_string(size() - 2));
  return all;
}

/// Three calls, in which the device refuses the n-th work of one rank. Ranks say in which calls they have had an
/// error: all of them, in the call in which that rank has had its own, or in the next one. What has no error is right.
template <class CallOnce>
void expect_failure_told(int victim, int nth, bool goes_on, CallOnce&& call_once) {
  std::array<int, 3> failed{};
  if (rank() == victim) expect_ok(sim_device()->configure(("refuse=" + std::to_string(nth)).c_str()));
  for (std::size_t call = 0; call < failed.size(); ++call) failed[call] = call_once(call) ? 0 : 1;
  if (rank() == victim) expect_ok(sim_device()->configure("refuse=0"));
  std::array<int, 3> of_victim = failed;
  MPI_Bcast(of_victim.data(), 3, MPI_INT, victim, MPI_COMM_WORLD);
  const auto first = std::ranges::find(of_victim, 1) - of_victim.begin();
  if (first >= 2) return;  // there was not that much work
  const auto at = static_cast<std::size_t>(first);
  EXPECT_GE(failed[at] + failed[at + 1], 1) << "rank " << rank() << ", of " << victim << " work " << nth;
  if (at == 0) {
    EXPECT_EQ(failed[2], goes_on ? 0 : 1) << "rank " << rank() << ", of " << victim << " work " << nth;
  }
}

TEST_F(DenseSharedDeviceTest, AFailureIsToldToAllRanks) {
  if (size() < 2 || !devices_can_be_shared()) GTEST_SKIP() << "SKIP: needs two ranks that share a device";
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Setting staging("LANEWAY_STAGING_LIMIT", std::to_string(4096 * size()));
  std::uint64_t seed = 800;
  for (const std::string& machine : failing_machines()) {
    const Setting nodes("LANEWAY_MACHINE", machine);
    for (const int count : {300, 1200})  // in one piece, and in three
      for (int victim = 0; victim < size(); ++victim)
        for (int nth = 1; nth <= size() + 8; ++nth) {
          if (size() > 3 && !long_tests() && (nth + victim) % 4 != 0) continue;  // each of them in some case
          SCOPED_TRACE(machine + ", " + std::to_string(count) + " numbers, of rank " + std::to_string(victim) +
                       " work " + std::to_string(nth));
          const Comm comm = duplicate();
          const Handler handler(comm.get(), MPI_ERRORS_RETURN);
          const MPI_Op op = std::array{MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD}[static_cast<std::size_t>(nth) % 4];
          const Numbers& numbers = all_numbers[static_cast<std::size_t>(nth + victim) % 6];
          expect_reduced({.numbers = numbers, .op = op, .count = count, .comm = comm.get(), .seed = ++seed});
          expect_failure_told(victim, nth, true, [&](std::size_t) {
            const Bytes mine = made_up(numbers, count, ++seed, rank());
            Bytes expected(mine.size());
            EXPECT_MPI(MPI_Allreduce(mine.data(), expected.data(), count, numbers.type, op, comm.get()));
            const There sent(Where::device, mine);
            const There received(Where::device, Bytes(mine.size(), 0xee));
            const int code = LNW_Allreduce(sent.data(), received.data(), count, numbers.type, op, comm.get());
            if (code == MPI_SUCCESS) {
              EXPECT_TRUE(received.read() == expected);
            }
            return code == MPI_SUCCESS;
          });
        }
  }
}

TEST_F(DenseSharedDeviceTest, AFailureOfAPersistentRequestIsToldToAllRanks) {
  if (size() < 2 || !devices_can_be_shared()) GTEST_SKIP() << "SKIP: needs two ranks that share a device";
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Setting staging("LANEWAY_STAGING_LIMIT", std::to_string(4096 * size()));
  std::uint64_t seed = 900;
  for (const std::string& machine : failing_machines()) {
    const Setting nodes("LANEWAY_MACHINE", machine);
    for (const int count : {300, 1200})
      for (int victim = 0; victim < size(); ++victim)
        for (int nth = 1; nth <= size() + 8; ++nth) {
          if (size() > 3 && !long_tests() && (nth + victim) % 4 != 0) continue;  // each of them in some case
          SCOPED_TRACE(machine + ", " + std::to_string(count) + " numbers, of rank " + std::to_string(victim) +
                       " work " + std::to_string(nth));
          const Comm comm = duplicate();
          const Handler handler(comm.get(), MPI_ERRORS_RETURN);
          Persistent one({.count = count, .comm = comm.get(), .seed = ++seed});
          EXPECT_TRUE(one.is_shared());
          expect_failure_told(victim, nth, false, [&](std::size_t turn) {
            one.fill(turn);
            if (LNW_Start(&one.request()) != MPI_SUCCESS) return false;
            if (LNW_Wait(&one.request(), MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
            EXPECT_TRUE(one.is_right());
            return true;
          });
        }
  }
}

/// The ranks of a node that share one of its devices are a group, between which a part goes along a lane.
TEST_F(DenseSharedDeviceTest, NodesMayHaveSeveralDevices) {
  int devices = 0;
  expect_ok(device_table()->device_count(&devices));
  if (devices < 2 || size() < 3) GTEST_SKIP() << "SKIP: needs two devices and three ranks";
  const Setting path("LANEWAY_MEMORY_PATH", "dd");
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const int upper = (size() + 1) / 2;
  std::uint64_t seed = 1000;
  // In blocks, dealt, and all but one on one device.
  for (const auto device_of : {+[](int of, int ranks) { return of < (ranks + 1) / 2 ? 0 : 1; },
                               +[](int of, int) { return of % 2; }, +[](int of, int) { return of == 1 ? 1 : 0; }}) {
    std::array<int, 2> shares{};
    int index = 0;  // of this rank in its group
    for (int of = 0; of < size(); ++of) {
      if (of < rank() && device_of(of, size()) == device_of(rank(), size())) ++index;
      ++shares[static_cast<std::size_t>(device_of(of, size()))];
    }
    const int lanes = std::min(shares[0], shares[1]);
    expect_ok(sim_device()->set_device(device_of(rank(), size())));
    const Comm comm = duplicate();  // one node
    for (const Numbers& numbers : {all_numbers[5], all_numbers[0], more_numbers[2], more_numbers[6]})
      for (const MPI_Op op : operators_of(numbers))
        for (const int count : {1000, 5003, 40001}) {
          const std::int64_t begin = std::int64_t{count} * index / lanes;
          const std::int64_t end = std::int64_t{count} * (index + 1) / lanes;
          const auto part = index < lanes ? static_cast<std::uint64_t>((end - begin) * numbers.bytes) : 0;
          const bool in_place = ++seed % 2 == 0;
          const std::uint64_t crossed = expect_reduced(
              {.numbers = numbers, .op = op, .count = count, .in_place = in_place, .comm = comm.get(), .seed = seed});
          if (op == MPI_LXOR || op == MPI_BXOR) {
            EXPECT_GT(crossed, 0u);  // failures would cancel: it is the host's
          } else {
            EXPECT_EQ(crossed, 2 * part) << numbers.bytes << " bytes, count " << count;
          }
        }
    Persistent one({.count = 5003, .comm = comm.get(), .seed = ++seed});
    EXPECT_TRUE(one.is_shared());
    for (std::uint64_t turn = 1; turn <= 3; ++turn) {
      one.fill(turn);
      EXPECT_MPI(LNW_Start(&one.request()));
      EXPECT_MPI(LNW_Wait(&one.request(), MPI_STATUS_IGNORE));
      EXPECT_TRUE(one.is_right());
    }
  }
  {
    // One rank a device: nothing is shared, and the vector goes through the host.
    expect_ok(sim_device()->set_device(rank() % devices));
    MPI_Comm pair = MPI_COMM_NULL;
    EXPECT_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank() / 2, rank(), &pair));
    const Comm comm(pair);
    int ranks = 0;
    MPI_Comm_size(pair, &ranks);
    if (ranks > 1) {
      EXPECT_GT(expect_reduced({.comm = pair, .seed = ++seed}), 0u);
    }
  }
  expect_ok(sim_device()->set_device(rank() < upper ? 0 : 1));
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
