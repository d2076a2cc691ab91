#include <algorithm>
#include <cstddef>
#include <vector>

#include "api/barrier.hpp"
#include "operations/neighborhood/graph.hpp"

using namespace laneway;

int LNW_Get_version(int* major, int* minor, int* patch) {
  // At any time, as MPI_Get_version.
  try {
    require_pointer(major, "major");
    require_pointer(minor, "minor");
    require_pointer(patch, "patch");
    *major = LNW_VERSION_MAJOR;
    *minor = LNW_VERSION_MINOR;
    *patch = LNW_VERSION_PATCH;
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on(MPI_COMM_SELF, __func__);
  }
}

int LNW_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int* sourceweights,
                                   int outdegree, const int destinations[], const int* destweights, MPI_Info info,
                                   int reorder, MPI_Comm* comm_dist_graph) {
  return guarded(__func__, comm_old, [&] {
    const GraphArguments arguments{{indegree, sources, sourceweights, "indegree", "sources", "sourceweights"},
                                   {outdegree, destinations, destweights, "outdegree", "destinations", "destweights"}};
    create_graph(comm_old, arguments, info, reorder, comm_dist_graph);
  });
}

int LNW_Comm_get_reorder_sized(MPI_Comm comm, size_t size, LNW_Reorder* report) {
  // Errors name what the program has written.
  return guarded("LNW_Comm_get_reorder", comm, [&] {
    require_pointer(report, "report");
    fill(report, size, LNW_Reorder{});
    const Reordering& r = reordering_of(comm);
    fill(report, size, LNW_Reorder{r.weight, r.cut_before, r.cut_after, r.moved, r.has_partitioner});
  });
}

int(LNW_Comm_get_reorder)(MPI_Comm comm, LNW_Reorder* report) {
  constexpr std::size_t first_bytes = offsetof(LNW_Reorder, has_partitioner) + sizeof(int);
  return LNW_Comm_get_reorder_sized(comm, first_bytes, report);
}

int LNW_Topology_create(MPI_Comm comm, int indegree, const int sources[], const int* sourceweights, int outdegree,
                        const int destinations[], const int* destweights, MPI_Info info, LNW_Topology* topology) {
  return guarded(__func__, comm, [&] {
    const GraphArguments arguments{{indegree, sources, sourceweights, "indegree", "sources", "sourceweights"},
                                   {outdegree, destinations, destweights, "outdegree", "destinations", "destweights"}};
    auto made = create_topology(comm, arguments, info, topology != nullptr);
    *topology = handle_of(std::move(made));
  });
}

int LNW_Topology_from_comm(MPI_Comm comm, LNW_Topology* topology) {
  return guarded(__func__, comm, [&] {
    auto made = copy_topology(comm, topology != nullptr);
    *topology = handle_of(std::move(made));
  });
}

int LNW_Topology_get_neighbors_count(LNW_Topology topology, int* indegree, int* outdegree) {
  return guarded(__func__, topology, [&] {
    const Topology& found = topology_of(topology).topology();
    require_pointer(indegree, "indegree");
    require_pointer(outdegree, "outdegree");
    *indegree = found.indegree;
    *outdegree = found.outdegree;
  });
}

int LNW_Topology_get_neighbors(LNW_Topology topology, int maxindegree, int sources[], int maxoutdegree,
                               int destinations[]) {
  return guarded(__func__, topology, [&] {
    const Topology& found = topology_of(topology).topology();
    const auto check = [](int most, const int* ranks, const char* most_name, const char* ranks_name) {
      require(most >= 0, ErrorKind::argument, [&] { return std::string(most_name) + " is " + std::to_string(most); });
      if (most > 0) require_pointer(ranks, ranks_name);
    };
    check(maxindegree, sources, "maxindegree", "sources");
    check(maxoutdegree, destinations, "maxoutdegree", "destinations");
    const auto copy = [](const std::vector<Neighbor>& neighbors, int degree, int most, int* ranks) {
      std::fill_n(ranks, std::min(most, degree), MPI_PROC_NULL);
      for (const Neighbor& neighbor : neighbors)
        if (neighbor.slot < most) ranks[neighbor.slot] = neighbor.rank;
    };
    copy(found.sources, found.indegree, maxindegree, sources);
    copy(found.destinations, found.outdegree, maxoutdegree, destinations);
  });
}

int LNW_Topology_free(LNW_Topology* topology) {
  if (is_too_late()) {
    if (topology != nullptr && *topology != LNW_TOPOLOGY_NULL) delete &topology_of(*topology);
    if (topology != nullptr) *topology = LNW_TOPOLOGY_NULL;
    return MPI_SUCCESS;
  }
  return guarded(__func__, topology != nullptr ? *topology : LNW_TOPOLOGY_NULL, [&] {
    require_pointer(topology, "topology");
    delete &topology_of(*topology);
    *topology = LNW_TOPOLOGY_NULL;
  });
}
