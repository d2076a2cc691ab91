#include "traffic.hpp"

#include <algorithm>
#include <map>

#include "core/ranges.hpp"

namespace laneway::bench {

namespace {

std::string describe(const std::vector<int>& of, int count) {
  std::vector<int> sizes(static_cast<std::size_t>(count));
  for (int node : of) ++sizes[static_cast<std::size_t>(node)];
  if (!std::is_sorted(of.begin(), of.end())) return std::to_string(count) + " nodes, ranks not in order";
  if (std::all_of(sizes.begin(), sizes.end(), [&](int size) { return size == sizes.front(); }))
    return "node:" + std::to_string(count) + " rank:" + std::to_string(sizes.front());
  std::string text = "ranks:";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(sizes[i]);
  return text;
}

}  // namespace

Nodes make_nodes(std::span<const Rank> keys) {
  Nodes nodes;
  nodes.of.reserve(keys.size());
  std::map<Rank, int> numbers;
  for (Rank key : keys) nodes.of.push_back(numbers.emplace(key, static_cast<int>(numbers.size())).first->second);
  nodes.count = static_cast<int>(numbers.size());
  nodes.description = describe(nodes.of, nodes.count);
  return nodes;
}

Nodes make_nodes(const Machine& machine, const std::string& description) {
  std::vector<Rank> keys;
  for (Rank rank = 0; rank < machine.ranks(); ++rank) keys.push_back(machine.region_id(0, rank));
  Nodes nodes = make_nodes(keys);
  nodes.description = description;
  return nodes;
}

std::vector<Message> messages(const Exchange& exchange) {
  std::vector<Message> result;
  for (std::size_t k = 0; k < exchange.send.peers.size(); ++k)
    if (const std::int64_t bytes = exchange.send.counts[k] * exchange.element_bytes; bytes > 0)
      result.push_back({exchange.send.peers[k], bytes});
  return result;
}

std::vector<Message> messages(const Plan& plan) {
  std::vector<Message> result;
  for (const Step& step : plan.steps)
    if (sends(step.kind)) result.push_back({step.peer, step.span.bytes});
  return result;
}

RankTraffic traffic(std::span<const Message> messages, Rank rank, const Nodes& nodes) {
  RankTraffic result;
  for (const Message& message : messages) {
    if (message.peer == rank) continue;
    const bool net = nodes.of[static_cast<std::size_t>(message.peer)] != nodes.of[static_cast<std::size_t>(rank)];
    (net ? result.net_messages : result.node_messages) += 1;
    (net ? result.net_bytes : result.node_bytes) += message.bytes;
  }
  return result;
}

void TotalTraffic::add(const RankTraffic& rank) {
  net_messages_max = std::max(net_messages_max, rank.net_messages);
  net_messages_total += rank.net_messages;
  net_bytes_max = std::max(net_bytes_max, rank.net_bytes);
  net_bytes_total += rank.net_bytes;
  node_messages_max = std::max(node_messages_max, rank.node_messages);
  node_bytes_total += rank.node_bytes;
}

std::vector<std::int64_t> bytes_by_node(std::span<const Message> messages, const Nodes& nodes) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(nodes.count));
  for (const Message& message : messages)
    result[static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(message.peer)])] += message.bytes;
  return result;
}

Demand demand(std::span<const Exchange> exchanges, const Nodes& nodes) {
  const auto count = static_cast<std::size_t>(nodes.count);
  std::vector<std::int64_t> in(count);
  std::vector<std::int64_t> out(count);
  std::vector<std::int64_t> in_by_edges(count);
  for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
    const auto own = static_cast<std::size_t>(nodes.of[rank]);
    std::map<std::size_t, RangeList> needed;
    for (const Edge& edge : to_pattern(exchanges[rank]).out) {
      const auto node = static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(edge.peer)]);
      if (node == own) continue;
      in_by_edges[node] += edge.ranges.bytes();
      needed[node].append(edge.ranges);
    }
    for (const auto& [node, ranges] : needed) {
      const std::int64_t unique = RangeSet(ranges).bytes();
      in[node] += unique;
      out[own] += unique;
    }
  }
  const auto most = [](const std::vector<std::int64_t>& v) { return *std::max_element(v.begin(), v.end()); };
  Demand result{std::max(most(in), most(out)), 1};
  if (most(in) > 0) result.byte_ceiling = static_cast<double>(most(in_by_edges)) / static_cast<double>(most(in));
  return result;
}

}  // namespace laneway::bench
