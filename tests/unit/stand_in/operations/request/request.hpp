#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "operations/request/in_queue.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// What queues use of partitions. There are none here.
struct EdgePartitions {
  [[nodiscard]] int event_of_sent(int, int) const { return 0; }
  template <class FireOnce>
  void ready(int, int, FireOnce&&) const {}
};

enum class WorkState : std::uint8_t { inactive, active, blocked, in_queue, unbound, failed };
inline const char* text_of(WorkState) {
  return "";
}

/// Stands for the library's Request, which takes MPI, and for its work: an exchange with oneself that is complete after
/// some looks, and reads and writes as late as it may. Nothing in it is protected: queues have to do that.
class Request {
 public:
  Request(std::span<const std::uint64_t> send, std::span<std::uint64_t> receive, int looks)
      : send_(send), receive_(receive), looks_(looks) {}

  [[nodiscard]] bool nonblocking() const { return false; }
  [[nodiscard]] WorkState state() const { return left_ > 0 ? WorkState::active : WorkState::inactive; }
  [[nodiscard]] Request& work() { return *this; }
  [[nodiscard]] const Request& work() const { return *this; }
  [[nodiscard]] Device device() const { return {}; }
  [[nodiscard]] bool has_partitions() const { return false; }
  void ready(int) {}
  [[nodiscard]] const EdgePartitions* edge_partitions() const { return nullptr; }
  [[nodiscard]] bool fire_once(int) { return true; }

  [[nodiscard]] InQueue* queued() { return queued_.queue != nullptr ? &queued_ : nullptr; }
  [[nodiscard]] const InQueue* queued() const { return queued_.queue != nullptr ? &queued_ : nullptr; }
  void enter(const void* queue) { queued_.queue = queue; }
  void leave() { queued_ = {.started = queued_.started, .completed = queued_.completed}; }

  bool start() {
    left_ = looks_;
    return true;
  }
  [[nodiscard]] bool test() {
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
