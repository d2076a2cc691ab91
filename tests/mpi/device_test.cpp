// Buffers on devices beyond what exchange_test does with them: how the host's memory is used, streams, and mistakes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <laneway/laneway.hpp>

#include "device_memory.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

using Bytes = std::vector<unsigned char>;

void expect_error(int code, std::initializer_list<const char*> parts) {
  EXPECT_NE(code, MPI_SUCCESS);
  if (is_mpich()) return;
  for (const char* part : parts) EXPECT_NE(error_text(code).find(part), std::string::npos) << error_text(code);
}

/// The sim device's memory can be given to any MPI library if the host may touch it.
bool mpi_takes_addresses() {
  const char* const answer = std::getenv("LANEWAY_DEVICE_AWARE_MPI");
  return host_may_touch_devices() && (answer == nullptr || answer != std::string("0"));
}

class DeviceTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (!uses_devices()) GTEST_SKIP() << "SKIP: no device plugin is loaded";
    ring_ = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  }

  static constexpr int bytes = 3000;

  /// What rank `from` sends in an exchange, one block for each neighbour.
  static Bytes sent(int from, int exchange) {
    Bytes data(2 * bytes);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<unsigned char>(static_cast<std::size_t>(from) * 37 +
                                           static_cast<std::size_t>(exchange) * 11 + i % 101);
    return data;
  }
  /// What is received then: the left neighbour's first block, and the right neighbour's second.
  static Bytes received(int exchange) {
    const Bytes left = sent((rank() + size() - 1) % size(), exchange);
    const Bytes right = sent((rank() + 1) % size(), exchange);
    Bytes data(left.begin(), left.begin() + bytes);
    data.insert(data.end(), right.begin() + bytes, right.end());
    if (size() <= 2) data = sent((rank() + 1) % size(), exchange);  // edges to one rank match in order
    return data;
  }

  LNW_Request make(const void* send, void* receive, const Hints& hints = {}) {
    LNW_Request request = LNW_REQUEST_NULL;
    const Info info(hints);
    EXPECT_MPI(
        LNW_Neighbor_alltoall_init(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, ring_.get(), info.get(), &request));
    return request;
  }

  static void run(LNW_Request& request) {
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  }
  /// Runs one exchange of what is put into `send` before.
  static void expect_exchange(LNW_Request& request, const Mirror& send, const Mirror& receive, int exchange) {
    send.write(sent(rank(), exchange));
    run(request);
    Bytes result(2 * bytes);
    receive.read(result);
    EXPECT_EQ(result, received(exchange));
  }

  void exchange_in_stream(const char* path);

  Comm ring_;
};

TEST_F(DeviceTest, EveryKindOfMemoryInTurn) {
  Bytes host_send(2 * bytes), host_receive(2 * bytes);
  std::vector<Mirror> mirrors;
  for (Mirror::Kind kind : {Mirror::Kind::device, Mirror::Kind::managed, Mirror::Kind::pinned})
    mirrors.emplace_back(kind, host_send.size());
  std::vector<Mirror> targets;
  for (Mirror::Kind kind : {Mirror::Kind::device, Mirror::Kind::managed, Mirror::Kind::pinned})
    targets.emplace_back(kind, host_send.size());
  LNW_Request request = make(mirrors[static_cast<std::size_t>(rank() % 3)].data(), host_receive.data());
  int exchange = 0;
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to) {
      const std::size_t mine = (from + static_cast<std::size_t>(rank())) % 4;
      host_send = sent(rank(), ++exchange);
      if (mine < 3) mirrors[mine].write(host_send);
      EXPECT_MPI(LNW_Request_set_buffers(request, mine < 3 ? mirrors[mine].data() : host_send.data(),
                                         to < 3 ? targets[to].data() : host_receive.data()));
      run(request);
      if (to < 3) targets[to].read(host_receive);
      EXPECT_EQ(host_receive, received(exchange)) << mine << " " << to;
    }
  EXPECT_MPI(LNW_Request_free(&request));
}

/// Blocking dense calls bring what is on devices through the host; the second and later ones use memory of the node.
TEST_F(DeviceTest, DenseCallsTakeBuffersOfAnyKind) {
  setenv("LANEWAY_COLLECTIVE", "allgather:bruck,bcast:binomial,allreduce:recursive_doubling", 1);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const Comm comm(copy);
  const auto all = static_cast<std::size_t>(size()) * bytes;
  const Mirror::Kind kinds[] = {Mirror::Kind::device, Mirror::Kind::managed, Mirror::Kind::pinned};
  for (int n = 0; n < 4; ++n) {
    const Mirror mine(kinds[(rank() + n) % 3], bytes);
    const Mirror theirs(kinds[(rank() + n + 1) % 3], all);
    Bytes expected(all), result(all), first(bytes);
    for (int from = 0; from < size(); ++from)
      std::memcpy(expected.data() + static_cast<std::size_t>(from) * bytes, sent(from, n).data(), bytes);
    mine.write(Bytes(expected.begin() + static_cast<std::ptrdiff_t>(rank()) * bytes,
                     expected.begin() + static_cast<std::ptrdiff_t>(rank() + 1) * bytes));
    theirs.write(result);
    EXPECT_MPI(LNW_Allgather(mine.data(), bytes, MPI_BYTE, theirs.data(), bytes, MPI_BYTE, comm.get()));
    theirs.read(result);
    EXPECT_EQ(result, expected) << n;
    EXPECT_MPI(LNW_Bcast(mine.data(), bytes, MPI_BYTE, size() - 1, comm.get()));
    mine.read(first);
    EXPECT_EQ(first, Bytes(expected.end() - bytes, expected.end())) << n;
    EXPECT_MPI(LNW_Allreduce(MPI_IN_PLACE, mine.data(), bytes, MPI_UNSIGNED_CHAR, MPI_BXOR, comm.get()));
    mine.read(first);
    EXPECT_EQ(first, size() % 2 == 1 ? Bytes(expected.end() - bytes, expected.end()) : Bytes(bytes)) << n;
  }
  unsetenv("LANEWAY_COLLECTIVE");
}

