#include <sched.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "calibrate/calibrate.hpp"
#include "communicator/nodes/discovery.hpp"

namespace laneway::bench {

namespace {

/// The regions of a rank by link class, the innermost first; -1 where the machine has no such level.
constexpr std::array<const char*, 3> inner_links = {"core", "socket", "node"};
using Regions = std::array<Rank, inner_links.size()>;

Regions described_regions(const Machine& machine, Rank rank) {
  Regions regions = {-1, -1, -1};
  const int levels = std::min<int>(machine.levels(), inner_links.size());
  for (int level = 0; level < levels; ++level)
    regions[inner_links.size() - 1 - static_cast<std::size_t>(level)] = machine.region_id(level, rank);
  return regions;
}

Regions found_regions(MPI_Comm comm) {
  Regions regions = {-1, -1, -1};
  for (const TreeLevel& level : find_region_tree(comm)) {
    const std::string link = level.name == "numa" ? "core" : level.name;
    const auto at = std::find(inner_links.begin(), inner_links.end(), link);
    regions[static_cast<std::size_t>(at - inner_links.begin())] = level.region.id;
  }
  return regions;
}

std::vector<Regions> all_regions(const Run& run) {
  const Regions own = run.machine.empty() ? found_regions(run.comm)
                                          : described_regions(Machine::parse(run.machine, run.ranks), run.rank);
  std::vector<Regions> regions(static_cast<std::size_t>(run.ranks));
  MPI_Allgather(&own, own.size(), MPI_INT32_T, regions.data(), own.size(), MPI_INT32_T, run.comm);
  return regions;
}

/// Which of `inner_links` joins two ranks; one more is the network.
std::size_t link_between(const Regions& a, const Regions& b) {
  std::size_t i = 0;
  while (i < a.size() && (a[i] < 0 || a[i] != b[i])) ++i;
  return i;
}

struct Host {
  std::array<char, 40> boot_id{};  // the same for all that share a kernel
  cpu_set_t cores{};
};

Host own_host() {
  Host host;
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  std::copy_n(id.begin(), std::min(id.size(), host.boot_id.size() - 1), host.boot_id.begin());
  CPU_ZERO(&host.cores);
  sched_getaffinity(0, sizeof host.cores, &host.cores);
  return host;
}

struct SharedHost {
  std::set<int> nodes;
  int ranks = 0;
  cpu_set_t cores{};
  bool bound = false;  // not every rank may use all cores that the others use

  [[nodiscard]] double cores_of_rank() const { return static_cast<double>(CPU_COUNT(&cores)) / ranks; }
};

std::vector<SharedHost> group_by_host(const std::vector<Host>& of_rank, const Nodes& nodes) {
  std::map<std::string, SharedHost> by_id;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    SharedHost& host = by_id[of_rank[rank].boot_id.data()];
    host.nodes.insert(nodes.of[rank]);
    CPU_OR(&host.cores, &host.cores, &of_rank[rank].cores);
    ++host.ranks;
  }
  for (const Host& one : of_rank) {
    SharedHost& host = by_id[one.boot_id.data()];
    host.bound = host.bound || !CPU_EQUAL(&host.cores, &one.cores);
  }
  std::vector<SharedHost> hosts;
  for (auto& [id, host] : by_id) hosts.push_back(std::move(host));
  return hosts;
}

Rank shifted(const Run& run, Rank rank, Rank distance) {
  return (rank + distance + run.ranks) % run.ranks;
}

bool on_other_node(const Run& run, Rank rank, Rank other) {
  return run.nodes.of[static_cast<std::size_t>(rank)] != run.nodes.of[static_cast<std::size_t>(other)];
}

/// Those that lead most ranks to other nodes first, without those that lead few there. None if there is one node.
std::vector<Rank> distances_between_nodes(const Run& run) {
  if (run.nodes.count == 1) return {};
  std::vector<std::pair<std::ptrdiff_t, Rank>> idle;  // how many ranks they give no message
  for (Rank distance = 1; distance < run.ranks; ++distance)
    idle.emplace_back(
        std::ranges::count_if(all_ranks(run),
                              [&](Rank rank) { return !on_other_node(run, rank, shifted(run, rank, distance)); }),
        distance);
  std::ranges::sort(idle);
  std::vector<Rank> distances;
  for (const auto& [ranks, distance] : idle)
    if (2 * ranks <= run.ranks + idle.front().first) distances.push_back(distance);
  return distances;
}

}  // namespace

