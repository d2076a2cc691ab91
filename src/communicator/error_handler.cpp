#include "communicator/error_handler.hpp"

#include <array>
#include <mutex>
#include <utility>

#include "base/log_line.hpp"
#include "mpi/check.hpp"
#include "mpi/running.hpp"

namespace laneway {

namespace {

/// Whether the job ends, with nobody to ask for the text.
bool is_fatal(MPI_Errhandler handler) {
#ifdef MPI_ERRORS_ABORT
  if (handler == MPI_ERRORS_ABORT) return true;
#endif
  return handler == MPI_ERRORS_ARE_FATAL;
}

}  // namespace

void PrivateComm::call_error_handler(MPI_Errhandler handler, int code) const {
  MPI_Comm target = created() ? comm_ : MPI_COMM_SELF;
  // Other threads must not meet the handler in calls that expect errors to be returned.
  const bool is_shared = !single_threaded() && has_world();
  static std::mutex mutex;
  if (is_shared) {
    const std::lock_guard lock(mutex);
    MPI_Group self = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Comm_create(MPI_COMM_SELF, self, &target);
    MPI_Group_free(&self);
  }
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(target, &before);
  MPI_Comm_set_errhandler(target, handler);
  laneway::call_error_handler(target, code);
  MPI_Comm_set_errhandler(target, before);
  MPI_Errhandler_free(&before);
  if (is_shared) MPI_Comm_free(&target);
}

void call_error_handler(MPI_Comm comm, int code) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (MPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) {
    if (is_fatal(handler)) {
      std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
      int length = 0;
      if (MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS) log_line(text.data());
    }
    MPI_Errhandler_free(&handler);
  }
  MPI_Comm_call_errhandler(comm, code);
}

ErrorHandler::ErrorHandler(MPI_Comm comm, std::shared_ptr<const UserComm> user) : user_(std::move(user)) {
  check_mpi(MPI_Comm_get_errhandler(comm, &handler_), "MPI_Comm_get_errhandler");
}

ErrorHandler::~ErrorHandler() {
  if (handler_ != MPI_ERRHANDLER_NULL && !mpi_is_finalized()) MPI_Errhandler_free(&handler_);
}

void ErrorHandler::call(const PrivateComm& stand_in, int code) const {
  const MPI_Comm user = user_->load(std::memory_order_acquire);
  if (user != MPI_COMM_NULL)
    call_error_handler(user, code);
  else if (handler_ != MPI_ERRORS_RETURN)
    stand_in.call_error_handler(handler_, code);
}

}  // namespace laneway