/// Work before an exchange and after it is in a stream only; the host waits for nothing but the exchange.
TEST_F(DeviceTest, StreamsOrderWhatComesBeforeAndAfter) {
  for (const char* const path : {"auto", "dd"}) exchange_in_stream(path);
}

void DeviceTest::exchange_in_stream(const char* path) {
  const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
  LNW_Request request = make(send.data(), receive.data(), {{"lnw_memory_path", path}});
  EXPECT_MPI(LNW_Request_set_stream(request, device_stream()));
  std::vector<Bytes> data;
  for (int exchange = 0; exchange < 6; ++exchange) data.push_back(sent(rank(), exchange));
  std::vector<Bytes> results(data.size(), Bytes(2 * bytes));
  const Bytes nothing(2 * bytes, 0xee);
  for (std::size_t exchange = 0; exchange < data.size(); ++exchange) {
    send.write_in_stream(data[exchange]);
    receive.write_in_stream(nothing);  // must not come after what is received
    run(request);
    receive.read_in_stream(results[exchange]);
  }
  synchronize_stream();
  for (std::size_t exchange = 0; exchange < data.size(); ++exchange)
    EXPECT_EQ(results[exchange], received(static_cast<int>(exchange))) << exchange;
  EXPECT_MPI(LNW_Request_set_stream(request, LNW_STREAM_NONE));
  expect_exchange(request, send, receive, 2);
  EXPECT_MPI(LNW_Request_free(&request));
}

/// Blocks without elements may be anywhere: nothing looks at what is there.
TEST_F(DeviceTest, EmptyBlocksMayLieOutsideTheBuffers) {
  const Mirror send(Mirror::Kind::device, bytes), receive(Mirror::Kind::device, bytes);
  constexpr int far = 1 << 30;
  const int counts[] = {0, bytes}, displacements[] = {-far, 0};
  const auto data = [](int from) {
    const Bytes all = sent(from, 1);
    return Bytes(all.begin() + bytes, all.end());
  };
  send.write(data(rank()));
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_alltoallv_init(send.data(), counts, displacements, MPI_BYTE, receive.data(), counts,
                                         displacements, MPI_BYTE, ring_.get(), MPI_INFO_NULL, &request));
  run(request);
  Bytes result(bytes);
  receive.read(result);
  EXPECT_EQ(result, data((rank() + 1) % size()));
  EXPECT_MPI(LNW_Request_free(&request));
}

/// Of a datatype only what it names is looked at, wherever it counts from.
TEST_F(DeviceTest, DatatypesMayBeginFarFromWhereTheyCountFrom) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto map = [&] { return mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); };
  unsigned char* const sides[] = {static_cast<unsigned char*>(map()), static_cast<unsigned char*>(map())};
  for (unsigned char* side : sides) ASSERT_EQ(mprotect(side + page, page, PROT_READ | PROT_WRITE), 0);
  // Each second int behind the page that nobody may read.
  constexpr int ints = 5;
  MPI_Datatype apart = MPI_DATATYPE_NULL, shifted = MPI_DATATYPE_NULL;
  MPI_Type_vector(ints, 1, 2, MPI_INT, &apart);
  const int one = 1;
  const auto shift = static_cast<MPI_Aint>(page);
  MPI_Type_create_hindexed(1, &one, &shift, apart, &shifted);
  MPI_Type_commit(&shifted);
  const auto place = [&](int side, int i) -> unsigned char& {
    return sides[side][page + 8 * static_cast<std::size_t>(i)];
  };
  for (int i = 0; i < ints; ++i) place(0, i) = static_cast<unsigned char>(10 * rank() + i);
  const int counts[] = {1, 0}, displacements[] = {0, 0};
  EXPECT_MPI(LNW_Neighbor_alltoallv(sides[0], counts, displacements, shifted, sides[1], counts, displacements, shifted,
                                    ring_.get()));
  for (int i = 0; i < ints; ++i) EXPECT_EQ(place(1, i), 10 * ((rank() + size() - 1) % size()) + i);
  for (unsigned char* side : sides) munmap(side, 2 * page);
  MPI_Type_free(&apart);
  MPI_Type_free(&shifted);
}

TEST_F(DeviceTest, AStreamMayBeAHint) {
  const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
  char address[32];
  std::snprintf(address, sizeof address, "%p", device_stream());
  LNW_Request request = make(send.data(), receive.data(), {{"lnw_stream", address}});
  const Bytes data = sent(rank(), 7);
  Bytes result(2 * bytes);
  send.write_in_stream(data);
  run(request);
  receive.read_in_stream(result);
  synchronize_stream();
  EXPECT_EQ(result, received(7));
  EXPECT_MPI(LNW_Request_free(&request));
}

