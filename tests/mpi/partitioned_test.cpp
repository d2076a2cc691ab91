// Partitioned messages between two ranks, and partitioned neighborhoods, against what was written into the buffers:
// what MPI 4 says of MPI_Psend_init and its relatives, with numbers of partitions that differ.
//
// Behaviours that MPICH's own tests exercise (its test/mpi/part), and where they are here:
//   equal and different numbers of partitions, up to 8192    NumbersOfPartitions, DifferentNumbersOnBothSides
//   ready one by one, in ranges, in lists, in lists with gaps  NumbersOfPartitions, RangesAndLists
//   completed by test or by wait                              NumbersOfPartitions
//   looked for by pairs, in and out of order                  PairsThatArrive, DifferentNumbersOnBothSides
//   complete at the first test when all has arrived           PairsThatArrive
//   the sender's datatype another than the receiver's          PairsThatArrive, DerivedDatatypes
//   a buffer with gaps that stay as they are                  GapsStayAsTheyAre
//   several requests: one tag, several tags, several communicators
//                                                             SeveralRequestsMatchInOrder, MatchedByTag,
//                                                             MatchedByCommunicator
//   started late by the receiver: ready does not block        ReadyDoesNotWaitForTheReceiver
//   cancelled: partitioned requests cannot be, as MPI 4.1 says of MPI_Cancel; no call here does
//   never started, and freed                                  NeverStarted, FreedBeforeTheyMeet
//   made, run once and freed, again and again, with statuses  MadeForOneExchange
//   no partitions, nothing in them                            ZeroPartitionsAndZeroCounts
//   free of what is active: an error                          BadArgumentsAreErrors
//   ready by threads                                          ThreadsSayWhatIsReady
#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "laneway/laneway.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class PartitionedTest : public MpiTest {
 protected:
  [[nodiscard]] int next() const { return (rank() + 1) % size(); }
  [[nodiscard]] int previous() const { return (rank() + size() - 1) % size(); }
};

int value(int from, int exchange, int i) {
  return (from * 100 + exchange) * 10000 + i;
}

/// A message to the next rank of a ring, and one from the previous.
class Ring {
 public:
  Ring(int elements, int sent, int received, int tag, const Hints& hints = {}) : elements_(elements), sent_(sent) {
    const int to = (rank() + 1) % size(), from = (rank() + size() - 1) % size();
    send_.assign(static_cast<std::size_t>(elements), -1);
    receive_.assign(static_cast<std::size_t>(elements), -1);
    const Info info(hints);
    EXPECT_MPI(LNW_Psend_init(send_.data(), sent, sent > 0 ? elements / sent : 0, MPI_INT, to, tag, MPI_COMM_WORLD,
                              info.get(), &requests_[0]));
    EXPECT_MPI(LNW_Precv_init(receive_.data(), received, received > 0 ? elements / received : 0, MPI_INT, from, tag,
                              MPI_COMM_WORLD, info.get(), &requests_[1]));
  }
  ~Ring() {
    for (LNW_Request& request : requests_) EXPECT_MPI(LNW_Request_free(&request));
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void start() {
    std::ranges::fill(receive_, -1);
    std::ranges::fill(send_, -1);
    EXPECT_MPI(LNW_Startall(2, requests_.data()));
  }
  /// Writes a partition and says that it is ready.
  void ready(int exchange, int partition) {
    write(exchange, partition);
    EXPECT_MPI(LNW_Pready(partition, requests_[0]));
  }
  void write(int exchange, int partition) {
    const int each = elements_ / sent_;
    for (int i = partition * each; i < (partition + 1) * each; ++i)
      send_[static_cast<std::size_t>(i)] = value(rank(), exchange, i);
  }
  void expect(int exchange, int first, int last) const {
    const int from = (rank() + size() - 1) % size();
    for (int i = first; i < last; ++i) ASSERT_EQ(receive_[static_cast<std::size_t>(i)], value(from, exchange, i)) << i;
  }
  [[nodiscard]] std::array<LNW_Request, 2>& requests() { return requests_; }
  [[nodiscard]] const std::vector<int>& received() const { return receive_; }

 private:
  int elements_;
  int sent_;
  std::vector<int> send_;
  std::vector<int> receive_;
  std::array<LNW_Request, 2> requests_{LNW_REQUEST_NULL, LNW_REQUEST_NULL};
};

std::vector<int> shuffled(int n, Random& random) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  return order;
}

/// In any order; what has arrived is right, and nothing arrives before it is ready.
TEST_F(PartitionedTest, DifferentNumbersOnBothSides) {
  Random random(static_cast<unsigned>(3 + rank()));
  const std::vector<Hints> cuts = {
      {}, {{"lnw_partition_message", "1"}}, {{"lnw_partition_message", "100"}}, {{"lnw_partition_message", "1000000"}}};
  for (const Hints& hints : cuts)
    for (const auto& [sent, received] :
         std::vector<std::pair<int, int>>{{1, 1}, {8, 8}, {1, 12}, {12, 1}, {6, 9}, {9, 6}}) {
      constexpr int elements = 720;
      Ring ring(elements, sent, received, 5, hints);
      for (int exchange = 0; exchange < 4; ++exchange) {
        ring.start();
        for (int p = 0; p < received; ++p) {
          int flag = 1;
          EXPECT_MPI(LNW_Parrived(ring.requests()[1], p, &flag));
          EXPECT_TRUE(size() > 1 || flag == 0);
        }
        for (const int p : shuffled(sent, random)) ring.ready(exchange, p);
        for (int seen = 0; seen < received;)
          for (int p = seen = 0; p < received; ++p) {
            int flag = 0;
            EXPECT_MPI(LNW_Parrived(ring.requests()[1], p, &flag));
            if (!flag) continue;
            ++seen;
            ring.expect(exchange, p * elements / received, (p + 1) * elements / received);
          }
        std::array<MPI_Status, 2> statuses{};
        EXPECT_MPI(LNW_Waitall(2, ring.requests().data(), statuses.data()));
        ring.expect(exchange, 0, elements);
        int count = -1;
        MPI_Get_count(&statuses[1], MPI_INT, &count);
        EXPECT_EQ(count, elements);
        EXPECT_EQ(statuses[1].MPI_SOURCE, previous());
        EXPECT_EQ(statuses[1].MPI_TAG, 5);
      }
    }
}

