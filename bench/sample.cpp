#include "sample.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/mix.hpp"

namespace laneway::bench {

namespace {

/// Bytes that leave or enter each node, whichever are more.
std::vector<std::int64_t> loads(const Workload& workload, const Nodes& nodes) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(nodes.count));
  std::vector<std::int64_t> in = out;
  const auto add = [&](const Exchange& exchange, Rank rank) {
    const auto node = static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(rank)]);
    for (const auto& [side, bytes] : {std::pair(&exchange.send, &out), std::pair(&exchange.receive, &in)})
      for (std::size_t k = 0; k < side->peers.size(); ++k)
        if (static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(side->peers[k])]) != node)
          (*bytes)[node] += side->counts[k] * exchange.element_bytes;
  };
  if (workload.matrix != nullptr) {
    const std::vector<Exchange> all = workload.exchanges();
    for (std::size_t rank = 0; rank < all.size(); ++rank) add(all[rank], static_cast<Rank>(rank));
  } else {
    for (Rank rank = 0; rank < workload.ranks; ++rank) add(workload.exchange(rank), rank);
  }
  std::ranges::transform(out, in, out.begin(), [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  return out;
}

}  // namespace

std::vector<int> sample_nodes(const Workload& workload, const Nodes& nodes, int count, std::uint64_t seed) {
  if (count >= nodes.count) {
    std::vector<int> all(static_cast<std::size_t>(nodes.count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::vector<std::int64_t> bytes = loads(workload, nodes);
  std::set<int> chosen;
  for (const int corner :
       {static_cast<int>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin()), 0, nodes.count - 1})
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
