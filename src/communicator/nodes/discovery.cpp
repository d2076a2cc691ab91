#include "communicator/nodes/discovery.hpp"

#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>

#include "base/bytes/wire.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/nodes/network_distance.hpp"
#include "mpi/check.hpp"
#include "mpi/group.hpp"
#include "mpi/running.hpp"

namespace laneway {

namespace {

Region region_of_members(std::vector<int> members) {
  std::erase(members, MPI_UNDEFINED);
  std::sort(members.begin(), members.end());
  LANEWAY_ASSERT(!members.empty());
  const Rank id = members.front();
  return {id, std::move(members)};
}

/// Members of this rank's node as ranks of MPI_COMM_WORLD, once they are known; then never changed.
std::vector<int> world_node;
std::int64_t world_number = 0;
std::mutex world_node_mutex;

int rank_in_world();

/// A positive number, the same in all calls of this process.
std::int64_t own_number() {
  static const std::int64_t number = [] {
    std::random_device random;
    return static_cast<std::int64_t>(((std::uint64_t{random()} << 32) | random()) >> 1) | 1;
  }();
  return number;
}

/// The same positive number on all ranks of `world` and of each communicator of the same ranks, and another in other
/// worlds.
std::int64_t number_world(MPI_Comm world, const PrivateComm* through) {
  if (simulated) return 1;
  const std::vector<std::int64_t> chosen = {rank_in_world() == 0 ? own_number() : 0};
  if (through != nullptr) return reduce_progressing(chosen, MPI_INT64_T, MPI_MAX, *through).front();
  std::int64_t number = 0;
  reduce_progressing(chosen.data(), &number, 1, MPI_INT64_T, MPI_MAX, world);
  return number;
}

/// Machines that have been described, by their descriptions and what the files say that these name.
std::map<std::pair<std::string, std::string>, std::shared_ptr<const Machine>> described_machines;
std::mutex described_machines_mutex;

int rank_in_world() {
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return rank;
}

std::vector<int> split_by_node(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int size = 0;
  check_mpi(MPI_Comm_size(node, &size), "MPI_Comm_size");
  std::vector<int> ranks(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  std::vector<int> members;
  {
    const Group inner(node);
    members = inner.translate(ranks, Group(comm));
  }
  MPI_Comm_free(&node);
  return members;
}

}  // namespace

std::shared_ptr<const Machine> described_world(const std::string& description) {
  require(has_world(), ErrorKind::unsupported,
          "lnw_machine describes the ranks of MPI_COMM_WORLD, which programs that only open sessions do not have");
  int size = 0;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  std::pair<std::string, std::string> key(description, text_of_file(description));
  const std::lock_guard lock(described_machines_mutex);
  const auto known = described_machines.find(key);
  if (known != described_machines.end()) return known->second;
  auto machine = std::make_shared<const Machine>(Machine::parse(description, size));
  constexpr std::size_t most = 64;  // programs that go through machines, as tests do
  if (described_machines.size() >= most) described_machines.clear();
  return described_machines.emplace(std::move(key), std::move(machine)).first->second;
}

std::size_t world_node_size() {
  const std::lock_guard lock(world_node_mutex);
  return world_node.size();
}

std::int64_t known_world() {
  const std::lock_guard lock(world_node_mutex);
  return world_number;
}

int described_network_distance(const std::string& description) {
  return network_distance(*described_world(description), rank_in_world());
}

std::shared_ptr<const Fabric> find_fabric(MPI_Comm comm, const std::string& description) {
  const std::shared_ptr<const Machine> machine = described_world(description);
  std::vector<Rank> ranks;
  std::vector<Rank> names;
  const std::vector<Rank> node = machine->region(0, rank_in_world()).members;
  const std::vector<int> translated = Group(MPI_COMM_WORLD).translate(node, Group(comm));
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (translated[i] == MPI_UNDEFINED) continue;
    ranks.push_back(node[i]);
    names.push_back(translated[i]);
  }
  return Fabric::of(*machine, ranks, names);
}

namespace {

bool is_node(const std::string& name) {
  return name.empty() || name == "node";
}

std::vector<Region> described_levels(MPI_Comm comm, const std::string& description,
                                     const std::vector<std::string>& names) {
  const std::shared_ptr<const Machine> machine = described_world(description);
  const int rank = rank_in_world();
  const Group group(comm);
  const Group world(MPI_COMM_WORLD);
  std::vector<Region> regions;
  for (int level : machine->find_levels(names))
    regions.push_back(region_of_members(world.translate(machine->region(level, rank).members, group)));
  return regions;
}

void add_devices(std::vector<TreeLevel>& tree, const Region& on_one_device) {
  std::vector<int> members;
  std::ranges::set_intersection(tree.back().region.members, on_one_device.members, std::back_inserter(members));
  if (members.size() < tree.back().region.members.size())
    tree.push_back({"gpu", region_of_members(std::move(members))});
}

/// Levels that the node does not have are those around them.
std::vector<Region> levels_in(const std::vector<TreeLevel>& tree, const std::vector<std::string>& names, Rank rank) {
  std::vector<Region> regions;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(tree, name, &TreeLevel::name);
    if (name == "rank")
      regions.push_back({rank, {rank}});
    else if (found != tree.end())
      regions.push_back(found->region);
    else
      regions.push_back(regions.empty() ? tree.front().region : regions.back());
  }
  return regions;
}

}  // namespace

