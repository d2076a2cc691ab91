#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/process/attachments.hpp"
#include "base/process/recent.hpp"
#include "base/process/spin_lock.hpp"
#include "communicator/arguments/signature.hpp"
#include "operations/pipeline/bound_plan.hpp"
#include "operations/pipeline/family.hpp"

namespace laneway {

/// What serves the calls with certain arguments, which agree on nothing. Families keep more with it.
struct CachedCall {
  CallSignature signature = {};
  Phases phases = Phases::one;
  std::uint64_t version = 0;                     ///< of what else the plan depends on, see PlanCache::find
  std::shared_ptr<const PrivateComm> comm = {};  ///< on which its messages are
  std::shared_ptr<BoundPlan> bound = {};         ///< null: MPI's own operation
  Reasons reasons = {};

  virtual ~CachedCall() = default;
};

/// Those of the last calls on a communicator: a call whose arguments are those of one of them, value by value, needs no
/// other plan. What is here is this rank's business: nothing else depends on it. No locks: who finds another thread
/// here does without.
class PlanCache final : public Attachment {
 public:
  /// Null if there is none. `Cached`: what the family of the call keeps.
  template <class Cached = CachedCall, class AnyCall>
  [[nodiscard]] std::shared_ptr<Cached> find(const AnyCall& call, Phases phases = Phases::one,
                                             std::uint64_t version = 0, const PrivateComm* comm = nullptr) {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock) return nullptr;
    const auto* const known = entries_.find([&](const std::shared_ptr<CachedCall>& entry) {
      return entry->phases == phases && entry->version == version && (comm == nullptr || entry->comm.get() == comm) &&
             entry->signature.equal(call);
    });
    return known != nullptr ? std::static_pointer_cast<Cached>(*known) : nullptr;
  }
  /// In place of the one that was used longest ago. Nothing is done where the arguments are of no kind that is
  /// compared.
  void add(std::shared_ptr<CachedCall> entry) {
    if (!entry->signature.known()) return;
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (lock) entries_.add(std::move(entry));
  }
  /// They would keep what ranks communicated on.
  void on(Change) override {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (lock) entries_.clear();
  }

 private:
  static constexpr std::size_t most_entries = 16;

  SpinLock lock_;
  Recent<std::shared_ptr<CachedCall>> entries_{most_entries};
};

}  // namespace laneway
