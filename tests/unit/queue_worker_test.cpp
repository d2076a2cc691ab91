// The thread that advances queues, with streams of host tasks and of the sim device, under ThreadSanitizer. Exchanges
// are a stand-in's.
#include "operations/queue/worker.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "operations/queue/queue.hpp"
#include "runtime/device/plugin.hpp"
#include "runtime/executor/progress_thread.hpp"

namespace laneway {
namespace {

constexpr std::size_t numbers = 16;
using Numbers = std::array<std::uint64_t, numbers>;

/// What the stream does before and after an exchange.
struct Call {
  Numbers* send = nullptr;
  Numbers* receive = nullptr;
  std::uint64_t value = 0;
  std::atomic<int>* wrong = nullptr;

  static void before(void* argument) {
    const Call& call = *static_cast<const Call*>(argument);
    call.send->fill(call.value);
    call.receive->fill(0);
  }
  static void after(void* argument) {
    const Call& call = *static_cast<const Call*>(argument);
    for (const std::uint64_t number : *call.receive)
      if (number != call.value) call.wrong->fetch_add(1, std::memory_order_relaxed);
    call.send->fill(0);
  }
};

struct Exchange {
  explicit Exchange(int looks) : request(send, receive, looks) {}
  Numbers send{}, receive{};
  Request request;
  bool is_open = false;
};

/// Of one queue, by one thread: requests are started and waited for in random order, with what the stream does before
/// and after each.
void run_programs(Queue& queue, unsigned seed, int programs, std::atomic<int>& wrong) {
  std::mt19937 random(seed);
  std::deque<Exchange> exchanges;
  for (int looks = 1; looks <= 4; ++looks) exchanges.emplace_back(looks);
  for (int program = 0; program < programs; ++program) {
    std::deque<Call> calls;
    std::uint64_t value = 0;
    const auto call_of = [&](Exchange& exchange) {
      return &calls.emplace_back(Call{&exchange.send, &exchange.receive, value, &wrong});
    };
    std::vector<std::uint64_t> values(exchanges.size());
    const auto end = [&](std::size_t i) {
      Request* const request = &exchanges[i].request;
      queue.wait({&request, 1});
      value = values[i];
      queue.call(Call::after, call_of(exchanges[i]));
      exchanges[i].is_open = false;
    };
    const auto actions = 1 + random() % 12;
    for (auto action = actions; action > 0; --action) {
      const std::size_t i = random() % exchanges.size();
      if (exchanges[i].is_open) {
        end(i);
        continue;
      }
      value = values[i] = random();
      queue.call(Call::before, call_of(exchanges[i]));
      Request* const request = &exchanges[i].request;
      queue.start({&request, 1});
      exchanges[i].is_open = true;
    }
    for (std::size_t i = 0; i < exchanges.size(); ++i)
      if (exchanges[i].is_open) end(i);
    ASSERT_TRUE(queue.wait());
  }
}

/// With a queue each for three threads, whose streams are the device's or of host tasks.
void run(QueueProgress progress, bool on_device, int programs) {
  setenv("LANEWAY_DEVICE_PLUGINS", LANEWAY_SIM_DEVICE_PLUGIN, 1);
  setenv("LANEWAY_SIM_DEVICE", "devices=1,reorder=1,delay=10e-6", 1);
  ASSERT_EQ(device_plugins().size(), 1U);
  const DevicePlugin& plugin = device_plugins().front();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      lnw_device_stream handle = nullptr;
      plugin.check(plugin->stream_create(0, 0, &handle), "stream_create");
      {
        Queue queue(on_device ? device_stream(plugin.vendor(), handle) : host_stream(), progress);
        run_programs(queue, 100 * t + (on_device ? 1 : 0), programs, wrong);
      }
      plugin.check(plugin->stream_destroy(0, handle), "stream_destroy");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  stop_progress_thread();  // and the worker before
}

TEST(QueueWorker, RandomProgramsOfTheSimDevice) {
  run(QueueProgress::by_thread, true, 300);
}

TEST(QueueWorker, RandomProgramsOfHostTasks) {
  run(QueueProgress::by_thread, false, 300);
}

TEST(QueueWorker, TheHostAdvancesQueuesOfTheSimDevice) {
  run(QueueProgress::by_host, true, 100);
}

}  // namespace
}  // namespace laneway
