#include "operations/request/request.hpp"

#include <utility>

#include "base/error.hpp"
#include "operations/request/ready_words.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

Request::Request(std::shared_ptr<PrivateComm> comm, std::shared_ptr<const ErrorHandler> handler,
                 std::unique_ptr<Work> work, Reasons reasons, Life life)
    : comm_(std::move(comm)),
      work_(std::move(work)),
      run_(work_.get()),
      error_handler_(std::move(handler)),
      reasons_(std::move(reasons)),
      life_(life) {
  if (nonblocking())
    count_nonblocking(comm_.get());
  else
    counter_.emplace(work_.get(), comm_.get());
}

void Request::enter(const void* queue) {
  if (!queued_) queued_ = std::make_unique<QueuedWork>(work_);
  queued_->place.queue = queue;
  run_ = queued_.get();
}

void Request::leave() {
  InQueue& place = queued_->place;
  place = {.started = place.started, .completed = place.completed};
  run_ = work_.get();
}

void Request::continue_with(const std::optional<EdgePartition>& arrival, Continuation continuation,
                            ContinuedWork::CodeOfFailure code_of_failure) {
  if (work_->continued() == nullptr) run_by(std::make_unique<ContinuedWork>(std::move(work_), rank(), code_of_failure));
  ContinuedWork& continued = *work_->continued();
  const auto set = [&] {
    arrival ? continued.on_arrival(*arrival, continuation) : continued.on_complete(continuation);
  };
  try {
    set();
  } catch (...) {
    if (continued.empty()) run_by(continued.release());
    throw;
  }
  if (continued.empty()) return run_by(continued.release());
  if (nonblocking()) continued.begin();
}

WordReadyWork& Request::give_words() {
  if (WordReadyWork* const has = work_->with_words()) return *has;
  require(work_->continued() == nullptr, ErrorKind::request,
          "request has functions that are called: words of its partitions come first");
  Device device = work_->device();
  if (const std::vector<Device> all = all_devices(); !device && !all.empty()) device = all.front();
  auto made = std::make_unique<WordReadyWork>(work_, device);
  WordReadyWork& words = *made;
  run_by(std::move(made));
  return words;
}

void QueuedWork::refuse() {
  throw Error(ErrorKind::request, std::string("request ") + text_of(WorkState::in_queue));
}

void Request::call_error_handler(int code) const {
  if (error_handler_) return error_handler_->call(*comm_, code);
  laneway::call_error_handler(work_->users(), code);
}

}  // namespace laneway
