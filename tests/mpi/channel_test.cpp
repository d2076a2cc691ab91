// Channels: every byte that is put comes, once, in order for each segment, whatever carries it.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "setting.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

/// One end, freed with its owner.
class End {
 public:
  End(int peer, int role, MPI_Count bytes, int segments, const Hints& hints = {}, MPI_Comm comm = MPI_COMM_WORLD) {
    const Info info(hints);
    EXPECT_MPI(LNW_Channel_create(comm, peer, role, bytes, segments, info.get(), &channel_));
  }
  ~End() { free(); }
  End(End&& other) noexcept : channel_(std::exchange(other.channel_, LNW_CHANNEL_NULL)) {}
  End& operator=(End&&) = delete;

  void free() {
    if (channel_ != LNW_CHANNEL_NULL) EXPECT_MPI(LNW_Channel_free(&channel_));
  }
  void put(int segment, const void* data, MPI_Count bytes) {
    EXPECT_MPI(LNW_Channel_put(channel_, segment, data, bytes));
  }
  void flush() { EXPECT_MPI(LNW_Channel_flush(channel_)); }
  [[nodiscard]] bool is_free(int segment) {
    int flag = 0;
    EXPECT_MPI(LNW_Channel_test_free(channel_, segment, &flag));
    return flag != 0;
  }
  void wait_until_free(int segment) {
    while (!is_free(segment)) std::this_thread::yield();
  }
  [[nodiscard]] std::vector<unsigned char> take(int segment) {
    void* data = nullptr;
    MPI_Count bytes = -1;
    EXPECT_MPI(LNW_Channel_wait(channel_, segment, &data, &bytes));
    const auto* const begin = static_cast<const unsigned char*>(data);
    std::vector<unsigned char> taken(begin, begin + std::max<MPI_Count>(bytes, 0));
    EXPECT_MPI(LNW_Channel_release(channel_, segment));
    return taken;
  }
  [[nodiscard]] std::string info(const char* key) {
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Channel_get_info(channel_, &info));
    std::array<char, MPI_MAX_INFO_VAL + 1> text{};
    int found = 0;
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, text.data(), &found);
    MPI_Info_free(&info);
    return text.data();
  }
  [[nodiscard]] LNW_Channel get() const { return channel_; }

 private:
  LNW_Channel channel_ = LNW_CHANNEL_NULL;
};

std::vector<unsigned char> message(std::uint64_t seed, std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  Random random(static_cast<unsigned>(seed));
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random());
  return data;
}

const Hints by_window = {{"lnw_transport", "rma"}, {"lnw_machine", "node:* rank:1"}};

class ChannelTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    const Setting transport("LANEWAY_TRANSPORT", "rma");
    EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  }

  /// Each rank is a node of its own, but shares memory with itself.
  [[nodiscard]] static std::string carrier_of(const Hints& hints) {
    if (hints.empty() || (hints == by_window && size() == 1)) return "memory";
    return hints == by_window ? "window" : "messages";
  }

  [[nodiscard]] int next() const { return (rank() + 1) % size(); }
  [[nodiscard]] int previous() const { return (rank() + size() - 1) % size(); }
};

const std::vector<Hints> ways = {
    {}, {{"lnw_transport", "p2p"}}, {{"lnw_transport", "p2p"}, {"lnw_progress", "thread"}}, by_window};

