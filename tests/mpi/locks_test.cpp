// What channels and partitions promise: no lock in put, ready and arrived. Counted where threads lock something, by who
// asks for it: this library, or this program. Locks of the MPI library, which gets control between them, are its own.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "partitions.hpp"
#include "support.hpp"

namespace {

/// A place that locks, and how often.
struct Caller {
  std::atomic<void*> place{nullptr};
  std::atomic<long> times{0};
};

std::atomic<bool> counts{false};
std::array<Caller, 1024> callers;  // a table by hash; the MPI library has some dozens, each called any number of times

[[maybe_unused]] void count_lock(void* place) {
  if (!counts.load(std::memory_order_relaxed)) return;
  for (std::size_t i = reinterpret_cast<std::uintptr_t>(place) / 4;; ++i) {
    Caller& caller = callers[i % callers.size()];
    void* known = nullptr;
    if (!caller.place.compare_exchange_strong(known, place) && known != place) continue;
    caller.times.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

}  // namespace

#ifndef LANEWAY_TEST_SANITIZED
/// In place of the C library's function of that name, which it calls.
#define LANEWAY_TEST_COUNTS(function, Lock)                                                 \
  extern "C" [[gnu::noinline]] int function(Lock* lock) {                                   \
    static const auto real = reinterpret_cast<int (*)(Lock*)>(dlsym(RTLD_NEXT, #function)); \
    count_lock(__builtin_return_address(0));                                                \
    return real(lock);                                                                      \
  }
LANEWAY_TEST_COUNTS(pthread_mutex_lock, pthread_mutex_t)
LANEWAY_TEST_COUNTS(pthread_mutex_trylock, pthread_mutex_t)
LANEWAY_TEST_COUNTS(pthread_spin_lock, pthread_spinlock_t)
LANEWAY_TEST_COUNTS(pthread_rwlock_rdlock, pthread_rwlock_t)
LANEWAY_TEST_COUNTS(pthread_rwlock_wrlock, pthread_rwlock_t)
LANEWAY_TEST_COUNTS(sem_wait, sem_t)
#endif

namespace laneway::test {
namespace {

/// How many of the locks that were counted since `begin` this library and its C++ library took.
class Counting {
 public:
  static void begin() {
    for (Caller& caller : callers) caller.times = 0;
    counts = true;
  }
  static long end() {
    counts = false;
    long ours = 0;
    for (const Caller& caller : callers) {
      Dl_info info{};
      if (caller.times == 0 || dladdr(caller.place, &info) == 0 || info.dli_fname == nullptr) continue;
      const std::string_view name(info.dli_fname);
      const std::string_view file = name.substr(name.rfind('/') + 1);
      if (file.find("laneway") != std::string_view::npos || file.find("libstdc++") != std::string_view::npos)
        ours += caller.times;
    }
    return ours;
  }
};

class Locks : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
#ifdef LANEWAY_TEST_SANITIZED
    GTEST_SKIP() << "SKIP: the sanitizer has its own locks";
#endif
  }
  [[nodiscard]] static int next() {
    return (rank() + 1) % size();
  }
  [[nodiscard]] static int previous() {
    return (rank() + size() - 1) % size();
  }
};

TEST_F(Locks, AreCounted) {
  std::mutex mutex;
  Counting::begin();
  { const std::scoped_lock lock(mutex); }
  EXPECT_EQ(Counting::end(), 1);
  // Inside the library: who makes something for a communicator locks what is known of it.
  const Comm other = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  Counting::begin();
  EXPECT_MPI(LNW_Comm_prepare(other.get()));
  EXPECT_GT(Counting::end(), 0);
}

/// Four threads put into segments of their own.
TEST_F(Locks, NoneInChannelsThroughMemory) {
  constexpr int threads = 4, rounds = 20;
  LNW_Channel to = LNW_CHANNEL_NULL, from = LNW_CHANNEL_NULL;
  EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, next(), LNW_CHANNEL_SEND, 64, threads, MPI_INFO_NULL, &to));
  EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, previous(), LNW_CHANNEL_RECEIVE, 64, threads, MPI_INFO_NULL, &from));
  for (const LNW_Channel end : {to, from}) {
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Channel_get_info(end, &info));  // they have met
    std::array<char, 64> carrier{};
    int flag = 0;
    MPI_Info_get(info, "lnw_carrier", static_cast<int>(carrier.size()) - 1, carrier.data(), &flag);
    EXPECT_STREQ(carrier.data(), "memory");
    MPI_Info_free(&info);
  }
  std::atomic<int> round{0}, done{0}, wrong{0};
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      const int value = rank() * threads + t;
      for (int n = 1; n <= rounds; ++n) {
        while (round.load() < n) std::this_thread::yield();
        wrong += LNW_Channel_put(to, t, &value, sizeof value) != MPI_SUCCESS;
        ++done;
      }
    });
  long locks = 0;
  for (int n = 1; n <= rounds; ++n) {
    Counting::begin();
    round = n;
    while (done.load() < n * threads) std::this_thread::yield();
    locks += Counting::end();
    MPI_Barrier(MPI_COMM_WORLD);
    Counting::begin();
    for (int t = 0; t < threads; ++t) {
      int flag = 0;
      void* data = nullptr;
      MPI_Count bytes = 0;
      wrong += LNW_Channel_test(from, t, &flag, &data, &bytes) != MPI_SUCCESS || !flag;
      wrong += LNW_Channel_wait(from, t, &data, &bytes) != MPI_SUCCESS;
      wrong += *static_cast<int*>(data) != previous() * threads + t;
      wrong += LNW_Channel_release(from, t) != MPI_SUCCESS;
    }
    locks += Counting::end();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  all.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(locks, 0);
  EXPECT_MPI(LNW_Channel_free(&to));
  EXPECT_MPI(LNW_Channel_free(&from));
}

/// Of messages between two ranks, and of edges, all of which name the same bytes.
TEST_F(Locks, NoneInPartitions) {
  PartitionedRing ring(rank(), size());
  long locks = 0;
  int wrong = 0;
  for (int exchange = 0; exchange < 20; ++exchange) {
    const bool is_counted = exchange > 0;  // the two ends meet in the first
    const auto begin = [&] {
      if (is_counted) Counting::begin();
    };
    const auto end = [&] {
      if (is_counted) locks += Counting::end();
    };
    wrong += ring.exchange(begin, end);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(locks, 0);
}

}  // namespace
}  // namespace laneway::test
