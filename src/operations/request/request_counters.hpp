#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "operations/request/work.hpp"

namespace laneway {

class PrivateComm;

/// What requests have done, and what those hold that are there.
struct RequestCounts {
  std::int64_t made = 0;
  std::int64_t live = 0;
  std::int64_t exchanges = 0;  ///< started
  std::int64_t blocking = 0;   ///< calls of operations, also of those that MPI runs
  Statistics of_exchanges{};   ///< of persistent requests; what is held, of one exchange each
};

/// Counts a persistent request from its making to its end. A start costs one addition: what it sends is counted when
/// somebody asks, and when the request goes.
class RequestCounter {
 public:
  /// `comm`: null where no communicator of this library is used.
  RequestCounter(const Work* work, const PrivateComm* comm);
  ~RequestCounter();
  RequestCounter(const RequestCounter&) = delete;
  RequestCounter& operator=(const RequestCounter&) = delete;

  /// By one thread at a time.
  void count_start() { exchanges_.store(exchanges_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  /// So many bytes more than the work has, for as long as this lives.
  void hold(std::int64_t bytes) { held_bytes_ += bytes; }
  /// While this lives nobody counts, so that the work may change.
  [[nodiscard]] static std::unique_lock<std::mutex> changing();

 private:
  friend RequestCounts count_requests(const PrivateComm* comm);
  void add_to(RequestCounts& counts) const;

  const Work* work_;
  const PrivateComm* comm_;
  std::atomic<std::int64_t> exchanges_{0};
  std::atomic<std::int64_t> held_bytes_{0};
  std::size_t place_ = 0;  // among all
};

/// One that runs once has been started.
void count_nonblocking(const PrivateComm* comm);

/// A blocking call has run. `comm`: as above.
void count_blocking(const PrivateComm* comm);

/// Of all requests of the process or, unless null, of those that run on a private communicator. By any thread, unless
/// another one finds at the same time that an exchange has failed.
[[nodiscard]] RequestCounts count_requests(const PrivateComm* comm);

}  // namespace laneway
