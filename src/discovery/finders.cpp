#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"
#include "discovery/by_steps.hpp"
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
  const auto messages = [&](double bytes, double count = 1) {
    return one_node ? costs.inside(bytes, count, count) : costs.across(bytes, count, count);
  };
  const double each = facts.bytes / std::max(1.0, facts.degree) + envelope;
  const double leaving = facts.degree * facts.largest_node * (1.0 - 1.0 / facts.nodes);  // of a node
  const double partners = one_node ? facts.degree : facts.degree * (1.0 - 1.0 / facts.nodes);
  const double wire = leaving * (each * costs.byte_on_wire + costs.short_on_wire);
  const double step_bytes = envelope + sizeof(RoundVotes);
  const double steps = steps_among(facts.ranks);
  const double step = messages(step_bytes) + (one_node ? 0 : facts.largest_node * costs.short_on_wire);
  double seconds = std::max(messages(each, partners), wire) + steps * step;
  if (find == Find::personalized)
    seconds += steps * facts.degree * 4 * costs.byte_on_wire;
  else
    seconds += messages(0) + leaving * costs.short_on_wire;  // acknowledged
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

/// Until the ranks of a node that speak have been handed `bytes` by each of its ranks; the same time as these take to
/// hear of them.
double predict_inside(double bytes, Rank speakers, const RoundFacts& facts, const MessageCosts& costs) {
  const double others = facts.largest_node - 1.0;
  if (others == 0) return 0;
  if (facts.boards && speakers == 1) return costs.flag + others * (costs.shared.message + bytes * costs.shared.byte);
  const double each = bytes / speakers + sizeof(RoundVotes);
  return costs.inside(each, speakers, others) + (others - 1) * (costs.inside(each) - costs.inside(0));
}

/// Of long notes, which go from rank to rank.
double predict_long(const NodeFacts& node, const MessageCosts& costs) {
  if (node.note <= node.relayed) return 0;
  return costs.across(node.note) + node.members * node.partners * node.note * costs.byte_on_wire;
}

double predict_lanes(Find find, const RoundFacts& facts, const MessageCosts& costs) {
  const NodeFacts node(facts);
  double seconds = 2 * predict_inside(facts.degree * node.relayed, 1, facts, costs);
  double messages = 0;
  if (node.lanes > 0) {
    const double leaving = node.members * node.partners * node.relayed;
    seconds += predict_long(node, costs);
    seconds += std::max(costs.across(leaving / node.lanes, node.lanes, node.lanes),
                        leaving * costs.byte_on_wire + node.lanes * costs.short_on_wire);
    seconds += node.steps * (costs.across(envelope + sizeof(RoundVotes)) + costs.short_on_wire);
    if (find == Find::nbx_node) seconds += costs.across(0) + node.lanes * costs.short_on_wire;
    messages = (find == Find::nbx_node ? 2 : 1) * node.lanes + node.steps;
  }
  const double straight = node.note > node.relayed ? node.partners : 0;
  const double waits = node.lanes > 0 ? node.steps : 0;
  return std::max(seconds, costs.work(facts, messages / node.members + straight, facts.boards ? 0 : 2,
                                      waits / node.members, facts.boards ? 2 : 0));
}

double predict_straight(const RoundFacts& facts, const MessageCosts& costs) {
  const NodeFacts node(facts);
  const double counts = node.members * node.partners * 4;
  const double step = costs.across(envelope + sizeof(RoundVotes)) + costs.short_on_wire + counts * costs.byte_on_wire;
  const double own = (facts.degree - node.partners) * node.relayed + node.partners * 4;
  const double seconds =
      2 * predict_inside(own, 1, facts, costs) +
      std::max(costs.across(node.note, node.partners, node.partners),
               node.members * node.partners * (node.note * costs.byte_on_wire + costs.short_on_wire)) +
      node.steps * step;
  return std::max(seconds, costs.work(facts, node.steps / node.members + node.partners, facts.boards ? 0 : 2,
                                      node.steps / node.members, facts.boards ? 2 : 0));
}

double predict_steps(const NodeRoute& route, const RoundFacts& facts, const MessageCosts& costs) {
  const NodeFacts node(facts);
  const int steps = facts.nodes == 1 ? 0 : route.steps;
  const double lanes = radix_of(facts.nodes, steps) - 1.0;
  const double speakers = std::min<double>(route.speakers, lanes);
  const double each = std::ceil(lanes / speakers);
  // Of what a node says each digit has its part, of which one value stays.
  const double moved = node.members * node.partners * node.relayed * (steps > 1 ? lanes / (lanes + 1) : 1);
  const bool by_memory = facts.boards && speakers == 1;
  double seconds = 2 * predict_inside(facts.degree * node.relayed, static_cast<Rank>(speakers), facts, costs);
  if (steps > 0) {
    const double lane = moved / lanes + sizeof(RoundVotes);
    seconds += predict_long(node, costs);
    seconds +=
        steps * std::max(costs.across(lane, each, each), moved * costs.byte_on_wire + lanes * costs.short_on_wire);
    if (speakers > 1) seconds += (steps - 1) * costs.inside(moved / (speakers * speakers), speakers - 1, speakers - 1);
  }
  const double straight = node.note > node.relayed ? node.partners : 0;
  const double regrouped = speakers > 1 && steps > 1 ? (steps - 1) * speakers * (speakers - 1) / node.members : 0;
  return std::max(seconds,
                  costs.work(facts, steps * lanes / node.members + straight, by_memory ? 0 : 2 * speakers + regrouped,
                             steps * speakers / node.members, by_memory ? 2 : 0));
}

double predict_by_node(Find find, const NodeRoute& route, const RoundFacts& facts, const MessageCosts& costs) {
  if (route.way == NodeWay::lanes) return predict_lanes(find, facts, costs);
  return route.way == NodeWay::steps ? predict_steps(route, facts, costs) : predict_straight(facts, costs);
}

/// All that a finder could take. Messages to most nodes are for few of them, or where most are spoken to. Where the
/// ranks of a node share memory, one of them speaks, so that no message is sent inside a node.
std::vector<NodeRoute> routes_of(Find find, const RoundFacts& facts) {
  std::vector<NodeRoute> routes = {{NodeWay::lanes}};
  if (find != Find::personalized_node) return routes;
  routes.push_back({NodeWay::straight});
  constexpr double few = 16;
  const double most = std::max(few, 2 * NodeFacts(facts).lanes + 1);
  for (int steps = 1; steps <= std::max(1.0, steps_among(facts.nodes)); ++steps) {
    if (radix_of(facts.nodes, steps) > most) continue;
    routes.push_back({NodeWay::steps, steps, 1});
    if (facts.speakers > 1 && facts.nodes > 2 && !facts.boards)
      routes.push_back({NodeWay::steps, steps, facts.speakers});
  }
  return routes;
}

/// The first of those that take the least time.
NodeRoute choose_route(Find find, const RoundFacts& facts, const MessageCosts& costs) {
  const std::vector<NodeRoute> routes = routes_of(find, facts);
  return *std::ranges::min_element(routes, {},
                                   [&](const NodeRoute& route) { return predict_by_node(find, route, facts, costs); });
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
  return predict_by_node(find, choose_route(find, facts, costs), facts, costs);
}

NodeRoute choose_route(Find find, const RoundFacts& facts, const Parameters& parameters) {
  return choose_route(find, facts, costs_of(parameters));
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
