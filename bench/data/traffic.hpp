#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/exchange.hpp"
#include "machine/machine.hpp"
#include "plan/plan.hpp"

namespace laneway::bench {

/// Which node each rank is on; nodes are numbered in the order of their first ranks.
struct Nodes {
  std::vector<int> of;
  int count = 0;
  std::string description;  ///< as Machine::parse reads it, where such a text exists
};

/// `keys[r]` is the same for all ranks of a node.
[[nodiscard]] Nodes make_nodes(std::span<const Rank> keys);
[[nodiscard]] Nodes make_nodes(const Machine& machine, const std::string& description);

struct Message {
  Rank peer = 0;
  std::int64_t bytes = 0;
};

/// The messages that a rank sends if every edge is one, or by its plan.
[[nodiscard]] std::vector<Message> messages(const Exchange& exchange);
[[nodiscard]] std::vector<Message> messages(const Plan& plan);

/// What one rank sends to other nodes (net) and to others on its node.
struct RankTraffic {
  std::int64_t net_messages = 0;
  std::int64_t net_bytes = 0;
  std::int64_t node_messages = 0;
  std::int64_t node_bytes = 0;

  RankTraffic& operator+=(const RankTraffic& other);
};
[[nodiscard]] RankTraffic traffic(std::span<const Message> messages, Rank rank, const Nodes& nodes);

/// RankTraffic over all ranks.
struct TotalTraffic {
  std::int64_t net_messages_max = 0;
  std::int64_t net_messages_total = 0;
  std::int64_t net_bytes_max = 0;
  std::int64_t net_bytes_total = 0;
  std::int64_t node_messages_max = 0;
  std::int64_t node_bytes_total = 0;

  void add(const RankTraffic& rank);
  /// Of exchanges one after another.
  TotalTraffic& operator+=(const TotalTraffic& other);
};

/// The most memory that a rank's request takes, by kind.
struct MemoryUse {
  std::int64_t staging_bytes = 0;
  std::int64_t window_bytes = 0;
  std::int64_t metadata_bytes = 0;

  MemoryUse& operator+=(const MemoryUse& other);
};

/// Bytes that a rank sends to each node.
[[nodiscard]] std::vector<std::int64_t> bytes_by_node(std::span<const Message> messages, const Nodes& nodes);

/// What crosses between nodes if every edge is a message, and the bytes that must, whatever the strategy.
struct Crossing {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t unique_bytes = 0;

  Crossing& operator+=(const Crossing& other);
  friend bool operator==(const Crossing&, const Crossing&) = default;
};

/// What a rank has for each node; nothing for its own.
[[nodiscard]] std::vector<Crossing> crossings(const Exchange& exchange, Rank rank, const Nodes& nodes);

/// Crossings over all nodes; what is most is so for each number by itself.
struct Demand {
  Crossing total;
  Crossing out_max;  ///< of the node that sends most
  Crossing in_max;   ///< of the node that receives most

  /// Unique bytes into or out of the node where they are most.
  [[nodiscard]] std::int64_t busiest_bytes() const { return std::max(in_max.unique_bytes, out_max.unique_bytes); }
  /// Bytes into the busiest node, edge by edge, over the unique ones.
  [[nodiscard]] double byte_ceiling() const;
  /// Of exchanges one after another.
  Demand& operator+=(const Demand& other);
};

/// `between[from * count + to]`, for `count` nodes.
[[nodiscard]] Demand demand(std::span<const Crossing> between, int count);
[[nodiscard]] Demand demand(std::span<const Exchange> exchanges, const Nodes& nodes);

}  // namespace laneway::bench
