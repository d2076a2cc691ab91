#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "base/process/attachments.hpp"
#include "base/process/recent.hpp"
#include "base/process/spin_lock.hpp"

namespace laneway {

/// The plans of the last calls on a communicator: a call whose arguments are those of one of them, value by value,
/// needs no other plan. An entry has the `signature` of its call, and says by `is_for` which calls it serves. What is
/// here is this rank's business: nothing else depends on it. No locks: who finds another thread here does without.
template <class Entry, std::size_t most>
class PlanCache final : public Attachment {
 public:
  /// Null if there is none.
  template <class... Call>
  [[nodiscard]] std::shared_ptr<Entry> find(const Call&... call) {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock) return nullptr;
    const auto* const known = entries_.find([&](const auto& entry) { return entry->is_for(call...); });
    return known != nullptr ? *known : nullptr;
  }
  /// In place of the one that was used longest ago. Nothing is done where the arguments are of no kind that is
  /// compared.
  void add(std::shared_ptr<Entry> entry) {
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
  SpinLock lock_;
  Recent<std::shared_ptr<Entry>> entries_{most};
};

}  // namespace laneway
