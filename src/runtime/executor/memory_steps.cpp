#include "runtime/executor/memory_steps.hpp"

#include <span>

#include "base/bytes/block_memory.hpp"
#include "base/simulated.hpp"

namespace laneway {

void MemorySteps::bind(const PlanBinding& binding) {
  const std::size_t steps = plan_.steps.size();
  bound_.resize(steps);
  programs_.reserve(steps);
  for (std::size_t s = 0; s < steps; ++s) add(binding, static_cast<int>(s));
}

void MemorySteps::add(const PlanBinding& binding, int index) {
  const Step& step = binding.step(index);
  const StepRun& run = binding.runs[static_cast<std::size_t>(index)];
  Bound& bound = bound_[static_cast<std::size_t>(index)];
  const bool moves = step.kind == StepKind::move && run.carrier == StepRun::executor;
  programs_.emplace_back(moves && !combines(step) ? std::span(step.runs) : std::span<const CopyRun>());
  if (moves) {
    set(bound.from, bound.last_from, binding.find(step.from, step.peer));
    set(bound.to, bound.last_to, binding.find(step.to, step.peer));
  }
  if (step.raise && run.raises) set(bound.raise, bound.last_raise, binding.find(*step.raise, step.peer));
  if (step.await && !run.passes_by_carrier) {
    set(bound.await, bound.last_await, binding.find(*step.await, step.peer));
    bound.lag = static_cast<std::uint64_t>(step.await->lag);
    if (step.await->sign != Sign::ready || step.await->of_peer) bound.waits_for = WaitsFor::word;
  }
  if (step.kind == StepKind::event && run.carrier == StepRun::executor) bound.event = step.event;
}

void MemorySteps::move(int step) const {
  const Bound& bound = of(step);
  std::byte* const from = in(bound.from, bound.last_from);
  std::byte* const to = in(bound.to, bound.last_to);
  const auto s = static_cast<std::size_t>(step);
  if (!is_unmoved(from) && !is_unmoved(to)) {
    if (!combiners_.empty() && combines(plan_.steps[s])) [[unlikely]]
      combine(*combiners_[static_cast<std::size_t>(plan_.steps[s].combination)], plan_.steps[s].runs, from, to);
    else
      programs_[s].run(from, to);
  }
  if constexpr (simulated) {
    const SimulatedCosts& costs = simulated_costs();
    const Step& what = plan_.steps[s];
    if (is_gate(what) || what.kind == StepKind::event) return;
    pass(is_copy(what) ? simulated_seconds(what.runs, costs.copy)
                       : costs.shared + simulated_seconds(what.runs, costs.shared_byte));
  }
}

bool MemorySteps::readers_are_done(int step, const PlanMemory& memory) const {
  const Bound& bound = of(step);
  if (!memory.arena->ready(memory.exchange, bound.lag)) return false;
  laneway::raise(in(bound.await, bound.last_await), memory.exchange);
  return true;
}

std::int64_t MemorySteps::metadata_bytes() const {
  auto bytes =
      static_cast<std::int64_t>(bound_.capacity() * sizeof(Bound) + programs_.capacity() * sizeof(CopyProgram));
  for (const CopyProgram& program : programs_) bytes += program.metadata_bytes();
  return bytes;
}

}  // namespace laneway
