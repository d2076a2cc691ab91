#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>

#include "communicator/private_comm.hpp"

namespace laneway {

/// Calls the error handler of `comm`. Where it ends the job, the text is written first: a launcher that takes its ranks
/// down at once may lose what MPI has to say.
void call_error_handler(MPI_Comm comm, int code);

/// A user's communicator, MPI_COMM_NULL once it has been freed.
using UserComm = std::atomic<MPI_Comm>;

/// A user's communicator and its error handler, which may outlive it.
class ErrorHandler {
 public:
  ErrorHandler(MPI_Comm comm, std::shared_ptr<const UserComm> user);
  ~ErrorHandler();
  ErrorHandler(const ErrorHandler&) = delete;
  ErrorHandler& operator=(const ErrorHandler&) = delete;

  /// Calls the handler that the user's communicator has now. Once that is gone, calls the one that was read, with
  /// another communicator in its place.
  void call(const PrivateComm& stand_in, int code) const;

 private:
  std::shared_ptr<const UserComm> user_;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

}  // namespace laneway
