#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange.hpp"
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
};

/// The most memory that a rank's request takes, by kind.
struct MemoryUse {
  std::int64_t staging_bytes = 0;
  std::int64_t window_bytes = 0;
  std::int64_t metadata_bytes = 0;
};

/// Bytes that a rank sends to each node.
[[nodiscard]] std::vector<std::int64_t> bytes_by_node(std::span<const Message> messages, const Nodes& nodes);

/// Bytes that must cross between nodes, whatever the strategy.
struct Demand {
  std::int64_t busiest_bytes = 0;  ///< unique bytes into or out of the node where they are most
  double byte_ceiling = 1;         ///< bytes into the busiest node, edge by edge, over the unique ones
};
[[nodiscard]] Demand demand(std::span<const Exchange> exchanges, const Nodes& nodes);

}  // namespace laneway::bench
