#include <atomic>
#include <deque>
#include <thread>

#include "base/process/signals.hpp"
#include "operations/queue/fifo.hpp"
#include "operations/queue/stream.hpp"

namespace laneway {

namespace {

/// A task, or a word to be written or waited for.
struct Task {
  enum class Kind : std::uint8_t { write, wait, call };

  Kind kind = Kind::call;
  QueueStream::Word* word = nullptr;
  std::uint64_t value = 0;
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

/// Who advances the queue writes and waits for words, so that exchanges one after the other need no other thread.
/// Calls, which may take long, are made by a thread of the stream, which begins with the first.
class HostStream final : public QueueStream {
 public:
  HostStream() = default;
  ~HostStream() override {
    if (!thread_.joinable()) return;
    set(Caller::ends);
    thread_.join();
  }
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  Word* word() override { return &words_.emplace_back(0); }
  void write(Word* word, std::uint64_t value) override { put({Task::Kind::write, word, value}); }
  void wait(Word* word, std::uint64_t value) override { put({Task::Kind::wait, word, value}); }
  void call(void (*function)(void*), void* argument) override {
    if (!thread_.joinable()) {
      const BlockedSignals blocked;
      thread_ = std::thread([this] { make_calls(); });
    }
    put({Task::Kind::call, nullptr, 0, function, argument});
  }
  void post(Word* word, std::uint64_t value) override { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
  bool idle() const override { return done_.load(std::memory_order_acquire) == put_; }
  bool is_recording() const override { return false; }
  Device device() const override { return {}; }

  bool is_advanced() const override { return true; }
  int advance() override {
    int calls = 0;
    for (const Task* task = tasks_.front(); task != nullptr && is_done(*task); task = tasks_.front()) {
      if (task->kind == Task::Kind::call) ++calls;
      tasks_.pop();
      done_.fetch_add(1, std::memory_order_release);
    }
    return calls;
  }

 private:
  enum class Caller : std::uint8_t { rests, calls, has_called, ends };

  void put(const Task& task) {
    tasks_.push(task);
    ++put_;
  }
  void set(Caller state) {
    caller_.store(state);
    caller_.notify_one();
  }

  bool is_done(const Task& task) {
    if (task.kind == Task::Kind::write) __atomic_store_n(task.word, task.value, __ATOMIC_RELEASE);
    if (task.kind == Task::Kind::write) return true;
    if (task.kind == Task::Kind::wait) return value_of(task.word) >= task.value;
    const Caller state = caller_.load();
    if (state == Caller::rests) {
      called_ = task;
      set(Caller::calls);
    }
    if (state != Caller::has_called) return false;
    caller_.store(Caller::rests);
    return true;
  }

  void make_calls() {
    for (Caller state = caller_.load(); state != Caller::ends; state = caller_.load()) {
      if (state != Caller::calls) {
        caller_.wait(state);
        continue;
      }
      called_.function(called_.argument);
      caller_.store(Caller::has_called);
    }
  }

  std::deque<Word> words_;
  Fifo<Task> tasks_;
  std::uint64_t put_ = 0;
  std::atomic<std::uint64_t> done_{0};
  Task called_;
  std::atomic<Caller> caller_{Caller::rests};
  std::thread thread_;
};

}  // namespace

std::unique_ptr<QueueStream> host_stream() {
  return std::make_unique<HostStream>();
}

}  // namespace laneway
