#include "operations/request/exchange_on_images.hpp"

#include <utility>

namespace laneway {

ExchangeOnImages::ExchangeOnImages(ExchangeParts parts, std::unique_ptr<HostImages> images)
    : parts_(std::move(parts)),
      images_(std::move(images)),
      transport_(parts_.comm->get(), parts_.tag),
      executor_(parts_.ready.plan, images_->images(), BufferMemory{}, transport_, parts_.ready.memory,
                parts_.ready.combiners) {
  activity_.list(*this, progress_by(parts_.helper));
}

bool ExchangeOnImages::start() {
  if (state() != WorkState::inactive) return false;
  run([&] {
    images_->fetch();
    state_ = State::fetching;
    activity_.begin();
  });
  return true;
}

bool ExchangeOnImages::progress() {
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
