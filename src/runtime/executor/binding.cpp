#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/remains.hpp"

// How an executor finds out where everything is, and who runs what.

namespace laneway {

Executor::Executor(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport,
                   std::shared_ptr<PlanMemory> memory)
    : Executor(plan, buffers, glance_at(buffers, *plan), transport, std::move(memory)) {}

Executor::Executor(std::shared_ptr<const Plan> plan, Buffers buffers, const BufferMemory& where, Transport& transport,
                   std::shared_ptr<PlanMemory> memory, Combiners combiners)
    : plan_(std::move(plan)),
      memory_(memory && (plan_->window_bytes > 0 || memory->arena || memory->connects_devices) ? std::move(memory)
                                                                                               : nullptr),
      steps_(*plan_, std::move(combiners)),
      order_(plan_->steps),
      events_(std::make_shared<ExchangeEvents>(*plan_)),
      where_(where) {
  look_through_remains();
  const bool device_aware = where.device_aware && where.on_device().any();
  LANEWAY_ASSERT(memory_ || plan_->window_bytes == 0);
  LANEWAY_ASSERT(!memory_ || memory_->connects_devices || !device_aware);
  LANEWAY_ASSERT(goes_through_host(*plan_, where.behind_host()));
  LANEWAY_ASSERT(steps_.combiners().size() == plan_->combinations.size());
  LANEWAY_ASSERT(steps_.combiners().empty() || !device_aware);
  bind(buffers, transport);
}

void Executor::bind(Buffers buffers, Transport& transport) {
  PlanBinding binding{*plan_, where_, steps_.combiners(), memory_.get(), &transport, steps_.turn()};
  std::byte*& staging = binding.bases[static_cast<std::size_t>(Buffer::staging)];
  binding.bases[static_cast<std::size_t>(Buffer::send)] = static_cast<std::byte*>(const_cast<void*>(buffers.send));
  binding.bases[static_cast<std::size_t>(Buffer::receive)] = static_cast<std::byte*>(buffers.receive);
  if (memory_) {
    staging = memory_->staging;
    binding.bases[static_cast<std::size_t>(Buffer::window)] = memory_->window;
  }
  for (const Carrier& carrier : carriers()) {
    if (carrier.run == nullptr) continue;
    if (std::unique_ptr<BoundCarrier> bound = carrier.run(binding)) carriers_.push_back(std::move(bound));
  }
  if (!memory_ && staging == nullptr && plan_->staging_bytes > 0) {
    staging_ = BlockMemory(static_cast<std::size_t>(plan_->staging_bytes));
    staging = staging_.data();
  }
  for (const Step& step : plan_->steps) {
    StepRun& run = binding.runs.emplace_back();
    run.waits = step.await || (step.kind == StepKind::event && !step.goes_out);
    run.raises = step.raise || (step.kind == StepKind::event && step.goes_out);
  }
  trace_ = Trace::of(plan_, transport, uses_device());
  // A trace shows when each step is complete. Peers wait for the end of this exchange before they write staging memory
  // that plans share in the next one.
  binding.may_be_together = order_.empty() && !(memory_ && memory_->arena) && carriers_.size() == 1 && !trace_;
  for (const std::unique_ptr<BoundCarrier>& carrier : carriers_) {
    carrier->bind(binding);
    ++binding.carrier;
  }
  runs_ = binding.runs;
  order(binding);
  if (mode_.has_own_steps) steps_.bind(binding);
}

/// What is to be looked at in an exchange, and how much may wait at a time.
void Executor::order(const PlanBinding& binding) {
  std::size_t run_here = 0;
  std::size_t waits = 0;
  for (std::size_t s = 0; s < runs_.size(); ++s) {
    const StepRun& run = runs_[s];
    if (plan_->steps[s].after.empty() && !run.starts_at_once) initial_steps_.push_back(static_cast<int>(s));
    if (run.waits)
      ++waits;
    else if (run.carrier == StepRun::executor)
      ++run_here;
  }
  mode_.together = binding.together;
  if (mode_.together != nullptr) mode_.steps_together = static_cast<int>(runs_.size() - run_here - waits);
  mode_.only_carrier_waits = mode_.together != nullptr && waits == 0 && !memory_;
  mode_.has_own_steps = mode_.together == nullptr || run_here + waits > 0;
  mode_.only_carrier_runs = mode_.only_carrier_waits && !mode_.has_own_steps;
  mode_.carriers_begin = binding.begins;
  mode_.begins_otherwise = events_->any() || trace_;
  ready_.reserve(run_here);
  waiting_.reserve(waits);
  // What nobody waits for, as copies from this rank to itself, is done while messages are on their way.
  std::ranges::stable_partition(initial_steps_, [&](int step) {
    const Step& what = plan_->steps[static_cast<std::size_t>(step)];
    return !order_.after(step).empty() || what.raise || what.kind == StepKind::event;
  });
}

void Executor::set_stream(std::optional<lnw_device_stream> stream) {
  bool follows = false;
  for (const std::unique_ptr<BoundCarrier>& carrier : carriers_) follows = carrier->set_stream(stream) || follows;
  if (follows || !stream) return;
  PlanBinding binding{*plan_, where_, steps_.combiners(), memory_.get(), nullptr, steps_.turn()};
  for (const Carrier& carrier : carriers()) {
    if (carrier.follow_stream == nullptr) continue;
    std::unique_ptr<BoundCarrier> follower = carrier.follow_stream(binding);
    follower->set_stream(stream);
    carriers_.insert(carriers_.begin(), std::move(follower));
    mode_.only_carrier_runs = false;
    mode_.carriers_begin = true;
    for (StepRun& run : runs_)
      if (run.carrier != StepRun::executor) ++run.carrier;
    return;
  }
}

}  // namespace laneway
