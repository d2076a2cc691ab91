#include "data/traffic.hpp"

#include <algorithm>
#include <map>

#include "base/bytes/ranges.hpp"

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

Crossing most(std::span<const Crossing> nodes) {
  Crossing result;
  for (const Crossing& node : nodes) {
    result.messages = std::max(result.messages, node.messages);
    result.bytes = std::max(result.bytes, node.bytes);
    result.unique_bytes = std::max(result.unique_bytes, node.unique_bytes);
  }
  return result;
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
    if (sends(step)) result.push_back({step.peer, step.span.bytes});
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

RankTraffic& RankTraffic::operator+=(const RankTraffic& other) {
  net_messages += other.net_messages;
  net_bytes += other.net_bytes;
  node_messages += other.node_messages;
  node_bytes += other.node_bytes;
  return *this;
}

TotalTraffic& TotalTraffic::operator+=(const TotalTraffic& other) {
  net_messages_max += other.net_messages_max;
  net_messages_total += other.net_messages_total;
  net_bytes_max += other.net_bytes_max;
  net_bytes_total += other.net_bytes_total;
  node_messages_max += other.node_messages_max;
  node_bytes_total += other.node_bytes_total;
  return *this;
}

MemoryUse& MemoryUse::operator+=(const MemoryUse& other) {
  staging_bytes += other.staging_bytes;
  window_bytes += other.window_bytes;
  metadata_bytes += other.metadata_bytes;
  return *this;
}

std::vector<std::int64_t> bytes_by_node(std::span<const Message> messages, const Nodes& nodes) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(nodes.count));
  for (const Message& message : messages)
    result[static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(message.peer)])] += message.bytes;
  return result;
}

Crossing& Crossing::operator+=(const Crossing& other) {
  messages += other.messages;
  bytes += other.bytes;
  unique_bytes += other.unique_bytes;
  return *this;
}

std::vector<Crossing> crossings(const Exchange& exchange, Rank rank, const Nodes& nodes) {
  std::vector<Crossing> result(static_cast<std::size_t>(nodes.count));
  std::map<std::size_t, RangeList> needed;
  for (const Edge& edge : to_pattern(exchange).out) {
    const int node = nodes.of[static_cast<std::size_t>(edge.peer)];
    if (node == nodes.of[static_cast<std::size_t>(rank)] || edge.ranges.bytes() == 0) continue;
    const auto to = static_cast<std::size_t>(node);
    result[to] += {1, edge.ranges.bytes(), 0};
    needed[to].append(edge.ranges);
  }
  for (const auto& [to, ranges] : needed) result[to].unique_bytes = RangeSet(ranges).bytes();
  return result;
}

double Demand::byte_ceiling() const {
  if (in_max.unique_bytes == 0) return 1;
  return static_cast<double>(in_max.bytes) / static_cast<double>(in_max.unique_bytes);
}

Demand& Demand::operator+=(const Demand& other) {
  total += other.total;
  out_max += other.out_max;
  in_max += other.in_max;
  return *this;
}

Demand demand(std::span<const Crossing> between, int count) {
  const auto nodes = static_cast<std::size_t>(count);
  std::vector<Crossing> out(nodes);
  std::vector<Crossing> in(nodes);
  Demand result;
  for (std::size_t from = 0; from < nodes; ++from)
    for (std::size_t to = 0; to < nodes; ++to) {
      const Crossing& crossing = between[from * nodes + to];
      out[from] += crossing;
      in[to] += crossing;
      result.total += crossing;
    }
  result.out_max = most(out);
  result.in_max = most(in);
  return result;
}

Demand demand(std::span<const Exchange> exchanges, const Nodes& nodes) {
  const auto count = static_cast<std::size_t>(nodes.count);
  std::vector<Crossing> between(count * count);
  for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
    const std::vector<Crossing> row = crossings(exchanges[rank], static_cast<Rank>(rank), nodes);
    for (std::size_t to = 0; to < count; ++to)
      between[static_cast<std::size_t>(nodes.of[rank]) * count + to] += row[to];
  }
  return demand(between, nodes.count);
}

}  // namespace laneway::bench
