#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "communicator/background.hpp"
#include "communicator/communicator.hpp"
#include "operations/choose/reasons.hpp"
#include "operations/pipeline/bound_plan.hpp"
#include "operations/request/request.hpp"
#include "operations/request/work.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// The nonblocking exchanges of one topology share their tags, so their messages must start in the order of the calls,
/// which is the same on all ranks. Each takes a ticket in its call, and starts when it is its turn and the private
/// communicator is ready.
class StartOrder {
 public:
  StartOrder(std::shared_ptr<PrivateComm> comm, int tag) : comm_(std::move(comm)), tag_(tag) {}

  /// Of the next call. It is taken by `take_ticket` when nothing can fail any more before its turn.
  [[nodiscard]] std::int64_t next_ticket() const { return next_; }
  void take_ticket() { ++next_; }
  [[nodiscard]] bool is_turn_of(std::int64_t ticket) const {
    return turn_.load(std::memory_order_acquire) == ticket && comm_->ready();
  }
  void end_turn() { turn_.fetch_add(1, std::memory_order_release); }

  [[nodiscard]] const std::shared_ptr<PrivateComm>& comm() const { return comm_; }
  [[nodiscard]] int tag() const { return tag_; }

 private:
  std::shared_ptr<PrivateComm> comm_;
  int tag_;
  std::int64_t next_ = 0;
  std::atomic<std::int64_t> turn_{0};
};

/// That of a communicator's nonblocking operations.
[[nodiscard]] const std::shared_ptr<StartOrder>& start_order(Communicator& communicator);

/// An exchange in the order of the calls. Started where it is made, unless its turn comes later; for the only time.
class NonblockingExchange final : public Progressive, public Work {
 public:
  /// `bound`: exchanges come one after another if it has bindings.
  NonblockingExchange(std::shared_ptr<StartOrder> order, std::shared_ptr<BoundPlan> bound, Buffers buffers,
                      Helper helper);
  /// What it has bound to memory of a device stays, for the next one of the same buffers.
  ~NonblockingExchange() override;
  NonblockingExchange(const NonblockingExchange&) = delete;
  NonblockingExchange& operator=(const NonblockingExchange&) = delete;

  [[nodiscard]] bool active() const override { return activity_.active(); }
  [[nodiscard]] bool test() override { return activity_.test(executor_); }
  [[nodiscard]] bool done() override { return activity_.done(executor_); }
  void wait() override { activity_.wait(executor_); }
  [[nodiscard]] const Plan& plan() const override;
  [[nodiscard]] Progress advanced_by() const override { return progress_by(helper_); }

  bool progress() override;

 private:
  void begin();
  void run();
  [[nodiscard]] bool advance();
  void end_turn() {
    if (std::exchange(holds_turn_, false)) order_->end_turn();
  }
  [[nodiscard]] bool may_start() const { return order_->is_turn_of(ticket_); }

  std::shared_ptr<StartOrder> order_;
  std::shared_ptr<BoundPlan> bound_;
  Buffers buffers_;
  BufferMemory where_;
  Helper helper_;
  std::shared_ptr<const Plan> plan_;
  std::int64_t ticket_ = 0;
  mutable std::unique_ptr<const Plan> plan_as_bytes_;  // once asked for
  std::optional<Executor> own_;
  BoundPlan::Overlapping taken_;  // of `bound_`, where buffers are on devices
  Executor* executor_ = nullptr;  // once started
  bool holds_turn_ = false;       // messages are still to be started, or the bound plan is in use
  bool is_complete_ = false;      // known of what is advanced
  Activity activity_;             // in the list where completion needs more than MPI's progress
};

/// A request that has started one.
[[nodiscard]] std::unique_ptr<Request> start_request(const Communicator& communicator,
                                                     const std::shared_ptr<StartOrder>& order,
                                                     std::shared_ptr<BoundPlan> bound, Buffers buffers, Helper helper,
                                                     Reasons reasons);

}  // namespace laneway
