#include "runtime/executor/remains.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace laneway {

namespace {

/// Never destroyed: what is in it is not freed while MPI may use it, and MPI may be gone when the program ends.
struct Kept {
  std::mutex mutex;
  std::vector<std::unique_ptr<Remains>> all;
};
Kept& kept() {
  static Kept* const kept = new Kept;
  return *kept;
}
std::atomic<bool> any_kept{false};

}  // namespace

Left Remains::abandon() noexcept {
  Left left = Left::nothing;
  for (const std::unique_ptr<BoundCarrier>& carrier : carriers) left = std::max(left, carrier->abandon());
  return left;
}

void keep(Remains remains) {
  Kept& list = kept();
  const std::lock_guard lock(list.mutex);
  list.all.push_back(std::make_unique<Remains>(std::move(remains)));
  any_kept.store(true, std::memory_order_relaxed);
}

void look_through_remains() noexcept {
  if (!any_kept.load(std::memory_order_relaxed)) return;
  Kept& list = kept();
  const std::unique_lock lock(list.mutex, std::try_to_lock);
  if (!lock) return;
  std::erase_if(list.all, [](const std::unique_ptr<Remains>& remains) { return remains->abandon() == Left::nothing; });
  any_kept.store(!list.all.empty(), std::memory_order_relaxed);
}

}  // namespace laneway
