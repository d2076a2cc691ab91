#include <atomic>
#include <deque>
#include <thread>

#include "core/relax.hpp"
#include "core/signals.hpp"
#include "queue/fifo.hpp"
#include "queue/stream.hpp"

namespace laneway {

namespace {

/// A task, or a word to be written or waited for.
struct Task {
  enum class Kind : std::uint8_t { write, wait, call, end };

  Kind kind = Kind::end;
  QueueStream::Word* word = nullptr;
  std::uint64_t value = 0;
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

class HostStream final : public QueueStream {
 public:
  HostStream() {
    const BlockedSignals blocked;
    thread_ = std::thread([this] { run(); });
  }
  ~HostStream() override {
    put({.kind = Task::Kind::end});
    thread_.join();
  }
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  Word* word() override { return &words_.emplace_back(0); }
  void write(Word* word, std::uint64_t value) override { put({Task::Kind::write, word, value}); }
  void wait(Word* word, std::uint64_t value) override { put({Task::Kind::wait, word, value}); }
  void call(void (*function)(void*), void* argument) override {
    put({Task::Kind::call, nullptr, 0, function, argument});
  }
  void post(Word* word, std::uint64_t value) override {
    const std::atomic_ref<Word> shared(*word);
    shared.store(value);
    shared.notify_one();
  }
  bool idle() const override { return done_.load(std::memory_order_acquire) == put_.load(std::memory_order_relaxed); }
  bool is_recording() const override { return false; }
  Device device() const override { return {}; }

 private:
  void put(const Task& task) {
    tasks_.push(task);
    put_.fetch_add(1);
    put_.notify_one();
  }

  /// Sleeps once it has looked a few times.
  static void wait_until(Word& word, std::uint64_t value) {
    const std::atomic_ref<Word> shared(word);
    int turns = 0;
    for (Word now = shared.load(); now < value; now = shared.load()) {
      if (turns < looks_before_sleep)
        relax(turns);
      else
        shared.wait(now);
    }
  }

  void run() {
    for (std::uint64_t done = 0;; done_.store(++done, std::memory_order_release)) {
      int turns = 0;
      for (std::uint64_t seen = put_.load(); seen == done; seen = put_.load()) {
        if (turns < looks_before_sleep)
          relax(turns);
        else
          put_.wait(seen);
      }
      const Task task = *tasks_.front();
      tasks_.pop();
      if (task.kind == Task::Kind::end) return;
      if (task.kind == Task::Kind::write) __atomic_store_n(task.word, task.value, __ATOMIC_RELEASE);
      if (task.kind == Task::Kind::wait) wait_until(*task.word, task.value);
      if (task.kind == Task::Kind::call) task.function(task.argument);
    }
  }

  static constexpr int looks_before_sleep = 20;

  std::deque<Word> words_;
  Fifo<Task> tasks_;
  std::atomic<std::uint64_t> put_{0};
  std::atomic<std::uint64_t> done_{0};
  std::thread thread_;
};

}  // namespace

std::unique_ptr<QueueStream> host_stream() {
  return std::make_unique<HostStream>();
}

}  // namespace laneway
