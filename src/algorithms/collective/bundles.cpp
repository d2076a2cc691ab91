#include "algorithms/collective/bundles.hpp"

#include <algorithm>

namespace laneway {

std::int64_t BundleLanes::most_moved(Rank rank, bool sends) const {
  const Rank home = layout_.region(rank);
  const Rank index = layout_.index(rank);
  std::int64_t most = 0;
  for (Rank other = 0; other < layout_.regions(); ++other) {
    if (other == home) continue;
    const Rank from = sends ? home : other;
    const Rank to = sends ? other : home;
    const Rank lane = sends ? lane_sent_by(index, from, to) : lane_received_by(index, from, to);
    if (lane >= most_lanes(from, to)) continue;
    // Where it is used there are so many lanes at least, so that it has no more destinations.
    const std::int64_t destinations = (std::int64_t{layout_.size(to)} + lane) / (lane + 1);
    most += layout_.size(from) * destinations;
  }
  return most;
}

std::int64_t longest_in_memory(const Parameters& parameters, Rank ranks_of_node, std::int64_t most) {
  const LinkCost* const link = known_link(parameters.links, LinkClass::node);
  const double copies = 2 * parameters.copy_beta(ranks_of_node);  // into the node's memory, and out of it
  if (link == nullptr || copies <= 0) return most;
  std::int64_t longest = 0;
  std::int64_t shortest = 0;  // of a protocol
  for (const Protocol& protocol : link->protocols) {
    const std::int64_t up_to = protocol.up_to < 0 ? most : std::min(protocol.up_to, most);
    const double less = copies - protocol.beta;
    const double bytes = less > 0 ? protocol.alpha / less : static_cast<double>(up_to);
    if (bytes > static_cast<double>(shortest))
      longest = static_cast<std::int64_t>(std::min(bytes, static_cast<double>(up_to)));
    shortest = up_to;
  }
  return longest;
}

std::int64_t longest_in_bundle(const Parameters& parameters, Rank ranks_of_node, std::int64_t most) {
  constexpr double copies = 3;  // into the node's memory, into the bundle, and out of it
  const LinkCost& network = parameters.link(LinkClass::network);
  double message = parameters.network_overhead.message;
  if (message == 0 && !network.protocols.empty()) message = network.protocols.front().alpha;
  if (parameters.injection_short) message += parameters.injection_short->alpha * ranks_of_node;
  const double byte = copies * parameters.copy_beta(ranks_of_node);
  if (message <= 0 || byte <= 0) return most;
  const double bytes = message / byte;
  return bytes < static_cast<double>(most) ? static_cast<std::int64_t>(bytes) : most;
}

}  // namespace laneway
