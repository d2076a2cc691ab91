#include "data/sample.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/bytes/mix.hpp"

namespace laneway::bench {

namespace {

/// What is busiest, the first of several.
struct Busiest {
  int node = 0;          ///< that most bytes leave or enter
  int node_of_rank = 0;  ///< with the rank that sends to or receives from most ranks of other nodes
};

Busiest find_busiest(const Workload& workload, const Nodes& nodes) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(nodes.count));
  std::vector<std::int64_t> in = out;
  Busiest busiest;
  std::int64_t most_peers = 0;
  const auto add = [&](const Exchange& exchange, Rank rank) {
    const int node = nodes.of[static_cast<std::size_t>(rank)];
    for (const auto& [side, bytes] : {std::pair(&exchange.send, &out), std::pair(&exchange.receive, &in)}) {
      std::int64_t peers = 0;
      for (std::size_t k = 0; k < side->peers.size(); ++k) {
        if (nodes.of[static_cast<std::size_t>(side->peers[k])] == node) continue;
        (*bytes)[static_cast<std::size_t>(node)] += side->counts[k] * exchange.element_bytes;
        ++peers;
      }
      if (peers > most_peers) busiest.node_of_rank = node;
      most_peers = std::max(most_peers, peers);
    }
  };
  if (workload.matrix != nullptr) {
    const std::vector<Exchange> all = workload.exchanges();
    for (std::size_t rank = 0; rank < all.size(); ++rank) add(all[rank], static_cast<Rank>(rank));
  } else {
    for (Rank rank = 0; rank < workload.ranks; ++rank) add(workload.exchange(rank), rank);
  }
  std::ranges::transform(out, in, out.begin(), [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  busiest.node = static_cast<int>(std::max_element(out.begin(), out.end()) - out.begin());
  return busiest;
}

}  // namespace

std::vector<int> sample_nodes(const Workload& workload, const Nodes& nodes, int count, std::uint64_t seed) {
  if (count >= nodes.count) {
    std::vector<int> all(static_cast<std::size_t>(nodes.count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const Busiest busiest = find_busiest(workload, nodes);
  std::set<int> chosen;
  for (const int corner : {busiest.node, busiest.node_of_rank, 0, nodes.count - 1})
    if (std::ssize(chosen) < count) chosen.insert(corner);
  for (std::uint64_t i = 0; std::ssize(chosen) < count; ++i)
    chosen.insert(static_cast<int>(mix(mix(seed) + i) % static_cast<std::uint64_t>(nodes.count)));
  return {chosen.begin(), chosen.end()};
}

std::vector<Rank> ranks_of_nodes(std::span<const int> sample, const Nodes& nodes) {
  std::vector<Rank> ranks;
  for (std::size_t rank = 0; rank < nodes.of.size(); ++rank)
    if (std::binary_search(sample.begin(), sample.end(), nodes.of[rank])) ranks.push_back(static_cast<Rank>(rank));
  return ranks;
}

}  // namespace laneway::bench
