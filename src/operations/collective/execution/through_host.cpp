#include "operations/collective/execution/through_host.hpp"

#include <utility>

namespace laneway {

DenseThroughHost::DenseThroughHost(ExchangeParts parts, std::unique_ptr<HostImages> images)
    : parts_(std::move(parts)),
      images_(std::move(images)),
      transport_(parts_.comm->get(), parts_.tag),
      executor_(parts_.plan, images_->images(), BufferMemory{}, transport_, parts_.memory, parts_.combiners) {
  activity_.list(*this, progress_by(parts_.helper));
}

bool DenseThroughHost::start() {
  if (state() != WorkState::inactive) return false;
  run([&] {
    images_->fetch();
    state_ = State::fetching;
    activity_.begin();
  });
  return true;
}

bool DenseThroughHost::progress() {
  if (state_ == State::fetching) {
    if (!images_->complete()) return false;
    executor_.start();
    state_ = State::exchanging;
  }
  if (state_ == State::exchanging) {
    if (!executor_.progress()) return false;
    images_->put_back();
    state_ = State::returning;
  }
  return images_->complete();
}

}  // namespace laneway