std::vector<int> doubling(int last) {
  std::vector<int> values;
  for (int value = 1; value < last; value *= 2) values.push_back(value);
  if (last > 0) values.push_back(last);
  return values;
}

std::vector<Link> find_links(const Run& run) {
  const std::vector<Regions> regions = all_regions(run);
  std::array<std::vector<Rank>, inner_links.size() + 1> ends;
  for (Rank a = 0; a < run.ranks; ++a)
    for (Rank b = a + 1; b < run.ranks; ++b) {
      std::vector<Rank>& found =
          ends[link_between(regions[static_cast<std::size_t>(a)], regions[static_cast<std::size_t>(b)])];
      if (found.empty()) found = {a, b};
    }
  std::vector<Link> links;
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (!ends[i].empty()) links.push_back({i < inner_links.size() ? inner_links[i] : "network", ends[i]});
  return links;
}

std::vector<std::vector<Rank>> members_of(const Nodes& nodes) {
  std::vector<std::vector<Rank>> members(static_cast<std::size_t>(nodes.count));
  for (std::size_t rank = 0; rank < nodes.of.size(); ++rank)
    members[static_cast<std::size_t>(nodes.of[rank])].push_back(static_cast<Rank>(rank));
  return members;
}

Record describe_hosts(const Run& run) {
  const Host own = own_host();
  std::vector<Host> all(static_cast<std::size_t>(run.ranks));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, run.comm);
  const std::vector<SharedHost> hosts = group_by_host(all, run.nodes);
  const SharedHost& scarce = *std::ranges::min_element(hosts, {}, &SharedHost::cores_of_rank);
  return {{"host_nodes", scarce.nodes.size()},
          {"host_ranks", scarce.ranks},
          {"host_cores", CPU_COUNT(&scarce.cores)},
          {"bound", scarce.bound}};
}

int partners_between_nodes(const Run& run) {
  return static_cast<int>(distances_between_nodes(run).size());
}

std::vector<Shift> shifts_between_nodes(const Run& run, std::size_t count) {
  const std::vector<Rank> distances = distances_between_nodes(run);
  if (distances.empty()) return {};
  std::vector<Shift> shifts(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Rank distance = distances[i % distances.size()];
    const Rank to = shifted(run, run.rank, distance);
    const Rank from = shifted(run, run.rank, -distance);
    if (on_other_node(run, run.rank, to)) shifts[i].destination = to;
    if (on_other_node(run, run.rank, from)) shifts[i].source = from;
  }
  return shifts;
}

std::vector<Shift> shifts_inside_nodes(const Run& run, std::size_t count) {
  const std::vector<std::vector<Rank>> nodes = members_of(run.nodes);
  const bool all_alone = std::ranges::all_of(nodes, [](const auto& node) { return node.size() == 1; });
  if (all_alone) return {};
  const auto& node = nodes[static_cast<std::size_t>(run.nodes.of[static_cast<std::size_t>(run.rank)])];
  std::vector<Shift> shifts(count);
  if (node.size() == 1) return shifts;
  const auto own = static_cast<std::size_t>(std::ranges::find(node, run.rank) - node.begin());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t distance = 1 + i % (node.size() - 1);
    shifts[i] = {node[(own + distance) % node.size()], node[(own + node.size() - distance) % node.size()]};
  }
  return shifts;
}

double messages_of_rank(const Run& run, const std::vector<Shift>& shifts) {
  auto messages = static_cast<double>(
      std::ranges::count_if(shifts, [](const Shift& shift) { return shift.destination != MPI_PROC_NULL; }));
  MPI_Allreduce(MPI_IN_PLACE, &messages, 1, MPI_DOUBLE, MPI_SUM, run.comm);
  return messages / run.ranks;
}

std::vector<Rank> all_ranks(const Run& run) {
  std::vector<Rank> ranks(static_cast<std::size_t>(run.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace laneway::bench
