#pragma once

#include <cstdint>
#include <memory>

#include "carriers/messages/p2p.hpp"
#include "comm/communicator.hpp"
#include "exec/progress.hpp"
#include "operate/host_images.hpp"
#include "operate/work.hpp"

namespace laneway {

/// A persistent dense operation with a buffer on a device: its plan runs on images of the buffers, which are copied
/// before each exchange and after it. Ranks may run the same plan on the buffers themselves: it stays the same.
class DenseThroughHost final : public Work, public Progressive {
 public:
  /// `memory`: null if the plan uses none.
  DenseThroughHost(std::shared_ptr<PrivateComm> comm, int tag, std::shared_ptr<const Plan> plan,
                   std::shared_ptr<NodeMemory> memory, Combiners combiners, std::unique_ptr<HostImages> images,
                   Progress progress);

  [[nodiscard]] bool active() const override { return activity_.active(); }
  void start() override;
  [[nodiscard]] bool test() override;
  [[nodiscard]] bool done() override;
  void wait() override;
  void fill(MPI_Status& status) const override;
  [[nodiscard]] const Plan& plan() const override { return executor_.plan(); }
  void ready(int partition) override;
  [[nodiscard]] bool arrived(int partition) override;

  bool progress() override;

 private:
  enum class State : std::uint8_t { fetching, exchanging, returning };
  template <class Body>
  auto run(Body&& body) -> decltype(body());

  std::shared_ptr<PrivateComm> comm_;
  std::unique_ptr<HostImages> images_;
  P2PTransport transport_;
  Executor executor_;
  State state_ = State::fetching;
  bool failed_ = false;
  Activity activity_;
};

}  // namespace laneway
