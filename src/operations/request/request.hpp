#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "communicator/error_handler.hpp"
#include "communicator/private_comm.hpp"
#include "operations/choose/reasons.hpp"
#include "operations/request/continued_work.hpp"
#include "operations/request/edge_partitions.hpp"
#include "operations/request/in_queue.hpp"
#include "operations/request/origin.hpp"
#include "operations/request/request_counters.hpp"
#include "operations/request/work.hpp"

namespace laneway {

/// What a request runs while it is in a queue, which alone starts and tests its work: nothing. Other calls than start
/// throw Error(request).
class QueuedWork final : public Work {
 public:
  explicit QueuedWork(const std::unique_ptr<Work>& work) : work_(work) {}

  [[nodiscard]] bool test() override { refuse(); }
  [[nodiscard]] bool done() override { refuse(); }
  void wait() override { refuse(); }
  [[nodiscard]] bool active() const override { return work_->active(); }
  [[nodiscard]] WorkState state() const override { return WorkState::in_queue; }

  InQueue place;

 private:
  [[noreturn]] static void refuse();

  const std::unique_ptr<Work>& work_;  // the request's, which may come to have functions
};

/// What the program has a handle of: work, and what every request has.
class Request {
 public:
  /// Work that is nonblocking is active from the beginning; its request is to be freed when it is complete.
  enum class Life : std::uint8_t { persistent, nonblocking };

  /// Local. `comm` and `handler`: null where nothing of a communicator is used.
  Request(std::shared_ptr<PrivateComm> comm, std::shared_ptr<const ErrorHandler> handler, std::unique_ptr<Work> work,
          Reasons reasons, Life life = Life::persistent);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  [[nodiscard]] bool nonblocking() const { return life_ == Life::nonblocking; }

  /// @name By the program
  /// Those of its work; while a queue has it, those that would complete it throw Error(request).
  /// @{
  /// False, and nothing is done, unless it is startable.
  [[nodiscard]] bool start() {
    if (!run_->start()) return false;
    count_start();
    return true;
  }
  [[nodiscard]] bool test() { return run_->test(); }
  [[nodiscard]] bool done() { return run_->done(); }
  void wait() { run_->wait(); }
  [[nodiscard]] bool active() const { return run_->active(); }
  [[nodiscard]] WorkState state() const { return run_->state(); }
  [[nodiscard]] bool startable() const { return !nonblocking() && state() == WorkState::inactive; }
  /// Makes the request, if it is startable, the caller's: nobody else claims it, or memory that it shares, until it has
  /// been started or given back.
  [[nodiscard]] bool claim() {
    if (is_claimed_ || nonblocking()) return false;
    return is_claimed_ = run_->claim();
  }
  void unclaim() {
    is_claimed_ = false;
    run_->unclaim();
  }
  void start_claimed() {
    is_claimed_ = false;
    (void)start();
  }
  void set_buffers(Buffers buffers) {
    const auto changing = RequestCounter::changing();
    reasons_.progress_by = run_->set_buffers(buffers);
    if (origin_) origin_->set_buffers(buffers);
  }
  void set_stream(std::optional<lnw_device_stream> stream) {
    const auto changing = RequestCounter::changing();
    run_->set_stream(stream);
  }
  /// @}

  /// Puts what `around` makes of its work in place of it. Before the program has the request.
  template <class Around>
  void decorate(Around&& around) {
    run_by(around(std::move(work_)));
  }
  /// Has a function called at its end or, if one is given, at an arrival: see ContinuedWork. Its state: inactive,
  /// unbound or blocked or, if it is nonblocking, active and without functions.
  void continue_with(const std::optional<EdgePartition>& arrival, Continuation continuation,
                     ContinuedWork::CodeOfFailure code_of_failure);

  /// Gives its partitions words, unless they have some. Its state: inactive or unbound.
  WordReadyWork& give_words();

  /// What has made it, for LNW_Request_rebuild. Null: it cannot be made again.
  void keep(std::unique_ptr<Origin> origin) {
    origin_ = std::move(origin);
    if (counter_ && origin_) counter_->hold(origin_->bytes());
  }
  [[nodiscard]] const Origin* origin() const { return origin_.get(); }
  /// The communicator that it runs on; null where nothing of one is used.
  [[nodiscard]] const PrivateComm* comm() const { return comm_.get(); }

  /// Whoever has it in a queue, who counts what it starts.
  void count_start() {
    if (counter_) counter_->count_start();
  }
  [[nodiscard]] Work& work() const { return *work_; }

  /// @name In a queue
  /// From enter to leave only the queue starts and tests the work.
  /// @{
  /// Null if it is in none.
  [[nodiscard]] InQueue* queued() const { return run_ != work_.get() ? &queued_->place : nullptr; }
  void enter(const void* queue);
  void leave();
  /// @}

  [[nodiscard]] Rank rank() const { return comm_ ? comm_->rank() : plan().rank; }
  [[nodiscard]] const std::string& strategy() const { return reasons_.strategy; }
  [[nodiscard]] const Reasons& reasons() const { return reasons_; }
  [[nodiscard]] const Plan& plan() const { return work_->plan(); }

  /// Calls the error handler of the user's communicator or, once that is gone, the one it had when the request was
  /// made.
  void call_error_handler(int code) const;

 private:
  void run_by(std::unique_ptr<Work> work) {
    work_ = std::move(work);
    run_ = work_.get();
  }

  std::shared_ptr<PrivateComm> comm_;
  std::unique_ptr<Work> work_;
  Work* run_;  // by the program: the work, or what stands for it in a queue
  std::unique_ptr<QueuedWork> queued_;
  std::shared_ptr<const ErrorHandler> error_handler_;
  Reasons reasons_;
  Life life_;
  bool is_claimed_ = false;
  std::unique_ptr<Origin> origin_;
  std::optional<RequestCounter> counter_;  // of a persistent one; the first to go
};

}  // namespace laneway