/// Host buffers, which the stream fills and reads: the host waits for it.
TEST_F(DeviceTest, AStreamOrdersBuffersOfTheHost) {
  const Mirror send(Mirror::Kind::pinned, 2 * bytes), receive(Mirror::Kind::pinned, 2 * bytes);
  LNW_Request request = make(send.data(), receive.data());
  EXPECT_MPI(LNW_Request_set_stream(request, device_stream()));
  const Bytes data = sent(rank(), 3);
  Bytes result(2 * bytes);
  send.write_in_stream(data);
  run(request);
  receive.read(result);
  EXPECT_EQ(result, received(3));
  EXPECT_MPI(LNW_Request_free(&request));
}

/// An allgather to both neighbours needs each byte from the device once.
TEST_F(DeviceTest, EachByteLeavesTheDeviceOnce) {
  const Mirror send(Mirror::Kind::device, bytes), receive(Mirror::Kind::device, 2 * bytes);
  LNW_Request request = LNW_REQUEST_NULL;
  const Info info({{"lnw_memory_path", "staged"}, {"lnw_transport", "p2p"}, {"lnw_strategy", "direct"}});
  EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE, ring_.get(),
                                         info.get(), &request));
  LNW_Request_statistics statistics;
  EXPECT_MPI(LNW_Request_get_statistics(request, &statistics));
  if (size() > 1) {
    EXPECT_NE(plan_text(request).find("shadow"), std::string::npos);
    EXPECT_EQ(statistics.bytes, 2 * bytes);
    EXPECT_EQ(statistics.copied_bytes, 3 * bytes);  // once from the device, twice to it
  }
  EXPECT_MPI(LNW_Request_free(&request));
}

std::string value(MPI_Info info, const std::string& key) {
  std::vector<char> text(MPI_MAX_INFO_VAL + 1);
  int found = 0;
  EXPECT_MPI(MPI_Info_get(info, key.c_str(), MPI_MAX_INFO_VAL, text.data(), &found));
  return found != 0 ? text.data() : "";
}

std::string why(LNW_Request request, const std::string& key) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(LNW_Request_get_info(request, &info));
  std::string text = value(info, key);
  MPI_Info_free(&info);
  return text;
}

