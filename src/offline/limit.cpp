#include "offline/limit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

namespace laneway {

namespace {

/// What one rank exchanges with other nodes, in different bytes, and whether it does with its own.
struct RankNeeds {
  std::map<Rank, std::int64_t> out;  ///< by node
  std::map<Rank, std::int64_t> in;
  std::map<Rank, std::int64_t> out_peers;  ///< by rank
  std::map<Rank, std::int64_t> in_peers;
  bool sends_inside = false;
  bool receives_inside = false;
};

struct NodeNeeds {
  std::map<Rank, std::int64_t> out;
  std::map<Rank, std::int64_t> in;
  std::size_t receivers = 0;  ///< pairs of a node and one of its ranks that needs something from here
  std::size_t senders = 0;    ///< pairs of a node and one of its ranks that has something for here
};

/// How a node does without hops, or with them, and what the others do.
struct Ways {
  bool gathers;         ///< some rank hands over data for other nodes, which then has a hop before it leaves
  bool scatters;        ///< some data has a hop after it has arrived
  bool others_gather;   ///< so has data for here, in some other node
  bool others_scatter;  ///< so has data from here
};

std::int64_t sum(const std::map<Rank, std::int64_t>& bytes) {
  std::int64_t result = 0;
  for (const auto& [node, of_node] : bytes) result += of_node;
  return result;
}

/// One direction of what a node exchanges with others.
struct Direction {
  std::vector<double> messages;  ///< of each rank, if it does all by itself; 0 if it has nothing to do
  double least_messages = 0;     ///< of all of them, however they help each other
  double bytes = 0;              ///< of all of them
  double link_bytes = 0;         ///< of the busiest
  double least_work = 0;         ///< of messages between nodes and of those that hand over, of all ranks
};

/// Protocols by which fewer bytes never take longer than more: whoever sends duplicates may come to a faster one.
Parameters growing(Parameters parameters) {
  for (LinkCost& link : parameters.links) {
    std::vector<Protocol>& protocols = link.protocols;
    for (std::size_t i = protocols.size(); i-- > 1;) {
      Protocol& before = protocols[i - 1];
      const auto last = static_cast<double>(before.up_to);
      before.alpha = std::min(before.alpha, protocols[i].alpha);
      before.beta = std::min(before.beta, protocols[i].beta * (last + 1) / last);
    }
  }
  return parameters;
}

class Limit {
 public:
  Limit(const Pattern& pattern, const Machine& machine, const Parameters& parameters, ModelKind kind)
      : machine_(machine),
        parameters_(growing(parameters)),
        kind_(kind),
        least_(least_of(parameters.link(LinkClass::network))),
        handing_(std::min(parameters.shared_overhead.message, parameters.node_overhead.message)),
        inner_wait_(std::min(parameters.shared_overhead.wait, parameters.node_overhead.wait)),
        hop_latency_(least_hop(parameters)),
        ranks_(pattern.size()) {
    for (std::size_t r = 0; r < pattern.size(); ++r) add(static_cast<Rank>(r), pattern[r]);
    for (auto& [id, needs] : nodes_)
      for (Rank rank : machine_.region(0, id).members) {
        for (const auto& [node, bytes] : of(rank).out) ++nodes_.at(node).senders;
        for (const auto& [node, bytes] : of(rank).in) ++nodes_.at(node).receivers;
      }
  }

  [[nodiscard]] double seconds() const {
    std::map<Rank, double> gathering;
    std::map<Rank, double> scattering;
    for (const auto& [id, needs] : nodes_) {
      gathering[id] = std::min(of_node(id, {true, false, true, true}), of_node(id, {true, true, true, true}));
      scattering[id] = std::min(of_node(id, {false, true, true, true}), of_node(id, {true, true, true, true}));
    }
    double most = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto id = static_cast<Rank>(r);
      if (machine_.region_id(0, id) != id) continue;
      const auto needs = nodes_.find(id);
      most = std::max(most, needs == nodes_.end() ? without_hops(id, {false, false, false, false})
                                                  : least(id, needs->second, gathering, scattering));
    }
    return most;
  }

