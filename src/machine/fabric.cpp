#include "machine/fabric.hpp"

#include <deque>
#include <string>

#include "core/error.hpp"

namespace laneway {

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
  std::vector<std::vector<int>> hops(n, std::vector<int>(n, -1));
  for (std::size_t from = 0; from < n; ++from) {
    hops[from][from] = 0;
    std::deque<std::size_t> next = {from};
    for (; !next.empty(); next.pop_front())
      for (std::size_t to = 0; to < n; ++to)
        if (links[next.front()][to] > 0 && hops[from][to] < 0) {
          hops[from][to] = hops[from][next.front()] + 1;
          next.push_back(to);
        }
    for (std::size_t to = 0; to < n; ++to)
      require(hops[from][to] >= 0, ErrorKind::info,
              "no links join devices " + std::to_string(from) + " and " + std::to_string(to));
  }
  return {std::move(links), std::move(hops)};
}

std::shared_ptr<const Fabric> Fabric::of(const Machine& machine) {
  std::vector<Rank> all;
  for (Rank r = 0; r < machine.ranks(); ++r) all.push_back(r);
  return of(machine, all, all);
}

std::shared_ptr<const Fabric> Fabric::of(const Machine& machine, std::span<const Rank> ranks,
                                         std::span<const Rank> names) {
  if (!machine.devices()) return nullptr;
  const int innermost = machine.levels() - 1;
  std::map<Rank, std::pair<Rank, int>> places;
  std::map<Rank, std::map<Rank, int>> device_of;  // node -> innermost region -> device
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Rank node = machine.region_id(0, ranks[i]);
    std::map<Rank, int>& devices = device_of[node];
    if (devices.empty())
      for (Rank member : machine.region(0, ranks[i]).members)
        devices.try_emplace(machine.region_id(innermost, member), static_cast<int>(devices.size()));
    const int device = devices.at(machine.region_id(innermost, ranks[i]));
    require(static_cast<std::size_t>(device) < machine.devices()->links.size(), ErrorKind::info,
            "the machine describes links for " + std::to_string(machine.devices()->links.size()) +
                " devices, a node has more");
    places.emplace(names[i], std::pair(node, device));
  }
  return std::make_shared<const Fabric>(machine.devices(), std::move(places));
}

bool Fabric::joins(Rank a, Rank b) const {
  const auto first = places_.find(a);
  const auto second = places_.find(b);
  return first != places_.end() && second != places_.end() && first->second.first == second->second.first;
}

}  // namespace laneway