/// Freed and allocated again, a buffer may have the same address; who has opened the old one must not take from it.
TEST_F(DeviceTest, LentMemoryMayBeFreedAndAllocatedAgain) {
  const Mirror receive(Mirror::Kind::device, 2 * bytes);
  Mirror send(Mirror::Kind::device, 2 * bytes);
  LNW_Request request = make(send.data(), receive.data(), {{"lnw_memory_path", "dd"}});
  if (size() > 1) {
    EXPECT_NE(plan_text(request).find("\"lent\""), std::string::npos);
  }
  for (int exchange = 0; exchange < 5; ++exchange) {
    expect_exchange(request, send, receive, exchange);
    send = Mirror();
    send = Mirror(Mirror::Kind::device, 2 * bytes);
    EXPECT_MPI(LNW_Request_set_buffers(request, send.data(), receive.data()));
  }
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(DeviceTest, SpansInCxxMayBeOnDevices) {
  const Mirror send(Mirror::Kind::device, bytes), receive(Mirror::Kind::device, 2 * bytes);
  Bytes mine = sent(rank(), 1), result(2 * bytes);
  mine.resize(bytes);
  send.write(mine);
  Persistent exchange = neighbor_allgather_init<unsigned char>(
      ring_.get(), std::span<const unsigned char>(send.data(), bytes), std::span(receive.data(), 2 * bytes));
  exchange.start();
  exchange.wait();
  receive.read(result);
  for (int side = 0; side < 2; ++side) {
    Bytes expected = sent((rank() + (side == 0 ? size() - 1 : 1)) % size(), 1);
    expected.resize(bytes);
    EXPECT_EQ(Bytes(result.begin() + side * bytes, result.begin() + (side + 1) * bytes), expected);
  }

  // A halo of one array: 100 elements for the rank on the right, 100 ghosts from the left.
  const auto right = (rank() + 1) % size();
  const auto left = (rank() + size() - 1) % size();
  std::vector<MPI_Count> owned(100), ghosts(100);
  for (std::int64_t i = 0; i < 100; ++i) {
    owned[static_cast<std::size_t>(i)] = i;
    ghosts[static_cast<std::size_t>(i)] = 100 + i;
  }
  Halo<double> halo(MPI_COMM_WORLD, {{right}, {100}, owned}, {{left}, {100}, ghosts}, 200);
  const Mirror array(Mirror::Kind::device, 200 * sizeof(double));
  Bytes values(200 * sizeof(double));
  for (std::size_t i = 0; i < 200; ++i) {
    const double value = i < 100 ? 1000.0 * rank() + static_cast<double>(i) : -1;
    std::memcpy(values.data() + i * sizeof value, &value, sizeof value);
  }
  array.write(values);
  halo.exchange(std::span(reinterpret_cast<double*>(array.data()), 200));
  array.read(values);
  for (std::size_t i = 0; i < 100; ++i) {
    double value = 0;
    std::memcpy(&value, values.data() + (100 + i) * sizeof value, sizeof value);
    EXPECT_EQ(value, 1000.0 * left + static_cast<double>(i));
  }
}

/// An array of numbers on a device.
class DeviceNumbers {
 public:
  explicit DeviceNumbers(const std::vector<double>& values, Mirror::Kind kind = Mirror::Kind::device)
      : mirror_(kind, std::max<std::size_t>(1, values.size()) * sizeof(double)), size_(values.size()) {
    write(values);
  }
  void write(const std::vector<double>& values) {
    Bytes bytes(std::max<std::size_t>(1, values.size()) * sizeof(double));
    std::memcpy(bytes.data(), values.data(), values.size() * sizeof(double));
    mirror_.write(bytes);
  }
  [[nodiscard]] std::vector<double> read() const {
    Bytes bytes(std::max<std::size_t>(1, size_) * sizeof(double));
    mirror_.read(bytes);
    std::vector<double> values(size_);
    std::memcpy(values.data(), bytes.data(), size_ * sizeof(double));
    return values;
  }
  [[nodiscard]] std::span<double> span() const { return {reinterpret_cast<double*>(mirror_.data()), size_}; }

 private:
  Mirror mirror_;
  std::size_t size_;
};

/// Element i of rank r is 1000 r + i; to the right go the even ones, nowhere every fifth, the others stay.
TEST_F(DeviceTest, DistributorsMoveElementsOnDevices) {
  constexpr int elements = 40;
  const auto owner_of = [](int of, int i) { return i % 5 == 0 ? -1 : i % 2 == 0 ? (of + 1) % size() : of; };
  std::vector<int> owners;
  std::vector<double> values, expected, back(elements, 1);
  for (int i = 0; i < elements; ++i) {
    owners.push_back(owner_of(rank(), i));
    values.push_back(1000.0 * rank() + i);
    if (owners.back() >= 0) back[static_cast<std::size_t>(i)] += values.back();
  }
  for (int source = 0; source < size(); ++source)
    for (int i = 0; i < elements; ++i)
      if (owner_of(source, i) == rank()) expected.push_back(1000.0 * source + i);
  laneway::Distributor<double> distributor(MPI_COMM_WORLD, owners);
  ASSERT_EQ(distributor.imports(), expected.size());
  // Without a plan, with one, and with one on other arrays, of which one is the host's.
  for (int exchange = 0; exchange < 3; ++exchange) {
    const DeviceNumbers source(values), arrived(std::vector<double>(expected.size(), -1));
    distributor.distribute(source.span(), arrived.span());
    EXPECT_EQ(arrived.read(), expected) << exchange;
  }
  std::vector<double> on_host(expected.size(), -1);
  distributor.distribute(DeviceNumbers(values).span(), on_host);
  EXPECT_EQ(on_host, expected);
  const DeviceNumbers sums(std::vector<double>(elements, 1)), arrived(expected);
  distributor.reverse(arrived.span(), sums.span());
  EXPECT_EQ(sums.read(), back);
}

/// Each rank wants the first elements of all ranks, its own last.
TEST_F(DeviceTest, CollectorsFetchElementsOnDevices) {
  std::vector<int> owners;
  std::vector<MPI_Count> ids;
  std::vector<double> expected, sums(3, 0);
  for (int other = size() - 1; other >= 0; --other)
    for (int i = 0; i < 2; ++i) {
      owners.push_back(other);
      ids.push_back(1 - i);
      expected.push_back(10.0 * other + 1 - i);
    }
  for (std::size_t i = 0; i < 2; ++i) sums[i] = size();
  laneway::Collector<double> collector(MPI_COMM_WORLD, 3, owners, ids);
  const DeviceNumbers owned({10.0 * rank(), 10.0 * rank() + 1, 10.0 * rank() + 2});
  for (int exchange = 0; exchange < 3; ++exchange) {
    const DeviceNumbers imports(std::vector<double>(expected.size(), -1));
    collector.collect(owned.span(), imports.span());
    EXPECT_EQ(imports.read(), expected) << exchange;
  }
  const DeviceNumbers ones(std::vector<double>(expected.size(), 1)), found(std::vector<double>(3, 0));
  collector.reverse(ones.span(), found.span());
  EXPECT_EQ(found.read(), sums);
}

/// Two fields on a ring of numbers, one array each, and back.
TEST_F(DeviceTest, HalosOfTheCInterfaceOnDevices) {
  const MPI_Count first = 2 * rank(), all = 2 * size();
  const std::array<MPI_Count, 2> ghosts = {(first + all - 1) % all, (first + 2) % all};
  LNW_Halo halo = LNW_HALO_NULL;
  EXPECT_MPI(LNW_Halo_create(MPI_COMM_WORLD, first, 2, 2, ghosts.data(), MPI_INFO_NULL, &halo));
  const auto field = [&](double scale, bool filled) {
    std::vector<double> values;
    for (const MPI_Count number : {first, first + 1, ghosts[0], ghosts[1]})
      values.push_back(values.size() < 2 || filled ? scale * static_cast<double>(number) : -1);
    return values;
  };
  // Both in one allocation, which their addresses are counted in.
  std::vector<double> both = field(1, false);
  const std::vector<double> second = field(3, false);
  both.insert(both.end(), second.begin(), second.end());
  const DeviceNumbers array(both);
  const std::array<void*, 2> arrays = {array.span().data(), array.span().data() + 4};
  const std::array<MPI_Datatype, 2> types = {MPI_DOUBLE, MPI_DOUBLE};
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Halo_init_fields(halo, 2, arrays.data(), types.data(), MPI_INFO_NULL, &request));
  run(request);
  EXPECT_MPI(LNW_Request_free(&request));
  std::vector<double> expected = field(1, true);
  const std::vector<double> second_expected = field(3, true);
  expected.insert(expected.end(), second_expected.begin(), second_expected.end());
  EXPECT_EQ(array.read(), expected);
  EXPECT_MPI(LNW_Halo_reverse_init(halo, array.span().data(), MPI_DOUBLE, MPI_SUM, MPI_INFO_NULL, &request));
  run(request);
  EXPECT_MPI(LNW_Request_free(&request));
  expected[0] *= 2;  // each element has one copy
  expected[1] *= 2;
  EXPECT_EQ(array.read(), expected);
  EXPECT_MPI(LNW_Halo_free(&halo));
}

