#include "operate/dense_through_host.hpp"

#include <utility>

#include "core/error.hpp"

namespace laneway {

DenseThroughHost::DenseThroughHost(std::shared_ptr<PrivateComm> comm, int tag, std::shared_ptr<const Plan> plan,
                                   std::shared_ptr<NodeMemory> memory, Combiners combiners,
                                   std::unique_ptr<HostImages> images, Progress progress)
    : comm_(std::move(comm)),
      images_(std::move(images)),
      transport_(comm_->get(), tag),
      executor_(std::move(plan), images_->images(), BufferMemory{}, transport_, std::move(memory),
                std::move(combiners)) {
  activity_.list(*this, progress);
}

/// After a failure, messages of that exchange may be under way.
template <class Body>
auto DenseThroughHost::run(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    failed_ = true;
    throw;
  }
}

void DenseThroughHost::start() {
  require(!failed_, ErrorKind::request, "request has failed before and can only be freed");
  run([&] {
    images_->fetch();
    state_ = State::fetching;
    activity_.begin();
  });
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

bool DenseThroughHost::test() {
  return run([&] { return activity_.test(&executor_); });
}

bool DenseThroughHost::done() {
  return run([&] { return activity_.done(&executor_); });
}

void DenseThroughHost::wait() {
  run([&] { activity_.wait(&executor_); });
}

void DenseThroughHost::fill(MPI_Status&) const {}

void DenseThroughHost::ready(int) {
  throw Error(ErrorKind::request, "the request has no partitions");
}

bool DenseThroughHost::arrived(int) {
  throw Error(ErrorKind::request, "the request has no partitions");
}

}  // namespace laneway
