// How many messages short puts between nodes, and partitions, take. Counted where the library calls MPI; time goes a
// thousand times slower meanwhile, so that ranks without a processor are not taken for ranks that do something else.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "support.hpp"

namespace {
std::atomic<bool> is_slow{false};
std::atomic<int> sends{0};
std::atomic<int> starts{0};  // of persistent messages
}  // namespace

#ifndef LANEWAY_TEST_SANITIZED
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int code = real(clock, time);
  if (code != 0 || clock != CLOCK_MONOTONIC || !is_slow) return code;
  const std::int64_t slow = (time->tv_sec * std::int64_t{1'000'000'000} + time->tv_nsec) / 1000;
  *time = {slow / 1'000'000'000, slow % 1'000'000'000};
  return code;
}
#endif

extern "C" __attribute__((visibility("default"))) int MPI_Isend(const void* data, int count, MPI_Datatype type, int to,
                                                                int tag, MPI_Comm comm, MPI_Request* request) {
  ++sends;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

extern "C" __attribute__((visibility("default"))) int MPI_Send(const void* data, int count, MPI_Datatype type, int to,
                                                               int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(data, count, type, to, tag, comm);
}

extern "C" __attribute__((visibility("default"))) int MPI_Start(MPI_Request* request) {
  ++starts;
  return PMPI_Start(request);
}

extern "C" __attribute__((visibility("default"))) int MPI_Startall(int count, MPI_Request requests[]) {
  starts += count;
  return PMPI_Startall(count, requests);
}

namespace laneway::test {
namespace {

/// A channel to the other rank and one from it, by messages.
class ShortPuts : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
#ifdef LANEWAY_TEST_SANITIZED
    GTEST_SKIP() << "SKIP: the sanitizer has the clock";
#endif
    if (size() != 2) GTEST_SKIP() << "SKIP: needs 2 ranks";
    is_slow = true;
  }
  void TearDown() override {
    is_slow = false;
    MpiTest::TearDown();
  }
  void create(MPI_Count bytes, int segments) {
    const Info info(Hints{{"lnw_transport", "p2p"}});
    EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, 1 - rank(), LNW_CHANNEL_SEND, bytes, segments, info.get(), &to_));
    EXPECT_MPI(
        LNW_Channel_create(MPI_COMM_WORLD, 1 - rank(), LNW_CHANNEL_RECEIVE, bytes, segments, info.get(), &from_));
    for (LNW_Channel const end : {to_, from_}) {
      MPI_Info known = MPI_INFO_NULL;
      EXPECT_MPI(LNW_Channel_get_info(end, &known));
      MPI_Info_free(&known);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sends = 0;
  }
  void free() {
    EXPECT_MPI(LNW_Channel_free(&to_));
    EXPECT_MPI(LNW_Channel_free(&from_));
  }
  void put(int segment, const std::vector<int>& data) {
    for (int flag = 0; !flag;) EXPECT_MPI(LNW_Channel_test_free(to_, segment, &flag));
    EXPECT_MPI(LNW_Channel_put(to_, segment, data.data(), static_cast<MPI_Count>(sizeof(int) * data.size())));
  }
  [[nodiscard]] std::vector<int> wait(int segment) {
    void* data = nullptr;
    MPI_Count bytes = 0;
    EXPECT_MPI(LNW_Channel_wait(from_, segment, &data, &bytes));
    const auto* const begin = static_cast<const int*>(data);
    return {begin, begin + bytes / static_cast<MPI_Count>(sizeof(int))};
  }
  void release(int segment) {
    EXPECT_MPI(LNW_Channel_release(from_, segment));
  }

  LNW_Channel to_ = LNW_CHANNEL_NULL;
  LNW_Channel from_ = LNW_CHANNEL_NULL;
};

std::vector<int> data_of(int rank, int turn, std::size_t words) {
  std::vector<int> data(words);
  std::iota(data.begin(), data.end(), 10000 * rank + turn);
  return data;
}

/// There and back: each put brings the credit for what was released before it. Released before the wait or after it.
TEST_F(ShortPuts, OneMessageEachThereAndBack) {
  if (is_mpich()) GTEST_SKIP() << "SKIP: credits are sent at once where no progress engine could send them later";
  constexpr int turns = 1000;
  for (const bool at_once : {false, true})
    for (const std::size_t words : {1, 16, 500}) {
      create(static_cast<MPI_Count>(words * sizeof(int)), 2);
      for (int turn = 0; turn < turns; ++turn) {
        const auto take = [&] {
          if (!at_once && turn > 0) release((turn - 1) % 2);
          EXPECT_EQ(wait(turn % 2), data_of(1 - rank(), turn, words));
          if (at_once) release(turn % 2);
        };
        if (rank() == 1) take();
        put(turn % 2, data_of(rank(), turn, words));
        if (rank() == 0) take();
      }
      EXPECT_GE(sends, turns);
      EXPECT_LE(sends, turns + turns / 4) << words << (at_once ? " at once" : " later");
      free();
      MPI_Barrier(MPI_COMM_WORLD);
    }
}

/// One way: a message brings the credits of half of the segments. Long data, too, of which credits are short messages.
TEST_F(ShortPuts, SegmentsShareCredits) {
  if (is_mpich()) GTEST_SKIP() << "SKIP: credits are sent at once where no progress engine could send them later";
  constexpr int turns = 512, segments = 16;
  for (const std::size_t words : {4, 2000}) {
    create(static_cast<MPI_Count>(words * sizeof(int)), segments);
    for (int turn = 0; turn < turns; turn += segments) {
      std::vector<std::vector<int>> sent;  // until the end of the turn: long data is read after the put
      for (int s = 0; s < segments && rank() == 0; ++s) put(s, sent.emplace_back(data_of(0, turn + s, words)));
      MPI_Barrier(MPI_COMM_WORLD);
      for (int s = 0; s < segments && rank() == 1; ++s) {
        EXPECT_EQ(wait(s), data_of(0, turn + s, words));
        release(s);
      }
      if (rank() == 0) EXPECT_MPI(LNW_Channel_flush(to_));
    }
    EXPECT_LE(sends, rank() == 0 ? turns : turns / 4);
    free();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Who waits for a segment to be free gets it although the other end has nothing to send, and is in a call of MPI.
TEST_F(ShortPuts, CreditsComeWithoutPuts) {
  constexpr int turns = 64;
  create(8, 2);
  for (int round = 0; round < 3; ++round) {
    for (int turn = 0; turn < turns; ++turn) {  // credits are owed from now on
      const auto take = [&] {
        EXPECT_EQ(wait(turn % 2), (std::vector<int>{turn, 1 - rank()}));
        release(turn % 2);
      };
      if (rank() == 1) take();
      put(turn % 2, {turn, rank()});
      if (rank() == 0) take();
    }
    for (const int segment : {0, 1}) {
      put(segment, {segment, rank()});
      EXPECT_EQ(wait(segment), (std::vector<int>{segment, 1 - rank()}));
      release(segment);
      for (int flag = round % 2 == rank(); !flag;) EXPECT_MPI(LNW_Channel_test_free(to_, segment, &flag));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  free();
}

/// Short partitioned messages go through memory of the node, those that hints keep out of it are one message each.
TEST_F(ShortPuts, OnePartitionInsideANodeIsNoMessage) {
  constexpr int turns = 100;
  for (const char* const transport : {"auto", "p2p"})
    for (const std::size_t words : {1, 16, 1000, 16384}) {
      const Info info(Hints{{"lnw_transport", transport}, {"lnw_progress", "wait"}});
      std::vector<int> data(words);
      LNW_Request request = LNW_REQUEST_NULL;
      const auto count = static_cast<MPI_Count>(words);
      if (rank() == 0) {
        EXPECT_MPI(LNW_Psend_init(data.data(), 1, count, MPI_INT, 1, 0, MPI_COMM_WORLD, info.get(), &request));
      } else {
        EXPECT_MPI(LNW_Precv_init(data.data(), 1, count, MPI_INT, 0, 0, MPI_COMM_WORLD, info.get(), &request));
      }
      for (int turn = -1; turn < turns; ++turn) {
        if (turn == 0) sends = starts = 0;  // the two ends have met
        if (rank() == 0) std::ranges::copy(data_of(0, turn, words), data.begin());
        EXPECT_MPI(LNW_Start(&request));
        if (rank() == 0) {
          EXPECT_MPI(LNW_Pready(0, request));
        }
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        if (rank() == 1) {
          EXPECT_EQ(data, data_of(0, turn, words));
        }
      }
      EXPECT_EQ(sends + starts, *transport == 'a' ? 0 : turns) << words;
      EXPECT_MPI(LNW_Request_free(&request));
      MPI_Barrier(MPI_COMM_WORLD);
    }
}

}  // namespace
}  // namespace laneway::test
