// What channels and partitioned messages consist of, without MPI: segments in memory that both ends see, which messages
// can leave, and how partitions are cut. Also run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "algorithms/cost/partition_cut.hpp"
#include "operations/channel/channel_memory.hpp"
#include "operations/channel/credits.hpp"
#include "operations/channel/readiness.hpp"
#include "team.hpp"

namespace laneway {
namespace {

struct alignas(64) Line {
  std::array<std::byte, 64> bytes{};
};

std::vector<Line> zeroed(std::int64_t bytes) {
  return std::vector<Line>(static_cast<std::size_t>((bytes + 63) / 64));
}

std::byte* begin_of(std::vector<Line>& lines) {
  return lines.front().bytes.data();
}

TEST(ChannelMemory, SegmentsAreApart) {
  for (const std::int64_t bytes : {0, 1, 48, 49, 64, 1000}) {
    constexpr std::int64_t segments = 5;
    std::vector<Line> memory = zeroed(ChannelMemory::size(bytes, segments));
    ChannelMemory to(begin_of(memory), bytes, segments), from(begin_of(memory), bytes, segments);
    for (int round = 1; round < 4; ++round) {
      for (std::int64_t s = 0; s < segments; ++s) {
        const std::vector<char> data(static_cast<std::size_t>(bytes), static_cast<char>(10 * round + s));
        EXPECT_TRUE(to.is_free(s));
        EXPECT_FALSE(from.has_come(s));
        EXPECT_FALSE(from.release(s));
        EXPECT_TRUE(to.put(s, data.data(), bytes));
        EXPECT_FALSE(to.is_free(s));
        EXPECT_FALSE(to.put(s, data.data(), bytes)) << "not free";
      }
      for (std::int64_t s = segments - 1; s >= 0; --s) {
        ASSERT_TRUE(from.has_come(s));
        EXPECT_EQ(from.bytes(s), bytes);
        for (std::int64_t i = 0; i < bytes; ++i) ASSERT_EQ(from.data(s)[i], static_cast<std::byte>(10 * round + s));
        EXPECT_TRUE(from.release(s));
        EXPECT_FALSE(from.release(s));
        EXPECT_TRUE(to.is_free(s));
      }
    }
    EXPECT_FALSE(from.is_closed(true));
    to.close(true);
    EXPECT_TRUE(from.is_closed(true));
    EXPECT_FALSE(to.is_closed(false));
  }
  EXPECT_EQ(ChannelMemory::size(std::int64_t{1} << 62, 2), -1);
  EXPECT_EQ(ChannelMemory::size(std::int64_t{1} << 40, std::int64_t{1} << 40), -1);
}

/// Senders and receivers of different segments have nothing in common.
TEST(ChannelMemory, ThreadsAtBothEnds) {
  constexpr std::int64_t segments = 3, words = 12;
  const auto rounds = static_cast<std::uint64_t>(thread_exchanges(9000)) / segments;
  std::vector<Line> memory = zeroed(ChannelMemory::size(8 * words, segments));
  ChannelMemory to(begin_of(memory), 8 * words, segments), from(begin_of(memory), 8 * words, segments);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::int64_t s = 0; s < segments; ++s) {
      threads.emplace_back([&, s] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
          std::array<std::uint64_t, words> data;
          data.fill(round * 8 + static_cast<std::uint64_t>(s));
          while (!to.put(s, data.data(), 8 * words)) std::this_thread::yield();
        }
      });
      threads.emplace_back([&, s] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
          while (!from.has_come(s)) std::this_thread::yield();
          std::array<std::uint64_t, words> data;
          std::memcpy(data.data(), from.data(s), 8 * words);
          for (const std::uint64_t word : data) wrong += word != round * 8 + static_cast<std::uint64_t>(s);
          wrong += !from.release(s);
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

/// Threads that put into one segment at the same time: each put is whole, and comes once.
TEST(ChannelMemory, SeveralThreadsPutIntoOneSegment) {
  constexpr std::int64_t segments = 2, words = 12;
  constexpr std::uint64_t putters = 4;
  const auto rounds = static_cast<std::uint64_t>(thread_exchanges(8000)) / (segments * putters);
  std::vector<Line> memory = zeroed(ChannelMemory::size(8 * words, segments));
  ChannelMemory to(begin_of(memory), 8 * words, segments), from(begin_of(memory), 8 * words, segments);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::int64_t s = 0; s < segments; ++s) {
      for (std::uint64_t t = 0; t < putters; ++t)
        threads.emplace_back([&, s, t] {
          for (std::uint64_t round = 0; round < rounds; ++round) {
            std::array<std::uint64_t, words> data;
            data.fill(round * putters + t);
            while (!to.put(s, data.data(), 8 * words)) std::this_thread::yield();
          }
        });
      threads.emplace_back([&, s] {
        std::array<std::uint64_t, putters> next{};  // round of each thread
        for (std::uint64_t n = 1; n <= rounds * putters; ++n) {
          while (!from.has_come(s)) std::this_thread::yield();
          wrong += from.number(s) != n;
          std::array<std::uint64_t, words> data;
          std::memcpy(data.data(), from.data(s), 8 * words);
          for (const std::uint64_t word : data) wrong += word != data.front();
          std::uint64_t& round = next[data.front() % putters];
          wrong += data.front() / putters != round;
          ++round;
          wrong += !from.release(s);
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

/// Each credit is taken once, with its channel and its segment; what does not fit is not owed.
TEST(OwedCredits, EachIsTakenOnce) {
  OwedCredits owed;
  EXPECT_FALSE(owed.any());
  EXPECT_FALSE(owed.take());
  EXPECT_EQ(owed.add(3, 33), 1);
  EXPECT_EQ(owed.add(3, 63), 2);
  EXPECT_EQ(owed.add(0, 0), 1);
  EXPECT_TRUE(owed.has(3, 63));
  EXPECT_FALSE(owed.has(3, 34));
  EXPECT_FALSE(owed.has(2, 63));
  EXPECT_FALSE(owed.has(3, -1));
  const std::optional<Credits> first = owed.take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->number, 3);
  EXPECT_EQ(first->first, 32);
  EXPECT_EQ(first->mask, 1U << 1 | 1U << 31);
  const std::optional<Credits> second = owed.take();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->number, 0);
  EXPECT_EQ(second->first, 0);
  EXPECT_EQ(second->mask, 1U);
  EXPECT_FALSE(owed.any());
  EXPECT_EQ(owed.add(std::int64_t{1} << 20, 0), 0);
  EXPECT_EQ(owed.add(0, std::int64_t{1} << 17), 0);
  int fit = 0;
  for (int number = 0; number < 100; ++number) fit += owed.add(number, 5);
  EXPECT_EQ(fit, 8);
}

TEST(OwedCredits, ThreadsAddAndTake) {
  constexpr int adders = 3, takers = 2;
  const int rounds = thread_exchanges(3000) / adders;
  OwedCredits owed;
  std::array<std::atomic<int>, adders> taken{};
  std::atomic<int> left{adders};
  std::vector<std::jthread> threads;
  for (int t = 0; t < adders; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        while (owed.add(t, round % 40) == 0) std::this_thread::yield();
        while (taken[static_cast<std::size_t>(t)] <= round) std::this_thread::yield();
      }
      --left;
    });
  for (int t = 0; t < takers; ++t)
    threads.emplace_back([&] {
      while (left > 0)
        if (const std::optional<Credits> credits = owed.take())
          taken[static_cast<std::size_t>(credits->number)] += std::popcount(credits->mask);
        else
          std::this_thread::yield();
    });
  threads.clear();
  for (const std::atomic<int>& each : taken) EXPECT_EQ(each, rounds);
  EXPECT_FALSE(owed.any());
}

/// Credits are owed after some that would have been carried in time, less often after each that was owed in vain, and
/// as before when enough have been carried since.
TEST(CreditPolicy, LearnsFromWhatCarriesCredits) {
  CreditPolicy policy;
  const auto good_ones = [&] {
    int n = 0;
    for (; !policy.owes(); ++n) policy.carried(1000);
    return n;
  };
  EXPECT_EQ(good_ones(), 4);
  policy.fail();
  EXPECT_EQ(good_ones(), 8);
  policy.carried(CreditPolicy::longest + 1);
  EXPECT_EQ(good_ones(), 16);
  for (int i = 0; i < 100; ++i) {
    policy.fail();
    EXPECT_LE(good_ones(), 64);
  }
  for (int i = 0; i < 100; ++i) policy.carried(1000);
  policy.fail();
  EXPECT_EQ(good_ones(), 8);
}

/// Every message goes once, after its last partition and not before the exchange runs, with what the threads have
/// written; also where the exchange runs first, as each does once the two ends have met.
TEST(Readiness, EightThreadsAndOneThatStarts) {
  constexpr int threads = 8;
  std::mt19937 random(3);
  Team team(threads + 1);
  constexpr int each = 6;
  for (int round = 0; round < thread_exchanges(360) / each; ++round) {
    const std::int64_t partitions = 1 + static_cast<std::int64_t>(random() % 40);
    const PartitionCut cut{8 * partitions, partitions, 1 + static_cast<std::int64_t>(random() % 5)};
    Readiness readiness(cut);
    std::vector<int> data(static_cast<std::size_t>(partitions));  // not atomic: published by what readiness does
    std::vector<std::atomic<int>> gone(static_cast<std::size_t>(cut.messages()));
    for (int exchange = 1; exchange <= each; ++exchange) {
      const bool runs_first = exchange % 3 == 0;
      readiness.reset(runs_first);
      std::atomic<bool> runs{runs_first};
      std::atomic<int> wrong{0};
      const auto go = [&](std::int64_t m) {
        wrong += !runs.load();
        for (std::int64_t p = cut.first_partition(m); p < cut.first_partition(m) + cut.partitions_in(m); ++p)
          wrong += data[static_cast<std::size_t>(p)] != exchange;
        gone[static_cast<std::size_t>(m)].fetch_add(1);
      };
      team.run([&](int t) {
        if (t == threads) {
          if (runs_first) return;
          runs = true;
          return readiness.run(go);
        }
        for (std::int64_t p = t; p < partitions; p += threads) {
          data[static_cast<std::size_t>(p)] = exchange;
          wrong += !readiness.ready(p, go);
        }
      });
      ASSERT_EQ(wrong, 0);
      ASSERT_TRUE(readiness.is_all_ready());
      ASSERT_FALSE(readiness.ready(0, go)) << "twice";
      for (const std::atomic<int>& times : gone) ASSERT_EQ(times, exchange);
    }
  }
}

/// The next exchange begins as soon as all messages have gone, while the threads that have counted are still here.
TEST(Readiness, TheNextExchangeWaitsForNobody) {
  constexpr int threads = 4;
  const int exchanges = thread_exchanges(4000);
  const PartitionCut cut{threads * 8, threads, threads};
  Readiness readiness(cut);
  std::atomic<int> begun{0}, gone{0}, counted{0}, wrong{0};
  const auto go = [&](std::int64_t) {
    wrong += counted != threads * begun;
    ++gone;
  };
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int exchange = 1; exchange <= exchanges; ++exchange) {
        while (begun < exchange) std::this_thread::yield();
        ++counted;
        wrong += !readiness.ready(t, go);
      }
    });
  for (int exchange = 1; exchange <= exchanges; ++exchange) {
    const bool runs_first = exchange % 2 == 0;
    readiness.reset(runs_first);
    begun = exchange;
    while (!runs_first && counted < threads * exchange) std::this_thread::yield();
    if (!runs_first) readiness.run(go);
    while (gone < exchange) std::this_thread::yield();
  }
  all.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(gone, exchanges);
}