/// Nothing is complete before all partitions are ready.
TEST_F(PartitionedTest, WaitsForTheLastPartition) {
  Ring ring(64, 4, 2, 1, {{"lnw_partition_message", "1"}});
  for (int exchange = 0; exchange < 3; ++exchange) {
    ring.start();
    for (const int p : {3, 0, 2}) ring.ready(exchange, p);
    for (int turn = 0; turn < 50; ++turn) {
      int flag = 1;
      MPI_Status status;
      EXPECT_MPI(LNW_Test(&ring.requests()[0], &flag, &status));
      EXPECT_EQ(flag, 0);
      std::this_thread::yield();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    ring.ready(exchange, 1);
    EXPECT_MPI(LNW_Wait(&ring.requests()[1], MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Wait(&ring.requests()[0], MPI_STATUS_IGNORE));
    ring.expect(exchange, 0, 64);
    int flag = 0;
    EXPECT_MPI(LNW_Parrived(ring.requests()[1], 1, &flag));
    EXPECT_EQ(flag, 1) << "of an inactive request";
  }
}

TEST_F(PartitionedTest, RangesAndLists) {
  Ring ring(600, 10, 3, 2);
  for (int exchange = 0; exchange < 3; ++exchange) {
    ring.start();
    for (int p = 0; p < 10; ++p) ring.write(exchange, p);
    EXPECT_MPI(LNW_Pready_range(2, 5, ring.requests()[0]));
    const std::array<int, 4> rest = {9, 0, 7, 1};
    EXPECT_MPI(LNW_Pready_list(4, rest.data(), ring.requests()[0]));
    EXPECT_MPI(LNW_Pready_range(8, 8, ring.requests()[0]));
    EXPECT_MPI(LNW_Pready_range(1, 0, ring.requests()[0]));
    EXPECT_MPI(LNW_Pready_list(0, nullptr, ring.requests()[0]));
    EXPECT_MPI(LNW_Pready(6, ring.requests()[0]));
    EXPECT_MPI(LNW_Waitall(2, ring.requests().data(), MPI_STATUSES_IGNORE));
    ring.expect(exchange, 0, 600);
  }
}

/// The n-th init call belongs to the n-th with the same tag, in whatever order requests are started.
TEST_F(PartitionedTest, SeveralRequestsMatchInOrder) {
  constexpr int each = 48;
  std::vector<std::unique_ptr<Ring>> rings;
  for (int i = 0; i < 4; ++i) rings.push_back(std::make_unique<Ring>(each * (1 + i % 2), 4, 2, i / 2));
  for (int exchange = 0; exchange < 3; ++exchange) {
    for (std::size_t i = rings.size(); i-- > 0;) rings[i]->start();
    for (std::size_t i = 0; i < rings.size(); ++i)
      for (int p = 3; p >= 0; --p) rings[i]->ready(exchange + 10 * static_cast<int>(i), p);
    for (std::size_t i = 0; i < rings.size(); ++i) {
      auto& requests = rings[i]->requests();
      for (int left = 2; left > 0;) {
        int outcount = 0;
        std::array<int, 2> indices{};
        std::array<MPI_Status, 2> statuses{};
        EXPECT_MPI(LNW_Waitsome(2, requests.data(), &outcount, indices.data(), statuses.data()));
        for (int k = 0; k < outcount; ++k)
          EXPECT_TRUE(indices[static_cast<std::size_t>(k)] == 0 ||
                      statuses[static_cast<std::size_t>(k)].MPI_SOURCE == previous());
        left -= outcount;
      }
      rings[i]->expect(exchange + 10 * static_cast<int>(i), 0, each * (1 + static_cast<int>(i) % 2));
    }
  }
}

TEST_F(PartitionedTest, ZeroPartitionsAndZeroCounts) {
  for (const auto& [sent, received] : std::vector<std::pair<int, int>>{{0, 0}, {0, 3}, {3, 0}, {4, 2}}) {
    Ring ring(0, sent, received, 3);
    for (int exchange = 0; exchange < 3; ++exchange) {
      ring.start();
      for (int p = 0; p < sent; ++p) ring.ready(exchange, p);
      MPI_Status status;
      EXPECT_MPI(LNW_Wait(&ring.requests()[1], &status));
      EXPECT_MPI(LNW_Wait(&ring.requests()[0], MPI_STATUS_IGNORE));
      int count = -1;
      MPI_Get_count(&status, MPI_INT, &count);
      EXPECT_EQ(count, 0);
      EXPECT_EQ(status.MPI_SOURCE, previous());
    }
  }
}

TEST_F(PartitionedTest, ManyPartitions) {
  constexpr int partitions = 3000;
  Ring ring(2 * partitions, partitions, partitions / 4, 3, {{"lnw_partition_message", "1"}});
  for (int exchange = 0; exchange < 2; ++exchange) {
    ring.start();
    for (int p = partitions - 1; p >= 0; --p) ring.write(exchange, p);
    EXPECT_MPI(LNW_Pready_range(0, partitions - 1, ring.requests()[0]));
    EXPECT_MPI(LNW_Waitall(2, ring.requests().data(), MPI_STATUSES_IGNORE));
    ring.expect(exchange, 0, 2 * partitions);
  }
}

/// Every second element of the sender's, packed at the receiver; messages may end inside a receiver's element.
TEST_F(PartitionedTest, DerivedDatatypes) {
  constexpr int partitions = 6, elements = 10;
  MPI_Datatype strided = MPI_DATATYPE_NULL, pair = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
  MPI_Type_commit(&strided);
  MPI_Type_contiguous(4, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  constexpr int total = partitions * elements;
  std::vector<int> send(2 * total), receive(total);
  std::array<LNW_Request, 2> requests{};
  const Info info(Hints{{"lnw_partition_message", "1"}});
  EXPECT_MPI(
      LNW_Psend_init(send.data(), partitions, elements, strided, next(), 0, MPI_COMM_WORLD, info.get(), &requests[0]));
  EXPECT_MPI(
      LNW_Precv_init(receive.data(), 3, total / 12, pair, previous(), 0, MPI_COMM_WORLD, info.get(), &requests[1]));
  MPI_Type_free(&strided);
  MPI_Type_free(&pair);
  for (int exchange = 0; exchange < 3; ++exchange) {
    std::ranges::fill(receive, -1);
    EXPECT_MPI(LNW_Startall(2, requests.data()));
    for (int p = partitions - 1; p >= 0; --p) {
      for (int i = p * elements; i < (p + 1) * elements; ++i) {
        send[static_cast<std::size_t>(2 * i)] = value(rank(), exchange, i);
        send[static_cast<std::size_t>(2 * i + 1)] = -2;
      }
      EXPECT_MPI(LNW_Pready(p, requests[0]));
    }
    EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < total; ++i) EXPECT_EQ(receive[static_cast<std::size_t>(i)], value(previous(), exchange, i));
  }
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
}

/// All partitions are ready at start by a hint: nothing is said, and saying it is too late.
TEST_F(PartitionedTest, ReadyAtStart) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const int partitions : {0, 1, 5}) {
    std::vector<int> send(30), receive(30);
    const Info info(Hints{{"lnw_ready_at_start", "true"}, {"lnw_partition_message", "1"}});
    std::array<LNW_Request, 2> requests{};
    const int count = partitions > 0 ? 30 / partitions : 0;
    EXPECT_MPI(
        LNW_Psend_init(send.data(), partitions, count, MPI_INT, next(), 0, MPI_COMM_WORLD, info.get(), &requests[0]));
    EXPECT_MPI(LNW_Precv_init(receive.data(), partitions, count, MPI_INT, previous(), 0, MPI_COMM_WORLD, info.get(),
                              &requests[1]));
    for (int exchange = 0; exchange < 3; ++exchange) {
      for (int i = 0; i < 30; ++i) send[static_cast<std::size_t>(i)] = value(rank(), exchange, i);
      EXPECT_MPI(LNW_Startall(2, requests.data()));
      if (partitions > 0) expect_error_class(LNW_Pready(0, requests[0]), MPI_ERR_ARG);
      EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
      for (int i = 0; i < count * partitions; ++i)
        EXPECT_EQ(receive[static_cast<std::size_t>(i)], value(previous(), exchange, i));
    }
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(PartitionedTest, NobodyAtTheOtherEnd) {
  std::array<LNW_Request, 2> requests{};
  int data = 4;
  EXPECT_MPI(LNW_Psend_init(&data, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  EXPECT_MPI(LNW_Precv_init(&data, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  for (int exchange = 0; exchange < 2; ++exchange) {
    EXPECT_MPI(LNW_Startall(2, requests.data()));
    EXPECT_MPI(LNW_Pready(0, requests[0]));
    std::array<MPI_Status, 2> statuses{};
    EXPECT_MPI(LNW_Waitall(2, requests.data(), statuses.data()));
    EXPECT_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
  }
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
}

/// What is freed without having been started has taken its turn all the same.
TEST_F(PartitionedTest, FreedBeforeTheyMeet) {
  { const Ring unused(100, 5, 5, 9); }
  Ring ring(96, 3, 3, 9);
  ring.start();
  for (int p = 0; p < 3; ++p) ring.ready(1, p);
  EXPECT_MPI(LNW_Waitall(2, ring.requests().data(), MPI_STATUSES_IGNORE));
  ring.expect(1, 0, 96);
}

/// Eight threads say at once what is ready; one waits, and looks at what has arrived.
TEST_F(PartitionedTest, ThreadsSayWhatIsReady) {
  constexpr int threads = 8, each = 4, partitions = threads * each;
  const int exchanges = long_tests() ? 5000 : effort(60);
  for (const Hints& hints : {Hints{{"lnw_partition_message", "1"}}, Hints{}, Hints{{"lnw_progress", "thread"}}}) {
    Ring ring(partitions * 8, partitions, 8, 4, hints);
    std::atomic<int> go{0};
    {
      std::vector<std::jthread> all;
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
          for (int exchange = 1; exchange <= exchanges; ++exchange) {
            for (int seen = go; seen < exchange; seen = go) go.wait(seen);
            for (int p = 0; p < each; ++p) ring.ready(exchange % 90, (p * threads + t * 5) % partitions);
          }
        });
      for (int exchange = 1; exchange <= exchanges; ++exchange) {
        ring.start();
        go = exchange;
        go.notify_all();
        EXPECT_MPI(LNW_Wait(&ring.requests()[1], MPI_STATUS_IGNORE));
        EXPECT_MPI(LNW_Wait(&ring.requests()[0], MPI_STATUS_IGNORE));
        ring.expect(exchange % 90, 0, partitions * 8);
      }
    }
    if (HasFatalFailure()) return;
  }
}

/// How a sender says that its partitions are ready.
enum class Way { one_by_one, ranges, lists, lists_with_gaps };

void say_ready(Ring& ring, Way way, int exchange, int partitions, int together) {
  const LNW_Request request = ring.requests()[0];
  for (int low = 0; low < partitions; low += together) {
    const int high = std::min(low + together, partitions);
    for (int p = low; p < high; ++p) ring.write(exchange, p);
    const auto list = [&](int first, int stride) {
      std::vector<int> some;
      for (int p = first; p < high; p += stride) some.push_back(p);
      EXPECT_MPI(LNW_Pready_list(static_cast<int>(some.size()), some.data(), request));
    };
    switch (way) {
      case Way::one_by_one:
        for (int p = low; p < high; ++p) EXPECT_MPI(LNW_Pready(p, request));
        break;
      case Way::ranges:
        EXPECT_MPI(LNW_Pready_range(low, high - 1, request));
        break;
      case Way::lists:
        list(low, 1);
        break;
      case Way::lists_with_gaps:
        list(low, 2);
        list(low + 1, 2);
        break;
    }
  }
}

/// Of one side few partitions and of the other many; completed by test in some exchanges, by wait in others.
TEST_F(PartitionedTest, NumbersOfPartitions) {
  struct Numbers {
    int sent, received, elements, together;
  };
  std::vector<Numbers> all = {{1, 1, 64, 1},  {8, 8, 64, 2},   {64, 64, 64, 4},       {1, 16, 64, 1},
                              {16, 1, 64, 5}, {16, 32, 64, 2}, {512, 512, 65536, 64}, {8192, 512, 65536, 64}};
  if (long_tests()) all.push_back({8192, 512, 4194304, 64});
  for (const auto& [sent, received, elements, together] : all)
    for (const Way way : {Way::one_by_one, Way::ranges, Way::lists, Way::lists_with_gaps}) {
      Ring ring(elements, sent, received, 0);
      for (int exchange = 0; exchange < 4; ++exchange) {
        ring.start();
        say_ready(ring, way, exchange, sent, together);
        for (const std::size_t side : {0, 1}) {
          LNW_Request& request = ring.requests()[side];
          if (exchange % 2 == 0) {
            EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
            continue;
          }
          for (int flag = 0; flag == 0;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
        }
        ring.expect(exchange, 0, elements);
      }
      if (HasFatalFailure()) return;
    }
}

/// A receiver that needs two partitions at a time. A partition of the sender's is one element of a derived datatype.
TEST_F(PartitionedTest, PairsThatArrive) {
  for (const auto& [sent, received] : std::vector<std::pair<int, int>>{{1, 1}, {8, 8}, {33, 17}, {17, 33}, {64, 4}}) {
    const int elements = sent * received;
    const auto total = static_cast<std::size_t>(elements);
    std::vector<int> send(total, -1), receive(total, -1);
    MPI_Datatype part = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(elements / sent, MPI_INT, &part);
    MPI_Type_commit(&part);
    std::array<LNW_Request, 2> requests{};
    EXPECT_MPI(LNW_Psend_init(send.data(), sent, 1, part, next(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    EXPECT_MPI(LNW_Precv_init(receive.data(), received, elements / received, MPI_INT, previous(), 0, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &requests[1]));
    MPI_Type_free(&part);
    for (int exchange = 0; exchange < 7; ++exchange) {
      std::ranges::fill(receive, -1);
      EXPECT_MPI(LNW_Startall(2, requests.data()));
      for (int i = 0; i < sent; ++i) {
        const int p = exchange % 2 == 0 ? i : sent - 1 - i;
        for (int k = p * (elements / sent); k < (p + 1) * (elements / sent); ++k)
          send[static_cast<std::size_t>(k)] = value(rank(), exchange, k);
        EXPECT_MPI(LNW_Pready(p, requests[0]));
      }
      const int each = elements / received;
      for (int first = 0; first < received; first += 2) {
        const int last = std::min(first + 2, received);
        for (int missing = last - first; missing > 0;) {
          missing = 0;
          for (int p = first; p < last; ++p) {
            int flag = 0;
            EXPECT_MPI(LNW_Parrived(requests[1], p, &flag));
            if (!flag) ++missing;
          }
        }
        for (int k = first * each; k < last * each; ++k)
          ASSERT_EQ(receive[static_cast<std::size_t>(k)], value(previous(), exchange, k)) << sent << " " << received;
      }
      int flag = 0;
      EXPECT_MPI(LNW_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
      EXPECT_EQ(flag, 1) << "all partitions have arrived";
      EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    }
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

/// Both sides have elements with gaps of different lengths.
TEST_F(PartitionedTest, GapsStayAsTheyAre) {
  constexpr int sent = 17, received = 33, total = 2 * sent * received;
  for (const std::size_t stride : {2, 4, 8}) {
    std::vector<int> send(stride * total, -2), receive(2 * stride * total, -3);
    std::array<MPI_Datatype, 2> types{};
    for (std::size_t side : {0, 1}) {
      MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>((side + 1) * stride * sizeof(int)), &types[side]);
      MPI_Type_commit(&types[side]);
    }
    std::array<LNW_Request, 2> requests{};
    EXPECT_MPI(LNW_Psend_init(send.data(), sent, total / sent, types[0], next(), 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &requests[0]));
    EXPECT_MPI(LNW_Precv_init(receive.data(), received, total / received, types[1], previous(), 1, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &requests[1]));
    for (MPI_Datatype& type : types) MPI_Type_free(&type);
    for (int exchange = 0; exchange < 3; ++exchange) {
      for (std::size_t i = 0; i < total; ++i) send[i * stride] = value(rank(), exchange, static_cast<int>(i));
      EXPECT_MPI(LNW_Startall(2, requests.data()));
      EXPECT_MPI(LNW_Pready_range(0, sent - 1, requests[0]));
      EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
      for (std::size_t i = 0; i < receive.size(); ++i)
        ASSERT_EQ(receive[i],
                  i % (2 * stride) == 0 ? value(previous(), exchange, static_cast<int>(i / (2 * stride))) : -3);
    }
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

/// Three messages at a time to the next rank, each of one value; senders make, and start, theirs in another order.
void exchange_three(const std::array<MPI_Comm, 3>& comms, const std::array<int, 3>& tags) {
  constexpr int partitions = 8, each = 64;
  const int to = (rank() + 1) % size(), from = (rank() + size() - 1) % size();
  std::array<std::vector<int>, 3> send, receive;
  std::array<LNW_Request, 3> sends{}, receives{};
  for (const std::size_t i : {2, 1, 0}) {
    send[i].assign(partitions * each, -1);
    EXPECT_MPI(
        LNW_Psend_init(send[i].data(), partitions, each, MPI_INT, to, tags[i], comms[i], MPI_INFO_NULL, &sends[i]));
  }
  for (const std::size_t i : {0, 1, 2}) {
    receive[i].assign(partitions * each, -1);
    EXPECT_MPI(LNW_Precv_init(receive[i].data(), partitions, each, MPI_INT, from, tags[i], comms[i], MPI_INFO_NULL,
                              &receives[i]));
  }
  for (int exchange = 0; exchange < 3; ++exchange) {
    EXPECT_MPI(LNW_Startall(3, receives.data()));
    for (const std::size_t i : {1, 0, 2}) {
      EXPECT_MPI(LNW_Start(&sends[i]));
      std::ranges::fill(send[i], value(rank(), exchange, static_cast<int>(i)));
      EXPECT_MPI(LNW_Pready_range(0, partitions - 1, sends[i]));
    }
    std::array<MPI_Status, 3> statuses{};
    EXPECT_MPI(LNW_Waitall(3, receives.data(), statuses.data()));
    EXPECT_MPI(LNW_Waitall(3, sends.data(), MPI_STATUSES_IGNORE));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(statuses[i].MPI_SOURCE, from);
      EXPECT_EQ(statuses[i].MPI_TAG, tags[i]);
      for (const int found : receive[i]) ASSERT_EQ(found, value(from, exchange, static_cast<int>(i)));
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_MPI(LNW_Request_free(&sends[i]));
    EXPECT_MPI(LNW_Request_free(&receives[i]));
  }
}

TEST_F(PartitionedTest, MatchedByTag) {
  exchange_three({MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_COMM_WORLD}, {0, 1, 2});
}

TEST_F(PartitionedTest, MatchedByCommunicator) {
  std::array<MPI_Comm, 3> comms{};
  for (MPI_Comm& comm : comms) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    EXPECT_MPI(LNW_Comm_prepare(comm));  // all begin with the same one
  }
  exchange_three(comms, {0, 0, 0});
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// The receiver begins only when it has heard that the sender has gone on.
TEST_F(PartitionedTest, ReadyDoesNotWaitForTheReceiver) {
  for (const int elements : {1, 1 << 18}) {
    Ring ring(elements, 1, 1, 6);
    for (int exchange = 0; exchange < 3; ++exchange) {
      EXPECT_MPI(LNW_Start(&ring.requests()[0]));
      ring.ready(exchange, 0);
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_MPI(LNW_Start(&ring.requests()[1]));
      EXPECT_MPI(LNW_Wait(&ring.requests()[1], MPI_STATUS_IGNORE));
      EXPECT_MPI(LNW_Wait(&ring.requests()[0], MPI_STATUS_IGNORE));
      ring.expect(exchange, 0, elements);
    }
  }
}

/// Senders that run ahead, and are in a call of MPI when the receiver looks for what they have sent.
TEST_F(PartitionedTest, WhatHasBeenSentComesWithoutTheSender) {
  if (size() != 2) GTEST_SKIP() << "SKIP: needs 2 ranks";
  constexpr int exchanges = 6;
  for (const int elements : {1, 500}) {
    std::vector<int> data(static_cast<std::size_t>(elements));
    LNW_Request request = LNW_REQUEST_NULL;
    if (rank() == 0) {
      EXPECT_MPI(LNW_Psend_init(data.data(), 1, elements, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    } else {
      EXPECT_MPI(LNW_Precv_init(data.data(), 1, elements, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    }
    for (int exchange = 0; exchange < exchanges; ++exchange) {
      EXPECT_MPI(LNW_Start(&request));
      if (rank() == 0) {
        std::ranges::fill(data, exchange);
        EXPECT_MPI(LNW_Pready(0, request));
        // The receiver has seen the last but one before this one is complete.
        if (exchange % 2 == 1) MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        continue;
      }
      for (int flag = 0; !flag;) EXPECT_MPI(LNW_Parrived(request, 0, &flag));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_EQ(data, std::vector<int>(data.size(), exchange));
      if (exchange % 2 == 1) MPI_Barrier(MPI_COMM_WORLD);
    }
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

/// Also where the two have met.
TEST_F(PartitionedTest, NeverStarted) {
  for (const int partitions : {1, 3}) {
    const Ring ring(96, partitions, 1, 8);
    for (int turn = 0; turn < partitions; ++turn) {
      EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

TEST_F(PartitionedTest, MadeForOneExchange) {
  const int turns = long_tests() ? 4000 : effort(100);
  Random random(17);  // the same on all ranks
  for (int turn = 0; turn < turns; ++turn) {
    const int elements = 4 * (1 + static_cast<int>(random() % 3000));
    const int sent = 1 << random() % 3, received = 1 << random() % 3;
    Ring ring(elements, sent, received, 10);
    ring.start();
    for (int p = 0; p < sent; ++p) ring.ready(turn % 90, p);
    std::array<MPI_Status, 2> statuses{};
    EXPECT_MPI(LNW_Waitall(2, ring.requests().data(), statuses.data()));
    ring.expect(turn % 90, 0, elements);
    int count = -1;
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    EXPECT_EQ(count, elements);
    EXPECT_EQ(statuses[1].MPI_SOURCE, previous());
    EXPECT_EQ(statuses[1].MPI_TAG, 10);
    if (HasFatalFailure()) return;
  }
}

TEST_F(PartitionedTest, BadArgumentsAreErrors) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const auto expect = [&](int code, int wanted, const std::string& text) {
    expect_error_class(code, wanted);
    EXPECT_NE(error_text(code).find(text), std::string::npos) << error_text(code);
    EXPECT_NE(error_text(code).find("on rank " + std::to_string(rank())), std::string::npos) << error_text(code);
  };
  int data = 0;
  LNW_Request request = LNW_REQUEST_NULL;
  const auto init = [&](int partitions, MPI_Count count, MPI_Datatype type, int peer, int tag) {
    return LNW_Psend_init(&data, partitions, count, type, peer, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  };
  expect(init(-1, 1, MPI_INT, 0, 0), MPI_ERR_COUNT, "LNW_Psend_init on rank");
  expect(init(-1, 1, MPI_INT, 0, 0), MPI_ERR_COUNT, "partitions is -1");
  expect(init(1, -3, MPI_INT, 0, 0), MPI_ERR_COUNT, "count is -3");
  expect(init(1, 1, MPI_DATATYPE_NULL, 0, 0), MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL");
  expect(init(1, 1, MPI_INT, size(), 0), MPI_ERR_RANK, "dest is " + std::to_string(size()));
  expect(init(1, 1, MPI_INT, 0, -5), MPI_ERR_ARG, "tag is -5");
  const auto receive = [&](int source, int tag) {
    return LNW_Precv_init(&data, 1, 1, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  };
  expect(receive(MPI_ANY_SOURCE, 0), MPI_ERR_RANK, "source is " + std::to_string(MPI_ANY_SOURCE));
  expect(receive(0, MPI_ANY_TAG), MPI_ERR_ARG, "tag is " + std::to_string(MPI_ANY_TAG));
  EXPECT_EQ(request, LNW_REQUEST_NULL);
  expect(LNW_Pready(0, LNW_REQUEST_NULL), MPI_ERR_REQUEST, "request is LNW_REQUEST_NULL");

  Ring ring(8, 4, 2, 0);
  auto& requests = ring.requests();
  expect(LNW_Pready(0, requests[0]), MPI_ERR_REQUEST, "partition 0 of a request that is not active");
  ring.start();
  int flag = 0;
  expect(LNW_Pready(4, requests[0]), MPI_ERR_ARG, "partition is 4; the request has 4");
  expect(LNW_Pready(0, requests[1]), MPI_ERR_REQUEST, "request is one for receiving");
  expect(LNW_Parrived(requests[0], 0, &flag), MPI_ERR_REQUEST, "request is one for sending");
  expect(LNW_Parrived(requests[1], 2, &flag), MPI_ERR_ARG, "partition is 2; the request has 2");
  expect(LNW_Pready_edge(requests[0], 0, 0), MPI_ERR_REQUEST, "request has no edges with partitions");
  ring.ready(1, 0);
  expect(LNW_Pready(0, requests[0]), MPI_ERR_ARG, "partition 0 is ready already");
  expect(LNW_Request_free(&requests[0]), MPI_ERR_REQUEST, "request is active");
  expect(LNW_Request_set_buffers(requests[1], &data, &data), MPI_ERR_REQUEST, "request is active");
  for (int p = 1; p < 4; ++p) ring.ready(1, p);  // the exchange is as good as before
  EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
  ring.expect(1, 0, 8);
}

TEST_F(PartitionedTest, SizesThatDifferAreErrorsOnBothSides) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::array<int, 8> data{};
  std::array<LNW_Request, 2> requests{};
  EXPECT_MPI(LNW_Psend_init(data.data(), 2, 4, MPI_INT, next(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  EXPECT_MPI(LNW_Precv_init(data.data(), 7, 1, MPI_INT, previous(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  for (LNW_Request& request : requests) {
    int code = LNW_Start(&request);
    if (code == MPI_SUCCESS) code = LNW_Wait(&request, MPI_STATUS_IGNORE);
    expect_error_class(code, MPI_ERR_COUNT);
    EXPECT_NE(error_text(code).find("32 bytes in 2 partitions"), std::string::npos) << error_text(code);
    EXPECT_NE(error_text(code).find("28 bytes in 7 partitions"), std::string::npos) << error_text(code);
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

/// A ring of cells, with ready called by range, by several threads.
TEST_F(PartitionedTest, HalosByRangesOfTheArray) {
  constexpr int cells = 60, width = 17;
  HaloSide send{.ranks = {previous(), next()}, .counts = {width, width}, .indices = {}};
  HaloSide receive{.ranks = {next(), previous()}, .counts = {width, width}, .indices = {}};
  for (int i = 0; i < width; ++i) send.indices.push_back(width + i);
  for (int i = 0; i < width; ++i) send.indices.push_back(cells - 2 * width + i);
  for (int i = 0; i < width; ++i) receive.indices.push_back(cells - width + i);
  for (int i = 0; i < width; ++i) receive.indices.push_back(i);
  Halo<int> halo(MPI_COMM_WORLD, send, receive, cells);
  for (const int partitions : {1, 4, 100}) {
    halo.partition(partitions);
    for (int exchange = 0; exchange < 4; ++exchange) {
      std::vector<int> x(cells, -1);
      halo.start(x);
      {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
          threads.emplace_back([&, t] {
            const int first = t * cells / 4, last = (t + 1) * cells / 4;
            for (int i = first; i < last; ++i)
              if (i >= width && i < cells - width) x[static_cast<std::size_t>(i)] = value(rank(), exchange, i);
            halo.ready(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
          });
      }
      halo.wait();
      for (int i = 0; i < width; ++i) {
        EXPECT_EQ(x[static_cast<std::size_t>(i)], value(previous(), exchange, cells - 2 * width + i));
        EXPECT_EQ(x[static_cast<std::size_t>(cells - width + i)], value(next(), exchange, width + i));
      }
      for (int i = width; i < cells - width; ++i) x[static_cast<std::size_t>(i)] = value(rank(), exchange + 50, i);
      halo.exchange(x);
      EXPECT_EQ(x[0], value(previous(), exchange + 50, cells - 2 * width));
    }
  }
}

/// Blocks of different sizes for all neighbours of a random graph, some of them empty, the same rank several times.
class EdgesTest : public PartitionedTest {
 protected:
  static int elements(int from, int to) { return (from * 7 + to * 5) % 40; }
  static int sent_partitions(int i) { return i % 4; }
  static int received_partitions(int i) { return 1 + i % 5; }

  void make(std::uint64_t seed, const Choice& choice, bool indexed, bool on_topology = false, bool large = false) {
    shape_ = random_shape(seed, rank(), size());
    graph_ = make_graph(MPI_COMM_WORLD, shape_);
    describe(shape_.destinations, true, out_);
    describe(shape_.sources, false, in_);
    send_.assign(static_cast<std::size_t>(out_.total), -1);
    receive_.assign(static_cast<std::size_t>(in_.total), -1);
    const Info info(choice.hints());
    const std::vector<MPI_Count> sent(out_.counts.begin(), out_.counts.end());
    const std::vector<MPI_Count> received(in_.counts.begin(), in_.counts.end());
    const auto init = [&](auto indexed_form, auto form, const auto* out, const auto* in, auto where) {
      using Displacement = std::conditional_t<std::is_same_v<decltype(out), const int*>, int, MPI_Aint>;
      const std::vector<Displacement> sdispls(out_.displacements.begin(), out_.displacements.end());
      const std::vector<Displacement> rdispls(in_.displacements.begin(), in_.displacements.end());
      if (indexed)
        EXPECT_MPI(indexed_form(send_.data(), out_.total, out, out_.indices.data(), MPI_INT, receive_.data(), in_.total,
                                in, in_.indices.data(), MPI_INT, out_.partitions.data(), in_.partitions.data(), where,
                                info.get(), &request_));
      else
        EXPECT_MPI(form(send_.data(), out, sdispls.data(), MPI_INT, receive_.data(), in, rdispls.data(), MPI_INT,
                        out_.partitions.data(), in_.partitions.data(), where, info.get(), &request_));
    };
    if (on_topology) EXPECT_MPI(LNW_Topology_from_comm(graph_.get(), &topology_));
    if (on_topology && large)
      init(LNW_Neighbor_alltoallv_init_indexed_partitioned_topology_c,
           LNW_Neighbor_alltoallv_init_partitioned_topology_c, sent.data(), received.data(), topology_);
    else if (on_topology)
      init(LNW_Neighbor_alltoallv_init_indexed_partitioned_topology, LNW_Neighbor_alltoallv_init_partitioned_topology,
           std::as_const(out_.counts).data(), std::as_const(in_.counts).data(), topology_);
    else if (large)
      init(LNW_Neighbor_alltoallv_init_indexed_partitioned_c, LNW_Neighbor_alltoallv_init_partitioned_c, sent.data(),
           received.data(), graph_.get());
    else
      init(LNW_Neighbor_alltoallv_init_indexed_partitioned, LNW_Neighbor_alltoallv_init_partitioned,
           std::as_const(out_.counts).data(), std::as_const(in_.counts).data(), graph_.get());
  }
  void free() {
    EXPECT_MPI(LNW_Request_free(&request_));
    if (topology_ != LNW_TOPOLOGY_NULL) EXPECT_MPI(LNW_Topology_free(&topology_));
  }

  struct Side {
    std::vector<int> counts, displacements, partitions;
    std::vector<MPI_Count> indices;
    int total = 0;
  };
  static void describe(const std::vector<int>& peers, bool sends, Side& side) {
    side = {};
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const int n = sends ? elements(rank(), peers[i]) : elements(peers[i], rank());
      side.counts.push_back(n);
      side.displacements.push_back(side.total);
      side.partitions.push_back(sends ? sent_partitions(static_cast<int>(i))
                                      : received_partitions(static_cast<int>(i)));
      side.total += n;
    }
    // In the order of the arguments, from the other end of the buffer.
    for (int i = 0; i < side.total; ++i) side.indices.push_back(side.total - 1 - i);
  }
  static int value_of(int from, int to, int exchange, int i) { return ((from * 20 + to) * 50 + exchange) * 50 + i; }
  [[nodiscard]] static int& at(std::vector<int>& buffer, const Side& side, std::size_t edge, int i, bool indexed) {
    const int place = side.displacements[edge] + i;
    return buffer[static_cast<std::size_t>(indexed ? side.total - 1 - place : place)];
  }

  void exchange(int number, Random& random, bool indexed) {
    std::ranges::fill(send_, -1);
    std::ranges::fill(receive_, -1);
    struct Part {
      std::size_t edge;
      int partition;
    };
    std::vector<Part> parts;
    const auto write = [&](std::size_t edge, int first, int last) {
      for (int i = first; i < last; ++i)
        at(send_, out_, edge, i, indexed) = value_of(rank(), shape_.destinations[edge], number, i);
    };
    for (std::size_t e = 0; e < out_.counts.size(); ++e) {
      for (int p = 0; p < out_.partitions[e]; ++p) parts.push_back({e, p});
      if (out_.partitions[e] == 0) write(e, 0, out_.counts[e]);
    }
    std::ranges::shuffle(parts, random);
    EXPECT_MPI(LNW_Start(&request_));
    for (const auto& [edge, p] : parts) {
      const int n = out_.counts[edge], of = out_.partitions[edge];
      write(edge, n * p / of, n * (p + 1) / of);
      EXPECT_MPI(LNW_Pready_edge(request_, static_cast<int>(edge), p));
    }
    bool is_complete = false;
    while (!is_complete) {
      int flag = 0;
      EXPECT_MPI(LNW_Test(&request_, &flag, MPI_STATUS_IGNORE));
      is_complete = flag != 0;
      for (std::size_t e = 0; e < in_.counts.size(); ++e)
        for (int p = 0; p < in_.partitions[e]; ++p) {
          int arrived = 0;
          EXPECT_MPI(LNW_Parrived_edge(request_, static_cast<int>(e), p, &arrived));
          EXPECT_TRUE(!is_complete || arrived);
          const int n = in_.counts[e], of = in_.partitions[e];
          for (int i = n * p / of; arrived && i < n * (p + 1) / of; ++i)
            ASSERT_EQ(at(receive_, in_, e, i, indexed), value_of(shape_.sources[e], rank(), number, i));
        }
    }
  }

  Shape shape_;
  Comm graph_;
  Side out_, in_;
  std::vector<int> send_, receive_;
  LNW_Topology topology_ = LNW_TOPOLOGY_NULL;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

TEST_F(EdgesTest, EveryForm) {
  Random random(static_cast<unsigned>(rank() + 19));
  for (const bool indexed : {false, true})
    for (const bool on_topology : {false, true})
      for (const bool large : {false, true}) {
        make(6, choices("node:* rank:2").front(), indexed, on_topology, large);
        for (int number = 0; number < 2; ++number) exchange(number, random, indexed);
        free();
        ASSERT_FALSE(HasFailure()) << indexed << on_topology << large;
      }
}

TEST_F(EdgesTest, EveryStrategy) {
  Random random(static_cast<unsigned>(rank() + 17));
  for (const bool indexed : {false, true})
    for (const char* transport : {"auto", "p2p"})
      for (Choice choice : choices("node:* rank:2")) {
        choice.transport = transport;
        make(5, choice, indexed);
        for (int number = 0; number < 3; ++number) exchange(number, random, indexed);
        free();
        ASSERT_FALSE(HasFailure()) << choice.text();
      }
}

TEST_F(EdgesTest, BadArgumentsAreErrors) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Shape ring = ring_shape(rank(), size());
  const Comm graph = make_graph(MPI_COMM_WORLD, ring);
  MPI_Comm_set_errhandler(graph.get(), MPI_ERRORS_RETURN);
  const auto degree = ring.sources.size();
  const std::vector<int> counts(degree, 4), displacements(degree, 0);
  std::vector<int> partitions(degree, 2);
  std::vector<int> send(4), receive(4);
  LNW_Request request = LNW_REQUEST_NULL;
  const auto init = [&](const int* sent, const int* received) {
    return LNW_Neighbor_alltoallv_init_partitioned(send.data(), counts.data(), displacements.data(), MPI_INT,
                                                   receive.data(), counts.data(), displacements.data(), MPI_INT, sent,
                                                   received, graph.get(), MPI_INFO_NULL, &request);
  };
  const auto expect = [&](int code, int wanted, const std::string& text) {
    expect_error_class(code, wanted);
    EXPECT_NE(error_text(code).find(text), std::string::npos) << error_text(code);
  };
  // Of one rank: all get an error.
  const std::vector<int> bad(degree, -2);
  EXPECT_NE(init(rank() == 0 ? bad.data() : partitions.data(), partitions.data()), MPI_SUCCESS);
  expect(init(bad.data(), partitions.data()), MPI_ERR_ARG, "sendpartitions[0] is -2");
  expect(init(partitions.data(), nullptr), MPI_ERR_ARG, "recvpartitions is NULL");
  EXPECT_MPI(init(partitions.data(), partitions.data()));
  expect(LNW_Pready_edge(request, 0, 0), MPI_ERR_REQUEST, "partition 0 of edge 0 of a request that is not active");
  EXPECT_MPI(LNW_Start(&request));
  int flag = 0;
  const int edges = static_cast<int>(degree);
  expect(LNW_Pready_edge(request, edges, 0), MPI_ERR_ARG, "edge is " + std::to_string(edges));
  expect(LNW_Pready_edge(request, 0, 2), MPI_ERR_ARG, "partition is 2; edge 0 has 2");
  expect(LNW_Parrived_edge(request, 0, -1, &flag), MPI_ERR_ARG, "partition is -1");
  EXPECT_MPI(LNW_Pready_edge(request, 0, 0));
  expect(LNW_Pready_edge(request, 0, 0), MPI_ERR_ARG, "partition 0 of edge 0 is ready already");
  expect(LNW_Pready(0, request), MPI_ERR_REQUEST, "neither LNW_Psend_init nor LNW_Precv_init");
  for (int e = 0; e < edges; ++e)
    for (int p = e == 0 ? 1 : 0; p < 2; ++p) EXPECT_MPI(LNW_Pready_edge(request, e, p));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_MPI(LNW_Request_free(&request));
}

}  // namespace
}  // namespace laneway::test
