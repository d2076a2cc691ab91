// The first rank of a node is the delegate of it to each node that its ranks speak to, or only counts for them. The
// first ranks know by a consensus, or by counts, that they have heard all.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/by_node.hpp"
#include "algorithms/rendezvous/by_steps.hpp"
#include "algorithms/rendezvous/finder_costs.hpp"
#include "algorithms/rendezvous/places.hpp"
#include "base/error.hpp"

namespace laneway::discovery::by_lanes {

namespace {

/// How the first ranks of nodes know that they have heard all.
enum class Ending { consensus, count };

class ByLanes final : public ByNode {
 public:
  ByLanes(Messenger& messenger, const RoundSetting& setting, Ending ending, bool straight)
      : ByNode(messenger, setting, 1),
        ending_(ending),
        all_straight_(straight),
        consensus_(messenger, Places{node_, nodes_.nodes(), &nodes_}),
        counting_(messenger, Places{node_, nodes_.nodes(), &nodes_}) {}

 private:
  [[nodiscard]] bool goes_straight(const Payload& payload) const override {
    return ByNode::goes_straight(payload) || (all_straight_ && nodes_.node_of(payload.peer) != node_);
  }

  void pass_on(const RelayHeader& relay, const Bytes& data) override {
    if (all_straight_)
      ++counts_[relay.destination];
    else
      put_relay(lanes_[nodes_.node_of(relay.destination)], relay, data);
  }

  /// Each begins with the node after its own, so that not all send to the same one first.
  void send_between_nodes() override {
    if (ending_ == Ending::count) {
      for (const auto& [node, writer] : lanes_) counts_[nodes_.leader_of(node)] = 1;
      counting_.begin(counts_, votes_);
    }
    const auto send_lanes = [&](auto from, auto until) {
      for (auto lane = from; lane != until; ++lane)
        messenger_.send(nodes_.leader_of(lane->first), Topic::lane, 0, lane->second.take(),
                        ending_ == Ending::consensus);
    };
    const auto after = lanes_.upper_bound(node_);
    send_lanes(after, lanes_.end());
    send_lanes(lanes_.begin(), after);
    lanes_.clear();
  }

  void on_node_message(const RoundMessage& incoming) override {
    if (incoming.topic == Topic::consensus) return consensus_.on(incoming);
    if (incoming.topic == Topic::count) return counting_.on(incoming);
    LANEWAY_ASSERT(incoming.topic == Topic::lane);
    ++lanes_taken_;
    Reader reader(incoming.data);
    route(reader);
  }

  [[nodiscard]] bool has_received_all() override {
    if (ending_ == Ending::count)
      return counting_.done() && (all_straight_ || lanes_taken_ == counting_.count(leader_));
    if (!consensus_.begun() && messenger_.all_taken()) consensus_.begin(votes_);
    return consensus_.done();
  }

  [[nodiscard]] const RoundVotes& votes_received() const override {
    return ending_ == Ending::count ? counting_.votes() : consensus_.votes();
  }

  [[nodiscard]] std::int32_t straight_to(Rank rank) const override { return all_straight_ ? counting_.count(rank) : 0; }

