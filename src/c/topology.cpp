#include "c/barrier.hpp"
#include "mpi/graph.hpp"

using namespace laneway;

int LNW_Get_version(int* major, int* minor, int* patch) {
  return guarded(__func__, MPI_COMM_SELF, [&] {
    require_pointer(major, "major");
    require_pointer(minor, "minor");
    require_pointer(patch, "patch");
    *major = LNW_VERSION_MAJOR;
    *minor = LNW_VERSION_MINOR;
    *patch = LNW_VERSION_PATCH;
  });
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

int LNW_Comm_get_reorder(MPI_Comm comm, LNW_Reorder* report) {
  return guarded(__func__, comm, [&] {
    require_pointer(report, "report");
    *report = {};
    const Reordering& r = reordering_of(comm);
    *report = {r.weight, r.cut_before, r.cut_after, r.moved, r.has_partitioner};
  });
}
