#include "operations/request/mpi_exchange.hpp"

#include <mutex>
#include <utility>

#include "base/failure.hpp"
#include "base/simulated.hpp"
#include "mpi/attribute_key.hpp"
#include "mpi/check.hpp"
#include "mpi/quirks.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

std::mutex active_mutex;  // nothing of MPI is called under it

}  // namespace

void end_exchanges(void* exchanges);

namespace {

AttributeKey exchanges_key(end_exchanges);

}  // namespace

void end_exchanges(void* exchanges) {
  const std::unique_ptr<std::list<MpiExchange*>> active(static_cast<std::list<MpiExchange*>*>(exchanges));
  for (;;) {
    MPI_Request* request = nullptr;
    {
      const std::lock_guard lock(active_mutex);
      if (active->empty()) break;
      active->front()->others_ = nullptr;
      request = &active->front()->request_;
      active->pop_front();
    }
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
}

void MpiExchange::remember() {
  if constexpr (!quirks.destroys_active_communicators) return;
  if (own_ || request_ == MPI_REQUEST_NULL) return;
  auto* known = static_cast<std::list<MpiExchange*>*>(exchanges_key.find(comm_));
  if (known == nullptr) {
    auto made = std::make_unique<std::list<MpiExchange*>>();
    exchanges_key.set(comm_, made.get());
    known = made.release();
  }
  const std::lock_guard lock(active_mutex);
  known->push_front(this);
  others_ = known;
}

void MpiExchange::forget() {
  if constexpr (!quirks.destroys_active_communicators) return;
  if (others_ == nullptr) return;
  const std::lock_guard lock(active_mutex);
  if (others_ != nullptr) std::erase(*others_, this);
  others_ = nullptr;
}

MPI_Comm MpiExchange::users() const {
  const std::lock_guard lock(active_mutex);
  return others_ != nullptr ? comm_ : Work::users();
}

MpiExchange::MpiExchange(std::unique_ptr<MpiOperation> call, Rank rank, MPI_Comm comm,
                         std::unique_ptr<HostImages> images, std::shared_ptr<PrivateComm> own)
    : call_(std::move(call)), own_(std::move(own)), comm_(comm), images_(std::move(images)) {
  plan_.rank = rank;
}

bool MpiExchange::start() {
  if (active_ || has_run_once_) return false;
  if (images_) {
    images_->fetch();
    images_->synchronize();
  }
  is_back_ = false;
  check_mpi(call_->start(comm_, &request_), "MPI's own operation");
  active_ = true;
  remember();
  return true;
}

void MpiExchange::start_once() {
  (void)start();
  has_run_once_ = true;
}

bool MpiExchange::mpi_is_done() {
  if (request_ == MPI_REQUEST_NULL) return true;
  int flag = 0;
  const int code = MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
  if (flag != 0) forget();
  if (code != MPI_SUCCESS) active_ = false;
  check_mpi(code, "MPI_Test");
  return flag != 0;
}

bool MpiExchange::done() {
  if (!active_) return true;
  while (!is_back_) {
    if (!mpi_is_done()) return false;
    go_on();
  }
  return !images_ || images_->complete();
}

void MpiExchange::go_on() {
  if (const std::exception_ptr failure = failure_of([this] { call_->finish(&request_); })) {
    active_ = false;
    std::rethrow_exception(failure);
  }
  if (request_ != MPI_REQUEST_NULL) return;
  if (images_) images_->put_back();
  is_back_ = true;
}

bool MpiExchange::test() {
  if (!done()) return false;
  active_ = false;
  return true;
}

void MpiExchange::wait() {
  if (images_ || any_active()) {
    progress_until([&] { return done(); });
  } else {
    while (active_ && !is_back_) {
      const int code = MPI_Wait(&request_, MPI_STATUS_IGNORE);
      forget();
      if (code != MPI_SUCCESS) active_ = false;
      check_mpi(code, "MPI_Wait");
      go_on();
    }
  }
  active_ = false;
}

}  // namespace laneway