/// All create the end that sends first: who waits for the other's end would wait for ever.
TEST_F(ChannelTest, RingInBothDirections) {
  for (const Hints& hints : ways) {
    constexpr int segments = 3;
    for (const MPI_Count bytes : {0, 1, 48, 49, 1000, 100000}) {
      std::vector<End> ends;
      for (const int to : {next(), previous()}) ends.emplace_back(to, LNW_CHANNEL_SEND, bytes, segments, hints);
      for (const int from : {previous(), next()}) ends.emplace_back(from, LNW_CHANNEL_RECEIVE, bytes, segments, hints);
      for (int round = 0; round < 3; ++round)
        for (int segment = 0; segment < segments; ++segment) {
          std::array<std::vector<unsigned char>, 2> sent;
          const auto length = [&](int r) {
            return static_cast<std::size_t>(bytes - (bytes > 1 ? (r + round) % 2 : 0));
          };
          for (std::size_t way = 0; way < 2; ++way) {
            sent[way] = message(mix({0, static_cast<std::uint64_t>(rank()), way, static_cast<std::uint64_t>(round)}),
                                length(rank()));
            ends[way].wait_until_free(segment);
            ends[way].put(segment, sent[way].data(), static_cast<MPI_Count>(sent[way].size()));
          }
          for (std::size_t way = 0; way < 2; ++way) {
            const int from = way == 0 ? previous() : next();
            EXPECT_EQ(ends[2 + way].take(segment),
                      message(mix({0, static_cast<std::uint64_t>(from), way, static_cast<std::uint64_t>(round)}),
                              length(from)));
          }
          for (std::size_t way = 0; way < 2; ++way) ends[way].flush();
        }
      EXPECT_EQ(ends[0].info("lnw_carrier"), carrier_of(hints)) << ends[0].info("lnw_carrier_reason");
      EXPECT_EQ(ends[0].info("lnw_carrier"), ends[2].info("lnw_carrier"));
      const std::map<std::string, std::string> reasons = {
          {"memory", "both ends are on one node"},
          {"messages", "lnw_transport=p2p"},
          {"window", "lnw_machine has the two ranks on different nodes"}};
      EXPECT_EQ(ends[0].info("lnw_carrier_reason"), reasons.at(carrier_of(hints)));
    }
  }
}

TEST_F(ChannelTest, WithoutAWindowMessagesSayWhy) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a rank shares memory with itself";
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const Comm unprepared(copy);
  constexpr MPI_Count too_much = MPI_Count{17} << 20;
  for (const auto& [comm, bytes, why] :
       {std::tuple<MPI_Comm, MPI_Count, std::string>{copy, 100, "different nodes; the communicator has no window"},
        {MPI_COMM_WORLD, too_much, "different nodes; an end has no room in lnw_channel_memory"}}) {
    End sender(next(), LNW_CHANNEL_SEND, bytes, 1, by_window, comm);
    End receiver(previous(), LNW_CHANNEL_RECEIVE, bytes, 1, by_window, comm);
    const std::vector<unsigned char> sent = message(3, 100);
    sender.wait_until_free(0);
    sender.put(0, sent.data(), 100);
    EXPECT_EQ(receiver.take(0), sent);
    sender.flush();
    for (End* const end : {&sender, &receiver}) {
      EXPECT_EQ(end->info("lnw_carrier"), "messages");
      EXPECT_NE(end->info("lnw_carrier_reason").find(why), std::string::npos) << end->info("lnw_carrier_reason");
    }
  }
}

