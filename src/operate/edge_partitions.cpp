#include "operate/edge_partitions.hpp"

#include <climits>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/error.hpp"
#include "core/ranges.hpp"

namespace laneway {

EdgePartitions::Firsts EdgePartitions::sum(std::span<const int> partitions) {
  Firsts first{0};
  for (const int each : partitions) first.push_back(first.back() + each);
  return first;
}

int EdgePartitions::event(const Firsts& first, int edge, int partition) {
  const int edges = static_cast<int>(first.size()) - 1;
  require(edge >= 0 && edge < edges, ErrorKind::argument,
          [&] { return "edge is " + std::to_string(edge) + " of " + std::to_string(edges); });
  const int begin = first[static_cast<std::size_t>(edge)];
  const int partitions = first[static_cast<std::size_t>(edge) + 1] - begin;
  require(partition >= 0 && partition < partitions, ErrorKind::argument, [&] {
    return "partition is " + std::to_string(partition) + "; edge " + std::to_string(edge) + " has " +
           std::to_string(partitions);
  });
  return begin + partition;
}

void EdgePartitions::add(std::vector<PlanEvent>& events, const Firsts& first, const std::vector<Neighbor>& neighbors,
                         const std::vector<Edge>& edges, const Integers& counts, bool is_received) {
  const std::size_t before = events.size();
  for (int e = 0; e < first.back(); ++e) events.push_back({e, is_received, {}});
  for (std::size_t i = 0; i < neighbors.size(); ++i) {
    const int slot = neighbors[i].slot;
    const std::int64_t count = counts[slot];
    const int begin = first[static_cast<std::size_t>(slot)];
    const int partitions = first[static_cast<std::size_t>(slot) + 1] - begin;
    if (count == 0 || partitions == 0) continue;
    const std::int64_t each = edges[i].ranges.bytes() / count;
    const Slicer slicer(edges[i].ranges);
    // Products of counts may have more than 64 bits.
    const auto bound = [&](int p) { return count / partitions * p + count % partitions * p / partitions; };
    for (int p = 0; p < partitions; ++p) {
      const std::int64_t bytes = (bound(p + 1) - bound(p)) * each;
      if (bytes == 0) continue;
      events[before + static_cast<std::size_t>(begin + p)].parts.push_back(
          {is_received ? Buffer::receive : Buffer::send, slicer.slice(bound(p) * each, bytes)});
    }
  }
}

std::vector<PlanEvent> EdgePartitions::events(const RankPattern& pattern, const Topology& topology,
                                              const Call& call) const {
  std::vector<PlanEvent> events;
  add(events, sent_, topology.destinations, pattern.out, call.send.counts, false);
  add(events, received_, topology.sources, pattern.in, call.receive.counts, true);
  return events;
}

std::string fault_in_partitions(const char* name, const int partitions[], int degree) {
  if (degree > 0 && partitions == nullptr)
    return std::string(name) + " is NULL with " + std::to_string(degree) + " neighbors";
  std::int64_t total = 0;
  for (int i = 0; i < degree; ++i) {
    if (partitions[i] < 0) return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(partitions[i]);
    total += partitions[i];
  }
  return total > INT_MAX ? std::string(name) + ": more than " + std::to_string(INT_MAX) + " in all" : std::string();
}

}  // namespace laneway
