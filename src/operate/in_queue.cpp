#include "operate/in_queue.hpp"

#include <memory>

#include "core/error.hpp"
#include "operate/request.hpp"

namespace laneway {

InQueue& Request::enter(const void* queue) {
  if (!queued_) queued_ = std::make_unique<InQueue>();
  queued_->queue = queue;
  is_special_ = true;
  return *queued_;
}

void Request::leave() {
  *queued_ = {.started = queued_->started, .completed = queued_->completed};
  is_special_ = arena_ != nullptr || work_ != nullptr || mpi_ != nullptr;
}

void Request::refuse_queued() const {
  throw Error(ErrorKind::request, "request is in a queue, to which it belongs until LNW_Queue_wait has returned");
}

void Request::start_in_queue() {
  require(bound(), ErrorKind::request, "request has failed before and can only be freed");
  if (work_) return work_->start();
  if (mpi_) return mpi_->start();
  require(arena_ == nullptr || arena_->claim(this), ErrorKind::request,
          "request shares its staging memory (lnw_shared_staging) with one that is active");
  try {
    run([&] { exchange_->start(); });
  } catch (...) {
    if (arena_ != nullptr) arena_->release(this);
    throw;
  }
}

bool Request::test_in_queue() {
  if (work_) return work_->test();
  if (mpi_) return mpi_->test();
  const auto release = [&] {
    if (arena_ != nullptr && !active()) arena_->release(this);
  };
  try {
    const bool complete = !exchange_ || run([&] { return exchange_->test(); });
    release();
    return complete;
  } catch (...) {
    release();
    throw;
  }
}

Device Request::device() const {
  return exchange_ ? device_of(exchange_->executor().where()) : Device{};
}

}  // namespace laneway
