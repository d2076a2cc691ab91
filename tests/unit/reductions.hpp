#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/lowering/transpose.hpp"
#include "cases.hpp"
#include "offline/reference.hpp"
#include "offline/virtual_ranks.hpp"
#include "runtime/executor/combine.hpp"

/// Random reductions, what they mean, and the plans that are the way back of an exchange.
namespace laneway::cases {

/// Elements are whole numbers of so many bytes, so that a carry shows where one has been cut. Operands of what is in
/// order may be neither exchanged nor taken together.
inline void combine(const Combination& how, std::span<std::byte> to, std::span<const std::byte> from) {
  const auto bytes = static_cast<std::size_t>(how.element_bytes);
  for (std::size_t element = 0; element < to.size(); element += bytes) {
    unsigned carry = 0;
    for (std::size_t i = element; i < element + bytes; ++i) {
      carry += static_cast<unsigned>(to[i]) * (how.in_order ? 3 : 1) + static_cast<unsigned>(from[i]);
      to[i] = static_cast<std::byte>(carry);
      carry >>= 8;
    }
  }
}

class TestCombiner final : public Combiner {
 public:
  explicit TestCombiner(Combination how) : how_(std::move(how)) {}
  void combine(std::byte* from, std::byte* to, std::int64_t bytes) const override {
    const auto n = static_cast<std::size_t>(bytes);
    cases::combine(how_, {to, n}, {from, n});
    if (how_.in_order) std::memset(from, 0, n);
  }

 private:
  Combination how_;
};

/// What a reduction means.
inline void reduce(const Pattern& pattern, const Combination& how, std::span<const Memory> send,
                   std::span<Memory> receive) {
  for (std::size_t d = 0; d < pattern.size(); ++d) {
    std::map<Rank, std::vector<const Edge*>> by_source;
    for (const Edge& in : pattern[d].in) by_source[in.peer].push_back(&in);
    for (const auto& [source, edges] : by_source) {
      std::size_t k = 0;
      for (const Edge* in : edges) {
        const RankPattern& other = pattern[static_cast<std::size_t>(source)];
        while (other.out.at(k).peer != static_cast<Rank>(d)) ++k;
        const Offsets from = offsets(other.out[k++].ranges);
        const Offsets to = offsets(in->ranges);
        for (std::size_t i = 0; i < from.size(); i += static_cast<std::size_t>(how.element_bytes))
          combine(how, receive[d].at(to[i], how.element_bytes),
                  send[static_cast<std::size_t>(source)].at(from[i], how.element_bytes));
      }
    }
  }
}

/// Each byte of a pattern becomes an element.
inline Pattern of_elements(Pattern pattern, std::int64_t bytes, std::int64_t distance, std::int64_t shift) {
  for (RankPattern& p : pattern)
    for (std::vector<Edge>* edges : {&p.out, &p.in})
      for (Edge& edge : *edges) {
        RangeList list;
        for (const std::int64_t offset : offsets(edge.ranges)) list.append(Range{offset * distance + shift, bytes});
        edge.ranges = std::move(list);
      }
  return pattern;
}

struct Reduction {
  Case c;  ///< its pattern is the reduction's
  Combination how;
};

inline Reduction make_reduction(std::uint64_t seed, bool in_order, const Shape& shape = {}) {
  Random random(seed + 99);
  Reduction result{make_case(seed, shape), {"sum", "number", random.one_of<std::int64_t>({1, 2, 4, 8, 12}), in_order}};
  const std::int64_t bytes = result.how.element_bytes;
  result.c.pattern = of_elements(std::move(result.c.pattern), bytes, random.chance(70) ? bytes : bytes + 4,
                                 random.chance(50) ? 0 : random.between(-9, 9));
  return result;
}

struct Backwards {
  std::vector<TurnedRound> turned;
  Pattern forward;
  std::vector<Plan> forward_plans;
  std::vector<Plan> plans;
};

inline Backwards run_backwards(const Reduction& reduction, const Candidate& candidate, bool packs) {
  Backwards result;
  for (const RankPattern& p : reduction.c.pattern) {
    result.turned.push_back(turn_round(p, reduction.how.element_bytes));
    result.forward.push_back(result.turned.back().forward);
  }
  PlanOptions options = reduction.c.options;
  options.deduplicate = candidate.deduplicate;
  options.packs = packs;
  result.forward_plans = plan_virtual_ranks(result.forward, reduction.c.machine, *candidate.strategy, options).plans;
  for (std::size_t r = 0; r < result.forward_plans.size(); ++r)
    result.plans.push_back(transpose(result.forward_plans[r], result.turned[r], reduction.how));
  return result;
}

/// Whatever relays what arrives, it is combined in order.
inline std::vector<Plan> run_in_order(const Reduction& reduction, const Candidate& candidate, bool packs) {
  Pattern arrivals;
  for (const RankPattern& p : reduction.c.pattern) arrivals.push_back(arrivals_of(p));
  PlanOptions options = reduction.c.options;
  options.deduplicate = candidate.deduplicate;
  options.packs = packs;
  std::vector<Plan> plans = plan_virtual_ranks(arrivals, reduction.c.machine, *candidate.strategy, options).plans;
  for (std::size_t r = 0; r < plans.size(); ++r)
    plans[r] = combine_arrivals(plans[r], reduction.c.pattern[r], reduction.how);
  return plans;
}

/// Bytes of messages between regions.
inline std::int64_t bytes_between(const std::vector<Plan>& plans, const std::vector<Rank>& region_of) {
  std::int64_t bytes = 0;
  for (const Plan& plan : plans)
    for (const Step& step : plan.steps)
      if (step.kind == StepKind::send &&
          region_of[static_cast<std::size_t>(plan.rank)] != region_of[static_cast<std::size_t>(step.peer)])
        bytes += step.span.bytes;
  return bytes;
}

}  // namespace laneway::cases
