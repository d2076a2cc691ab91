#pragma once

#include <mpi.h>

#include <list>
#include <memory>

#include "comm/private_comm.hpp"
#include "operate/dense_mpi.hpp"
#include "operate/host_images.hpp"

namespace laneway {

/// MPI's own operation, started once or again and again: each time as a nonblocking one.
class MpiExchange {
 public:
  /// `images`: those that the call is on, of buffers that the MPI library does not take; else null.
  MpiExchange(std::unique_ptr<MpiOperation> call, MPI_Comm comm, std::unique_ptr<HostImages> images = nullptr);
  /// On a communicator of its own, so that requests may be started, and freed, in any order on all ranks.
  MpiExchange(std::unique_ptr<MpiOperation> call, std::shared_ptr<PrivateComm> own, std::unique_ptr<HostImages> images);
  ~MpiExchange() { forget(); }
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  /// Must not be active.
  void start();
  [[nodiscard]] bool active() const { return active_; }
  /// The program's communicator, where it is known to be there still; else null.
  [[nodiscard]] MPI_Comm users() const;
  /// Whether complete or inactive; stays active.
  [[nodiscard]] bool done();
  /// True, and inactive, when complete.
  [[nodiscard]] bool test();
  /// Advances the process's exchanges, too.
  void wait();

 private:
  [[nodiscard]] bool mpi_is_done();
  void put_back();
  void remember();
  void forget();
  friend void end_exchanges(void* exchanges);

  std::unique_ptr<MpiOperation> call_;
  std::shared_ptr<PrivateComm> own_;  // or null
  MPI_Comm comm_;
  bool active_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<HostImages> images_;         // or null
  bool is_back_ = false;                       // or on its way to devices: what came in copies
  std::list<MpiExchange*>* others_ = nullptr;  // on the program's communicator, where they must end before it is freed
};

}  // namespace laneway
