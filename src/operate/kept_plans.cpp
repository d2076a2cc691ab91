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

/// Gives a flag back that the caller has set.
class Taken {
 public:
  explicit Taken(std::atomic<bool>& flag) : flag_(flag), is_mine_(!flag.exchange(true, std::memory_order_acquire)) {}
  ~Taken() {
    if (is_mine_) flag_.store(false, std::memory_order_release);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  [[nodiscard]] bool is_mine() const { return is_mine_; }

 private:
  std::atomic<bool>& flag_;
  bool is_mine_;
};

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

KeptPlan::Claim::Claim(KeptPlan& plan)
    : plan_(plan), claimed_(plan.bound_ && !plan.in_use_.exchange(true, std::memory_order_acquire)) {}

KeptPlan::Claim::~Claim() {
  if (claimed_) plan_.in_use_.store(false, std::memory_order_release);
}

std::shared_ptr<KeptPlan> KeptPlans::find(const CallKey& key) {
  const Taken taken(taken_);
  if (!taken.is_mine()) return nullptr;
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.is_for(key); });
  if (known == entries_.end()) return nullptr;
  std::rotate(entries_.begin(), known, known + 1);
  return entries_.front().plan;
}

void KeptPlans::keep(const CallKey& key, const Topology& topology, std::shared_ptr<KeptPlan> plan) {
  if (metadata_bytes(*plan->plan()) > most_plan_bytes) return;
  KnownArguments arguments(key.call, topology);
  if (!arguments.known()) return;
  const Taken taken(taken_);
  if (!taken.is_mine()) return;
  if (entries_.size() == most_plans) entries_.pop_back();
  entries_.insert(entries_.begin(), Entry{std::move(arguments), key.is_blocking, key.routes,
                                          key.comm->shared_from_this(), std::move(plan)});
}

void KeptPlans::on(Change) {
  const Taken taken(taken_);
  if (taken.is_mine()) entries_.clear();
}

}  // namespace laneway
