#include "algorithms/lowering/compose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/collective/expectation.hpp"
#include "algorithms/collective/rules.hpp"
#include "dense_calls.hpp"
#include "plan/verify/verify.hpp"

namespace laneway::compose_cases {
namespace {

constexpr std::int64_t element = 4;

DenseSettings in_segments() {
  DenseSettings settings;
  settings.segment_bytes = 8;
  return settings;
}

/// An allreduce as reduce_scatter and then allgather in what that has received, of parts of different sizes.
struct Allreduce {
  std::vector<Plan> plans;
  std::vector<DenseCall> calls;

  Allreduce(const Layout& layout, const DenseRule& first, const DenseRule& then) {
    const Rank n = layout.ranks();
    std::vector<std::int64_t> counts;
    for (Rank rank = 0; rank < n; ++rank) counts.push_back((rank * 5 + 3) % 4);  // some have none
    std::vector<std::int64_t> offsets(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), std::int64_t{0});
    for (std::int64_t& offset : offsets) offset *= element;
    const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const Blocks parts = Blocks::table({{0, element}}, element, counts, offsets);
    for (Rank rank = 0; rank < n; ++rank) {
      DenseCall scatter;
      scatter.kind = Dense::reduce_scatter;
      scatter.rank = rank;
      scatter.send = parts;
      scatter.receive = Blocks::one(parts.of(rank));
      scatter.combination = {"sum", "number", element, false};
      DenseCall gather;
      gather.kind = Dense::allgather;
      gather.rank = rank;
      gather.in_place = true;
      gather.receive = parts;
      plans.push_back(compose(make_dense_plan(first, scatter, layout, in_segments()),
                              make_dense_plan(then, gather, layout, in_segments())));
      DenseCall whole = scatter;
      whole.kind = Dense::allreduce;
      whole.send = whole.receive = Blocks::contiguous(all * element);
      calls.push_back(whole);
    }
  }
};

TEST(Compose, ReduceScatterAndAllgatherAreAllreduce) {
  for (const std::vector<Rank>& sizes : {std::vector<Rank>{1}, {3, 1, 4}, {2, 2}, {1, 1, 1}})
    for (const DenseRule& first : dense_rules())
      for (const DenseRule& then : dense_rules()) {
        if (first.kind != Dense::reduce_scatter || then.kind != Dense::allgather) continue;
        const Allreduce allreduce(cases::layout_of(sizes), first, then);
        const Report report =
            verify_outcomes(allreduce.plans, expected_outcomes(allreduce.calls), &allreduce.calls.front().combination);
        EXPECT_TRUE(report.ok) << first.name << " " << then.name << ": " << to_string(report);
      }
}

DenseCall bcast_of(Rank rank, std::int64_t bytes) {
  DenseCall call;
  call.kind = Dense::bcast;
  call.rank = rank;
  call.receive = Blocks::contiguous(bytes);
  return call;
}

TEST(Compose, WhatHasNoByteInCommonDoesNotWait) {
  const Layout layout = cases::layout_of({2, 2});
  const DenseRule& chain = find_dense_rule(Dense::bcast, "chain");
  for (Rank rank = 0; rank < layout.ranks(); ++rank) {
    const Plan one = make_dense_plan(chain, bcast_of(rank, 32), layout, in_segments());
    const auto steps = static_cast<int>(one.steps.size());
    Redirect elsewhere;
    elsewhere.receive.shift = 32;
    const Plan both = compose(one, one, elsewhere);
    for (int s = steps; s < 2 * steps; ++s)
      for (const int before : both.steps[static_cast<std::size_t>(s)].after) EXPECT_GE(before, steps);
  }
}

/// A second broadcast over the first one: each segment waits for its own place only, so that the two pipeline.
TEST(Compose, PhasesWaitForTheirBytesOnly) {
  const Layout layout = cases::layout_of({1, 1, 1});
  const Plan one = make_dense_plan(find_dense_rule(Dense::bcast, "chain"), bcast_of(1, 32), layout, in_segments());
  const Plan both = compose(one, one);
  const auto steps = static_cast<int>(one.steps.size());  // 4 segments: receive, send
  ASSERT_EQ(steps, 8);
  for (int s = 0; s < steps; s += 2) {
    const std::vector<int> waits = both.steps[static_cast<std::size_t>(steps + s)].after;
    EXPECT_EQ(waits, (std::vector<int>{s, s + 1})) << "segment " << s / 2;
  }
}

TEST(Compose, RedirectsTheSendBuffer) {
  // What rank 0 has gathered it scatters again: everybody gets its own back.
  const Layout layout = cases::layout_of({3, 2});
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < layout.ranks(); ++rank) {
    DenseCall gather;
    gather.kind = Dense::gather;
    gather.rank = rank;
    gather.sizes = Sizes::equal(4);
    gather.send = gather.receive = Blocks::contiguous(4);
    DenseCall scatter = gather;
    scatter.kind = Dense::scatter;
    scatter.send = Blocks::contiguous(4);
    scatter.receive = Blocks::contiguous(4, 100);
    Redirect from_received;
    from_received.send = {Buffer::receive, 0};
    plans.push_back(compose(make_dense_plan(find_dense_rule(Dense::gather, "binomial"), gather, layout),
                            make_dense_plan(find_dense_rule(Dense::scatter, "node_aware"), scatter, layout),
                            from_received));
  }
  std::vector<std::vector<DenseOutcome>> outcomes;
  for (Rank rank = 0; rank < layout.ranks(); ++rank) {
    auto& of_rank = outcomes.emplace_back();
    if (rank == 0)
      for (Rank from = 0; from < layout.ranks(); ++from) of_rank.push_back({{from * 4, 4}, {{from, 0}}});
    of_rank.push_back({{100, 4}, {{rank, 0}}});
  }
  const Report report = verify_outcomes(plans, outcomes);
  EXPECT_TRUE(report.ok) << to_string(report);
}

}  // namespace
}  // namespace laneway::compose_cases
