#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "exec/progress.hpp"
#include "mpi/communicator.hpp"

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

/// An exchange that runs once. Started where it is made, unless its turn comes later.
class NonblockingExchange final : public Progressive {
 public:
  NonblockingExchange(std::shared_ptr<StartOrder> order, std::shared_ptr<const Plan> plan, Buffers buffers,
                      const BufferMemory& where, Progress progress = Progress::in_calls);

  /// Until test or wait has found it complete, or failed.
  [[nodiscard]] bool active() const { return activity_.active(); }
  [[nodiscard]] bool test() { return activity_.test(executor()); }
  [[nodiscard]] bool done() { return activity_.done(executor()); }
  void wait() { activity_.wait(executor()); }

  bool progress() override;

 private:
  void start();
  [[nodiscard]] Executor* executor() { return executor_ ? &*executor_ : nullptr; }

  std::shared_ptr<StartOrder> order_;
  std::int64_t ticket_;
  std::shared_ptr<const Plan> plan_;
  Buffers buffers_;
  BufferMemory where_;
  std::optional<Executor> executor_;  // once started
  bool holds_turn_ = false;           // messages are still to be started
  Activity activity_;                 // in the list where completion needs more than MPI's progress
};

}  // namespace laneway
