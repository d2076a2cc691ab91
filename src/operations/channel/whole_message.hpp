#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/process/spin_lock.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/transport.hpp"

namespace laneway {

/// A partitioned exchange that is one message from or to the buffer as it is: without the executor of a plan, which
/// costs a short message more than itself. Whoever makes the last partition ready starts it.
class WholeMessage {
 public:
  /// The message of such a plan; none of other plans. `buffer`: the operation's, in memory of the host.
  [[nodiscard]] static std::optional<Message> only_message(const Plan& plan, void* buffer);

  /// `endpoint`: of this message.
  WholeMessage(const Message& message, std::unique_ptr<Endpoint> endpoint)
      : is_send_(message.is_send), endpoint_(std::move(endpoint)) {}
  ~WholeMessage();
  WholeMessage(const WholeMessage&) = delete;
  WholeMessage& operator=(const WholeMessage&) = delete;

  /// Nobody else may be here.
  void start() {
    is_complete_.store(false, std::memory_order_relaxed);
    has_left_.store(false, std::memory_order_relaxed);
    if (!is_send_) go();
  }
  /// Once after each start of a sender, by any thread.
  void go() {
    endpoint_->start(0, 1);
    has_left_.store(true, std::memory_order_release);
  }
  /// Whether complete; by any thread.
  [[nodiscard]] bool test();

 private:
  bool is_send_;
  std::unique_ptr<Endpoint> endpoint_;
  std::atomic<bool> has_left_{false};
  std::atomic<bool> is_complete_{true};
  SpinLock looking_;  // MPI tests a request in one thread at a time
};

}  // namespace laneway
