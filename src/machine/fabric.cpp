#include "machine/fabric.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace laneway {

namespace {

struct Ways {
  std::vector<int> hops;
  std::vector<std::vector<int>> devices;
};

/// Breadth first: all ways to a device are known before any way that goes on from it.
Ways ways_from(std::size_t from, const std::vector<std::vector<int>>& links) {
  const std::size_t n = links.size();
  Ways ways{std::vector<int>(n, -1), std::vector<std::vector<int>>(n)};
  std::vector<int> width(n, 0);
  ways.hops[from] = 0;
  ways.devices[from] = {static_cast<int>(from)};
  width[from] = std::numeric_limits<int>::max();
  std::deque<std::size_t> next = {from};
  for (; !next.empty(); next.pop_front()) {
    const std::size_t at = next.front();
    for (std::size_t to = 0; to < n; ++to) {
      if (links[at][to] == 0 || (ways.hops[to] >= 0 && ways.hops[to] <= ways.hops[at])) continue;
      if (ways.hops[to] < 0) {
        ways.hops[to] = ways.hops[at] + 1;
        next.push_back(to);
      }
      const int narrowest = std::min(width[at], links[at][to]);
      if (narrowest <= width[to]) continue;
      width[to] = narrowest;
      ways.devices[to] = ways.devices[at];
      ways.devices[to].push_back(static_cast<int>(to));
    }
  }
  return ways;
}

}  // namespace

DeviceLinks with_hops(std::vector<std::vector<int>> links) {
  const std::size_t n = links.size();
  for (std::size_t a = 0; a < n; ++a) {
    require(links[a].size() == n, ErrorKind::info,
            "row " + std::to_string(a) + " of the links has " + std::to_string(links[a].size()) + " entries, not " +
                std::to_string(n));
    for (std::size_t b = 0; b < a; ++b)
      require(links[a][b] == links[b][a] && links[a][b] >= 0, ErrorKind::info,
              "the links between devices " + std::to_string(b) + " and " + std::to_string(a) + " are " +
                  std::to_string(links[b][a]) + " and " + std::to_string(links[a][b]));
  }
  DeviceLinks result{std::move(links), {}, {}};
  for (std::size_t from = 0; from < n; ++from) {
    Ways ways = ways_from(from, result.links);
    for (std::size_t to = 0; to < n; ++to)
      require(ways.hops[to] >= 0, ErrorKind::info,
              "no links join devices " + std::to_string(from) + " and " + std::to_string(to));
    result.hops.push_back(std::move(ways.hops));
    result.ways.push_back(std::move(ways.devices));
  }
  return result;
}

namespace {

/// The devices of the node of `rank`, by the ids of its innermost regions.
std::map<Rank, int> devices_around(const Machine& machine, Rank rank) {
  std::map<Rank, int> devices;
  for (Rank member : machine.region(0, rank).members)
    devices.try_emplace(machine.region_id(machine.levels() - 1, member), static_cast<int>(devices.size()));
  return devices;
}

int device_of(const Machine& machine, const std::map<Rank, int>& devices, Rank rank, std::size_t described) {
  const int device = devices.at(machine.region_id(machine.levels() - 1, rank));
  require(static_cast<std::size_t>(device) < described, ErrorKind::info,
          "the machine describes " + std::to_string(described) + " devices, a node has more");
  return device;
}

}  // namespace

int network_distance(const Machine& machine, Rank rank) {
  if (!machine.devices() || machine.devices()->network_distance.empty()) return 0;
  const std::vector<int>& distances = machine.devices()->network_distance;
  return distances[static_cast<std::size_t>(device_of(machine, devices_around(machine, rank), rank, distances.size()))];
}

std::shared_ptr<const Fabric> Fabric::of(const Machine& machine) {
  std::vector<Rank> all;
  for (Rank r = 0; r < machine.ranks(); ++r) all.push_back(r);
  return of(machine, all, all);
}

std::shared_ptr<const Fabric> Fabric::of(const Machine& machine, std::span<const Rank> ranks,
                                         std::span<const Rank> names) {
  if (!machine.devices() || machine.devices()->links.empty()) return nullptr;
  std::map<Rank, std::pair<Rank, int>> places;
  std::map<Rank, std::map<Rank, int>> nodes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Rank node = machine.region_id(0, ranks[i]);
    std::map<Rank, int>& devices = nodes[node];
    if (devices.empty()) devices = devices_around(machine, ranks[i]);
    places.emplace(names[i], std::pair(node, device_of(machine, devices, ranks[i], machine.devices()->links.size())));
  }
  return std::make_shared<const Fabric>(machine.devices(), std::move(places));
}

bool Fabric::joins(Rank a, Rank b) const {
  const auto first = places_.find(a);
  const auto second = places_.find(b);
  return first != places_.end() && second != places_.end() && first->second.first == second->second.first;
}

}  // namespace laneway