 private:
  void add(Rank rank, const RankPattern& pattern) {
    const Rank own = machine_.region_id(0, rank);
    std::map<Rank, RangeList> sent;      // by node
    std::map<Rank, RangeList> received;  // by rank
    for (const Edge& edge : pattern.out) {
      if (edge.ranges.empty() || edge.peer == rank) continue;
      const Rank node = machine_.region_id(0, edge.peer);
      if (node == own) {
        of(rank).sends_inside = of(edge.peer).receives_inside = true;
      } else {
        sent[node].append(edge.ranges);
        received[edge.peer].append(edge.ranges);
      }
    }
    for (const auto& [peer, ranges] : received) {
      const std::int64_t bytes = RangeSet(ranges).bytes();
      of(peer).in[own] += bytes;
      of(peer).in_peers[rank] = of(rank).out_peers[peer] = bytes;
    }
    for (const auto& [node, ranges] : sent) {
      const std::int64_t bytes = RangeSet(ranges).bytes();
      of(rank).out[node] = bytes;
      nodes_[own].out[node] += bytes;
      nodes_[node].in[own] += bytes;
    }
  }

  [[nodiscard]] RankNeeds& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RankNeeds& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  /// Of all ways; where other nodes gather or scatter, the exchange takes no less than it takes these.
  [[nodiscard]] double least(Rank id, const NodeNeeds& needs, const std::map<Rank, double>& gathering,
                             const std::map<Rank, double>& scattering) const {
    const auto least_among = [](const std::map<Rank, std::int64_t>& nodes, const std::map<Rank, double>& seconds) {
      double result = std::numeric_limits<double>::infinity();
      for (const auto& [node, bytes] : nodes) result = std::min(result, seconds.at(node));
      return result;
    };
    const double by_gathering = least_among(needs.in, gathering);
    const double by_scattering = least_among(needs.out, scattering);
    double result = std::numeric_limits<double>::infinity();
    for (unsigned bits = 0; bits < 16; ++bits) {
      const Ways ways{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
      double seconds = of_node(id, ways);
      if (ways.others_gather) seconds = std::max(seconds, by_gathering);
      if (ways.others_scatter) seconds = std::max(seconds, by_scattering);
      result = std::min(result, seconds);
    }
    return result;
  }

  [[nodiscard]] double of_node(Rank id, const Ways& ways) const {
    const NodeNeeds& needs = nodes_.at(id);
    if ((ways.gathers && needs.out.empty()) || (ways.scatters && needs.in.empty()))
      return std::numeric_limits<double>::infinity();
    return ways.gathers || ways.scatters ? with_hops(id, needs, ways) : without_hops(id, ways);
  }

  [[nodiscard]] double without_hops(Rank id, const Ways& ways) const {
    const Region node = machine_.region(0, id);
    NodeLoad load(node);
    for (Rank rank : node.members) {
      const RankNeeds& own = of(rank);
      for (const auto& [to, bytes] : ways.others_scatter ? own.out : own.out_peers)
        load.send(rank, {Stage::direct, LinkClass::network, false, 1, bytes}, parameters_);
      for (const auto& [from, bytes] : ways.others_gather ? own.in : own.in_peers)
        load.receive(rank, {Stage::direct, LinkClass::network, false, 1, bytes}, parameters_);
      if (own.sends_inside) load.send(rank, {Stage::direct, LinkClass::node, true, 1, 0}, parameters_);
      if (own.receives_inside) load.receive(rank, {Stage::direct, LinkClass::node, true, 1, 0}, parameters_);
    }
    Prediction prediction = load.predict(parameters_, kind_, load.host_load(parameters_));
    if (kind_ != ModelKind::overlap) return prediction.seconds;
    // Plans may have more messages than these, of which more overlaps.
    prediction.fill = 0;
    return overlapped(prediction);
  }

  /// `relayed`: some rank lets another do it; `by_node`: a message is for all of another node, or from it.
  [[nodiscard]] Direction direction(const Region& node, std::map<Rank, std::int64_t> RankNeeds::*nodes,
                                    std::map<Rank, std::int64_t> RankNeeds::*peers, bool relayed, bool by_node,
                                    double least_messages, double bytes) const {
    Direction result;
    double busiest = 0;
    for (Rank rank : node.members) {
      const RankNeeds& own = of(rank);
      result.messages.push_back(static_cast<double>(by_node ? (own.*nodes).size() : (own.*peers).size()));
      const auto own_bytes = static_cast<double>(sum(own.*nodes));
      result.bytes += own_bytes;
      busiest = std::max(busiest, own_bytes);
    }
    const double message = parameters_.network_overhead.message / 2;
    std::vector<double> sorted = result.messages;
    std::erase(sorted, 0.0);
    std::sort(sorted.begin(), sorted.end());
    double alone = std::accumulate(sorted.begin(), sorted.end(), 0.0);
    if (relayed) result.bytes = bytes;
    result.least_messages = relayed ? least_messages : alone;
    result.link_bytes = relayed ? bytes / static_cast<double>(node.members.size()) : busiest;
    result.least_work = relayed ? std::numeric_limits<double>::infinity() : alone * message;
    // However many ranks hand over what they have, these are best those with most messages.
    for (std::size_t handed = 1; relayed && handed <= sorted.size(); ++handed) {
      alone -= sorted[sorted.size() - handed];
      result.least_work = std::min(result.least_work,
                                   static_cast<double>(handed) * handing_ + std::max(alone, least_messages) * message);
    }
    return result;
  }

  [[nodiscard]] double with_hops(Rank id, const NodeNeeds& needs, const Ways& ways) const {
    const Region node = machine_.region(0, id);
    const auto leaving = static_cast<double>(sum(needs.out));
    const auto arriving = static_cast<double>(sum(needs.in));
    const Direction out =
        direction(node, &RankNeeds::out, &RankNeeds::out_peers, ways.gathers, ways.others_scatter,
                  static_cast<double>(ways.others_scatter ? needs.out.size() : needs.receivers), leaving);
    const Direction in = direction(node, &RankNeeds::in, &RankNeeds::in_peers, ways.scatters, ways.others_gather,
                                   static_cast<double>(ways.others_gather ? needs.in.size() : needs.senders), arriving);
    const double hops = (ways.gathers ? 1 : 0) + (ways.scatters ? 1 : 0);
    const double injection = std::max(leaving, arriving) * parameters_.injection_beta.value_or(0);
    const double link = std::max(out.link_bytes, in.link_bytes) * least_.beta;
    if (kind_ != ModelKind::overlap) {
      const double messages = std::max(busiest_messages(out, ways.gathers), busiest_messages(in, ways.scatters));
      return messages * least_.alpha + (kind_ == ModelKind::max_rate ? std::max(link, injection) : link) +
             hops * parameters_.flag;
    }
    Prediction prediction;
    prediction.latency = latency(least_.alpha, parameters_.network_overhead, parameters_) + hops * hop_latency_;
    prediction.injection = injection;
    prediction.link = link;
    prediction.processor = work(node, out, in, ways);
    if (parameters_.cores == 0)
      prediction.processor =
          std::max(prediction.processor, parameters_.network_overhead.message + parameters_.network_overhead.wait +
                                             hops * (handing_ + inner_wait_));
    return overlapped(prediction);
  }

  [[nodiscard]] static double busiest_messages(const Direction& direction, bool relayed) {
    if (relayed) return std::ceil(direction.least_messages / static_cast<double>(direction.messages.size()));
    return *std::max_element(direction.messages.begin(), direction.messages.end());
  }

  /// Of the busiest rank: no less than the mean, than anybody's own, and than that of one who relays.
  [[nodiscard]] double work(const Region& node, const Direction& out, const Direction& in, const Ways& ways) const {
    const Overhead& network = parameters_.network_overhead;
    const double message = network.message / 2;
    const double hand = handing_ / 2;
    const double wait = std::min(network.wait, inner_wait_);
    const double infinity = std::numeric_limits<double>::infinity();
    double inside = 0;
    double waits = 0;
    double busiest = 0;
    double gatherer = infinity;
    double scatterer = infinity;
    for (std::size_t i = 0; i < node.members.size(); ++i) {
      const RankNeeds& own = of(node.members[i]);
      const double sent = out.messages[i] * message;
      const double received = in.messages[i] * message;
      const double own_out = ways.gathers ? std::min(hand, sent) : sent;
      const double own_in = ways.scatters ? std::min(hand, received) : received;
      // What is relayed and what stays inside may share messages.
      const double sent_inside = own.sends_inside ? hand : 0;
      const double received_inside = own.receives_inside ? hand : 0;
      const double leaves = ways.gathers ? std::max(own_out, sent_inside) : own_out + sent_inside;
      const double arrives = ways.scatters ? std::max(own_in, received_inside) : own_in + received_inside;
      const double waited = received > 0 ? (ways.scatters ? wait : network.wait) : own.receives_inside ? wait : 0;
      busiest = std::max(busiest, leaves + arrives + waited);
      gatherer = std::min(gatherer, inner_wait_ + hand + message + own_in + (received > 0 ? waited : 0));
      scatterer = std::min(scatterer, network.wait + message + hand + own_out);
      inside += own.receives_inside ? 1 : 0;
      waits += own.receives_inside || received > 0 ? 1 : 0;
    }
    if (ways.gathers) busiest = std::max(busiest, gatherer);
    if (ways.scatters) busiest = std::max(busiest, scatterer);
    const double byte_seconds = (out.bytes + in.bytes) * std::min(network.byte, least_.beta) / 2;
    const double messages = std::max(out.least_work + in.least_work,
                                     (out.least_messages + in.least_messages) * message + inside * handing_);
    const double together = messages + byte_seconds + waits * wait;
    const double processor = std::max(together / static_cast<double>(node.members.size()), busiest);
    // Other nodes of its host may have nothing to do.
    return on_shared_cores({.processor = processor}, {.work = together}, parameters_).processor;
  }

  /// Of what one rank of a node hands another, in memory or as a message.
  [[nodiscard]] static double least_hop(const Parameters& parameters) {
    double least = latency(parameters.flag, parameters.shared_overhead, parameters);
    if (const LinkCost* link = known_link(parameters.links, LinkClass::node))
      least = std::min(least, latency(least_of(*link).alpha, parameters.node_overhead, parameters));
    return least;
  }

  /// The smallest of both numbers, which need not be of the same protocol.
  [[nodiscard]] static Protocol least_of(const LinkCost& link) {
    Protocol least;
    for (const Protocol& protocol : link.protocols) {
      const bool first = &protocol == &link.protocols.front();
      least.alpha = first ? protocol.alpha : std::min(least.alpha, protocol.alpha);
      least.beta = first ? protocol.beta : std::min(least.beta, protocol.beta);
    }
    return least;
  }

  const Machine& machine_;
  const Parameters parameters_;
  const ModelKind kind_;
  const Protocol least_;
  const double handing_;     // of both ends of a message inside
  const double inner_wait_;  // for one
  const double hop_latency_;
  std::vector<RankNeeds> ranks_;
  std::map<Rank, NodeNeeds> nodes_;
};

}  // namespace

double least_seconds(const Pattern& pattern, const Machine& machine, const Parameters& parameters, ModelKind kind) {
  return Limit(pattern, machine, parameters, kind).seconds();
}

}  // namespace laneway
