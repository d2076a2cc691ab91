#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/rendezvous/finder.hpp"
#include "machine/parameters.hpp"

/// What costs of finders are put together of.
namespace laneway {

/// Steps of a dissemination, or of halving, among so many.
inline double steps_among(Rank places) {
  int steps = 0;
  while ((Rank{1} << steps) < places) ++steps;
  return steps;
}

/// Seconds of a message between nodes, or of one inside a node, with the processor time that it takes.
struct MessageCosts {
  const LinkCost* network = nullptr;
  const LinkCost* node = nullptr;
  double network_overhead = 0;
  double node_overhead = 0;
  double short_on_wire = 0;  // what a node's link needs for a short message
  double byte_on_wire = 0;
  double network_wait = 0;
  double node_wait = 0;
  Overhead shared;  // of what ranks of a node tell each other by its memory
  double flag = 0;
  int cores = 0;  // 0: each rank has one
  int host_nodes = 1;

  /// At least so long is what the ranks of a host have to do, where they share its cores: of all ranks on average.
  /// `told`: what a rank reads or writes in the memory of its node.
  [[nodiscard]] double work(const RoundFacts& facts, double across_messages, double inside_messages, double waits,
                            double scattered = 0) const {
    if (cores == 0) return 0;
    const double nodes = host_nodes == 0 ? facts.nodes : std::min<double>(host_nodes, facts.nodes);
    const double each = across_messages * network_overhead + inside_messages * (node_overhead + node_wait) +
                        waits * (facts.nodes == 1 ? node_wait : network_wait) +
                        scattered * (shared.message + shared.wait);
    return nodes * facts.largest_node * each / cores;
  }
  /// Until a rank that first sends so many messages has taken so many, where all do the same at once.
  [[nodiscard]] double across(double bytes, double sent = 1, double taken = 1) const {
    const double alone = network == nullptr ? 1e-5 : network->seconds(static_cast<std::int64_t>(bytes));
    return turn(alone, network_overhead, sent, taken) + network_wait;
  }
  [[nodiscard]] double inside(double bytes, double sent = 1, double taken = 1) const {
    const double alone = node == nullptr ? 1e-6 : node->seconds(static_cast<std::int64_t>(bytes));
    return turn(alone, node_overhead, sent, taken) + node_wait;
  }

 private:
  /// The time of a message alone has the work of both its ends.
  [[nodiscard]] static double turn(double alone, double overhead, double sent, double taken) {
    return alone + (std::max(0.0, sent - 1) + std::max(0.0, taken - 1)) * std::min(overhead, alone) / 2;
  }
};

inline constexpr double envelope = 32;  // bytes that a message has beside what is said

/// What the ranks of a node say together.
struct NodeFacts {
  double members = 1;
  double payload = 0;   // bytes, of one
  double relayed = 0;   // of it, as it goes by way of first ranks
  double partners = 0;  // of a rank, on other nodes
  double lanes = 0;     // other nodes that it speaks to, at most
  double steps = 0;     // among nodes

  explicit NodeFacts(const RoundFacts& facts)
      : members(facts.largest_node),
        payload(facts.bytes / std::max(1.0, facts.degree) + envelope),
        relayed(payload <= static_cast<double>(most_relayed_payload) ? payload : envelope),
        partners(facts.degree * (1.0 - 1.0 / facts.nodes)),
        lanes(std::min(facts.nodes - 1.0, facts.degree * facts.largest_node * (1.0 - 1.0 / facts.nodes))),
        steps(steps_among(facts.nodes)) {}
};

/// Until the ranks of a node that are delegates have been handed `bytes` by each of its ranks; the same time as these
/// take to hear of them.
[[nodiscard]] double predict_inside(double bytes, Rank delegates, const RoundFacts& facts, const MessageCosts& costs);
/// Of long payloads, which go from rank to rank.
[[nodiscard]] double predict_long(const NodeFacts& node, const MessageCosts& costs);

}  // namespace laneway
