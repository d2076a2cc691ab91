#pragma once

#include <mpi.h>

#include <list>
#include <memory>

#include "communicator/private_comm.hpp"
#include "operations/collective/execution/mpi.hpp"
#include "operations/plans/host_images.hpp"
#include "operations/request/work.hpp"

namespace laneway {

/// MPI's own operation, started once or again and again: each time as a nonblocking one.
class MpiExchange final : public Work {
 public:
  /// `rank`: of this process. `images`: those that the call is on, of buffers that the MPI library does not take; else
  /// null. `own`: a communicator of its own, so that requests may be started, and freed, in any order on all ranks;
  /// else null.
  MpiExchange(std::unique_ptr<MpiOperation> call, Rank rank, MPI_Comm comm,
              std::unique_ptr<HostImages> images = nullptr, std::shared_ptr<PrivateComm> own = nullptr);
  ~MpiExchange() override { forget(); }

  [[nodiscard]] bool start() override;
  /// For the only time.
  void start_once();
  [[nodiscard]] bool active() const override { return active_; }
  /// That of the call, where it is known to be there still.
  [[nodiscard]] MPI_Comm users() const override;
  [[nodiscard]] bool done() override;
  [[nodiscard]] bool test() override;
  /// Advances the process's exchanges, too.
  void wait() override;
  [[nodiscard]] const Plan& plan() const override { return call_->plan() != nullptr ? *call_->plan() : plan_; }

 private:
  [[nodiscard]] bool mpi_is_done();
  void go_on();
  void remember();
  void forget();
  friend void end_exchanges(void* exchanges);

  std::unique_ptr<MpiOperation> call_;
  std::shared_ptr<PrivateComm> own_;  // or null
  MPI_Comm comm_;
  Plan plan_;  // without steps
  bool active_ = false;
  bool has_run_once_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<HostImages> images_;         // or null
  bool is_back_ = false;                       // or on its way to devices: what came in copies
  std::list<MpiExchange*>* others_ = nullptr;  // on the program's communicator, where they must end before it is freed
};

}  // namespace laneway
