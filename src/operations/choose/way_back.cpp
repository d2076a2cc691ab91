#include "operations/choose/way_back.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/lowering/transpose.hpp"

namespace laneway {

namespace {

/// Plans that take more are made again.
constexpr std::int64_t most_plan_bytes = std::int64_t{1} << 22;

/// By rank and, of one rank, in their order, which is how edges match.
std::vector<const Edge*> by_rank(const std::vector<Edge>& edges) {
  std::vector<const Edge*> sorted;
  for (const Edge& edge : edges)
    if (!edge.ranges.empty()) sorted.push_back(&edge);
  std::ranges::stable_sort(sorted, {}, &Edge::peer);
  return sorted;
}

bool are_same(const std::vector<Edge>& some, const std::vector<Edge>& others) {
  return std::ranges::equal(by_rank(some), by_rank(others), [](const Edge* a, const Edge* b) { return *a == *b; });
}

}  // namespace

std::shared_ptr<const WayBack> find_way_back(Communicator& communicator, const Agreed& own) {
  const LastExchange& there = *communicator.attachment<LastExchanges>().last;
  const RankPattern& edges = own.reduction->what.pattern;
  if (!there.plan || there.hints != own.fingerprint || !are_same(there.pattern.out, edges.in) ||
      !are_same(there.pattern.in, edges.out))
    return nullptr;
  std::optional<Plan> plan = transpose_whole(*there.plan, there.pattern, own.reduction->what.how);
  if (!plan) return nullptr;
  return std::make_shared<const WayBack>(
      WayBack{std::make_shared<const Plan>(*std::move(plan)), there.relays_nothing, there.reasons});
}

void forget_exchange(Communicator& communicator) {
  *communicator.attachment<LastExchanges>().last = {};
}

void keep_exchange(Communicator& communicator, const Agreed& agreed, std::shared_ptr<const Plan> by_messages,
                   const Reasons& reasons) {
  // What was measured may be another strategy in the next run, and a reduction is the same in every run.
  if (!by_messages || agreed.hints.tuning == Tuning::measure || !agreed.events.empty() ||
      reasons.path != MemoryPath::staged || agreed.where.on_device().any() ||
      metadata_bytes(*by_messages) > most_plan_bytes)
    return;
  *communicator.attachment<LastExchanges>().last = {.plan = std::move(by_messages),
                                                    .pattern = agreed.pattern,
                                                    .hints = agreed.fingerprint,
                                                    .relays_nothing = agreed.relays_nothing,
                                                    .reasons = reasons};
}

}  // namespace laneway