/// Parts of the window are used again, whichever end is freed first, and also where the two have not met.
TEST_F(ChannelTest, WindowsHaveRoomForOneChannelAfterAnother) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a rank shares memory with itself";
  constexpr MPI_Count bytes = MPI_Count{3} << 20;
  for (int round = 0; round < 12; ++round) {
    End sender(next(), LNW_CHANNEL_SEND, bytes, 1, by_window);
    End receiver(previous(), LNW_CHANNEL_RECEIVE, bytes, 1, by_window);
    if (round % 4 != 3) {
      const std::vector<unsigned char> sent = message(static_cast<std::uint64_t>(round + rank()), 50000);
      sender.put(0, sent.data(), 50000);
      EXPECT_EQ(receiver.take(0), message(static_cast<std::uint64_t>(round + previous()), 50000));
      EXPECT_EQ(receiver.info("lnw_carrier"), "window") << round << receiver.info("lnw_carrier_reason");
    }
    if (round % 2 == 0) receiver.free();
    sender.free();
    receiver.free();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// As many puts as there are segments are under way before the receiver looks; segments are independent of each other.
TEST_F(ChannelTest, PutsDoNotSynchronise) {
  for (const Hints& hints : ways) {
    constexpr int segments = 16;
    End to(next(), LNW_CHANNEL_SEND, sizeof(int), segments, hints);
    End from(previous(), LNW_CHANNEL_RECEIVE, sizeof(int), segments, hints);
    std::array<int, segments> values{};
    std::iota(values.begin(), values.end(), 100 * rank());
    for (int s = 0; s < segments; ++s) to.put(s, &values[static_cast<std::size_t>(s)], sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int s = segments - 1; s >= 0; --s) {
      const std::vector<unsigned char> taken = from.take(s);
      int value = -1;
      ASSERT_EQ(taken.size(), sizeof value);
      std::memcpy(&value, taken.data(), sizeof value);
      EXPECT_EQ(value, 100 * previous() + s);
    }
    for (int s = 0; s < segments; ++s) to.wait_until_free(s);
  }
}

/// What tags would tell apart.
TEST_F(ChannelTest, ManyChannelsBetweenTheSameRanks) {
  constexpr int channels = 20;
  std::vector<End> to, from;
  for (int c = 0; c < channels; ++c) {
    const Hints& hints = ways[static_cast<std::size_t>(c) % 2];
    to.emplace_back(next(), LNW_CHANNEL_SEND, 64, 1, hints);
    from.emplace_back(previous(), LNW_CHANNEL_RECEIVE, 64, 1, hints);
  }
  for (int c = channels - 1; c >= 0; --c) {
    const std::vector<unsigned char> data = message(static_cast<std::uint64_t>(c), 64);
    to[static_cast<std::size_t>(c)].put(0, data.data(), 64);
    to[static_cast<std::size_t>(c)].flush();
  }
  for (int c = 0; c < channels; ++c)
    EXPECT_EQ(from[static_cast<std::size_t>(c)].take(0), message(static_cast<std::uint64_t>(c), 64));
}

/// Threads of one rank put into segments of their own, and threads of the other take.
TEST_F(ChannelTest, ThreadsUseDifferentSegments) {
  if (size() < 2) GTEST_SKIP() << "SKIP: needs 2 ranks";
  constexpr int threads = 4;
  for (const Hints& hints : ways) {
    const int rounds = long_tests() ? 50000 : hints.empty() ? 1000 : effort(60);
    if (rank() > 1) continue;
    End end(1 - rank(), rank() == 0 ? LNW_CHANNEL_SEND : LNW_CHANNEL_RECEIVE, 256, threads, hints);
    std::atomic<int> wrong{0};
    const auto run = [&](int t) {
      std::array<std::uint64_t, 32> data{};
      for (int round = 0; round < rounds; ++round) {
        const auto words = static_cast<std::size_t>(1 + (round + t) % 32);
        if (rank() == 0) {
          for (std::size_t i = 0; i < words; ++i) data[i] = mix({1, static_cast<std::uint64_t>(round + t), i});
          int flag = 0;
          while (LNW_Channel_test_free(end.get(), t, &flag) == MPI_SUCCESS && !flag) std::this_thread::yield();
          if (LNW_Channel_put(end.get(), t, data.data(), static_cast<MPI_Count>(8 * words)) != MPI_SUCCESS) ++wrong;
          while (LNW_Channel_test_free(end.get(), t, &flag) == MPI_SUCCESS && !flag) std::this_thread::yield();
        } else {
          void* found = nullptr;
          MPI_Count bytes = 0;
          if (LNW_Channel_wait(end.get(), t, &found, &bytes) != MPI_SUCCESS) ++wrong;
          if (bytes != static_cast<MPI_Count>(8 * words)) ++wrong;
          std::memcpy(data.data(), found, 8 * words);
          for (std::size_t i = 0; i < words; ++i)
            if (data[i] != mix({1, static_cast<std::uint64_t>(round + t), i})) ++wrong;
          if (LNW_Channel_release(end.get(), t) != MPI_SUCCESS) ++wrong;
        }
      }
    };
    {
      std::vector<std::jthread> all;
      for (int t = 0; t < threads; ++t) all.emplace_back(run, t);
    }
    EXPECT_EQ(wrong, 0);
  }
}

/// Of threads that put into one segment at a time one wins.
TEST_F(ChannelTest, OneOfSeveralPutsIntoOneSegment) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const Hints& hints : {ways[0], ways[1]}) {
    End to(next(), LNW_CHANNEL_SEND, 8, 1, hints);
    End from(previous(), LNW_CHANNEL_RECEIVE, 8, 1, hints);
    (void)to.info("lnw_carrier");
    std::atomic<int> good{0};
    std::array<std::uint64_t, 4> values{};
    {
      std::vector<std::jthread> all;
      for (std::size_t t = 0; t < 4; ++t)
        all.emplace_back([&, t] {
          values[t] = 7 + t;
          if (LNW_Channel_put(to.get(), 0, &values[t], 8) == MPI_SUCCESS) ++good;
        });
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(good, 1);
    EXPECT_EQ(from.take(0).size(), 8U);
    to.flush();
  }
}

