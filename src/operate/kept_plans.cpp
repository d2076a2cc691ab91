#include "operate/kept_plans.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace laneway {

namespace {

constexpr std::int64_t most_plan_bytes = std::int64_t{1} << 22;
/// Of staging memory. Bindings that take little are kept for several pairs of buffers, the largest for none.
constexpr std::int64_t little_staging = std::int64_t{1} << 16;
constexpr std::int64_t most_staging = std::int64_t{1} << 20;

std::size_t bindings_of(const Plan& plan) {
  const std::int64_t bytes = plan.staging_bytes + plan.shadow_bytes;
  return bytes <= little_staging ? BoundPlan::most_bindings : bytes <= most_staging ? 1 : 0;
}

}  // namespace

KeptPlan::KeptPlan(std::shared_ptr<const Plan> plan, std::string strategy, const DeviceUse& device_use,
                   std::shared_ptr<MessageElements> elements, std::shared_ptr<const TypedPattern> typed,
                   Combiners combiners)
    : plan_(std::move(plan)),
      strategy_(std::move(strategy)),
      elements_(std::move(elements)),
      typed_(std::move(typed)),
      combiners_(std::move(combiners)) {
  if (const std::size_t bindings = bindings_of(*plan_); bindings > 0)
    bound_.emplace(plan_, nullptr, device_use, bindings, combiners_);
}

std::shared_ptr<KeptPlan> KeptPlans::find(const CallKey& key) {
  const std::unique_lock lock(lock_, std::try_to_lock);
  if (!lock) return nullptr;
  const Entry* const known = entries_.find([&](const Entry& e) { return e.is_for(key); });
  return known != nullptr ? known->plan : nullptr;
}

void KeptPlans::keep(const CallKey& key, const Topology& topology, std::shared_ptr<KeptPlan> plan) {
  if (metadata_bytes(*plan->plan()) > most_plan_bytes) return;
  CallSignature signature(key.call, topology);
  if (!signature.known()) return;
  const std::unique_lock lock(lock_, std::try_to_lock);
  if (!lock) return;
  entries_.add(Entry{std::move(signature), key.is_blocking, key.routes, key.comm->shared_from_this(), std::move(plan)});
}

void KeptPlans::on(Change) {
  const std::unique_lock lock(lock_, std::try_to_lock);
  if (lock) entries_.clear();
}

}  // namespace laneway