/// Several fields, each in an allocation of its own, and one of them in another kind of memory on each rank.
TEST_F(DeviceTest, SeveralFieldsOfHalosOnDevices) {
  const MPI_Count first = 2 * rank(), all = 2 * size();
  const std::array<MPI_Count, 2> ghosts = {(first + all - 1) % all, (first + 2) % all};
  laneway::Halo<double> halo = laneway::Halo<double>::from_ghosts(MPI_COMM_WORLD, first, 2, ghosts);
  const auto field = [&](double scale, bool filled) {
    std::vector<double> values;
    for (const MPI_Count number : {first, first + 1, ghosts[0], ghosts[1]})
      values.push_back(values.size() < 2 || filled ? scale * static_cast<double>(number) : -1);
    return values;
  };
  const Mirror::Kind kinds[] = {Mirror::Kind::device, Mirror::Kind::managed, Mirror::Kind::pinned};
  for (int again = 0; again < 3; ++again) {
    const DeviceNumbers x(field(1, false)), y(field(3, false), kinds[(rank() + again) % 3]);
    std::vector<double> z = field(5, false);
    halo.exchange(x.span(), y.span(), std::span(z));
    EXPECT_EQ(x.read(), field(1, true)) << again;
    EXPECT_EQ(y.read(), field(3, true)) << again;
    EXPECT_EQ(z, field(5, true)) << again;
    halo.accumulate(x.span(), y.span(), std::span(z));
    const auto doubled = [&](double scale) {
      std::vector<double> values = field(scale, true);
      values[0] *= 2;  // each element has one copy
      values[1] *= 2;
      return values;
    };
    EXPECT_EQ(x.read(), doubled(1)) << again;
    EXPECT_EQ(y.read(), doubled(3)) << again;
    EXPECT_EQ(z, doubled(5)) << again;
  }
}

/// Where the host may touch the device's memory, so may the MPI library, and nothing is copied. Where it may not, the
/// library is not even asked to try.
TEST_F(DeviceTest, AddressesOnDevicesReachMpiOnlyIfItTakesThem) {
  const char* const answer = std::getenv("LANEWAY_DEVICE_AWARE_MPI");
  const std::string told = answer == nullptr ? "" : answer;
  const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
  LNW_Request request = make(send.data(), receive.data(), {{"lnw_memory_path", "device"}, {"lnw_strategy", "direct"}});
  LNW_Request_statistics statistics;
  EXPECT_MPI(LNW_Request_get_statistics(request, &statistics));
  const bool takes = mpi_takes_addresses();
  const std::string reason = why(request, "lnw_memory_path_reason");
  EXPECT_EQ(why(request, "lnw_memory_path"), takes ? "device" : "staged") << reason;
  if (!told.empty()) {
    EXPECT_NE(reason.find("LANEWAY_DEVICE_AWARE_MPI=" + told), std::string::npos) << reason;
  }
  if (size() > 1) {
    EXPECT_EQ(statistics.copied_bytes, takes ? 0 : 4 * bytes);
  }
  expect_exchange(request, send, receive, 1);
  Bytes host_send = sent(rank(), 2), host_receive(2 * bytes);
  EXPECT_MPI(LNW_Request_set_buffers(request, host_send.data(), receive.data()));
  run(request);
  receive.read(host_receive);
  EXPECT_EQ(host_receive, received(2));
  EXPECT_MPI(LNW_Request_set_buffers(request, send.data(), host_receive.data()));
  send.write(sent(rank(), 3));
  run(request);
  EXPECT_EQ(host_receive, received(3));
  EXPECT_MPI(LNW_Request_free(&request));
}