  const Ending ending_;
  const bool all_straight_;
  Consensus consensus_;
  Counting counting_;
  std::map<Rank, Writer> lanes_;  // by node
  Counting::Counts counts_;
  int lanes_taken_ = 0;
};

double cost_of_lanes(Ending ending, const RoundFacts& facts, const MessageCosts& costs) {
  const NodeFacts node(facts);
  double seconds = 2 * predict_inside(facts.degree * node.relayed, 1, facts, costs);
  double messages = 0;
  if (node.lanes > 0) {
    const double leaving = node.members * node.partners * node.relayed;
    seconds += predict_long(node, costs);
    seconds += std::max(costs.across(leaving / node.lanes, node.lanes, node.lanes),
                        leaving * costs.byte_on_wire + node.lanes * costs.short_on_wire);
    seconds += node.steps * (costs.across(envelope + sizeof(RoundVotes)) + costs.short_on_wire);
    if (ending == Ending::consensus) seconds += costs.across(0) + node.lanes * costs.short_on_wire;
    messages = (ending == Ending::consensus ? 2 : 1) * node.lanes + node.steps;
  }
  const double straight = node.payload > node.relayed ? node.partners : 0;
  const double waits = node.lanes > 0 ? node.steps : 0;
  return costs.round(seconds, facts,
                     {.node = awaited(facts.boards ? 0 : 2),
                      .network = {messages / node.members + straight, 0, waits / node.members},
                      .memory = awaited(facts.boards ? 2 : 0)});
}

double cost_of_straight(const RoundFacts& facts, const MessageCosts& costs) {
  const NodeFacts node(facts);
  const double counts = node.members * node.partners * 4;
  const double step = costs.across(envelope + sizeof(RoundVotes)) + costs.short_on_wire + counts * costs.byte_on_wire;
  const double own = (facts.degree - node.partners) * node.relayed + node.partners * 4;
  const double seconds =
      2 * predict_inside(own, 1, facts, costs) +
      std::max(costs.across(node.payload, node.partners, node.partners),
               node.members * node.partners * (node.payload * costs.byte_on_wire + costs.short_on_wire)) +
      node.steps * step;
  return costs.round(seconds, facts,
                     {.node = awaited(facts.boards ? 0 : 2),
                      .network = {node.steps / node.members + node.partners, 0, node.steps / node.members},
                      .memory = awaited(facts.boards ? 2 : 0)});
}

std::unique_ptr<Finder> make_nbx_node(Messenger& messenger, const RoundSetting& setting) {
  return std::make_unique<ByLanes>(messenger, setting, Ending::consensus, false);
}

double cost_of_nbx_node(const RoundFacts& facts, const NodeRoute&, const MessageCosts& costs) {
  return cost_of_lanes(Ending::consensus, facts, costs);
}

std::unique_ptr<Finder> make_personalized_node(Messenger& messenger, const RoundSetting& setting) {
  if (setting.route.way == NodeWay::steps) return make_by_steps(messenger, setting);
  return std::make_unique<ByLanes>(messenger, setting, Ending::count, setting.route.way == NodeWay::straight);
}

double cost_of_personalized_node(const RoundFacts& facts, const NodeRoute& route, const MessageCosts& costs) {
  if (route.way == NodeWay::lanes) return cost_of_lanes(Ending::count, facts, costs);
  return route.way == NodeWay::steps ? cost_of_steps(route, facts, costs) : cost_of_straight(facts, costs);
}

/// Messages to most nodes are for few of them, or where most are spoken to. Where the
/// ranks of a node share memory, one of them speaks, so that no message is sent inside a node.
std::vector<NodeRoute> routes_of_personalized_node(const RoundFacts& facts) {
  std::vector<NodeRoute> routes = {{NodeWay::lanes}, {NodeWay::straight}};
  constexpr double few = 16;
  const double most = std::max(few, 2 * NodeFacts(facts).lanes + 1);
  for (int steps = 1; steps <= std::max(1.0, steps_among(facts.nodes)); ++steps) {
    if (radix_of(facts.nodes, steps) > most) continue;
    routes.push_back({NodeWay::steps, steps, 1});
    if (facts.delegates > 1 && facts.nodes > 2 && !facts.boards)
      routes.push_back({NodeWay::steps, steps, facts.delegates});
  }
  return routes;
}

}  // namespace

std::vector<FinderRow> rules() {
  return {
      {.name = "personalized_node",
       .description = "personalized among nodes: what is for one node leaves in one message.",
       .citation = "A design of our own; its steps: Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for "
                   "All-to-All Communications, 1997",
       .by_nodes = true,
       .chooses = true,
       .make = make_personalized_node,
       .cost = cost_of_personalized_node,
       .routes = routes_of_personalized_node},
      {.name = "nbx_node",
       .description = "nbx among nodes: the first ranks of nodes answer, and join the consensus.",
       .citation = "A design of our own",
       .by_nodes = true,
       .chooses = true,
       .make = make_nbx_node,
       .cost = cost_of_nbx_node},
  };
}

}  // namespace laneway::discovery::by_lanes
