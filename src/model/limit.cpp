#include "model/limit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace laneway {

namespace {

/// What one rank has to do with other nodes, by node in bytes, and with its own.
struct RankNeeds {
  std::map<Rank, std::int64_t> out;  ///< different ones
  std::map<Rank, std::int64_t> in;
  bool sends_inside = false;
  bool receives_inside = false;
};

struct NodeNeeds {
  std::map<Rank, std::int64_t> out;
  std::map<Rank, std::int64_t> in;
};

std::int64_t sum(const std::map<Rank, std::int64_t>& bytes) {
  std::int64_t result = 0;
  for (const auto& [node, of_node] : bytes) result += of_node;
  return result;
}

class Limit {
 public:
  Limit(const Pattern& pattern, const Machine& machine, const Parameters& parameters, ModelKind kind)
      : machine_(machine), parameters_(parameters), kind_(kind), ranks_(pattern.size()) {
    for (std::size_t r = 0; r < pattern.size(); ++r) add(static_cast<Rank>(r), pattern[r]);
  }

  [[nodiscard]] double seconds() const {
    double most = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Region node = machine_.region(0, static_cast<Rank>(r));
      if (node.id == static_cast<Rank>(r)) most = std::max(most, of_node(node));
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
    for (const auto& [peer, ranges] : received) of(peer).in[own] += RangeSet(ranges).bytes();
    for (const auto& [node, ranges] : sent) {
      const std::int64_t bytes = RangeSet(ranges).bytes();
      of(rank).out[node] = bytes;
      nodes_[own].out[node] += bytes;
      nodes_[node].in[own] += bytes;
    }
  }

  [[nodiscard]] RankNeeds& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RankNeeds& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] double of_node(const Region& node) const {
    const double alone = without_hops(node);
    const auto needs = nodes_.find(node.id);
    return needs == nodes_.end() ? alone : std::min(alone, with_a_hop(node, needs->second));
  }

  [[nodiscard]] double without_hops(const Region& node) const {
    NodeLoad load(node);
    for (Rank rank : node.members) {
      const RankNeeds& own = of(rank);
      for (const auto& [to, bytes] : own.out)
        load.send(rank, {Stage::direct, LinkClass::network, false, 1, bytes}, parameters_);
      for (const auto& [from, bytes] : own.in)
        load.receive(rank, {Stage::direct, LinkClass::network, false, 1, bytes}, parameters_);
      if (own.sends_inside) load.send(rank, {Stage::direct, LinkClass::node, true, 1, 0}, parameters_);
      if (own.receives_inside) load.receive(rank, {Stage::direct, LinkClass::node, true, 1, 0}, parameters_);
    }
    return load.predict(parameters_, kind_).seconds;
  }

  [[nodiscard]] double with_a_hop(const Region& node, const NodeNeeds& needs) const {
    const auto ranks = static_cast<double>(node.members.size());
    const auto sends = static_cast<double>(needs.out.size());
    const auto receives = static_cast<double>(needs.in.size());
    const auto out = static_cast<double>(sum(needs.out));
    const auto in = static_cast<double>(sum(needs.in));
    const Protocol least = least_of(parameters_.link(LinkClass::network));
    const double injection = std::max(out, in) * parameters_.injection_beta.value_or(0);
    const double link = std::max(out, in) / ranks * least.beta;
    if (kind_ != ModelKind::overlap) {
      const double messages = std::ceil(std::max(sends, receives) / ranks);
      return messages * least.alpha + (kind_ == ModelKind::max_rate ? std::max(link, injection) : link) +
             parameters_.flag;
    }
    Prediction prediction;
    prediction.latency = least.alpha + parameters_.flag;
    prediction.injection = injection;
    prediction.link = link;
    prediction.processor =
        work(node, sends, receives, (out + in) * std::min(parameters_.network_overhead.byte, least.beta));
    return overlapped(prediction);
  }

  /// Of the busiest rank, which is no less than the mean; `byte_seconds`: of both ends of bytes between nodes.
  [[nodiscard]] double work(const Region& node, double sends, double receives, double byte_seconds) const {
    const Overhead& network = parameters_.network_overhead;
    const Overhead& shared = parameters_.shared_overhead;
    double senders = 0;
    double receivers = 0;
    double inside = 0;
    double waits = 0;
    for (Rank rank : node.members) {
      const RankNeeds& own = of(rank);
      senders += own.out.empty() ? 0 : 1;
      receivers += own.in.empty() ? 0 : 1;
      inside += own.receives_inside ? 1 : 0;
      waits += own.receives_inside || !own.in.empty() ? 1 : 0;
    }
    const double handed = std::max(0.0, senders - sends) + std::max(0.0, receivers - receives);
    const double wait = std::min(network.wait, shared.wait);
    const double together = (sends + receives) * network.message / 2 + byte_seconds / 2 +
                            std::max(inside * shared.message, handed * std::min(network.message / 2, shared.message)) +
                            waits * wait;
    double result = std::max(together / static_cast<double>(node.members.size()),
                             waits > 0 ? wait + std::min(network.message, shared.message) / 2 : 0);
    if (parameters_.cores > 0)
      result = std::max(result, together * std::max(1, parameters_.host_nodes) / parameters_.cores);
    return result;
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
  const Parameters& parameters_;
  const ModelKind kind_;
  std::vector<RankNeeds> ranks_;
  std::map<Rank, NodeNeeds> nodes_;
};

}  // namespace

double least_seconds(const Pattern& pattern, const Machine& machine, const Parameters& parameters, ModelKind kind) {
  return Limit(pattern, machine, parameters, kind).seconds();
}

}  // namespace laneway
