#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/plan.hpp"
#include "transport/transport.hpp"

namespace laneway {

/// The two buffer arguments of an operation. Plans address them by offsets, which may be negative.
struct Buffers {
  const void* send = nullptr;
  void* receive = nullptr;
};

/// A plan bound to buffers and a transport, to be run again and again. A step starts as soon as the steps it depends on
/// are complete; there are no phases. All memory is allocated here, none in start, progress and wait.
class Executor {
 public:
  Executor(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport);

  /// Starts what can start, runs the copies that need no message, and returns.
  void start();
  /// Advances without blocking; true when the exchange is complete.
  bool progress();
  /// Returns when the exchange is complete; blocks in the transport where nothing depends on a message.
  void wait();

  [[nodiscard]] const Plan& plan() const { return *plan_; }

 private:
  void run_copy(int step);
  void complete(int step);
  void drain();

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<std::byte[]> staging_;
  std::byte* bases_[3];
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<int> message_step_;  // message index -> step; messages that can start at once come first
  std::vector<int> step_message_;  // step -> message index, or -1 for copies
  int initial_messages_ = 0;
  std::vector<int> initial_copies_;
  std::vector<int> unmet_at_start_;  // step -> number of dependencies
  std::vector<int> unmet_;
  std::vector<int> next_begin_;  // successors of step s: next_[next_begin_[s] .. next_begin_[s + 1])
  std::vector<int> next_;
  std::vector<int> ready_copies_;  // stack; never grows beyond the number of copies
  std::vector<int> completed_;
  int remaining_ = 0;
  bool independent_ = false;  // no step depends on a message: MPI's own completion of all is enough
};

}  // namespace laneway
