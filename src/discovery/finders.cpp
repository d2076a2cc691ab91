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
  Overhead shared;  // of what ranks of a node tell each other by its memory
  double flag = 0;
  int cores = 0;  // 0: each rank has one
  int host_nodes = 1;

  /// At least so long is what the ranks of a host have to do, where they share its cores: of all ranks on average.
  /// `told`: what a rank reads or writes in the memory of its node.
  [[nodiscard]] double work(const RoundFacts& facts, double across_messages, double inside_messages, double waits,
                            double told = 0) const {
    if (cores == 0) return 0;
    const double nodes = host_nodes == 0 ? facts.nodes : std::min<double>(host_nodes, facts.nodes);
    const double each = across_messages * network_overhead + inside_messages * (node_overhead + node_wait) +
                        waits * (facts.nodes == 1 ? node_wait : network_wait) + told * (shared.message + shared.wait);
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
  costs.shared = parameters.shared_overhead;
  costs.flag = parameters.flag;
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

/// What the ranks of a node say together.
struct NodeFacts {
  double members = 1;
  double note = 0;      // bytes, of one
  double relayed = 0;   // of it, as it goes by way of first ranks
  double partners = 0;  // of a rank, on other nodes
  double lanes = 0;     // other nodes that it speaks to, at most
  double steps = 0;     // among nodes

  explicit NodeFacts(const RoundFacts& facts)
      : members(facts.largest_node),
        note(facts.bytes / std::max(1.0, facts.degree) + envelope),
        relayed(note <= static_cast<double>(most_relayed_note) ? note : envelope),
        partners(facts.degree * (1.0 - 1.0 / facts.nodes)),
        lanes(std::min(facts.nodes - 1.0, facts.degree * facts.largest_node * (1.0 - 1.0 / facts.nodes))),
        steps(steps_among(facts.nodes)) {}
};

/// Until the first rank of a node has heard `bytes` of each of its ranks; or they of it.
double predict_inside(double bytes, const RoundFacts& facts, const MessageCosts& costs) {
  const double others = facts.largest_node - 1.0;
  if (facts.boards) return others == 0 ? 0 : costs.flag + others * (costs.shared.message + bytes * costs.shared.byte);
  return costs.inside(bytes) + others * (costs.inside(bytes) - costs.inside(0) + costs.node_overhead);
}

double predict_by_node(Find find, NodeWay way, const RoundFacts& facts, const MessageCosts& costs) {
  const NodeFacts node(facts);
  const double inside = facts.degree - node.partners;
  const double own = inside * node.relayed + node.partners * (way == NodeWay::straight ? 4 : node.relayed);
  double seconds = 2 * predict_inside(own, facts, costs);
  const double step = costs.across(envelope + sizeof(RoundVotes)) + costs.short_on_wire;
  const double leaving = node.members * node.partners * node.relayed;
  // Of a node's messages, each rank has its part.
  double messages = 0, waits = 0, straight = node.note > node.relayed ? node.partners : 0;
  if (way == NodeWay::straight) {
    const double counts = node.members * node.partners * 4 * costs.byte_on_wire;
    seconds += std::max(costs.across(node.note) + std::max(0.0, node.partners - 1) * costs.network_overhead,
                        node.members * node.partners * (node.note * costs.byte_on_wire + costs.short_on_wire)) +
               node.steps * (step + counts);
    straight = node.partners;
    messages = waits = node.steps;
  } else if (node.lanes > 0) {
    const bool all = way == NodeWay::all;
    const double lanes = all ? facts.nodes - 1.0 : node.lanes;
    if (node.note > node.relayed)
      seconds += costs.across(node.note) + node.members * node.partners * node.note * costs.byte_on_wire;
    seconds += std::max(costs.across(leaving / lanes) + (lanes - 1) * costs.network_overhead,
                        leaving * costs.byte_on_wire + lanes * costs.short_on_wire);
    if (!all) seconds += node.steps * step;
    if (find == Find::nbx_node) seconds += costs.across(0) + lanes * costs.short_on_wire;
    messages = (find == Find::nbx_node ? 2 : 1) * lanes + (all ? 0 : node.steps);
    waits = all ? 1 : node.steps;
  }
  return std::max(seconds, costs.work(facts, messages / node.members + straight, facts.boards ? 0 : 2,
                                      waits / node.members, facts.boards ? 2 : 0));
}

/// To speak to all nodes is for few of them, or where most are spoken to.
bool has_way(NodeWay way, const RoundFacts& facts) {
  constexpr double few = 16;
  return way != NodeWay::all || facts.nodes <= few || facts.nodes - 1 <= 2 * NodeFacts(facts).lanes;
}

NodeWay choose_way(Find find, const RoundFacts& facts, const MessageCosts& costs) {
  NodeWay best = NodeWay::lanes;
  if (find != Find::personalized_node) return best;
  double least = predict_by_node(find, best, facts, costs);
  for (const NodeWay way : {NodeWay::all, NodeWay::straight}) {
    if (!has_way(way, facts)) continue;
    const double seconds = predict_by_node(find, way, facts, costs);
    if (seconds >= least) continue;
    least = seconds;
    best = way;
  }
  return best;
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
  if (!row_of(find).by_nodes) return predict_flat(find, facts, costs);
  return predict_by_node(find, choose_way(find, facts, costs), facts, costs);
}

NodeWay choose_way(Find find, const RoundFacts& facts, const Parameters& parameters) {
  return choose_way(find, facts, costs_of(parameters));
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
