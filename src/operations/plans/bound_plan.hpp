#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "algorithms/lowering/through_host.hpp"
#include "base/process/recent.hpp"
#include "base/process/spin_lock.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// A plan that is bound to many buffers, one after another. Bindings stay, since programs come back to the same
/// buffers; they are addresses only, so it does not matter what becomes of these.
class BoundPlan {
 public:
  static constexpr std::size_t most_bindings = 8;

  /// Has so many bindings at most; without any, each exchange is bound for itself. `combiners`: of a plan that
  /// combines; `memory`: null if the plan uses none.
  explicit BoundPlan(std::shared_ptr<const Plan> plan, Combiners combiners = {}, std::size_t bindings = 0,
                     std::shared_ptr<PlanMemory> memory = nullptr)
      : plans_(std::move(plan)), combiners_(std::move(combiners)), memory_(std::move(memory)), bindings_(bindings) {}

  [[nodiscard]] const std::shared_ptr<const Plan>& plan() const { return plans_.plan(); }
  [[nodiscard]] const Combiners& combiners() const { return combiners_; }
  [[nodiscard]] bool has_bindings() const { return bindings_.most() > 0; }

  /// For one exchange, which is the only one until it is complete. Of a plan that has bindings. `where`: the buffers,
  /// as glance_at says. Valid until the next call.
  [[nodiscard]] Exchange& bind(Buffers buffers, const BufferMemory& where, Transport& transport);
  /// Runs it once. Allocates nothing where the buffers are those of an earlier call, unless another thread uses the
  /// bindings.
  void run(Buffers buffers, const BufferMemory& where, Transport& transport);
  /// The bindings; after a failure.
  void forget() { bindings_.clear(); }

 private:
  struct Binding {
    Buffers buffers;
    std::unique_ptr<Exchange> exchange;
  };
  void run_unbound(Buffers buffers, const BufferMemory& where, Transport& transport) const;

  PlansByBuffers plans_;
  Combiners combiners_;
  std::shared_ptr<PlanMemory> memory_;
  Recent<Binding> bindings_;
  SpinLock in_use_;  // by `run`
};

}  // namespace laneway
