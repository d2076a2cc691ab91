#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments/signature.hpp"
#include "core/recent.hpp"
#include "core/spin_lock.hpp"
#include "operate/nonblocking.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// What a call's plan depends on, besides what never changes on a communicator.
struct CallKey {
  const Call& call;
  bool is_blocking = true;
  std::uint64_t routes = 0;           ///< Routes::version
  const PrivateComm* comm = nullptr;  ///< on which its messages are
};

/// The plan of a call, and its bindings to the buffers of the last calls.
class KeptPlan {
 public:
  /// `elements` and `typed`: of a plan of datatypes; otherwise null. `combiners`: of a plan that combines.
  KeptPlan(std::shared_ptr<const Plan> plan, std::string strategy, const DeviceUse& device_use,
           std::shared_ptr<MessageElements> elements, std::shared_ptr<const TypedPattern> typed, Combiners combiners);

  [[nodiscard]] const std::shared_ptr<const Plan>& plan() const { return plan_; }
  [[nodiscard]] const std::string& strategy() const { return strategy_; }
  [[nodiscard]] const std::shared_ptr<MessageElements>& elements() const { return elements_; }
  [[nodiscard]] const std::shared_ptr<const TypedPattern>& typed() const { return typed_; }
  [[nodiscard]] const Combiners& combiners() const { return combiners_; }

  /// For one exchange, which is the only one that uses it. `bound` is null where somebody else does so, or where what
  /// it takes is too much to be kept.
  class Claim {
   public:
    explicit Claim(KeptPlan& plan) : plan_(plan) {
      if (plan.bound_) lock_ = std::unique_lock(plan.in_use_, std::try_to_lock);
    }
    [[nodiscard]] BoundPlan* bound() { return lock_ ? &*plan_.bound_ : nullptr; }

   private:
    KeptPlan& plan_;
    std::unique_lock<SpinLock> lock_;
  };

 private:
  std::shared_ptr<const Plan> plan_;
  std::string strategy_;
  std::shared_ptr<MessageElements> elements_;
  std::shared_ptr<const TypedPattern> typed_;
  Combiners combiners_;
  std::optional<BoundPlan> bound_;
  SpinLock in_use_;
};

/// The plans of the last blocking and nonblocking calls on a communicator: a call whose arguments are those of one of
/// them, value by value, needs no other plan. No locks: who finds another thread here does without.
class KeptPlans final : public Attachment {
 public:
  /// Null if there is none.
  [[nodiscard]] std::shared_ptr<KeptPlan> find(const CallKey& key);
  /// In place of the one that was used longest ago.
  void keep(const CallKey& key, const Topology& topology, std::shared_ptr<KeptPlan> plan);
  /// They would keep what ranks communicated on.
  void on(Change) override;

 private:
  struct Entry {
    CallSignature signature;
    bool is_blocking = true;
    std::uint64_t routes = 0;
    std::shared_ptr<const PrivateComm> comm;
    std::shared_ptr<KeptPlan> plan;

    [[nodiscard]] bool is_for(const CallKey& key) const {
      return is_blocking == key.is_blocking && routes == key.routes && comm.get() == key.comm &&
             signature.equal(key.call);
    }
  };
  static constexpr std::size_t most_plans = 8;

  SpinLock lock_;
  Recent<Entry> entries_{most_plans};
};

}  // namespace laneway
