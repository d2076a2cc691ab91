#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/rendezvous/bag.hpp"
#include "communicator/background.hpp"
#include "communicator/communicator.hpp"
#include "operations/request/request.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// The bundles of one bag, on a communicator that nothing else uses.
class MpiBagMessenger final : public BagMessenger {
 public:
  explicit MpiBagMessenger(std::shared_ptr<PrivateComm> comm) : comm_(std::move(comm)) {}

  [[nodiscard]] Rank rank() const override { return comm_->rank(); }
  void send(Rank to, BagMessage incoming) override;
  [[nodiscard]] std::optional<BagMessage> take() override;
  [[nodiscard]] bool all_sent() override { return sending_.all_complete(); }

 private:
  std::shared_ptr<PrivateComm> comm_;
  ControlMessages sending_{*comm_};
  ControlMessages receiving_{*comm_};
};

/// A bag of the ranks of a communicator.
class MpiBag final : private Progressive {
 public:
  /// Collective. `failure`: what is wrong with the arguments of this rank; then all throw.
  MpiBag(Communicator& communicator, MPI_Info info, std::exception_ptr failure);
  ~MpiBag();
  MpiBag(const MpiBag&) = delete;
  MpiBag& operator=(const MpiBag&) = delete;

  /// Waits for credits.
  void send(Rank destination, const void* data, MPI_Count bytes);
  [[nodiscard]] std::optional<Bag::Message> next() { return bag_->next(); }
  /// Throw Error(request) where another flush is active.
  void flush();
  [[nodiscard]] std::unique_ptr<Request> start_flush();
  /// Ends what is under way. Collective.
  void quiesce();

  [[nodiscard]] Bag::Counts counts() { return bag_->counts(); }
  [[nodiscard]] std::int64_t most_kept() const { return bag_->most_kept(); }
  [[nodiscard]] bool relays() const { return relays_; }
  [[nodiscard]] Rank rank() const { return comm_->rank(); }
  [[nodiscard]] const std::shared_ptr<PrivateComm>& comm() const { return comm_; }
  void call_error_handler(int code) const { error_handler_->call(*comm_, code); }

 private:
  bool progress() override;
  void begin_flush();

  std::shared_ptr<const ErrorHandler> error_handler_;
  std::shared_ptr<PrivateComm> comm_;
  std::unique_ptr<NodeMap> nodes_;
  std::unique_ptr<MpiBagMessenger> messenger_;
  std::shared_ptr<Bag> bag_;
  bool relays_ = false;
  std::atomic<bool> closing_{false};
  Activity activity_;  // last: nobody advances this any more when the rest goes
};

}  // namespace laneway