/// Under lnw_fixed_counts, too: then nothing of an exchange goes through the host.
TEST_F(DeviceTest, FixedOperationsGiveMpiAddressesOnDevices) {
  const Info info({{"lnw_fixed_counts", "true"}, {"lnw_memory_path", "device"}, {"lnw_strategy", "direct"}});
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), info.get());
  const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
  Bytes host_send(2 * bytes), host_receive(2 * bytes);
  const int counts[] = {bytes, bytes};
  const int displacements[] = {0, bytes};
  for (int exchange = 0; exchange < 6; ++exchange) {
    const bool from_host = exchange == 3;
    const bool to_host = exchange == 4;
    host_send = sent(rank(), exchange);
    send.write(host_send);
    const std::uint64_t before = moves_through_host();
    EXPECT_MPI(LNW_Neighbor_alltoallv(from_host ? host_send.data() : send.data(), counts, displacements, MPI_BYTE,
                                      to_host ? host_receive.data() : receive.data(), counts, displacements, MPI_BYTE,
                                      ring.get()));
    const bool went_through_host = moves_through_host() > before;
    if (counts_moves() && exchange > 0 && size() > 1 && !from_host && !to_host) {
      EXPECT_EQ(went_through_host, !mpi_takes_addresses()) << "exchange " << exchange;
    }
    if (!to_host) receive.read(host_receive);
    EXPECT_EQ(host_receive, received(exchange)) << "exchange " << exchange;
  }
}

/// Whose buffers are all in the host's memory keeps what that offers, whatever the hint.
TEST_F(DeviceTest, OnlyBuffersOnDevicesLeaveTheMemoryOfTheNode) {
  const Mirror send(Mirror::Kind::pinned, 2 * bytes), receive(Mirror::Kind::managed, 2 * bytes);
  LNW_Request request = make(send.data(), receive.data(), {{"lnw_memory_path", "device"}});
  EXPECT_EQ(why(request, "lnw_memory_path"), "staged");
  EXPECT_EQ(why(request, "lnw_memory_path_reason"), "no buffer is on a device");
  LNW_Request_statistics statistics;
  EXPECT_MPI(LNW_Request_get_statistics(request, &statistics));
  if (size() > 1) {
    EXPECT_GT(statistics.window_bytes, 0);
  }
  expect_exchange(request, send, receive, 1);
  const Mirror on_device(Mirror::Kind::device, 2 * bytes);
  EXPECT_MPI(LNW_Request_set_buffers(request, on_device.data(), receive.data()));
  expect_exchange(request, on_device, receive, 2);
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(DeviceTest, AnAnswerForTheMpiLibraryIsYesOrNo) {
  const char* const answer = std::getenv("LANEWAY_DEVICE_AWARE_MPI");
  if (answer == nullptr || std::strlen(answer) == 1) GTEST_SKIP() << "SKIP: LANEWAY_DEVICE_AWARE_MPI is valid";
  const Handler handler(ring_.get(), MPI_ERRORS_RETURN);
  const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
  LNW_Request request = LNW_REQUEST_NULL;
  const int code = LNW_Neighbor_alltoall_init(send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE,
                                              ring_.get(), MPI_INFO_NULL, &request);
  expect_error(code, {"LANEWAY_DEVICE_AWARE_MPI=perhaps", "valid are 0 and 1"});
}

/// Rank 0's text as a machine file that all ranks can read until the end of the scope.
class MachineFile {
 public:
  explicit MachineFile(const std::string& text) {
    int process = getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    static int files = 0;  // a file of the same name would not be read again
    path_ = testing::TempDir() + "laneway_machine_" + std::to_string(process) + "_" + std::to_string(++files) + ".toml";
    if (rank() == 0) std::ofstream(path_) << "name = \"costs\"\nprovenance = \"a test\"\n" << text;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~MachineFile() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) std::remove(path_.c_str());
  }
  MachineFile(const MachineFile&) = delete;
  MachineFile& operator=(const MachineFile&) = delete;
  [[nodiscard]] const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

/// What copies through the host take is 2e-6 s and 2e-9 s a byte.
std::string device_copies(const std::string& from_peer) {
  return "[[device_copies]]\nprocesses = 1\n"
         "to_device = { alpha = 1e-6, beta = 1e-9 }\nto_host = { alpha = 1e-6, beta = 1e-9 }\nfrom_peer = { " +
         from_peer + " }\n";
}

std::string device_links(const std::string& cost) {
  return "device_links.network.protocols = [{ name = \"eager\", " + cost + " }]\n";
}

TEST_F(DeviceTest, ThePathIsChosenByCosts) {
  const std::string fast = "alpha = 1e-8, beta = 0.0", slow = "alpha = 1.0, beta = 1.0";
  struct Case {
    std::string costs;
    const char* path;        // that is chosen where the MPI library takes addresses on devices
    const char* other_path;  // and where it does not
    bool knows_device = true;
  };
  for (const Case& c : {Case{device_links(slow) + device_copies(fast), "dd", "dd"},
                        Case{device_links(slow) + device_copies(slow), "staged", "staged"},
                        Case{device_links(fast) + device_copies("alpha = 5e-7, beta = 0.0"), "device", "dd"},
                        Case{device_links(fast) + device_copies(slow), "device", "staged"},
                        Case{device_copies(fast), "dd", "dd", false}}) {
    const MachineFile file(c.costs);
    ring_ = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));  // which has not read the file yet
    const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
    LNW_Request request = make(send.data(), receive.data(), {{"lnw_parameters", file.path()}});
    const std::string reason = why(request, "lnw_memory_path_reason");
    if (size() > 1) {
      const std::string path = mpi_takes_addresses() ? c.path : c.other_path;
      EXPECT_EQ(why(request, "lnw_memory_path"), path) << reason;
      EXPECT_EQ(plan_text(request).find("\"lent\"") != std::string::npos, path == "dd");
    }
    EXPECT_NE(reason.find("chosen with the parameters 'costs'"), std::string::npos) << reason;
    for (const char* const path : {"staged", "dd"})
      EXPECT_FALSE(why(request, std::string("lnw_path_cost_") + path).empty()) << reason;
    EXPECT_EQ(why(request, "lnw_path_cost_device").empty(), !mpi_takes_addresses() || !c.knows_device);
    for (int exchange = 0; exchange < 3; ++exchange) expect_exchange(request, send, receive, exchange);
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(DeviceTest, WithoutCostsThePathIsStaged) {
  const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
  const Mirror pinned(Mirror::Kind::pinned, 2 * bytes);
  LNW_Request request = make(send.data(), receive.data(), {{"lnw_parameters", "default-node"}});
  EXPECT_EQ(why(request, "lnw_memory_path"), "staged");
  EXPECT_TRUE(why(request, "lnw_path_cost_staged").empty());
  expect_exchange(request, send, receive, 5);
  EXPECT_MPI(LNW_Request_free(&request));
  // One rank that sends from the host's memory cannot lend it.
  const MachineFile file(device_copies("alpha = 1e-8, beta = 0.0"));
  const Mirror& mine = rank() == 0 ? pinned : send;
  request = make(mine.data(), receive.data(), {{"lnw_parameters", file.path()}});
  EXPECT_EQ(why(request, "lnw_memory_path"), "staged");
  EXPECT_TRUE(why(request, "lnw_path_cost_dd").empty());
  expect_exchange(request, mine, receive, 6);
  EXPECT_MPI(LNW_Request_free(&request));
}

/// Their buffers are others in each call, so nothing is lent, whatever the hint and the costs.
TEST_F(DeviceTest, FixedOperationsLendNothing) {
  const MachineFile file(device_copies("alpha = 1e-8, beta = 0.0"));
  const int counts[] = {bytes, bytes};
  const int displacements[] = {0, bytes};
  for (const char* const path : {"auto", "dd"}) {
    const Info info({{"lnw_fixed_counts", "true"}, {"lnw_memory_path", path}, {"lnw_parameters", file.path()}});
    const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), info.get());
    for (int exchange = 0; exchange < 3; ++exchange) {
      const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
      send.write(sent(rank(), exchange));
      EXPECT_MPI(LNW_Neighbor_alltoallv(send.data(), counts, displacements, MPI_BYTE, receive.data(), counts,
                                        displacements, MPI_BYTE, ring.get()));
      Bytes result(2 * bytes);
      receive.read(result);
      EXPECT_EQ(result, received(exchange)) << path << ", exchange " << exchange;
    }
  }
}

