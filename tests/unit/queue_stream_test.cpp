// What the threads of a queue share: the list of what is enqueued, and an in-order stream of host tasks. Also under
// ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "operations/queue/fifo.hpp"
#include "operations/queue/stream.hpp"

namespace laneway {
namespace {

TEST(QueueFifo, OneThreadPushesWhileAnotherPops) {
  constexpr std::uint64_t values = 20000;  // many chunks
  Fifo<std::uint64_t> fifo;
  std::thread pushes([&] {
    for (std::uint64_t i = 0; i < values; ++i) fifo.push(i);
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t expected = 0; expected < values;) {
    const std::uint64_t* const value = fifo.front();
    if (value == nullptr) {
      std::this_thread::yield();
      continue;
    }
    wrong += *value != expected++;
    fifo.pop();
  }
  pushes.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(fifo.front(), nullptr);
}

/// Calls, words that the stream writes and words that it waits for keep their order, and what a call has written is
/// there for who sees the word after it. Nothing here is atomic but the stream's own words.
TEST(QueueHostStream, WordsAndCallsAreInOrder) {
  constexpr std::uint64_t rounds = 100;
  const std::unique_ptr<QueueStream> stream = host_stream();
  QueueStream::Word* const triggered = stream->word();
  QueueStream::Word* const completed = stream->word();
  struct Shared {
    std::uint64_t in_stream = 0;  // of the calls
    std::uint64_t exchanged = 0;  // of who advances
    std::uint64_t wrong = 0;
  } shared;
  std::atomic<bool> is_enqueued{false};
  std::uint64_t answered = 0, calls = 0;
  std::thread advances([&] {
    for (;;) {
      const bool is_last = is_enqueued.load(std::memory_order_acquire);
      calls += static_cast<std::uint64_t>(stream->advance());
      while (answered < value_of(triggered)) {
        shared.exchanged = shared.in_stream;  // the stream waits for the answer
        stream->post(completed, ++answered);
      }
      if (is_last && stream->idle()) return;
      std::this_thread::yield();
    }
  });
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    stream->call([](void* argument) { ++static_cast<Shared*>(argument)->in_stream; }, &shared);
    stream->write(triggered, i);
    stream->wait(completed, i);
    stream->call(
        [](void* argument) {
          auto& now = *static_cast<Shared*>(argument);
          now.wrong += now.exchanged != now.in_stream;
        },
        &shared);
  }
  is_enqueued.store(true, std::memory_order_release);
  advances.join();
  EXPECT_EQ(answered, rounds);
  EXPECT_EQ(calls, 2 * rounds);
  EXPECT_EQ(shared.in_stream, rounds);
  EXPECT_EQ(shared.wrong, 0U);
}

}  // namespace
}  // namespace laneway
