#include "operate/mpi_exchange.hpp"

#include <utility>

#include "carriers/messages/p2p.hpp"
#include "exec/progress.hpp"

namespace laneway {

MpiExchange::MpiExchange(std::unique_ptr<MpiCall> call, MPI_Comm comm, std::unique_ptr<HostImages> images)
    : call_(std::move(call)), comm_(comm), images_(std::move(images)) {}

MpiExchange::MpiExchange(std::unique_ptr<MpiCall> call, std::shared_ptr<PrivateComm> own,
                         std::unique_ptr<HostImages> images)
    : call_(std::move(call)), own_(std::move(own)), comm_(own_->get()), images_(std::move(images)) {}

void MpiExchange::start() {
  if (images_) {
    images_->fetch();
    images_->synchronize();
    is_returning_ = false;
  }
  check_mpi(call_->start(comm_, &request_), "MPI's own operation");
  active_ = true;
}

bool MpiExchange::mpi_is_done() {
  if (request_ == MPI_REQUEST_NULL) return true;
  int flag = 0;
  const int code = MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) active_ = false;
  check_mpi(code, "MPI_Test");
  return flag != 0;
}

bool MpiExchange::done() {
  if (!active_) return true;
  if (!images_) return mpi_is_done();
  if (!is_returning_) {
    if (!mpi_is_done()) return false;
    images_->put_back();
    is_returning_ = true;
  }
  return images_->complete();
}

bool MpiExchange::test() {
  if (!done()) return false;
  active_ = false;
  return true;
}

void MpiExchange::wait() {
  if (images_ || any_active()) {
    progress_until([&] { return done(); });
  } else if (request_ != MPI_REQUEST_NULL) {
    const int code = MPI_Wait(&request_, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) active_ = false;
    check_mpi(code, "MPI_Wait");
  }
  active_ = false;
}

}  // namespace laneway