TEST_F(ChannelTest, BadArgumentsAreErrors) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  LNW_Channel channel = LNW_CHANNEL_NULL;
  const auto create = [&](int peer, int role, MPI_Count bytes, int segments) {
    return LNW_Channel_create(MPI_COMM_WORLD, peer, role, bytes, segments, MPI_INFO_NULL, &channel);
  };
  const auto expect = [&](int code, int wanted, const std::string& text) {
    expect_error_class(code, wanted);
    EXPECT_NE(error_text(code).find(text), std::string::npos) << error_text(code) << " instead of " << text;
    EXPECT_NE(error_text(code).find("on rank " + std::to_string(rank())), std::string::npos) << error_text(code);
  };
  expect(create(size(), LNW_CHANNEL_SEND, 8, 1), MPI_ERR_RANK, "LNW_Channel_create on rank");
  expect(create(size(), LNW_CHANNEL_SEND, 8, 1), MPI_ERR_RANK, "peer is " + std::to_string(size()));
  expect(create(-1, LNW_CHANNEL_SEND, 8, 1), MPI_ERR_RANK, "peer is -1");
  expect(create(0, 3, 8, 1), MPI_ERR_ARG, "role is 3");
  expect(create(0, LNW_CHANNEL_SEND, -8, 1), MPI_ERR_COUNT, "bytes is -8");
  expect(create(0, LNW_CHANNEL_SEND, 8, 0), MPI_ERR_COUNT, "segments is 0");
  EXPECT_EQ(channel, LNW_CHANNEL_NULL);
  expect(LNW_Channel_free(&channel), MPI_ERR_REQUEST, "channel is LNW_CHANNEL_NULL");

  for (const Hints& hints : {ways[0], ways[1]}) {
    End to(next(), LNW_CHANNEL_SEND, 8, 2, hints);
    End from(previous(), LNW_CHANNEL_RECEIVE, 8, 2, hints);
    const std::uint64_t value = 5;
    int flag = 0;
    void* data = nullptr;
    MPI_Count bytes = 0;
    expect(LNW_Channel_put(to.get(), 2, &value, 8), MPI_ERR_ARG, "segment is 2; the channel has 2");
    expect(LNW_Channel_put(to.get(), 0, &value, 9), MPI_ERR_COUNT, "bytes is 9; a segment has 8");
    expect(LNW_Channel_put(to.get(), 0, nullptr, 8), MPI_ERR_ARG, "data is NULL");
    expect(LNW_Channel_put(from.get(), 0, &value, 8), MPI_ERR_REQUEST, "channel is one for receiving");
    expect(LNW_Channel_wait(to.get(), 0, &data, &bytes), MPI_ERR_REQUEST, "channel is one for sending");
    expect(LNW_Channel_test(from.get(), -1, &flag, &data, &bytes), MPI_ERR_ARG, "segment is -1");
    expect(LNW_Channel_release(from.get(), 0), MPI_ERR_REQUEST, "segment 0 holds nothing");
    MPI_Barrier(MPI_COMM_WORLD);
    to.put(0, &value, 8);
    expect(LNW_Channel_put(to.get(), 0, &value, 8), MPI_ERR_REQUEST, "segment 0 is not free");
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(from.take(0).size(), 8U);
    to.put(1, &value, 8);  // the channel is as good as before
    EXPECT_EQ(from.take(1).size(), 8U);
    to.flush();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(ChannelTest, SizesThatDifferAreErrorsAtBothEnds) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const Hints& hints : {ways[0], ways[1]})
    for (const bool segments : {false, true}) {
      End to(next(), LNW_CHANNEL_SEND, 8, segments ? 2 : 1, hints);
      End from(previous(), LNW_CHANNEL_RECEIVE, segments ? 8 : 9, 1, hints);
      const std::uint64_t value = 5;
      void* data = nullptr;
      MPI_Count bytes = 0;
      const int put = LNW_Channel_put(to.get(), 0, &value, 8);
      const int waited = LNW_Channel_wait(from.get(), 0, &data, &bytes);
      for (const int code : {put, waited}) {
        expect_error_class(code, MPI_ERR_COUNT);
        EXPECT_NE(error_text(code).find("the two ends of the channel differ"), std::string::npos) << error_text(code);
      }
    }
}

