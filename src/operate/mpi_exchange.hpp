#pragma once

#include <mpi.h>

#include <memory>

#include "operate/dense_mpi.hpp"
#include "operate/host_images.hpp"

namespace laneway {

/// MPI's own operation, started once or again and again: each time as a nonblocking one.
class MpiExchange {
 public:
  /// `owns`: frees the communicator with itself, so that requests may be started in any order on all ranks.
  /// `images`: those that the call is on, of buffers that the MPI library does not take; else null.
  MpiExchange(std::unique_ptr<MpiCall> call, MPI_Comm comm, bool owns, std::unique_ptr<HostImages> images = nullptr);
  ~MpiExchange();
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  /// Must not be active.
  void start();
  [[nodiscard]] bool active() const { return active_; }
  /// Whether complete or inactive; stays active.
  [[nodiscard]] bool done();
  /// True, and inactive, when complete.
  [[nodiscard]] bool test();
  /// Advances the process's exchanges, too.
  void wait();

 private:
  [[nodiscard]] bool mpi_is_done();

  std::unique_ptr<MpiCall> call_;
  MPI_Comm comm_;
  bool owns_;
  bool active_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<HostImages> images_;  // or null
  bool is_returning_ = false;           // to devices, from the images
};

}  // namespace laneway