TEST_F(DeviceTest, RowsAreMovedAsTheParametersSay) {
  constexpr int rows = 40;
  constexpr int row = bytes / rows;
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, row, 2 * row, MPI_BYTE, &strided);
  MPI_Type_commit(&strided);
  // What a kernel takes, so that rows are the engine's or the kernel's.
  const std::string engine = "{ alpha = 1.0, beta = 1.0 }", kernel = "{ alpha = 0.0, beta = 0.0 }";
  for (const auto& [to_host, to_device] : {std::pair(engine, engine), {kernel, engine}, {engine, kernel}}) {
    const MachineFile file(device_copies("alpha = 0.0, beta = 0.0") + "gap = 1e-6\nrows_to_host = " + to_host +
                           "\nrows_to_device = " + to_device + "\n");
    ring_ = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
    const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
    const int counts[] = {1, 1};
    const MPI_Aint displacements[] = {0, row};
    const MPI_Datatype types[] = {strided, strided};
    LNW_Request request = LNW_REQUEST_NULL;
    const Info info({{"lnw_parameters", file.path()}, {"lnw_memory_path", "staged"}});
    EXPECT_MPI(LNW_Neighbor_alltoallw_init(send.data(), counts, displacements, types, receive.data(), counts,
                                           displacements, types, ring_.get(), info.get(), &request));
    send.write(sent(rank(), 1));
    const std::uint64_t before = moves_through_host();
    run(request);
    // An engine moves two edges' rows one by one.
    const std::uint64_t moves = moves_through_host() - before;
    if (counts_moves() && size() > 1) {
      EXPECT_EQ(moves >= 4 * rows, to_host == engine && to_device == engine) << moves;
      EXPECT_GE(moves, 2 * rows);
    }
    Bytes result(2 * bytes);
    receive.read(result);
    const Bytes left = sent((rank() + size() - 1) % size(), 1), right = sent((rank() + 1) % size(), 1);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const bool is_first = i / row % 2 == 0;
      EXPECT_EQ(result[i], (size() <= 2 ? right : is_first ? left : right)[i]) << i;
    }
    EXPECT_MPI(LNW_Request_free(&request));
  }
  MPI_Type_free(&strided);
}