TEST(PartitionCut, MessagesHoldAllBytesOnce) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    const std::int64_t partitions = static_cast<std::int64_t>(random() % 30);
    const std::int64_t each = static_cast<std::int64_t>(random() % 9);
    const PartitionCut cut{partitions * each, partitions, 1 + static_cast<std::int64_t>(random() % 12)};
    std::int64_t at = 0;
    for (std::int64_t m = 0; m < cut.messages(); ++m) {
      EXPECT_EQ(cut.begin(m), at);
      at = cut.end(m);
    }
    EXPECT_EQ(at, cut.bytes);
    // Of any stretch of the receiver's.
    if (cut.bytes == 0) continue;
    const std::int64_t first = static_cast<std::int64_t>(random()) % cut.bytes;
    const std::int64_t last = first + 1 + static_cast<std::int64_t>(random()) % (cut.bytes - first);
    const auto [from, to] = cut.messages_with(first, last);
    for (std::int64_t m = 0; m < cut.messages(); ++m)
      EXPECT_EQ(m >= from && m < to, cut.begin(m) < last && cut.end(m) > first) << m;
  }
  EXPECT_EQ((PartitionCut{0, 0, 1}).messages(), 1);
}

TEST(PartitionCut, PartitionsShareMessagesUpToASize) {
  EXPECT_EQ(together_up_to(1, 800, 8), 1);
  EXPECT_EQ(together_up_to(250, 800, 8), 2);
  EXPECT_EQ(together_up_to(1 << 20, 800, 8), 8);
  EXPECT_EQ(together_up_to(1, 0, 8), 1);
  EXPECT_EQ(together_up_to(1, 0, 0), 1);
  EXPECT_EQ(together_up_to(1, 4096 * 8, 4096), 4) << "no more messages than the most";
}

