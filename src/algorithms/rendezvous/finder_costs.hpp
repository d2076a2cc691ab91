#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/cost/seconds.hpp"
#include "algorithms/rendezvous/finder.hpp"

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
  const Parameters& parameters;
  double short_on_wire = parameters.injection_short ? parameters.injection_short->alpha : 0;  ///< of a node's link
  double byte_on_wire = parameters.injection_beta.value_or(0);

  /// Of a round that takes so long where each rank has a core: no less than what the ranks of a host have to do.
  /// `work`: of one rank, on average.
  [[nodiscard]] double round(double alone, const RoundFacts& facts, const Flows& work) const {
    const double ranks = nodes_of_host(parameters, facts.nodes) * facts.largest_node;
    return seconds({.link = alone}, {.work = ranks * work_seconds(work, parameters)}, parameters, {.sharpness = 0});
  }
  /// Until a rank that first sends so many messages has taken so many, where all do the same at once.
  [[nodiscard]] double across(double bytes, double sent = 1, double taken = 1) const {
    return message(Medium::network, {1e-5, 0}, bytes, sent, taken);
  }
  [[nodiscard]] double inside(double bytes, double sent = 1, double taken = 1) const {
    return message(Medium::node, {1e-6, 0}, bytes, sent, taken);
  }

 private:
  /// The time of a message alone has the work of both its ends. `unknown`: what it is taken to be where nothing says.
  [[nodiscard]] double message(Medium medium, const LinearCost& unknown, double bytes, double sent,
                               double taken) const {
    const auto whole = static_cast<std::int64_t>(bytes);
    const Overhead& work = overhead(parameters, medium);
    const double alone = message_cost(parameters, medium, whole).value_or(unknown).seconds(static_cast<double>(whole));
    const double more = std::max(0.0, sent - 1) + std::max(0.0, taken - 1);
    return alone + more * std::min(work.message, alone) / 2 + work.wait;
  }
};

inline constexpr double envelope = 32;  // bytes that a message has beside what is said

/// So many messages of which each is waited for.
inline Flow awaited(double messages) {
  return {messages, 0, messages};
}

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
