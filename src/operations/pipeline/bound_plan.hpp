#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/lowering/through_host.hpp"
#include "base/process/recent.hpp"
#include "base/process/spin_lock.hpp"
#include "communicator/arguments/operations.hpp"
#include "communicator/private_comm.hpp"
#include "operations/choose/device_support.hpp"
#include "runtime/carriers/elements.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// What kernels call what is combined, if anything is and they know it.
[[nodiscard]] inline std::optional<DeviceOperation> kernels_of(const Combiners& combiners) {
  if (combiners.empty() || !combiners.front()) return std::nullopt;
  return combiners.front()->on_device();
}

/// A plan, and what it is bound with beside buffers.
struct ReadyPlan {
  std::shared_ptr<const Plan> plan = {};
  std::shared_ptr<PlanMemory> memory = {};  ///< null if the plan uses none
  Combiners combiners = {};                 ///< of a plan that combines
  DeviceUse device_use = {};
  bool is_constant = false;                        ///< buffers stay what they are
  std::shared_ptr<MessageElements> elements = {};  ///< where MPI gathers and scatters; or null
  std::shared_ptr<const TypedPattern> typed = {};  ///< then: as what the plan is shown
};

/// A plan that is bound to many buffers, one after another. Bindings stay, since programs come back to the same
/// buffers; they are addresses only, so it does not matter what becomes of these.
class BoundPlan {
 public:
  static constexpr std::size_t most_bindings = 8;
  /// Of pinned memory that a binding keeps.
  static constexpr std::int64_t most_kept_shadow = std::int64_t{1} << 26;

  /// Of exchanges that may overlap, with their memory.
  static constexpr std::size_t most_spares = 4;

  /// Has so many bindings at most; without any, exchanges may overlap.
  explicit BoundPlan(ReadyPlan ready, std::size_t bindings = 0)
      : plans_(ready.plan), ready_(std::move(ready)), bindings_(bindings) {}

  [[nodiscard]] const std::shared_ptr<const Plan>& plan() const { return plans_.plan(); }
  [[nodiscard]] const ReadyPlan& ready() const { return ready_; }
  [[nodiscard]] bool has_bindings() const { return bindings_.most() > 0; }
  /// In the memory that is kept for the next exchange.
  [[nodiscard]] std::int64_t kept_bytes() const { return plan()->staging_bytes + plan()->window_bytes; }

  [[nodiscard]] BufferMemory look_at(Buffers buffers) const { return glance_at(buffers, *plan(), ready_.device_use); }
  /// As it runs on buffers that are there.
  [[nodiscard]] std::shared_ptr<const Plan> plan_on(const BufferMemory& where);
  /// For one exchange, which is the only one until it is complete. Of a plan that has bindings. Valid until the next
  /// call.
  [[nodiscard]] Exchange& bind(Buffers buffers, const BufferMemory& where, Transport& transport);
  /// What an exchange that may overlap with others is bound to.
  struct Overlapping {
    Buffers buffers = {};
    std::shared_ptr<const PrivateComm> comm = {};
    int tag = 0;
    std::unique_ptr<Exchange> exchange = {};
  };
  /// What an earlier one has given back, or a new one. By any thread.
  [[nodiscard]] Overlapping take(Buffers buffers, const BufferMemory& where, std::shared_ptr<const PrivateComm> comm,
                                 int tag);
  /// When it is complete. Allocates nothing.
  void give_back(Overlapping exchange);
  /// Runs it once, with messages from this tag on. Allocates nothing where the buffers are those of an earlier call,
  /// unless another thread uses the bindings, or memory of a device has been allocated anew there.
  void run(Buffers buffers, const PrivateComm& comm, int tag = PrivateComm::blocking_tag);
  /// The bindings; after a failure.
  void forget() { bindings_.clear(); }

 private:
  struct Binding {
    Buffers buffers;
    std::unique_ptr<Exchange> exchange;
  };
  void run(Buffers buffers, const BufferMemory& where, Transport& transport);
  void run_unbound(Buffers buffers, const BufferMemory& where, Transport& transport) const;
  [[nodiscard]] std::unique_ptr<Exchange> exchange_on(PlansByBuffers& plans, Buffers buffers, const BufferMemory& where,
                                                      Transport& transport) const;

  PlansByBuffers plans_;
  ReadyPlan ready_;
  Recent<Binding> bindings_;
  std::vector<Overlapping> spares_;  // given back, the last one at the end
  SpinLock in_use_;                  // by `run`, or while plans and spares are looked up
};

}  // namespace laneway