/// What was put comes, and then waiting is an error, not a hang; so is putting into a channel that nobody has any more.
TEST_F(ChannelTest, FreedPeers) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const Hints& hints : {ways[0], ways[1]}) {
    void* data = nullptr;
    MPI_Count bytes = 0;
    {
      End to(next(), LNW_CHANNEL_SEND, 8, 2, hints);
      End from(previous(), LNW_CHANNEL_RECEIVE, 8, 2, hints);
      const std::uint64_t value = 5;
      to.put(0, &value, 8);
      to.free();
      EXPECT_EQ(from.take(0).size(), 8U);
      for (const int code : {LNW_Channel_wait(from.get(), 1, &data, &bytes)}) {
        expect_error_class(code, MPI_ERR_REQUEST);
        EXPECT_NE(error_text(code).find("has freed its end"), std::string::npos) << error_text(code);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    {
      End to(next(), LNW_CHANNEL_SEND, 8, 1, hints);
      End from(previous(), LNW_CHANNEL_RECEIVE, 8, 1, hints);
      const std::uint64_t value = 5;
      (void)to.info("lnw_carrier");
      (void)from.info("lnw_carrier");
      from.free();
      MPI_Barrier(MPI_COMM_WORLD);
      int code = MPI_SUCCESS;
      for (int tries = 0; tries < 3 && code == MPI_SUCCESS; ++tries) code = LNW_Channel_put(to.get(), 0, &value, 8);
      expect_error_class(code, MPI_ERR_REQUEST);
      EXPECT_NE(error_text(code).find("has freed its end"), std::string::npos) << error_text(code);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    {
      // Before the two have met.
      End from(previous(), LNW_CHANNEL_RECEIVE, 8, 1, hints);
      from.free();
      MPI_Barrier(MPI_COMM_WORLD);
      End to(next(), LNW_CHANNEL_SEND, 8, 1, hints);
      const std::uint64_t value = 5;
      int code = MPI_SUCCESS;
      for (int tries = 0; tries < 3 && code == MPI_SUCCESS; ++tries) code = LNW_Channel_put(to.get(), 0, &value, 8);
      expect_error_class(code, MPI_ERR_REQUEST);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// A channel outlives the communicator that it was made on; others of the same communicator take no part.
TEST_F(ChannelTest, OutlivesItsCommunicator) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  EXPECT_MPI(LNW_Comm_prepare(comm));
  if (rank() < 2 && size() > 1) {
    LNW_Channel channel = LNW_CHANNEL_NULL;
    EXPECT_MPI(LNW_Channel_create(comm, 1 - rank(), rank() == 0 ? LNW_CHANNEL_SEND : LNW_CHANNEL_RECEIVE, 8, 1,
                                  MPI_INFO_NULL, &channel));
    const std::uint64_t value = 11;
    void* data = nullptr;
    MPI_Count bytes = 0;
    MPI_Comm_free(&comm);
    if (rank() == 0) {
      EXPECT_MPI(LNW_Channel_put(channel, 0, &value, 8));
      int flag = 0;
      while (!flag) EXPECT_MPI(LNW_Channel_test_free(channel, 0, &flag));
    } else {
      EXPECT_MPI(LNW_Channel_wait(channel, 0, &data, &bytes));
      EXPECT_EQ(std::memcmp(data, &value, 8), 0);
      EXPECT_MPI(LNW_Channel_release(channel, 0));
    }
    EXPECT_MPI(LNW_Channel_free(&channel));
  } else {
    MPI_Comm_free(&comm);
  }
}

/// Data comes to the receiver's own buffer, which keeps it after the release until more comes.
TEST_F(ChannelTest, ReceiversOwnBuffer) {
  constexpr int segments = 3, bytes = 50;
  for (const Hints& hints : ways) {
    std::vector<unsigned char> buffer(static_cast<std::size_t>(segments * bytes), 0xaa);
    End to(next(), LNW_CHANNEL_SEND, bytes, segments, hints);
    const Info info(hints);
    LNW_Channel from = LNW_CHANNEL_NULL;
    EXPECT_MPI(LNW_Channel_create_with_buffer(MPI_COMM_WORLD, previous(), LNW_CHANNEL_RECEIVE, buffer.data(), bytes,
                                              segments, info.get(), &from));
    for (int round = 0; round < 3; ++round)
      for (int s = 0; s < segments; ++s) {
        const int length = bytes - 7 * round;
        const auto seed = [&](int rank) { return static_cast<std::uint64_t>(100 * rank + 10 * round + s); };
        const std::vector<unsigned char> sent = message(seed(rank()), static_cast<std::size_t>(length));
        to.wait_until_free(s);
        to.put(s, sent.data(), length);
        void* data = nullptr;
        MPI_Count found = 0;
        for (int look = 0; look < 2; ++look) EXPECT_MPI(LNW_Channel_wait(from, s, &data, &found));
        unsigned char* const place = buffer.data() + s * bytes;
        EXPECT_EQ(data, place);
        EXPECT_EQ(found, length);
        EXPECT_EQ(std::vector<unsigned char>(place, place + length),
                  message(seed(previous()), static_cast<std::size_t>(length)));
        *place = 0x11;  // what the receiver writes stays: data is brought once
        EXPECT_MPI(LNW_Channel_wait(from, s, &data, &found));
        EXPECT_EQ(*place, 0x11);
        EXPECT_MPI(LNW_Channel_release(from, s));
        to.flush();
      }
    EXPECT_MPI(LNW_Channel_free(&from));
  }
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  LNW_Channel channel = LNW_CHANNEL_NULL;
  const int code =
      LNW_Channel_create_with_buffer(MPI_COMM_WORLD, 0, LNW_CHANNEL_RECEIVE, nullptr, 8, 1, MPI_INFO_NULL, &channel);
  expect_error_class(code, MPI_ERR_ARG);
  EXPECT_NE(error_text(code).find("buffer is NULL"), std::string::npos) << error_text(code);
}

/// A receiver may write what it has got, and a large segment comes whole.
TEST_F(ChannelTest, DataIsTheReceiversUntilReleased) {
  constexpr MPI_Count bytes = 3 << 20;
  for (const Hints& hints : {ways[0], ways[1]}) {
    End to(next(), LNW_CHANNEL_SEND, bytes, 1, hints);
    End from(previous(), LNW_CHANNEL_RECEIVE, bytes, 1, hints);
    for (int round = 0; round < 3; ++round) {
      const std::vector<unsigned char> sent = message(static_cast<std::uint64_t>(round + 10 * rank()), bytes);
      to.wait_until_free(0);
      to.put(0, sent.data(), bytes);
      int flag = 0;
      void* data = nullptr;
      MPI_Count found = 0;
      while (!flag) EXPECT_MPI(LNW_Channel_test(from.get(), 0, &flag, &data, &found));
      EXPECT_EQ(found, bytes);
      const std::vector<unsigned char> wanted = message(static_cast<std::uint64_t>(round + 10 * previous()), bytes);
      EXPECT_EQ(std::memcmp(data, wanted.data(), static_cast<std::size_t>(bytes)), 0);
      std::memset(data, 0xee, static_cast<std::size_t>(bytes));
      EXPECT_MPI(LNW_Channel_release(from.get(), 0));
      to.flush();
    }
  }
}

}  // namespace
}  // namespace laneway::test
