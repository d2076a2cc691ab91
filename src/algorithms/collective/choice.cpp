#include "algorithms/collective/choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "algorithms/collective/cost_parts.hpp"
#include "algorithms/cost/seconds.hpp"
#include "base/error.hpp"

namespace laneway {

namespace {

/// LogP: messages that wait for each other take the latency, all of them the work of their ends. Where only alpha is
/// known, messages of a rank take it one after another. `shared`: seconds in which a link that ranks share carries all.
/// Ends work meanwhile; but for the first message of a round only as far as the link is busy with those of others.
double link_seconds(const LinkCost* link, const Overhead& overhead, int ways, const Flow& flow, double shared = 0) {
  if (link == nullptr || flow.messages <= 0) return shared;
  const Protocol& protocol = link->protocol(static_cast<std::int64_t>(flow.bytes / flow.messages));
  const double work = work_seconds(overhead, ways, protocol.alpha);
  const double first = std::min(flow.waits, flow.messages) * work;
  const double before = first > 0 ? first * first / (first + shared) : 0;
  return flow.waits * std::max(protocol.alpha - work, 0.0) + before +
         std::max(flow.messages * work - before + flow.bytes * protocol.beta, shared);
}

/// Rounds wait for words of the memory that ranks share, and each message is copied by its two ends.
double memory_seconds(const DenseCost& cost, const Parameters& parameters) {
  const Overhead& overhead = parameters.shared_overhead;
  return cost.node.waits * parameters.flag + cost.node.messages * cost.ways * overhead.message / 2 +
         cost.node.bytes * std::max(overhead.byte, 2 * parameters.copy_beta(1));
}

/// Large messages that are under way together share links, and take longer than one after another: the contention of
/// L. A. Steffenel: Modeling network contention effects on all-to-all operations, CLUSTER 2006. Its factor is a
/// network's own; the least that decides is taken, so that no more is lost where there is none.
double contention(const DenseCost& cost, const LinkCost* network) {
  if (!cost.at_once || network == nullptr || cost.network.messages <= 0) return 1;
  const Protocol& protocol = network->protocol(static_cast<std::int64_t>(cost.network.bytes / cost.network.messages));
  return protocol.up_to < 0 && network->protocols.size() > 1 ? 1.04 : 1;
}

/// The busiest of ranks and links, and the processors that ranks share, who take turns while a rank waits.
constexpr Overlap of_rules{.sharpness = 3, .turns = true};

/// Whoever waits for another one of its node does so once more than the calls in which overheads were measured.
HostLoad host_load(const DenseCost& cost, const Parameters& parameters, const Layout& layout, bool in_memory) {
  if (parameters.cores <= 0) return {};
  Flows all = cost.all;
  for (Flow* flow : {&all.node, &all.network}) flow->waits /= 2;  // every second time what a rank waits for is there
  if (in_memory) std::swap(all.node, all.memory);
  const double nodes = layout.regions();
  const double host_nodes = nodes_of_host(parameters, nodes);
  return {.work = work_seconds(all, parameters) * (host_nodes / nodes),
          .waiting = layout.ranks() * host_nodes / nodes,
          .turns = cost.node.waits - (cost.network.waits > 0 ? 0 : 1),
          .turn = overhead(parameters, in_memory ? Medium::memory : Medium::node).wait};
}

}  // namespace

double predict(const DenseCost& cost, const Parameters& parameters, const Layout& layout, OnNode on_node) {
  const bool knows_memory = on_node == OnNode::memory && parameters.flag > 0;
  const double inside = knows_memory ? memory_seconds(cost, parameters)
                                     : link_seconds(known_link(parameters.links, LinkClass::node),
                                                    parameters.node_overhead, cost.ways, cost.node);
  const LinkCost* const network = known_link(parameters.links, LinkClass::network);
  const double link = link_seconds(network, parameters.network_overhead, cost.ways, cost.network,
                                   injection_seconds(cost.injected, parameters)) *
                      contention(cost, network);
  const double copies = cost.combined_bytes * combining_seconds(parameters);
  return seconds({.link = inside + link + copies}, host_load(cost, parameters, layout, knows_memory), parameters,
                 of_rules);
}

namespace {

DenseSettings with_segments(DenseSettings settings, const DenseFacts& facts, const Layout& layout,
                            const Parameters& parameters) {
  const bool is_on_its_way = facts.kind == Dense::bcast || facts.kind == Dense::reduce;
  constexpr std::int64_t least = 4096;  // of a node's link; less is work of its ends
  const std::optional<LinearCost> message = message_cost(parameters, Medium::network, least);
  if (!is_on_its_way || layout.regions() < 3 || settings.segment_bytes <= least || !message) return settings;
  const auto bytes = static_cast<double>(std::max<std::int64_t>(facts.bytes, 1));
  const double byte = injection_seconds({1, bytes}, parameters) / bytes;
  if (byte <= 0) return settings;
  // A segment of the node's link is a message of each of its lanes. Twice as long as that is hardly slower, and half
  // the work where ranks share processors.
  const Overhead& work = parameters.network_overhead;
  const double segment = (message->alpha + work.message + work.wait) * layout.largest();
  const double best = 2 * std::sqrt(bytes * segment / (byte * (layout.regions() - 2)));
  while (settings.segment_bytes > least && static_cast<double>(settings.segment_bytes) > best)
    settings.segment_bytes /= 2;
  return settings;
}

/// Of a call whose blocks differ in size: who has most to do sends or receives more than the mean, which costs say.
DenseCost with_skew(DenseCost cost, const DenseRule& rule, const DenseFacts& facts, const Layout& layout) {
  const double away = static_cast<double>(facts.bytes) * (layout.ranks() - layout.largest());
  if (facts.of_busiest_rank == 0 || away <= 0) return cost;
  const double of_rank = std::max(static_cast<double>(facts.of_busiest_rank) / away, 1.0);
  const double of_node = std::max(static_cast<double>(facts.of_busiest_node) / (away * layout.largest()), 1.0);
  cost.injected.bytes *= of_node;
  cost.network.bytes *= rule.traits.balances ? of_node : of_rank;
  if (rule.traits.relays) cost.node.bytes *= of_rank;
  return cost;
}

DenseSettings with_radix(const DenseRule& rule, const DenseFacts& facts, const Layout& layout,
                         const Parameters& parameters, const DenseSettings& settings) {
  if (settings.radix != 0 || !rule.traits.hops) return settings;
  constexpr std::array<Rank, 4> radices = {2, 4, 8, 16};  // more are nearly a message to each
  DenseSettings best = settings;
  double least = 0;
  for (const Rank radix : radices) {
    DenseSettings tried = settings;
    tried.radix = radix;
    const double seconds = predict(rule.cost({facts, layout, tried}), parameters, layout);
    if (best.radix != 0 && seconds >= least) continue;
    best = tried;
    least = seconds;
  }
  return best;
}

}  // namespace

DenseSettings settled(const DenseRule& rule, const DenseFacts& facts, const Layout& layout,
                      const Parameters& parameters, const DenseSettings& settings) {
  return with_radix(rule, facts, layout, parameters, with_segments(settings, facts, layout, parameters));
}

DenseChoice choose_dense_rule(const DenseFacts& facts, const Layout& layout, const Parameters& parameters,
                              const DenseSettings& settings, OnNode on_node) {
  DenseChoice choice;
  const DenseSettings of_call = with_segments(settings, facts, layout, parameters);
  for (const DenseRule& rule : dense_rules()) {
    if (!applies(rule, facts) || rule.traits.windows != Windows::none) continue;
    const DenseSettings with = with_radix(rule, facts, layout, parameters, of_call);
    choice.candidates.push_back({&rule, predict(with_skew(rule.cost({facts, layout, with}), rule, facts, layout),
                                                parameters, layout, on_node)});
  }
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
