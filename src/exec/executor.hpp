#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/copy.hpp"
#include "plan/plan.hpp"
#include "transport/transport.hpp"

namespace laneway {

/// The two buffer arguments of an operation. Plans address them by offsets, which may be negative.
struct Buffers {
  const void* send = nullptr;
  void* receive = nullptr;
};

/// Started work that is advanced by calling `progress` until it returns true.
class Progressive {
 public:
  virtual bool progress() = 0;

 protected:
  ~Progressive() = default;
};

/// A plan bound to buffers and a transport, to be run again and again. A step starts as soon as the steps it depends on
/// are complete; there are no phases. All memory is allocated here, none in start, progress and wait.
class Executor final : public Progressive {
 public:
  Executor(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport);

  /// Starts what can start, runs the copies that need no message, and returns.
  void start() {
    if (initial_messages_ > 0) endpoint_->start(0, initial_messages_);
    remaining_ = initial_messages_;
    if (has_more_than_messages_) start_rest();
  }
  /// Advances without blocking; true when the exchange is complete.
  bool progress() override;
  /// Returns when the exchange is complete; blocks in the transport where nothing depends on a message.
  void wait() {
    if (remaining_ == 0) return;
    if (!independent_) return wait_for_steps();
    endpoint_->wait_all();
    remaining_ = 0;
  }
  /// Whether no step depends on a message: completion then needs no progress by this executor.
  [[nodiscard]] bool independent() const { return independent_; }

  [[nodiscard]] const Plan& plan() const { return *plan_; }

 private:
  void start_rest();
  void wait_for_steps();
  void run_copy(int step);
  void complete(int step);
  void drain();

  std::unique_ptr<Endpoint> endpoint_;
  int initial_messages_ = 0;
  int remaining_ = 0;
  bool independent_ = false;  // no step depends on a message: MPI's own completion of all is enough
  bool has_more_than_messages_ = false;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<std::byte[]> staging_;
  std::byte* bases_[3];
  std::vector<int> message_step_;    // message index -> step; messages that can start at once come first
  std::vector<int> step_message_;    // step -> message index, or -1 for copies
  std::vector<CopyProgram> copies_;  // by step; empty for messages
  std::vector<int> initial_copies_;
  std::vector<int> unmet_at_start_;  // step -> number of dependencies
  std::vector<int> unmet_;
  std::vector<int> next_begin_;  // successors of step s: next_[next_begin_[s] .. next_begin_[s + 1])
  std::vector<int> next_;
  std::vector<int> ready_copies_;  // stack; never grows beyond the number of copies
  std::vector<int> completed_;
};

}  // namespace laneway
