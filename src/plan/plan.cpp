#include "plan/plan.hpp"

#include "base/bytes/disjoint.hpp"

namespace laneway {

const char* name(Buffer buffer) {
  switch (buffer) {
    case Buffer::send:
      return "send";
    case Buffer::receive:
      return "receive";
    case Buffer::staging:
      return "staging";
    case Buffer::window:
      return "window";
    case Buffer::shadow:
      return "shadow";
  }
  return "?";
}

const char* name(StepKind kind) {
  switch (kind) {
    case StepKind::move:
      return "move";
    case StepKind::send:
      return "send";
    case StepKind::receive:
      return "receive";
    case StepKind::await:
      return "await";
    case StepKind::raise:
      return "raise";
    case StepKind::event:
      return "event";
  }
  return "?";
}

const char* name(Stage stage) {
  switch (stage) {
    case Stage::direct:
      return "direct";
    case Stage::gather:
      return "gather";
    case Stage::network:
      return "network";
    case Stage::scatter:
      return "scatter";
  }
  return "?";
}

const char* name(Sign sign) {
  switch (sign) {
    case Sign::flag:
      return "flag";
    case Sign::started:
      return "started";
    case Sign::completed:
      return "completed";
    case Sign::ready:
      return "ready";
  }
  return "?";
}

std::int64_t metadata_bytes(const Plan& plan) {
  std::size_t bytes = sizeof plan + plan.steps.capacity() * sizeof(Step);
  for (const Combination& how : plan.combinations)
    bytes += sizeof how + how.operation.capacity() + how.datatype.capacity();
  for (const Step& step : plan.steps)
    bytes += step.runs.capacity() * sizeof(CopyRun) + step.after.capacity() * sizeof(int) +
             static_cast<std::size_t>(step.span.metadata_bytes()) + (step.await ? sizeof(Word) : 0) +
             (step.raise ? sizeof(Word) : 0);
  return static_cast<std::int64_t>(bytes);
}

std::uint64_t fingerprint(const Plan& plan) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  auto mix = [&](std::int64_t value) {
    for (int i = 0; i < 8; ++i)
      hash = (hash ^ ((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff)) * 0x100000001b3ULL;
  };
  const auto mix_ring = [&](bool of_peer, const Ring& ring) {
    for (std::int64_t v : {static_cast<std::int64_t>(of_peer), ring.distance, static_cast<std::int64_t>(ring.places),
                           static_cast<std::int64_t>(ring.crosses)})
      mix(v);
  };
  mix(plan.rank);
  mix(plan.staging_bytes);
  mix(plan.window_bytes);
  mix(plan.staging_alternate);
  mix(plan.shadow_bytes);
  mix(plan.lent_offset);
  mix(plan.lent_bytes);
  for (const Step& step : plan.steps) {
    for (std::int64_t v : {static_cast<std::int64_t>(step.kind), static_cast<std::int64_t>(step.stage),
                           static_cast<std::int64_t>(step.peer), static_cast<std::int64_t>(step.channel),
                           static_cast<std::int64_t>(step.span.buffer), step.span.offset, step.span.bytes,
                           static_cast<std::int64_t>(step.event), static_cast<std::int64_t>(step.goes_out)})
      mix(v);
    for (const Operand* operand : {&step.from, &step.to}) {
      mix(static_cast<std::int64_t>(operand->buffer));
      mix_ring(operand->of_peer, operand->ring);
    }
    for (const Boxed<Word>* word : {&step.await, &step.raise}) {
      mix(word->has_value());
      if (!*word) continue;
      mix(static_cast<std::int64_t>((*word)->sign));
      mix((*word)->offset);
      mix((*word)->lag);
      mix_ring((*word)->of_peer, (*word)->ring);
    }
    if (step.span.is_scattered())  // as much as it takes no time to find out, however the ranges are written down
      step.span.for_each_part([&](Buffer buffer, const RangeList& ranges) {
        const Range all = hull(ranges);
        for (std::int64_t v :
             {static_cast<std::int64_t>(buffer), ranges.bytes(), ranges.blocks(), all.offset, all.bytes})
          mix(v);
      });
    for (const CopyRun& run : step.runs)
      for (std::int64_t v : {run.from, run.to, run.bytes, run.from_stride, run.to_stride, run.count}) mix(v);
    for (int before : step.after) mix(before);
    mix(-2 - step.combination);  // -1 where it overwrites
  }
  for (const Combination& how : plan.combinations) {
    for (const std::string* text : {&how.operation, &how.datatype}) {
      for (char c : *text) mix(c);
      mix(-1);
    }
    mix(how.element_bytes);
    mix(how.in_order);
  }
  return hash;
}

}  // namespace laneway
