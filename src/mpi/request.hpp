#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "exec/progress.hpp"
#include "mpi/communicator.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

/// Describes what the operation moves, from its arguments; may throw for bad ones.
using Describe = std::function<RankPattern(const Topology&)>;

struct Statistics {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t net_messages = 0;
  std::int64_t net_bytes = 0;
  std::int64_t copied_bytes = 0;
  std::int64_t staging_bytes = 0;
};

/// A persistent neighborhood operation: a plan bound to buffers on a private communicator.
class Request {
 public:
  /// Collective over `comm`: agrees on the hints, plans, binds (if there are buffers; otherwise set_buffers must
  /// follow). If the arguments of any rank are bad, all ranks throw.
  static std::unique_ptr<Request> make(MPI_Comm comm, MPI_Info info, const Describe& describe,
                                       std::optional<Buffers> buffers);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Must be bound and not active.
  void start() { exchange_->start(); }
  [[nodiscard]] bool test() { return !exchange_ || exchange_->test(); }
  void wait() {
    if (exchange_) exchange_->wait();
  }
  [[nodiscard]] bool active() const { return exchange_ && exchange_->active(); }
  [[nodiscard]] bool startable() const { return exchange_ && !exchange_->active(); }
  [[nodiscard]] bool bound() const { return exchange_ != nullptr; }
  void set_buffers(Buffers buffers);

  [[nodiscard]] Rank rank() const { return comm_->rank(); }
  [[nodiscard]] std::string_view strategy() const { return strategy_; }
  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] Statistics statistics() const;

  /// Calls the error handler that the user's communicator had when the request was made.
  void call_error_handler(int code) const;

 private:
  Request(std::shared_ptr<PrivateComm> comm, MPI_Errhandler handler, int tag, std::shared_ptr<const Plan> plan,
          std::string_view strategy, Region node);

  std::shared_ptr<PrivateComm> comm_;
  std::unique_ptr<Exchange> exchange_;  // frees its messages before the communicator goes
  MPI_Errhandler error_handler_;
  int tag_;
  std::shared_ptr<const Plan> plan_;
  std::string_view strategy_;
  Region node_;
};

/// Runs the operation once, each edge as one message. Collective only on the first call for a communicator.
void run_blocking(MPI_Comm comm, const Describe& describe, Buffers buffers);

}  // namespace laneway
