#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "plan/plan.hpp"

// What ranks keep of operations among 16,384 ranks, 16 a node: in proportion to the ranks where the arguments are, and
// to the ranks of a node and the logarithm of all where they are not.

namespace laneway::dense_scaling {
namespace {

constexpr Rank ranks = 16384;
constexpr Rank members = 16;
constexpr int rounds = 14;  // log2 of the ranks

Layout layout_of_nodes() {
  std::vector<Rank> region_of;
  for (Rank rank = 0; rank < ranks; ++rank) region_of.push_back(rank / members);
  return Layout(region_of);
}

DenseCall call_of(Dense kind, Rank rank) {
  DenseCall call;
  call.kind = kind;
  call.rank = rank;
  call.sizes = Sizes::equal(8);
  const bool by_rank = kind <= Dense::scatter;
  call.send = Blocks::contiguous(by_rank || kind == Dense::reduce_scatter ? 8 : 4096);
  call.receive = Blocks::contiguous(by_rank || kind == Dense::reduce_scatter ? 8 : 4096);
  if (reduces(kind)) call.combination = {"sum", "number", 8, false};
  return call;
}

/// Whether a rank's part grows with the number of ranks: because its arguments do, or because each partner is met by
/// itself.
bool grows_with_ranks(const DenseRule& rule) {
  if (rule.kind <= Dense::scatter || rule.kind == Dense::reduce_scatter) return true;
  return rule.name == "ring" || (rule.kind == Dense::allreduce && rule.name == "ordered") ||
         (rule.kind == Dense::reduce && rule.name == "direct") || (reduces(rule.kind) && rule.name == "one_hop");
}

TEST(DenseScaling, StepsAndMemoryOfLargeJobs) {
  const Layout layout = layout_of_nodes();
  DenseSettings settings;
  settings.segment_bytes = 1 << 20;
  for (const DenseRule& rule : dense_rules()) {
    std::int64_t steps = 0;
    std::int64_t bytes = 0;
    std::int64_t staging = 0;
    for (const Rank rank : {Rank{0}, ranks / 2 + 5}) {
      const Plan plan = make_dense_plan(rule, call_of(rule.kind, rank), layout, settings);
      steps = std::max(steps, static_cast<std::int64_t>(plan.steps.size()));
      bytes = std::max(bytes, metadata_bytes(plan));
      staging = std::max(staging, plan.staging_bytes);
    }
    const std::string what = std::string(name(rule.kind)) + " " + std::string(rule.name) + ": " +
                             std::to_string(steps) + " steps, " + std::to_string(bytes) + " bytes, staging " +
                             std::to_string(staging);
    if (rule.kind == Dense::alltoall || rule.kind == Dense::allgather) {
      EXPECT_LE(steps, 2 * ranks) << what;
      EXPECT_LE(bytes, 330 * ranks) << what;
    } else if (grows_with_ranks(rule)) {
      EXPECT_LE(steps, 4 * ranks) << what;
      EXPECT_LE(bytes, 700 * ranks) << what;
    } else {
      EXPECT_LE(steps, 5 * (members + rounds)) << what;
      EXPECT_LE(bytes, 800 * (members + rounds)) << what;
    }
  }
}

/// Of blocks that differ in size a rank asks the others of its node for no more sizes than there are ranks, but for the
/// leaders of rules that gather, which have the others' data.
TEST(DenseScaling, SizesThatAreAskedFor) {
  const Layout layout = layout_of_nodes();
  for (const DenseRule& rule : dense_rules()) {
    for (const Rank rank : {Rank{0}, ranks / 2 + 5}) {
      std::size_t sizes = 0;
      for (const Want& want : wanted_sizes(rule, rank, 0, layout, {})) {
        EXPECT_EQ(layout.region(want.member), layout.region(rank)) << rule.name;
        EXPECT_NE(want.member, rank) << rule.name;
        sizes += want.others.size();
      }
      const bool gathers = rule.kind == Dense::alltoall && rule.wants != nullptr && !rule.name.ends_with("_aware");
      EXPECT_LE(sizes, static_cast<std::size_t>(gathers ? 2 * members * ranks : ranks)) << rule.name;
    }
  }
}

}  // namespace
}  // namespace laneway::dense_scaling