/// By costs no cut into a power of two is better by a tenth, where messages take 10 us, of which ranks are busy for 5,
/// and a byte 1 ns.
TEST(PartitionCut, CostsSayHowManyShareOne) {
  LinkCost link;
  link.protocols = {{"eager", -1, 10e-6, 1e-9}};
  // Partitions and messages one after another: what is left when the last one is ready.
  const auto left = [&](std::int64_t bytes, std::int64_t partitions, std::int64_t together) {
    const PartitionCut cut{bytes, partitions, together};
    const double apart = link.seconds(bytes) / static_cast<double>(cut.messages());
    double free_at = 0;  // when the rank has done with the messages before
    for (std::int64_t m = 0; m < cut.messages() - 1; ++m)
      free_at = std::max(free_at, static_cast<double>(m + 1) * apart) + 5e-6;
    const double last_is_ready = static_cast<double>(cut.messages()) * apart;
    return std::max(0.0, free_at - last_is_ready) + link.seconds(together * cut.partition_bytes());
  };
  EXPECT_EQ(together_by_cost(link, 5e-6, 64, 8), 8) << "what is short goes together";
  EXPECT_EQ(together_by_cost(link, 5e-6, 64 << 20, 8), 1) << "what is long goes apart";
  for (const std::int64_t bytes : {1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 24})
    for (const std::int64_t partitions : {1, 8, 32, 64}) {
      const std::int64_t chosen = together_by_cost(link, 5e-6, bytes, partitions);
      for (std::int64_t together = 1; together <= partitions; together *= 2)
        EXPECT_LE(0.9 * left(bytes, partitions, chosen), left(bytes, partitions, together) + 1e-12);
    }
}

}  // namespace
}  // namespace laneway
