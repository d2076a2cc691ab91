#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arguments/call.hpp"
#include "arguments/operations.hpp"
#include "choose/agreed.hpp"
#include "choose/chooser.hpp"
#include "choose/reasons.hpp"
#include "comm/background.hpp"
#include "comm/communicator.hpp"
#include "exec/progress.hpp"
#include "operate/edge_partitions.hpp"
#include "operate/in_queue.hpp"
#include "operate/mpi_exchange.hpp"
#include "operate/nonblocking.hpp"
#include "operate/work.hpp"
#include "passes/events.hpp"
#include "passes/through_host.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

struct Statistics {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t net_messages = 0;
  std::int64_t net_bytes = 0;
  std::int64_t copied_bytes = 0;
  std::int64_t staging_bytes = 0;
  std::int64_t arena_bytes = 0;
  std::int64_t window_bytes = 0;
  std::int64_t metadata_bytes = 0;
};

/// What a request of a dense operation is made of.
struct DenseParts {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<BoundPlan> bound;    ///< of nonblocking ones that share the plan, and come one after another; or null
  std::shared_ptr<NodeMemory> memory;  ///< null if the plan uses none
  Combiners combiners;
  Reasons reasons;
  Buffers buffers;
  Region node;
  int tag = 0;
  ProgressHint progress = ProgressHint::automatic;
};

/// A neighborhood or dense operation: a plan bound to buffers on a private communicator, or MPI's own operation.
/// Persistent, or nonblocking and then active from the beginning and to be freed when complete.
class Request {
 public:
  /// Collective: agrees on the hints, plans, binds (if there are buffers; otherwise set_buffers must follow). If the
  /// arguments of any rank are bad, all ranks throw. `events`: of this rank alone, which its peers need not know.
  static std::unique_ptr<Request> make(Communicator& communicator, MPI_Info info, const Call& call,
                                       std::span<const PlanEvent> events = {});
  /// Persistent, of work between two ranks. Local.
  static std::unique_ptr<Request> make_of(std::shared_ptr<PrivateComm> comm,
                                          std::shared_ptr<const ErrorHandler> handler, std::unique_ptr<Work> work,
                                          Reasons reasons = Reasons{.strategy = "direct"});
  /// Persistent, of a dense operation that has no plan of messages. Local.
  static std::unique_ptr<Request> of_dense(std::shared_ptr<PrivateComm> comm,
                                           std::shared_ptr<const ErrorHandler> handler, std::unique_ptr<Work> work,
                                           Reasons reasons);
  /// Nonblocking. Local, but for the first call of an operation under lnw_fixed_counts.
  static std::unique_ptr<Request> make_nonblocking(Communicator& communicator, const Call& call);
  /// Of a dense operation, persistent or nonblocking. Local.
  static std::unique_ptr<Request> of_dense(Communicator& communicator, const std::shared_ptr<PrivateComm>& comm,
                                           DenseParts parts);
  static std::unique_ptr<Request> of_dense(Communicator& communicator, const std::shared_ptr<StartOrder>& order,
                                           DenseParts parts);
  /// Of MPI's own operation; one that is nonblocking has been started. `communicator`: null where nothing of it is
  /// used.
  static std::unique_ptr<Request> of_mpi(Communicator* communicator, Rank rank, std::unique_ptr<MpiExchange> exchange,
                                         Reasons reasons, bool nonblocking);
  /// Of work that has no plan, and has been started.
  static std::unique_ptr<Request> of_work(std::shared_ptr<const ErrorHandler> handler,
                                          std::shared_ptr<PrivateComm> comm, std::unique_ptr<NonblockingWork> work,
                                          std::string strategy);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  [[nodiscard]] bool nonblocking() const { return nonblocking_ != nullptr || mpi_once_; }
  /// Must be startable. Of no use as a call of its own: it costs as much as what it does for a short message.
  [[gnu::always_inline]] void start() {
    if (is_special_) return start_specially();
    run([&] { exchange_->start(); });
  }
  /// Makes the request, if it is startable, the caller's: nobody else claims it, or memory that it shares, until it has
  /// been started or given back.
  [[nodiscard]] bool claim();
  void unclaim();
  void start_claimed();
  /// True, and inactive, when complete.
  [[nodiscard]] bool test() {
    if (is_special_) return test_specially();
    return exchange_ ? run([&] { return exchange_->test(); }) : !nonblocking_ || nonblocking_->test();
  }
  /// As test, but a complete request stays active.
  [[nodiscard]] bool done() {
    if (in_queue()) [[unlikely]]
      refuse_queued();
    if (work_) return work_->done();
    if (mpi_) return mpi_->done();
    return exchange_ ? run([&] { return exchange_->done(); }) : !nonblocking_ || nonblocking_->done();
  }
  [[gnu::always_inline]] void wait() {
    if (is_special_) return wait_specially();
    if (exchange_) return run([&] { exchange_->wait(); });
    if (nonblocking_) nonblocking_->wait();
  }
  /// Of a persistent request that is bound: see Executor. By any thread, at any time.
  void fire(int event) { exchange_->fire(event); }
  [[nodiscard]] bool reached(int event) const { return exchange_->reached(event); }
  [[nodiscard]] bool active() const {
    if (work_) return work_->active();
    if (mpi_) return mpi_->active();
    return exchange_ ? exchange_->active() : nonblocking_ && nonblocking_->active();
  }
  /// Only if it has not come in for this exchange yet; false otherwise.
  [[nodiscard]] bool fire_once(int event) { return exchange_->fire_once(event); }
  /// Null unless the request is of two ranks.
  [[nodiscard]] Work* work() const { return work_.get(); }
  /// Null unless its edges have partitions.
  [[nodiscard]] const EdgePartitions* partitions() const { return partitions_.get(); }
  void set_partitions(std::unique_ptr<const EdgePartitions> partitions) { partitions_ = std::move(partitions); }
  /// @name In a queue
  /// From enter to leave only the queue starts and tests the request; other calls throw Error(request).
  /// @{
  [[nodiscard]] bool in_queue() const { return queued_ != nullptr && queued_->queue != nullptr; }
  /// Null before the first queue.
  [[nodiscard]] InQueue* queued() const { return queued_.get(); }
  InQueue& enter(const void* queue);
  void leave();
  void start_in_queue();
  [[nodiscard]] bool test_in_queue();
  /// Of the buffers; none if they are on none, or not known here.
  [[nodiscard]] Device device() const;
  /// @}
  /// Bound, and neither active itself nor kept from that by a request with which it shares staging memory.
  [[nodiscard]] bool startable() const { return bound() && !active() && !is_blocked(); }
  [[nodiscard]] bool is_blocked() const { return arena_ != nullptr && arena_->claimed(); }
  [[nodiscard]] bool shares_staging_with(const Request& other) const { return arena_ && arena_ == other.arena_; }
  [[nodiscard]] bool bound() const { return exchange_ != nullptr || work_ != nullptr || (mpi_ && !mpi_once_); }
  /// Whether other buffers may be given to it.
  [[nodiscard]] bool is_dense() const { return is_dense_; }
  /// An exchange has failed. It is no longer bound, and never will be: messages of that exchange may be under way.
  [[nodiscard]] bool failed() const { return failed_; }
  void set_buffers(Buffers buffers);
  /// For all exchanges from now on; none: without a stream again. Must be inactive.
  void set_stream(std::optional<lnw_device_stream> stream);

