#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "discovery/finder.hpp"

namespace laneway {

namespace {

// A finder is a row.
constexpr std::array rows = {
    FinderRow{Find::personalized, "personalized", false, true, &make_personalized},
    FinderRow{Find::nbx, "nbx", false, true, &make_nbx},
    FinderRow{Find::rma, "rma", false, false, &make_rma},
    FinderRow{Find::personalized_node, "personalized_node", true, true, &make_personalized_node},
    FinderRow{Find::nbx_node, "nbx_node", true, true, &make_nbx_node},
};

/// Steps of a dissemination, or of halving, among so many.
double steps_among(Rank places) {
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
  int cores = 0;  // 0: each rank has one
  int host_nodes = 1;

  /// At least so long is what the ranks of a host have to do, where they share its cores: of all ranks on average.
  [[nodiscard]] double work(const RoundFacts& facts, double across_messages, double inside_messages,
                            double waits) const {
    if (cores == 0) return 0;
    const double nodes = host_nodes == 0 ? facts.nodes : std::min<double>(host_nodes, facts.nodes);
    const double each = across_messages * network_overhead + inside_messages * (node_overhead + node_wait) +
                        waits * (facts.nodes == 1 ? node_wait : network_wait);
    return nodes * facts.largest_node * each / cores;
  }
  [[nodiscard]] double across(double bytes) const {
    return (network == nullptr ? 1e-5 : network->seconds(static_cast<std::int64_t>(bytes))) + network_overhead;
  }
  [[nodiscard]] double inside(double bytes) const {
    return (node == nullptr ? 1e-6 : node->seconds(static_cast<std::int64_t>(bytes))) + node_overhead;
  }
};

MessageCosts costs_of(const Parameters& parameters) {
  MessageCosts costs;
  costs.network = known_link(parameters.links, LinkClass::network);
  costs.node = known_link(parameters.links, LinkClass::node);
  costs.network_overhead = parameters.network_overhead.message;
  costs.node_overhead = parameters.node_overhead.message;
  costs.network_wait = parameters.network_overhead.wait;
  costs.node_wait = parameters.node_overhead.wait;
  costs.cores = parameters.cores;
  costs.host_nodes = parameters.host_nodes;
  if (parameters.injection_short) costs.short_on_wire = parameters.injection_short->alpha;
  if (parameters.injection_beta) costs.byte_on_wire = *parameters.injection_beta;
  return costs;
}

constexpr double envelope = 32;  // bytes that a message has beside what is said

double predict_flat(Find find, const RoundFacts& facts, const MessageCosts& costs) {
  const bool one_node = facts.nodes == 1;
  const auto message = [&](double bytes) { return one_node ? costs.inside(bytes) : costs.across(bytes); };
  const double each = facts.bytes / std::max(1.0, facts.degree) + envelope;
  const double leaving = facts.degree * facts.largest_node * (1.0 - 1.0 / facts.nodes);  // of a node
  const double overhead = one_node ? costs.node_overhead : costs.network_overhead;
  const double partners = one_node ? facts.degree : facts.degree * (1.0 - 1.0 / facts.nodes);
  const double sent = message(each) + std::max(0.0, partners - 1) * overhead;
  const double wire = leaving * (each * costs.byte_on_wire + costs.short_on_wire);
  const double step_bytes = envelope + sizeof(RoundVotes);
  const double steps = steps_among(facts.ranks);
  const double step = message(step_bytes) + (one_node ? 0 : facts.largest_node * costs.short_on_wire);
  double seconds = std::max(sent, wire) + steps * step;
  if (find == Find::personalized)
    seconds += steps * facts.degree * 4 * costs.byte_on_wire;
  else
    seconds += message(0) + leaving * costs.short_on_wire;  // acknowledged
  const double inside = one_node ? facts.degree : facts.degree - partners;
  const double answers = find == Find::personalized ? 0 : partners;
  return std::max(seconds, costs.work(facts, one_node ? 0 : partners + answers + steps, inside, steps + 1));
}

double predict_by_node(Find find, const RoundFacts& facts, const MessageCosts& costs) {
  const double members = facts.largest_node;
  const double note = facts.bytes / std::max(1.0, facts.degree) + envelope;
  const double relayed = note <= static_cast<double>(most_relayed_note) ? note : envelope;
  const double own = facts.degree * relayed;
  const double lanes = std::min(facts.nodes - 1.0, facts.degree * members * (1.0 - 1.0 / facts.nodes));
  const double leaving = members * own * (1.0 - 1.0 / facts.nodes);
  double seconds =
      2 * (costs.inside(own) + (members - 1) * (costs.inside(own) - costs.inside(0) + costs.node_overhead));
  if (note > relayed) seconds += costs.across(note) + facts.degree * members * note * costs.byte_on_wire;
  if (lanes == 0) return seconds;
  seconds += std::max(costs.across(leaving / lanes) + (lanes - 1) * costs.network_overhead,
                      leaving * costs.byte_on_wire + lanes * costs.short_on_wire);
  seconds += steps_among(facts.nodes) * (costs.across(envelope + sizeof(RoundVotes)) + costs.short_on_wire);
  if (find == Find::nbx_node) seconds += costs.across(0) + lanes * costs.short_on_wire;
  // Of a node's messages, each rank has its part.
  const double messages = (find == Find::nbx_node ? 2 : 1) * lanes + steps_among(facts.nodes);
  const double straight = note > relayed ? facts.degree * (1.0 - 1.0 / facts.nodes) : 0;
  return std::max(seconds, costs.work(facts, messages / members + straight, 2, steps_among(facts.nodes) / members));
}

}  // namespace

std::span<const FinderRow> finders() {
  return rows;
}

const FinderRow& row_of(Find find) {
  const auto found = std::ranges::find(rows, find, &FinderRow::find);
  LANEWAY_ASSERT(found != rows.end());
  return *found;
}

double predict_finder(Find find, const RoundFacts& facts, const Parameters& parameters) {
  const MessageCosts costs = costs_of(parameters);
  return row_of(find).by_nodes ? predict_by_node(find, facts, costs) : predict_flat(find, facts, costs);
}

FinderChoice choose_finder(const RoundFacts& facts, const Parameters& parameters) {
  FinderChoice choice;
  double least = 0;
  for (const FinderRow& row : rows) {
    if (!row.chooses) continue;
    const double seconds = predict_finder(row.find, facts, parameters);
    if (choice.seconds.empty() || seconds < least) {
      least = seconds;
      choice.find = row.find;
    }
    choice.seconds.emplace_back(row.find, seconds);
  }
  return choice;
}

}  // namespace laneway
