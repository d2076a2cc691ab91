#include "operations/request/edge_partitions.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "base/bytes/ranges.hpp"
#include "base/error.hpp"

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

EdgePartition EdgePartitions::partition_of(const Firsts& first, int event) {
  const auto after = std::ranges::upper_bound(first, event);
  return {static_cast<int>(after - first.begin()) - 1, event - *std::prev(after)};
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

namespace {

/// Where an event begins or ends to be about bytes.
struct EventEdge {
  std::int64_t offset = 0;
  int event = 0;
  bool ends = false;
};

/// Sorted by their offsets.
std::vector<EventEdge> edges_of(const std::vector<PlanEvent>& events) {
  std::vector<EventEdge> edges;
  for (const PlanEvent& event : events)
    for (const Segment& part : event.parts)
      part.ranges.for_each([&](Range range) {
        edges.push_back({range.offset, event.number, false});
        edges.push_back({range.end(), event.number, true});
      });
  std::ranges::sort(edges, {}, &EventEdge::offset);
  return edges;
}

}  // namespace

/// Moves bytes that several of the events name, which are of one buffer, to events of their own.
void EdgePartitions::share(std::vector<PlanEvent>& events) {
  const std::vector<EventEdge> edges = edges_of(events);
  std::map<int, int> open;  // events that name the bytes from here on, and how often
  std::map<std::vector<int>, RangeList> by_names;
  bool is_shared = false;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto place = open.try_emplace(edges[i].event, 0).first;
    place->second += edges[i].ends ? -1 : 1;
    if (place->second == 0) open.erase(place);
    if (i + 1 == edges.size() || edges[i + 1].offset == edges[i].offset || open.empty()) continue;
    std::vector<int> names;
    for (const auto& [event, times] : open) names.push_back(event);
    is_shared = is_shared || names.size() > 1;
    by_names[std::move(names)].append(Range{edges[i].offset, edges[i + 1].offset - edges[i].offset});
  }
  if (!is_shared) return;
  shared_.resize(events.size());
  for (PlanEvent& event : events) event.parts.clear();
  for (auto& [names, ranges] : by_names) {
    std::size_t owner = static_cast<std::size_t>(names.front());
    if (names.size() > 1) {
      owner = events.size();
      for (const int name : names) shared_[static_cast<std::size_t>(name)].push_back(static_cast<int>(owner));
      events.push_back({static_cast<int>(owner), false, {}});
    }
    events[owner].parts.push_back({Buffer::send, std::move(ranges)});
  }
}

std::vector<PlanEvent> EdgePartitions::events(const RankPattern& pattern, const Topology& topology, const Call& call) {
  std::vector<PlanEvent> events;
  add(events, sent_, topology.destinations, pattern.out, call.send.counts, false);
  share(events);
  add(events, received_, topology.sources, pattern.in, call.receive.counts, true);
  return events;
}

std::vector<int> EdgePartitions::numbers(const Firsts& first) {
  std::vector<int> numbers;
  for (std::size_t edge = 0; edge + 1 < first.size(); ++edge) numbers.push_back(first[edge + 1] - first[edge]);
  return numbers;
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
