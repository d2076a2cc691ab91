#include "collectives/choice.hpp"

#include <algorithm>
#include <cstdio>

#include "core/error.hpp"

namespace laneway {

namespace {

/// LogP: messages that wait for each other take the latency, all of them the work of their ends. Where only alpha is
/// known, messages of a rank take it one after another.
double link_seconds(const LinkCost* link, const Overhead& overhead, double rounds, double messages, double bytes) {
  if (link == nullptr || messages <= 0) return 0;
  const Protocol& protocol = link->protocol(static_cast<std::int64_t>(bytes / messages));
  const double work = overhead.message > 0 ? overhead.message / 2 : protocol.alpha;
  return rounds * std::max(protocol.alpha - work, 0.0) + messages * work + bytes * protocol.beta;
}

/// Rounds wait for words of the memory that ranks share, and each message is copied by its two ends.
double memory_seconds(const DenseCost& cost, const Parameters& parameters) {
  const Overhead& overhead = parameters.shared_overhead;
  return cost.node_rounds * parameters.flag + cost.node_messages * overhead.message / 2 +
         cost.node_bytes * std::max(overhead.byte, 2 * parameters.copy_beta(1));
}

}  // namespace

double predict(const DenseCost& cost, const Parameters& parameters, OnNode on_node) {
  const bool knows_memory = on_node == OnNode::memory && parameters.flag > 0;
  const double inside = knows_memory
                            ? memory_seconds(cost, parameters)
                            : link_seconds(known_link(parameters.links, LinkClass::node), parameters.node_overhead,
                                           cost.node_rounds, cost.node_messages, cost.node_bytes);
  const double across = link_seconds(known_link(parameters.links, LinkClass::network), parameters.network_overhead,
                                     cost.network_rounds, cost.network_messages, cost.network_bytes);
  const double injection = parameters.injection_beta ? *parameters.injection_beta * cost.injected_bytes : 0;
  const double copies = cost.combined_bytes * parameters.copy_beta(1);
  return inside + std::max(across, injection) + copies;
}

DenseChoice choose_dense_rule(const DenseFacts& facts, const Layout& layout, const Parameters& parameters,
                              const DenseSettings& settings, OnNode on_node) {
  DenseChoice choice;
  for (const DenseRule& rule : dense_rules())
    if (applies(rule, facts) && rule.traits.windows == Windows::none)
      choice.candidates.push_back({&rule, predict(rule.cost(facts, layout, settings), parameters, on_node)});
  LANEWAY_ASSERT(!choice.candidates.empty());
  std::ranges::stable_sort(choice.candidates, {}, &DenseCandidate::seconds);
  choice.rule = choice.candidates.front().rule;
  choice.seconds = choice.candidates.front().seconds;
  const auto text = [](const DenseCandidate& candidate) {
    char time[32];
    std::snprintf(time, sizeof time, " (%.3g us)", candidate.seconds * 1e6);
    return std::string(candidate.rule->name) + time;
  };
  choice.reason = text(choice.candidates.front()) + " is expected to be the fastest for " + name(facts.kind) + " of " +
                  std::to_string(facts.bytes) + " bytes among " + std::to_string(layout.ranks()) + " ranks on " +
                  std::to_string(layout.regions()) + " nodes" +
                  (choice.candidates.size() > 1 ? "; next is " + text(choice.candidates[1]) : std::string());
  return choice;
}

}  // namespace laneway