std::vector<Region> find_levels(MPI_Comm comm, const std::string& description, const std::vector<std::string>& names,
                                bool translate, const Region* on_one_device, const PrivateComm* through) {
  if (!description.empty()) return described_levels(comm, description, names);
  if (names.size() == 1 && is_node(names[0])) return {find_node(comm, "", translate, through)};
  const std::vector<std::string> known = {"node", "socket", "numa", "gpu"};
  std::vector<std::string> wanted = names;
  if (on_one_device != nullptr && wanted.size() == 2 && wanted.back().empty()) wanted.back() = "gpu";
  const bool only_node = names.size() == 2 && is_node(names[0]) && (names[1].empty() || names[1] == "rank");
  std::vector<int> levels = laneway::find_levels(wanted, known);
  std::vector<TreeLevel> tree = only_node ? std::vector<TreeLevel>{{"node", find_node(comm, "", translate, through)}}
                                          : find_region_tree(comm, through);
  if (on_one_device != nullptr) add_devices(tree, *on_one_device);
  if (only_node) levels[1] = static_cast<int>(known.size());
  std::vector<std::string> found;
  for (const int level : levels)
    found.push_back(level == static_cast<int>(known.size()) ? "rank" : known[static_cast<std::size_t>(level)]);
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return levels_in(tree, found, rank);
}

Region find_node(MPI_Comm comm, const std::string& description, bool translate, const PrivateComm* through) {
  if (!description.empty()) return find_levels(comm, description, {""}, translate).front();
  if (!has_world()) return region_of_members(split_by_node(comm));
  const Group group(comm);
  const Group world(MPI_COMM_WORLD);
  if (translate) return region_of_members(world.translate(world_node, group));
  if (through != nullptr && !simulated) through->meet();
  const std::vector<int> members = split_by_node(comm);
  // Whether this rank knows its world already is no reason to leave the round out: with threads, others may not yet.
  if (group.same_members(world)) {
    const std::int64_t number = number_world(comm, through);
    const std::lock_guard lock(world_node_mutex);
    if (world_node.empty()) world_node = group.translate(members, world);
    world_number = number;
  }
  return region_of_members(members);
}

namespace {

/// Calls f(topology) with one that has packages and NUMA nodes only; not at all if hwloc cannot make it.
template <class F>
void with_packages(F&& f) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return;
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) == 0) f(topology);
  hwloc_topology_destroy(topology);
}

}  // namespace

std::string processor_model() {
  std::string model;
  with_packages([&](hwloc_topology_t topology) {
    const hwloc_obj_t package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, nullptr);
    const char* const name = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
    if (name != nullptr) model = name;
  });
  return model;
}

Binding binding_of_this_process() {
  Binding binding;
  with_packages([&](hwloc_topology_t topology) {
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
      auto only = [&](hwloc_obj_type_t type) {
        int found = -1;
        for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;)
          if (hwloc_bitmap_isincluded(bound, object->cpuset)) found = static_cast<int>(object->logical_index);
        return found;
      };
      binding.package = only(HWLOC_OBJ_PACKAGE);
      binding.numa_node = only(HWLOC_OBJ_NUMANODE);
    }
    hwloc_bitmap_free(bound);
  });
  return binding;
}

namespace {

std::vector<Binding> gather_bindings(MPI_Comm comm, const Region& node, const Binding& own) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  MPI_Comm members = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm, node.id, rank, &members), "MPI_Comm_split");
  std::vector<Binding> all(node.members.size());
  check_mpi(MPI_Allgather(&own, sizeof(Binding), MPI_BYTE, all.data(), sizeof(Binding), MPI_BYTE, members),
            "MPI_Allgather");
  MPI_Comm_free(&members);
  return all;
}

std::vector<Binding> gather_bindings(const PrivateComm& comm, const Region& node, const Binding& own) {
  Writer writer;
  writer.put(own);
  std::vector<Binding> all;
  for (const Bytes& bytes : ControlRounds(comm).carry({Round::Kind::region_gather, {}, {}, writer.take(), &node}))
    all.push_back(Reader(bytes).get<Binding>());
  return all;
}

}  // namespace

std::vector<TreeLevel> find_region_tree(MPI_Comm comm, const PrivateComm* through) {
  std::vector<TreeLevel> tree{{"node", find_node(comm, "", false, through)}};
  const Binding own = binding_of_this_process();
  const std::vector<Binding> all = through != nullptr && !simulated ? gather_bindings(*through, tree[0].region, own)
                                                                    : gather_bindings(comm, tree[0].region, own);
  auto divide = [&](const char* name, auto&& same) {
    std::vector<int> members;
    bool known = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      known = known && all[i].package >= 0;
      if (same(all[i])) members.push_back(tree[0].region.members[i]);
    }
    if (known && members.size() < tree.back().region.members.size()) tree.push_back({name, region_of_members(members)});
  };
  divide("socket", [&](const Binding& b) { return b.package == own.package; });
  divide("numa", [&](const Binding& b) { return b.package == own.package && b.numa_node == own.numa_node; });
  return tree;
}

std::string kind_of_machine(bool one_node) {
  return one_node ? "default-node" : has_network_devices() ? "default-hpc" : "default-ethernet";
}

}  // namespace laneway
