// What waits for words of its node gives progress to other messages of its rank, which the ranks that write these words
// may wait for first. Run over a network in which a large message needs calls of its sender.
#include <cstddef>
#include <vector>

#include "support.hpp"

namespace laneway::test {
namespace {

constexpr int large = 4 << 20;
constexpr int tag = 7;

/// From one of ranks 0 and 1 to the other, which waits for it: begun here, and to be completed after what waits for the
/// other.
class LargeMessage {
 public:
  explicit LargeMessage(int from = 0) : data_(rank() < 2 ? large : 0) {
    const int other = 1 - rank();
    if (rank() == from) MPI_Isend(data_.data(), large, MPI_BYTE, other, tag, MPI_COMM_WORLD, &request_);
    if (other == from) MPI_Recv(data_.data(), large, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  ~LargeMessage() { MPI_Wait(&request_, MPI_STATUS_IGNORE); }
  LargeMessage(const LargeMessage&) = delete;
  LargeMessage& operator=(const LargeMessage&) = delete;

 private:
  std::vector<std::byte> data_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

void complete(LNW_Request& request, bool by_test) {
  EXPECT_MPI(LNW_Start(&request));
  if (!by_test) {
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    return;
  }
  for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
}

void expect_arrival(const Shape& shape, const Hints& hints) {
  const Comm graph = make_graph(MPI_COMM_WORLD, shape);
  const std::vector<double> send(8, rank());
  std::vector<double> receive(8 * shape.sources.size() + 1, -1);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), 8, MPI_DOUBLE, receive.data(), 8, MPI_DOUBLE, graph.get(),
                                         Info(hints).get(), &request));
  for (int turn = 0; turn < 4; ++turn) {
    {
      const LargeMessage message(turn % 2);
      complete(request, turn / 2 == 1);
    }
    for (std::size_t i = 0; i < shape.sources.size(); ++i) EXPECT_EQ(receive[8 * i], shape.sources[i]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_MPI(LNW_Request_free(&request));
}

using AdvanceTest = MpiTest;

TEST_F(AdvanceTest, WhereAnExchangeHasNoMessages) {
  if (size() < 2) GTEST_SKIP() << "SKIP: takes two ranks";
  expect_arrival(rank() < 2 ? Shape{{1 - rank()}, {1 - rank()}} : Shape{}, {{"lnw_strategy", "direct"}});
}

/// Of ranks 0 and 1 one relays what the other has for rank 2: no message is under way while it waits.
TEST_F(AdvanceTest, WhereMessagesFollowWords) {
  if (size() != 3) GTEST_SKIP() << "SKIP: takes three ranks";
  expect_arrival(rank() == 2 ? Shape{{0, 1}, {}} : Shape{{}, {2}},
                 {{"lnw_strategy", "three_step"}, {"lnw_machine", "ranks:2,1"}});
}

TEST_F(AdvanceTest, WhereAChannelIsWaitedFor) {
  if (size() < 2) GTEST_SKIP() << "SKIP: takes two ranks";
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  if (rank() < 2) {
    LNW_Channel channel = LNW_CHANNEL_NULL;
    const int role = rank() == 0 ? LNW_CHANNEL_RECEIVE : LNW_CHANNEL_SEND;
    EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, 1 - rank(), role, 8, 1, MPI_INFO_NULL, &channel));
    for (const bool by_test : {false, true}) {
      const LargeMessage message;
      const double sent = 3;
      void* found = nullptr;
      MPI_Count bytes = 0;
      if (rank() == 1) {
        int flag = 0;
        while (!flag) EXPECT_MPI(LNW_Channel_test_free(channel, 0, &flag));
        EXPECT_MPI(LNW_Channel_put(channel, 0, &sent, sizeof sent));
        continue;
      }
      if (by_test)
        for (int flag = 0; !flag;) EXPECT_MPI(LNW_Channel_test(channel, 0, &flag, &found, &bytes));
      else
        EXPECT_MPI(LNW_Channel_wait(channel, 0, &found, &bytes));
      EXPECT_EQ(*static_cast<double*>(found), sent);
      EXPECT_MPI(LNW_Channel_release(channel, 0));
    }
    EXPECT_MPI(LNW_Channel_free(&channel));
  }
}

/// Rank 0 puts, and waits until rank 1, which waits for its message first, has released what was put.
TEST_F(AdvanceTest, WhereASegmentIsToBecomeFree) {
  if (size() < 2) GTEST_SKIP() << "SKIP: takes two ranks";
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  if (rank() < 2) {
    LNW_Channel channel = LNW_CHANNEL_NULL;
    const int role = rank() == 0 ? LNW_CHANNEL_SEND : LNW_CHANNEL_RECEIVE;
    EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, 1 - rank(), role, 8, 1, MPI_INFO_NULL, &channel));
    const double sent = 3;
    void* found = nullptr;
    MPI_Count bytes = 0;
    int flag = 0;
    if (rank() == 0) EXPECT_MPI(LNW_Channel_put(channel, 0, &sent, sizeof sent));
    {
      const LargeMessage message;
      if (rank() == 0)
        while (!flag) EXPECT_MPI(LNW_Channel_test_free(channel, 0, &flag));
      else
        EXPECT_MPI(LNW_Channel_wait(channel, 0, &found, &bytes));
      if (rank() == 1) EXPECT_MPI(LNW_Channel_release(channel, 0));
    }
    EXPECT_MPI(LNW_Channel_free(&channel));
  }
}

}  // namespace
}  // namespace laneway::test
