#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "device/device.hpp"
#include "operate/in_queue.hpp"

namespace laneway {

/// What queues use of partitions. There are none here.
struct EdgePartitions {
  [[nodiscard]] int event_of_sent(int, int) const { return 0; }
  template <class FireOnce>
  [[nodiscard]] bool ready(int event, FireOnce&& fire_once) const {
    return fire_once(event);
  }
};
struct PartitionedWork {
  void ready(int) {}
};

/// Stands for the library's Request, which takes MPI: an exchange with oneself that is complete after some looks, and
/// reads and writes as late as it may. Nothing in it is protected: queues have to do that.
class Request {
 public:
  Request(std::span<const std::uint64_t> send, std::span<std::uint64_t> receive, int looks)
      : send_(send), receive_(receive), looks_(looks) {}

  [[nodiscard]] bool nonblocking() const { return false; }
  [[nodiscard]] bool failed() const { return false; }
  [[nodiscard]] bool bound() const { return true; }
  [[nodiscard]] bool active() const { return left_ > 0; }
  [[nodiscard]] Device device() const { return {}; }
  [[nodiscard]] PartitionedWork* work() const { return nullptr; }
  [[nodiscard]] const EdgePartitions* partitions() const { return nullptr; }
  [[nodiscard]] bool fire_once(int) { return true; }

  [[nodiscard]] bool in_queue() const { return queued_.queue != nullptr; }
  [[nodiscard]] InQueue* queued() { return &queued_; }
  [[nodiscard]] const InQueue* queued() const { return &queued_; }
  InQueue& enter(const void* queue) {
    queued_.queue = queue;
    return queued_;
  }
  void leave() { queued_ = {.started = queued_.started, .completed = queued_.completed}; }

  void start_in_queue() { left_ = looks_; }
  [[nodiscard]] bool test_in_queue() {
    if (--left_ > 0) return false;
    std::ranges::copy(send_, receive_.begin());
    return true;
  }

 private:
  std::span<const std::uint64_t> send_;
  std::span<std::uint64_t> receive_;
  int looks_;
  int left_ = 0;
  InQueue queued_;
};

}  // namespace laneway
