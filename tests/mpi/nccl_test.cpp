// lnw_transport=nccl: messages between devices go by NCCL, for which the tests' stand-in is loaded.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange.hpp"

namespace laneway::test {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr const char* carried = "NCCL carries messages between devices";
const Hints by_nccl = {{"lnw_transport", "nccl"}};

/// A number that the stand-in counts.
int counted(const char* what) {
  static void* const library = dlopen(std::getenv("LANEWAY_NCCL_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<int (*)()>(dlsym(library, what))();
}

std::string info_of(LNW_Request request, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(LNW_Request_get_info(request, &info));
  char value[MPI_MAX_INFO_VAL] = "";
  int is_set = 0;
  MPI_Info_get(info, key, sizeof value - 1, value, &is_set);
  MPI_Info_free(&info);
  return is_set != 0 ? value : "";
}

void complete(LNW_Request& request, bool by_test) {
  if (!by_test) {
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    return;
  }
  for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
}

/// Another value of a variable, for a while.
class Changed {
 public:
  Changed(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Changed() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Changed(const Changed&) = delete;
  Changed& operator=(const Changed&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A persistent alltoall on a ring.
class Ring {
 public:
  static constexpr int bytes = 3000;

  explicit Ring(const Hints& hints = by_nccl, bool on_device = true, MPI_Comm on = MPI_COMM_NULL)
      : comm_(on == MPI_COMM_NULL ? make_graph(MPI_COMM_WORLD, ring_shape(rank(), size())) : Comm()),
        graph_(on == MPI_COMM_NULL ? comm_.get() : on),
        on_device_(on_device) {
    for (void** buffer : {&send_, &receive_}) *buffer = allocate(on_device);
    EXPECT_MPI(LNW_Neighbor_alltoall_init(send_, bytes, MPI_BYTE, receive_, bytes, MPI_BYTE, graph_, Info(hints).get(),
                                          &request));
  }
  ~Ring() {
    EXPECT_MPI(LNW_Request_free(&request));
    for (void* buffer : {send_, receive_}) release(buffer, on_device_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  [[nodiscard]] MPI_Comm graph() const { return graph_; }
  [[nodiscard]] std::string reason() const { return info_of(request, "lnw_transport_reason"); }

  static void* allocate(bool on_device) {
    if (!on_device) return std::malloc(2 * bytes);
    int device = 0;
    void* memory = nullptr;
    EXPECT_EQ(device_table()->current_device(&device), LNW_DEVICE_OK);
    EXPECT_EQ(device_table()->device_malloc(device, 2 * bytes, &memory), LNW_DEVICE_OK);
    return memory;
  }
  static void release(void* memory, bool on_device) {
    if (!on_device) return std::free(memory);
    lnw_device_memory where{};
    EXPECT_EQ(device_table()->memory_at(memory, &where), LNW_DEVICE_OK);
    EXPECT_EQ(device_table()->device_free(where.device, memory), LNW_DEVICE_OK);
  }

  void fill(int turn) const {
    const Bytes data = sent(rank(), turn);
    EXPECT_EQ(sim_device()->copy_now(send_, data.data(), data.size()), LNW_DEVICE_OK);
  }
  void expect_arrived(int turn) const {
    Bytes data(2 * bytes);
    EXPECT_EQ(sim_device()->copy_now(data.data(), receive_, data.size()), LNW_DEVICE_OK);
    const Bytes left = sent((rank() + size() - 1) % size(), turn);
    const Bytes right = sent((rank() + 1) % size(), turn);
    Bytes expected(left.begin(), left.begin() + bytes);
    expected.insert(expected.end(), right.begin() + bytes, right.end());
    EXPECT_EQ(data, size() > 2 ? expected : right) << turn;  // edges to one rank match in order
  }
  void expect_exchange(int turn) {
    fill(turn);
    EXPECT_MPI(LNW_Start(&request));
    complete(request, turn % 2 == 1);
    expect_arrived(turn);
  }
  /// On all ranks the same, and the exchange goes another way.
  void expect_refusal(const std::string& part) {
    const std::string why = reason();
    EXPECT_NE(why.find(part), std::string::npos) << why;
    unsigned long long mine = std::hash<std::string>()(why), least = 0, most = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(least, most) << why;
    const int before = counted("stand_in_messages");
    for (int turn = 0; turn < 3; ++turn) expect_exchange(turn);
    EXPECT_EQ(counted("stand_in_messages"), before);
  }

  LNW_Request request = LNW_REQUEST_NULL;

 private:
  static Bytes sent(int from, int turn) {
    Bytes data(2 * bytes);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<unsigned char>(static_cast<std::size_t>(from * 37 + turn * 11) + i % 101);
    return data;
  }

  Comm comm_;
  MPI_Comm graph_;
  bool on_device_;
  void* send_ = nullptr;
  void* receive_ = nullptr;
};

class NcclTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (std::getenv("LANEWAY_NCCL_LIBRARY") == nullptr) GTEST_SKIP() << "SKIP: there is no library for the sim device";
    EXPECT_EQ(sim_device()->set_device(rank()), LNW_DEVICE_OK);
  }
};

/// Uneven sizes, none, edges to oneself and that occur twice, ranks without any, derived datatypes.
TEST_F(NcclTest, OperationsGoFromDeviceToDevice) {
  for (int n = 0; n < effort(5); ++n) {
    const auto seed = static_cast<std::uint64_t>(n) + 1;
    const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size()));
    for (const Op op : all_ops)
      for (const bool typed : {false, true}) {
        Exchange exchange(op, graph.get(), mix({seed, static_cast<std::uint64_t>(op), typed}), typed);
        LNW_Request request = LNW_REQUEST_NULL;
        EXPECT_MPI(exchange.init(Info(by_nccl).get(), &request));
        EXPECT_EQ(info_of(request, "lnw_transport_reason"), "");
        EXPECT_EQ(info_of(request, "lnw_memory_path_reason"), carried);
        EXPECT_EQ(info_of(request, "lnw_strategy"), "direct");
        for (int turn = 0; turn < 6; ++turn) {
          exchange.fill(turn);
          exchange.reference();
          EXPECT_MPI(LNW_Start(&request));
          complete(request, turn % 2 == 1);
          EXPECT_TRUE(exchange.arrived()) << n << ' ' << name(op) << ' ' << turn;
        }
        EXPECT_MPI(LNW_Request_free(&request));
      }
  }
}

TEST_F(NcclTest, EachMessageIsNccls) {
  Ring ring;
  EXPECT_EQ(ring.reason(), "");
  for (int turn = 0; turn < 50; ++turn) {
    const int before = counted("stand_in_messages");
    ring.expect_exchange(turn);
    EXPECT_EQ(counted("stand_in_messages") - before, size() > 1 ? 4 : 0);
  }
}

/// What is packed first is ready last, and yet goes in the order in which the exchanges begin.
TEST_F(NcclTest, RequestsGoInTheOrderInWhichTheyStart) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  Exchange typed(Op::alltoallw, graph.get(), 3, true), plain(Op::alltoallv, graph.get(), 4, false);
  LNW_Request first = LNW_REQUEST_NULL, second = LNW_REQUEST_NULL;
  EXPECT_MPI(typed.init(Info(by_nccl).get(), &first));
  EXPECT_MPI(plain.init(Info(by_nccl).get(), &second));
  for (int turn = 0; turn < effort(30); ++turn) {
    for (Exchange* one : {&typed, &plain}) {
      one->fill(turn);
      one->reference();
    }
    EXPECT_MPI(LNW_Start(turn % 2 == 0 ? &first : &second));
    EXPECT_MPI(LNW_Start(turn % 2 == 0 ? &second : &first));
    complete((turn + rank()) % 3 == 0 ? first : second, turn % 5 == 0);
    complete((turn + rank()) % 3 == 0 ? second : first, false);
    EXPECT_TRUE(typed.arrived()) << turn;
    EXPECT_TRUE(plain.arrived()) << turn;
  }
  EXPECT_MPI(LNW_Request_free(&first));
  EXPECT_MPI(LNW_Request_free(&second));
}

/// To make a request while another is under way on some ranks mixes up nothing.
TEST_F(NcclTest, RequestsAreMadeWhileOthersAreActive) {
  Ring ring;
  ring.fill(1);
  if (rank() % 2 == 0) EXPECT_MPI(LNW_Start(&ring.request));
  Ring other(by_nccl, true, ring.graph());
  EXPECT_EQ(other.reason(), "");
  if (rank() % 2 == 1) EXPECT_MPI(LNW_Start(&ring.request));
  complete(ring.request, false);
  ring.expect_arrived(1);
  other.expect_exchange(2);
}

TEST_F(NcclTest, StreamsOrderWhatComesBeforeAndAfter) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const std::size_t bytes = 5000;
  const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_alltoall_init(send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE, graph.get(),
                                        Info(by_nccl).get(), &request));
  EXPECT_MPI(LNW_Request_set_stream(request, device_stream()));
  std::vector<Bytes> results(6, Bytes(2 * bytes));
  std::vector<Bytes> data(results);
  for (std::size_t turn = 0; turn < data.size(); ++turn) {
    std::ranges::fill(data[turn], static_cast<unsigned char>(10 * turn + 1));
    send.write_in_stream(data[turn]);
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    receive.read_in_stream(results[turn]);
  }
  synchronize_stream();
  EXPECT_EQ(results, data);
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(NcclTest, TwoRanksOnADevice) {
  if (size() == 1) GTEST_SKIP() << "SKIP: there is one rank";
  if (rank() == size() - 1) {
    EXPECT_EQ(sim_device()->set_device(0), LNW_DEVICE_OK);
  }
  Ring().expect_refusal("rank 0 and rank " + std::to_string(size() - 1) + " have the same device");
}

TEST_F(NcclTest, ARankWithoutALibrary) {
  const std::string last = std::to_string(size() - 1);
  std::optional<Changed> changed;
  if (rank() == size() - 1) changed.emplace("LANEWAY_NCCL_LIBRARY", "/nowhere/libnccl.so.2");
  Ring ring;
  changed.reset();
  ring.expect_refusal("rank " + last + ": /nowhere/libnccl.so.2");
}

TEST_F(NcclTest, ARankWithABufferOfTheHost) {
  Ring(by_nccl, rank() > 0).expect_refusal("rank 0: its buffers are not in memory of a device");
}

TEST_F(NcclTest, ARankWhoseThreadHasChosenAnotherDevice) {
  int count = 0;
  EXPECT_EQ(device_table()->device_count(&count), LNW_DEVICE_OK);
  Ring before(Hints{});
  EXPECT_EQ(sim_device()->set_device((rank() + 1) % count), LNW_DEVICE_OK);
  // The buffers are on the device that was chosen when they were allocated.
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  void* const memory = Ring::allocate(true);
  EXPECT_EQ(sim_device()->set_device(rank()), LNW_DEVICE_OK);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_allgather_init(memory, 100, MPI_BYTE, static_cast<char*>(memory) + 200, 100, MPI_BYTE,
                                         graph.get(), Info(by_nccl).get(), &request));
  const std::string why = info_of(request, "lnw_transport_reason");
  EXPECT_NE(why.find("rank 0: its thread has chosen device 0, and the buffers are on device 1"), std::string::npos)
      << why;
  EXPECT_MPI(LNW_Request_free(&request));
  Ring::release(memory, true);
}

TEST_F(NcclTest, PlansThatPassMessagesOn) {
  Hints hints = by_nccl;
  hints.emplace_back("lnw_strategy", "two_step");
  Ring(hints).expect_refusal("passes messages on");
}

TEST_F(NcclTest, WhatNcclRefuses) {
  for (const char* const call : {"ncclCommInitRank", "ncclGroupEnd"}) {
    if (size() == 1 && call == std::string("ncclGroupEnd")) continue;  // nothing is sent
    std::optional<Changed> changed;
    changed.emplace("LANEWAY_TEST_NCCL_FAILS", call);
    Ring ring;
    changed.reset();
    ring.expect_refusal(std::string(call) + ": ");
  }
}

TEST_F(NcclTest, LaterBuffersMustBeOnTheDevice) {
  Ring ring;
  Bytes host(2 * Ring::bytes);
  if (size() > 1) {
    const Handler handler(ring.graph(), MPI_ERRORS_RETURN);
    const int code = LNW_Request_set_buffers(ring.request, host.data(), host.data());
    EXPECT_NE(code, MPI_SUCCESS);
    if (!is_mpich()) {
      EXPECT_NE(error_text(code).find("lnw_transport=nccl"), std::string::npos) << error_text(code);
    }
  }
  ring.expect_exchange(1);
}

/// Also that of its peers; what is made later goes another way.
TEST_F(NcclTest, AnErrorOfNcclEndsTheExchange) {
  if (size() == 1) GTEST_SKIP() << "SKIP: nothing is sent";
  Ring ring;
  ring.expect_exchange(1);
  MPI_Barrier(MPI_COMM_WORLD);  // it ends what peers have under way, too
  std::string text;
  {
    const Handler handler(ring.graph(), MPI_ERRORS_RETURN);
    std::optional<Changed> changed;
    if (rank() == 0) changed.emplace("LANEWAY_TEST_NCCL_FAILS", "ncclSend");
    int code = LNW_Start(&ring.request);
    if (code == MPI_SUCCESS) code = LNW_Wait(&ring.request, MPI_STATUS_IGNORE);
    const bool is_peer = rank() <= 1 || rank() == size() - 1;
    if (is_peer) {
      EXPECT_NE(code, MPI_SUCCESS);
    }
    if (code != MPI_SUCCESS) text = error_text(code);
  }
  if (!is_mpich() && !text.empty()) {
    EXPECT_NE(text.find(rank() == 0 ? "ncclSend: invalid usage" : "remote process exited"), std::string::npos) << text;
  }
  Ring(by_nccl, true, ring.graph()).expect_refusal("rank 0: the communicator of NCCL has ended");
}

/// Not before all its ranks have, and no later than the next communicator is made.
TEST_F(NcclTest, CommunicatorsEndWithLaneways) {
  { Ring ring; }
  for (int turn = 0; turn < 200 && counted("stand_in_communicators") > 0; ++turn) {
    const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
    Ring other(Hints{}, true, graph.get());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_EQ(counted("stand_in_communicators"), 0);
}

/// What the program leaves ends in MPI_Finalize: the stand-in says at its end what does not, which fails the launch.
TEST_F(NcclTest, WhatIsLeftEndsWithMpi) {
  static LNW_Request request = LNW_REQUEST_NULL;
  const int bytes = Ring::bytes;
  void* const send = Ring::allocate(true);
  void* const receive = Ring::allocate(true);
  MPI_Comm graph = MPI_COMM_NULL;
  const Shape ring = ring_shape(rank(), size());
  EXPECT_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, ring.sources.data(), MPI_UNWEIGHTED, 2,
                                            ring.destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  EXPECT_MPI(LNW_Neighbor_alltoall_init(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, graph, Info(by_nccl).get(),
                                        &request));
  EXPECT_MPI(LNW_Start(&request));
  complete(request, false);
  EXPECT_EQ(counted("stand_in_communicators"), 1);
}

}  // namespace
}  // namespace laneway::test
