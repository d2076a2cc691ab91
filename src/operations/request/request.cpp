#include "operations/request/request.hpp"

#include <utility>

#include "base/error.hpp"

namespace laneway {

Request::Request(std::shared_ptr<PrivateComm> comm, std::shared_ptr<const ErrorHandler> handler,
                 std::unique_ptr<Work> work, Reasons reasons, Life life)
    : comm_(std::move(comm)),
      work_(std::move(work)),
      run_(work_.get()),
      error_handler_(std::move(handler)),
      reasons_(std::move(reasons)),
      life_(life) {}

void Request::enter(const void* queue) {
  if (!queued_) queued_ = std::make_unique<QueuedWork>(*work_);
  queued_->place.queue = queue;
  run_ = queued_.get();
}

void Request::leave() {
  InQueue& place = queued_->place;
  place = {.started = place.started, .completed = place.completed};
  run_ = work_.get();
}

void QueuedWork::refuse() {
  throw Error(ErrorKind::request, std::string("request ") + text_of(WorkState::in_queue));
}

void Request::call_error_handler(int code) const {
  if (error_handler_) return error_handler_->call(*comm_, code);
  laneway::call_error_handler(work_->users(), code);
}

}  // namespace laneway