  [[nodiscard]] Rank rank() const { return comm_ ? comm_->rank() : mpi_rank_; }
  [[nodiscard]] const std::string& strategy() const { return reasons_.strategy; }
  [[nodiscard]] const Reasons& reasons() const { return reasons_; }
  /// As it is run with the buffers that it has now; where MPI gathers and scatters, as if this library did.
  [[nodiscard]] const Plan& plan() const;
  [[nodiscard]] Statistics statistics() const;

  /// Calls the error handler of the user's communicator or, once that is gone, the one it had when the request was
  /// made.
  void call_error_handler(int code) const;

 private:
  static std::unique_ptr<Request> make(Communicator& communicator, PrivateComm& priv, MPI_Info info, const Call& call,
                                       std::span<const PlanEvent> events);
  Request(std::shared_ptr<PrivateComm> comm, std::shared_ptr<const ErrorHandler> handler, int tag,
          std::shared_ptr<const Plan> plan, Reasons reasons, Region node);
  /// Calls `body`, which gives up the exchange where it throws.
  template <class Body>
  [[gnu::always_inline]] auto run(Body&& body) -> decltype(body()) {
    try {
      return body();
    } catch (...) {
      fail();
      throw;
    }
  }
  void fail() noexcept;
  [[nodiscard]] std::unique_ptr<Exchange> bind(Buffers buffers, std::optional<lnw_device_stream> stream);
  [[nodiscard]] const std::shared_ptr<const Plan>& plan_on(const BufferMemory& where, bool in_stream);
  void start_specially();
  [[nodiscard]] bool test_specially();
  void wait_specially();
  [[noreturn]] void refuse_queued() const;

  std::shared_ptr<PrivateComm> comm_;
  std::unique_ptr<Exchange> exchange_;  // frees its messages before the communicator goes
  std::unique_ptr<NonblockingWork> nonblocking_;
  std::unique_ptr<MpiExchange> mpi_;  // instead of both
  bool mpi_once_ = false;
  bool is_special_ = false;  // shares staging memory, is no plan of a collective operation, or is in a queue
  bool is_dense_ = false;
  Rank mpi_rank_ = 0;  // without a private communicator
  std::unique_ptr<Work> work_;
  std::unique_ptr<const EdgePartitions> partitions_;
  std::unique_ptr<InQueue> queued_;
  std::shared_ptr<const ErrorHandler> error_handler_;
  int tag_;
  DeviceUse device_use_;
  Helper helper_ = Helper::none;
  PlansByBuffers plans_;
  Combiners combiners_;                                // of an operation that reduces
  std::shared_ptr<const TypedPattern> typed_;          // of what MPI gathers and scatters
  mutable std::unique_ptr<const Plan> plan_as_bytes_;  // of that, once asked for
  std::shared_ptr<NodeMemory> memory_;
  StagingArena* arena_ = nullptr;  // of memory_
  bool claimed_ = false;
  bool failed_ = false;
  Reasons reasons_;
  Region node_;
  std::optional<lnw_device_stream> stream_;
  Buffers buffers_;  // if bound
};

/// For lnw_check=decisions.
[[nodiscard]] std::string text_of_decision(Kind kind, const Agreed& agreed, const Chosen& chosen);

/// Runs the operation once.
void run_blocking(Communicator& communicator, const Call& call);
/// The same as direct messages, of a call that all ranks make together: where the arguments of one are bad, or the two
/// sides of an edge differ in size, all throw.
void run_agreed(Communicator& communicator, const Call& call);

}  // namespace laneway
