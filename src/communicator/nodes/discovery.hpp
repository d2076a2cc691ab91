#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine/fabric.hpp"
#include "machine/machine.hpp"

namespace laneway {

class PrivateComm;

/// The ranks of `comm` that share the calling rank's node.
///
/// With a description (as LANEWAY_MACHINE, of the ranks of MPI_COMM_WORLD) this is local. Otherwise nodes are found by
/// MPI_Comm_split_type, collectively; once that has been done for MPI_COMM_WORLD's group, they follow by group
/// translation if `translate`, on which all ranks of `comm` must agree: true only if known_world is the same on all.
///
/// `through`: `comm` as a private communicator, on which the ranks meet before they enter a call of MPI's that a rank
/// which has failed elsewhere would not enter.
[[nodiscard]] Region find_node(MPI_Comm comm, const std::string& description, bool translate,
                               const PrivateComm* through = nullptr);

/// The number of this process's MPI_COMM_WORLD, if the nodes of its ranks are known; else 0. Processes that were
/// spawned or connected have other worlds with other numbers, and translation finds none of their ranks.
[[nodiscard]] std::int64_t known_world();
/// Ranks of MPI_COMM_WORLD on this rank's node; 0 if that is not known.
[[nodiscard]] std::size_t world_node_size();

/// The machine of all ranks of MPI_COMM_WORLD. The same object as long as the description, and what the file says that
/// it names, are the same. Throws Error(info) as Machine::parse does.
[[nodiscard]] std::shared_ptr<const Machine> described_world(const std::string& description);

/// How far the nearest network interface is from the calling rank's device, as `description` says; 0 if it does not.
[[nodiscard]] int described_network_distance(const std::string& description);

/// The links between devices of the calling rank's node, for its members in `comm`; null if `description` has none.
[[nodiscard]] std::shared_ptr<const Fabric> find_fabric(MPI_Comm comm, const std::string& description);

/// The calling rank's regions at the named levels, outermost first, in `comm`. An empty name is the level after the one
/// before it, the first the outermost. With a description this is local, and throws Error(info) for a level that it
/// does not have; otherwise collective, and the names are those of find_region_tree, where a level that does not divide
/// the one around it is equal to it. Inside these is the level `gpu`: the ranks `on_one_device` with the calling one,
/// if that is known; a level without a name inside the node is then this one.
[[nodiscard]] std::vector<Region> find_levels(MPI_Comm comm, const std::string& description,
                                              const std::vector<std::string>& names, bool translate,
                                              const Region* on_one_device = nullptr,
                                              const PrivateComm* through = nullptr);

/// As hwloc names it; empty where it does not.
[[nodiscard]] std::string processor_model();

/// Where hwloc says that the calling process is bound: logical indices, -1 where it is bound to no single one.
struct Binding {
  int package = -1;
  int numa_node = -1;
};
[[nodiscard]] Binding binding_of_this_process();

/// The region tree of the calling rank, outermost first: its node, and inside it the package and the NUMA node that it
/// is bound to, as far as these divide the node. Collective over `comm`.
struct TreeLevel {
  std::string name;
  Region region;
};
[[nodiscard]] std::vector<TreeLevel> find_region_tree(MPI_Comm comm, const PrivateComm* through = nullptr);

/// Name of the parameters that come with the library for machines like this one: ranks that share one node, or nodes
/// joined by a network of which the system knows some device, or by any other.
[[nodiscard]] std::string kind_of_machine(bool one_node);

}  // namespace laneway
