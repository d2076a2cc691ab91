#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "settings.hpp"

namespace laneway::sim {

/// How streams run: what Settings allow to change.
struct Pace {
  std::atomic<bool> reorders{false};
  std::atomic<std::uint64_t> seed{0};
  std::atomic<double> delay_seconds{0};
};

/// Work in order, by a thread of its own.
class Stream {
 public:
  using Random = std::mt19937_64;
  using Work = std::function<void(Stream&)>;

  static std::shared_ptr<Stream> create(int device, const Pace& pace);
  /// No more work will come: the thread does what is left and ends.
  void end();

  [[nodiscard]] int device() const { return device_; }
  void put(Work work);
  [[nodiscard]] bool idle() const;
  void synchronize() const;
  /// How much work has been put into it, so the number of the last.
  [[nodiscard]] std::uint64_t put_so_far() const;
  /// What has not begun yet of the work up to that number begins later than other streams'.
  void be_late(std::uint64_t until) { late_until_ = until; }

  std::atomic<bool> capturing{false};
  /// Null unless what is put into the stream is recorded here instead. Of the thread that puts.
  std::shared_ptr<std::vector<Work>> recorded;

  // For work, in the stream's thread:
  [[nodiscard]] bool reorders() const { return pace_.reorders.load(std::memory_order_relaxed); }
  [[nodiscard]] Random& random() { return random_; }
  /// Where streams are reordered: lets others go first, or not, as chance will have it.
  void hesitate();

 private:
  Stream(int device, const Pace& pace) : device_(device), pace_(pace) {}
  void run();

  int device_;
  const Pace& pace_;
  Random random_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Work> work_;                        // what runs is in front
  std::atomic<std::uint64_t> put_{0}, done_{0};  // written with the mutex
  bool ended_ = false;
  std::atomic<std::uint64_t> late_until_{0};
};

/// An event's part that processes share.
struct EventWords {
  std::atomic<std::uint64_t> recorded{0};   ///< how often it was recorded
  std::atomic<std::uint64_t> completed{0};  ///< the last of those that is complete
};

/// Waits until the word is at least `value`; other threads and processes write it.
void wait_until(const std::uint64_t& word, std::uint64_t value);
void wait_until(const std::atomic<std::uint64_t>& word, std::uint64_t value);

/// Whether the calling thread runs a function of host_call.
[[nodiscard]] bool& in_host_call();

/// The first failure of work in any stream is what every later call reports, as with a driver.
void remember_failure(const std::string& what);
/// Throws Failure if there was one.
void check_earlier_work();

/// A place among those of all processes of this node who use an engine of a device at the moment. They share its rate.
class EngineShare {
 public:
  EngineShare(int device, const char* engine);
  ~EngineShare();
  EngineShare(const EngineShare&) = delete;
  EngineShare& operator=(const EngineShare&) = delete;
  /// Returns after the time that the bytes take, if all who share the engine get the same of its rate.
  void move(const Rate& rate, std::size_t bytes);

 private:
  [[nodiscard]] int users() const;

  std::string name_;
  int socket_ = -1;
};

}  // namespace laneway::sim
