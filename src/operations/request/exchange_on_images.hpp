#pragma once

#include <cstdint>
#include <memory>

#include "operations/plans/host_images.hpp"
#include "operations/request/persistent_exchange.hpp"
#include "runtime/carriers/messages/p2p.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// A persistent operation with a buffer on a device, whose plan runs on images of the buffers, which are copied
/// before each exchange and after it. Ranks may run the same plan on the buffers themselves: it stays the same.
class ExchangeOnImages final : public Work, public Progressive {
 public:
  ExchangeOnImages(ExchangeParts parts, std::unique_ptr<HostImages> images);

  [[nodiscard]] bool active() const override { return activity_.active(); }
  [[nodiscard]] bool start() override;
  [[nodiscard]] bool test() override {
    return run([&] { return activity_.test(&executor_); });
  }
  [[nodiscard]] bool done() override {
    return run([&] { return activity_.done(&executor_); });
  }
  void wait() override {
    run([&] { activity_.wait(&executor_); });
  }
  [[nodiscard]] WorkState state() const override { return failed_ && !active() ? WorkState::failed : Work::state(); }
  [[nodiscard]] const Plan& plan() const override { return executor_.plan(); }
  [[nodiscard]] Statistics statistics() const override {
    return statistics_of(plan(), parts_.node, parts_.ready.memory.get());
  }

  bool progress() override;

 private:
  enum class State : std::uint8_t { fetching, exchanging, returning };
  /// After a failure, messages of that exchange may be under way.
  template <class Body>
  auto run(Body&& body) -> decltype(body()) {
    try {
      return body();
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  ExchangeParts parts_;
  std::unique_ptr<HostImages> images_;
  P2PTransport transport_;
  Executor executor_;
  State state_ = State::fetching;
  bool failed_ = false;
  Activity activity_;
};

}  // namespace laneway