/// Where a machine file says what copies from a peer's device take, it decides which messages are such copies.
TEST_F(DeviceTest, MessagesAreLentWhereThatIsPredictedToBeFaster) {
  struct Case {
    const char* from_peer;
    bool lends;
    const char* reason;
  };
  for (const Case& c : {Case{"alpha = 1e-6, beta = 1e-9", true, "'costs' all messages inside a node are taken"},
                        Case{"alpha = 6e-6, beta = 1e-9", false, "of more than 4000 bytes are taken"},
                        Case{"alpha = 4e-6, beta = 1e-9", true, "of more than 2000 bytes are taken"},
                        Case{"alpha = 0.0, beta = 2e-6", false, "no messages inside a node are taken"}}) {
    const MachineFile file("links.node.protocols = [{ name = \"eager\", alpha = 0.0, beta = 0.0 }]\n" +
                           device_copies(c.from_peer));
    ring_ = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));  // which has not read the file yet
    const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
    LNW_Request request =
        make(send.data(), receive.data(),
             {{"lnw_memory_path", "dd"}, {"lnw_parameters", file.path()}, {"lnw_strategy", "direct"}});
    const std::string reason = why(request, "lnw_memory_path_reason");
    EXPECT_NE(reason.find(c.reason), std::string::npos) << reason;
    EXPECT_EQ(why(request, "lnw_memory_path"), "dd");
    EXPECT_EQ(plan_text(request).find("\"lent\"") != std::string::npos, c.lends && size() > 1) << c.from_peer;
    for (int exchange = 0; exchange < 3; ++exchange) expect_exchange(request, send, receive, exchange);
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(DeviceTest, MistakesAreNamed) {
  const Handler handler(ring_.get(), MPI_ERRORS_RETURN);
  const Mirror send(Mirror::Kind::device, 2 * bytes), receive(Mirror::Kind::device, 2 * bytes);
  LNW_Request request = LNW_REQUEST_NULL;
  const auto init = [&](const void* from, void* to, MPI_Info info = MPI_INFO_NULL) {
    return LNW_Neighbor_alltoall_init(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, ring_.get(), info, &request);
  };
  const std::string here = "LNW_Neighbor_alltoall_init on rank " + std::to_string(rank());
  // Too short on one rank: all ranks learn it.
  const int short_by = rank() == 0 ? 100 : 0;
  const int code = init(send.data() + short_by, receive.data());
  if (rank() == 0)
    expect_error(code, {here.c_str(), "the send buffer", "leaves the 6000 bytes"});
  else
    EXPECT_NE(code, MPI_SUCCESS);
  // Freed.
  unsigned char* gone = nullptr;
  {
    const Mirror freed(Mirror::Kind::device, 1 << 20);
    gone = freed.data();
  }
  expect_error(init(gone, receive.data()), {here.c_str(), "the send buffer", "freed"});
  // As a device's memory without its plugin looks to the host.
  void* const foreign = mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  expect_error(init(send.data(), foreign), {here.c_str(), "the receive buffer", "no device plugin"});
  munmap(foreign, 1 << 20);

  std::vector<unsigned char> of_another_vendor(8192);
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<void*>(of_another_vendor.data()));
  setenv("SECOND_VENDOR_MEMORY", address, 1);
  const char* const plugins = std::getenv("LANEWAY_DEVICE_PLUGINS");
  if (plugins != nullptr && std::strstr(plugins, "second_vendor") != nullptr)
    expect_error(init(send.data(), of_another_vendor.data()),
                 {here.c_str(), "the send buffer is device memory of sim device",
                  "the receive buffer is device memory of second device 0", "two vendors"});
  else if (rank() == 0)
    std::printf("SKIP: devices of two vendors need a second plugin\n");
  unsetenv("SECOND_VENDOR_MEMORY");

  const Info bad(Hints{{"lnw_stream", "the blue one"}});
  expect_error(init(send.data(), receive.data(), bad.get()), {"lnw_stream=the blue one", "not an address"});
  const Info path(Hints{{"lnw_memory_path", "teleport"}});
  expect_error(init(send.data(), receive.data(), path.get()), {"lnw_memory_path=teleport", "auto, staged"});

  EXPECT_MPI(init(send.data(), receive.data()));
  expect_error(LNW_Request_set_buffers(request, gone, receive.data()),
               {"LNW_Request_set_buffers", "the send buffer", "freed"});
  // The drivers of real devices read what they are given.
  int not_a_stream = 0;
  if (plugins != nullptr && std::strstr(plugins, "simdevice") != nullptr)
    expect_error(LNW_Request_set_stream(request, &not_a_stream), {"LNW_Request_set_stream"});
  else if (rank() == 0)
    std::printf("SKIP: only the sim device knows an address that is no stream\n");
  if (void* const other = stream_of_other_device())
    expect_error(LNW_Request_set_stream(request, other), {"LNW_Request_set_stream", "of device 1", "on device 0"});
  else if (rank() == 0)
    std::printf("SKIP: a stream of another device needs two devices\n");
  // Of no communicator, so that it is the world's handler that gets the error.
  if (void* const other = stream_of_other_device()) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_error(LNW_Stream_synchronize(send.data(), other), {"LNW_Stream_synchronize", "of device 1", "on device 0"});
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    EXPECT_MPI(LNW_Stream_synchronize(nullptr, other));
  }
  EXPECT_MPI(LNW_Stream_synchronize(send.data(), device_stream()));
  EXPECT_MPI(LNW_Stream_synchronize(send.data(), LNW_STREAM_NONE));
  // Nothing of all that has harmed the request.
  expect_exchange(request, send, receive, 4);
  EXPECT_MPI(LNW_Request_free(&request));
}

}  // namespace
}  // namespace laneway::test
