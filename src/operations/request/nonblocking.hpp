#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "communicator/arguments/operations.hpp"
#include "communicator/background.hpp"
#include "communicator/communicator.hpp"
#include "operations/choose/device_support.hpp"
#include "operations/plans/bound_plan.hpp"
#include "operations/plans/host_images.hpp"
#include "operations/request/work.hpp"
#include "runtime/carriers/elements.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// The nonblocking exchanges of one topology share their tags, so their messages must start in the order of the calls,
/// which is the same on all ranks. Each takes a ticket in its call, and starts when it is its turn and the private
/// communicator is ready.
class StartOrder {
 public:
  StartOrder(std::shared_ptr<PrivateComm> comm, int tag) : comm_(std::move(comm)), tag_(tag) {}

  [[nodiscard]] std::int64_t take_ticket() { return next_++; }
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

/// What kernels call what is combined, if anything is and they know it.
[[nodiscard]] inline std::optional<DeviceOperation> kernels_of(const Combiners& combiners) {
  if (combiners.empty() || !combiners.front()) return std::nullopt;
  return combiners.front()->on_device();
}

struct NonblockingParts {
  std::shared_ptr<StartOrder> order;
  Buffers buffers;
  std::shared_ptr<BoundPlan> bound;                ///< exchanges come one after another if it has bindings
  BufferMemory where = {};                         ///< the buffers, or their images
  std::unique_ptr<HostImages> images = {};         ///< of buffers on devices, on which it runs instead; or null
  std::shared_ptr<MessageElements> elements = {};  ///< of a plan of datatypes; or null
  std::shared_ptr<const TypedPattern> typed = {};  ///< then: as what the plan is shown
  Helper helper = Helper::none;
};

/// An exchange that runs once. Started where it is made, unless its turn comes later, or images have to be fetched.
class NonblockingExchange final : public Progressive, public Work {
 public:
  explicit NonblockingExchange(NonblockingParts parts);

  [[nodiscard]] bool active() const override { return activity_.active(); }
  [[nodiscard]] bool test() override { return activity_.test(executor_); }
  [[nodiscard]] bool done() override { return activity_.done(executor_); }
  void wait() override { activity_.wait(executor_); }
  [[nodiscard]] const Plan& plan() const override;

  bool progress() override;

 private:
  void begin();
  void run();
  [[nodiscard]] bool may_start() const {
    return parts_.order->is_turn_of(ticket_) && (!parts_.images || parts_.images->complete());
  }

  NonblockingParts parts_;
  std::shared_ptr<const Plan> plan_;
  std::int64_t ticket_;
  mutable std::unique_ptr<const Plan> plan_as_bytes_;  // once asked for
  std::optional<Executor> own_;
  Executor* executor_ = nullptr;  // once started
  bool holds_turn_ = false;       // messages are still to be started, or the bound plan is in use
  bool is_returning_ = false;     // to devices, from the images
  Activity activity_;             // in the list where completion needs more than MPI's progress
};

}  // namespace laneway
