#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/process/spin_lock.hpp"
#include "operations/queue/fifo.hpp"
#include "operations/queue/stream.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// Who advances a queue.
enum class QueueProgress : std::uint8_t { by_thread, by_host };

/// Exchanges that a stream starts and waits for. The stream writes how many triggers it has come to into one word, and
/// waits for how many completions have come about in another, so that neither is ever set back. Graphs, which write the
/// same again whenever they are launched, have words of their own, which who reads them sets back.
///
/// One thread enqueues; any thread advances.
class Queue {
 public:
  Queue(std::unique_ptr<QueueStream> stream, QueueProgress progress);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// @name To enqueue
  /// Throw Error(request) or Error(argument), and then enqueue nothing. No request is null.
  /// @{
  void start(std::span<Request* const> requests);
  void wait(std::span<Request* const> requests);
  void wait_for_all_started();
  void ready(Request& request, int partition);
  void ready_edge(Request& request, int edge, int partition);
  void call(void (*function)(void*), void* argument);
  /// @}

  /// Returns when nothing is left; true unless an exchange has failed, whose exception `failure` then rethrows.
  [[nodiscard]] bool wait();
  [[noreturn]] void rethrow_failure();
  /// The request whose exchange has failed; null if it is not known.
  [[nodiscard]] const Request* failed() const { return failed_; }

  /// Whether something has happened. By any thread; returns at once where another does it.
  bool advance();
  [[nodiscard]] bool finished() const { return unfinished_.load(std::memory_order_acquire) == 0 && stream_->idle(); }
  [[nodiscard]] std::int64_t unfinished() const { return unfinished_.load(std::memory_order_acquire); }
  [[nodiscard]] QueueProgress progress() const { return progress_; }

  [[nodiscard]] std::int64_t exchanges() const { return exchanges_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t triggers() const { return triggers_; }
  [[nodiscard]] std::int64_t completions() const { return completions_; }

 private:
  /// One request of a trigger or a completion.
  struct Item {
    enum class Kind : std::uint8_t { start, ready, ready_edge, wait };

    Request* request = nullptr;
    std::uint64_t value = 0;           // of the word
    std::uint64_t round = 0;           // the number of the exchange that is waited for
    std::uint64_t* replays = nullptr;  // complete ones, of a graph
    int edge = 0;
    int partition = 0;
    Kind kind = Kind::start;
    bool is_last = true;  // of those with this value
  };
  /// What one word of a graph stands for.
  struct Recorded {
    QueueStream::Word* word = nullptr;
    std::vector<Item> items;
    std::uint64_t replays = 0;  // waited for
  };
  struct Running {
    Request* request = nullptr;
    std::uint64_t* replays = nullptr;  // of a graph
  };

  void check(const Request& request) const;
  void check_starts(std::span<Request* const> requests) const;
  void check_waits(std::span<Request* const> requests) const;
  void trigger(std::span<Item> items);
  void complete(std::span<Item> items);
  void record(QueueStream::Word* word, std::span<const Item> items);
  void count(std::int64_t items);
  void release();

  void run(const Item& item);
  bool run_triggered();
  bool run_recorded();
  bool test_running();
  bool post_completed();
  void fail(const Request& request) noexcept;
  void finish(std::int64_t items);

  std::unique_ptr<QueueStream> stream_;
  QueueProgress progress_;
  QueueStream::Word* triggered_word_;
  QueueStream::Word* completed_word_;
  std::vector<Request*> entered_;
  std::vector<Item> items_;  // of the call
  std::vector<Request*> open_;
  std::int64_t triggers_ = 0;
  std::int64_t completions_ = 0;
  std::uint64_t last_trigger_ = 0;
  std::uint64_t last_completion_ = 0;

  Fifo<Item> triggered_;
  Fifo<Item> awaited_;
  std::atomic<std::int64_t> unfinished_{0};
  std::atomic<std::int64_t> exchanges_{0};

  // Of who has claimed the queue.
  SpinLock lock_;
  std::vector<Running> running_;
  std::vector<Recorded> recorded_starts_;
  std::vector<Recorded> recorded_waits_;
  std::deque<std::uint64_t> replays_;
  const Request* failed_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace laneway
