/** Graphs: communicators with neighbours, and topology objects. */
#ifndef LANEWAY_TOPOLOGY_H
#define LANEWAY_TOPOLOGY_H

#include <laneway/base.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As MPI_Dist_graph_create_adjacent. Hints in `info` (docs/reference/hints.md) hold for all operations on the new
 * communicator.
 *
 *  If `reorder` is true on all ranks, processes may get new ranks, so that little weight is between nodes: the process
 *  with rank i in the new communicator has the neighbours, in the order and with the weights, that rank i of `comm_old`
 * has given. MPI_UNWEIGHTED counts as 1 for each edge. Rank 0 needs memory for the whole graph meanwhile.
 */
LNW_PUBLIC int LNW_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                              const int* sourceweights, int outdegree, const int destinations[],
                                              const int* destweights, MPI_Info info, int reorder,
                                              MPI_Comm* comm_dist_graph);

/** What reordering has brought. Weights are sums over edges, as the destinations' arguments give them. */
typedef struct LNW_Reorder {
  MPI_Count weight;     /**< of all edges */
  MPI_Count cut_before; /**< of the edges between nodes, had every process kept its rank */
  MPI_Count cut_after;  /**< of the edges between nodes, with the new ranks; never more than before */
  int moved;            /**< processes whose rank has changed */
  int has_partitioner;  /**< false: the library was built without Scotch, and keeps the order */
} LNW_Reorder;

/** Local. `comm` was returned by LNW_Dist_graph_create_adjacent with `reorder`; of any other communicator (also a
 *  duplicate) `*report` is all zero, and the call fails with MPI_ERR_TOPOLOGY. `size` is how much of the structure the
 *  caller knows, sizeof(LNW_Reorder), as for LNW_Request_get_statistics_sized. */
LNW_PUBLIC int LNW_Comm_get_reorder_sized(MPI_Comm comm, size_t size, LNW_Reorder* report);
/** The same. The function of this name fills the members up to `has_partitioner`. */
LNW_PUBLIC int LNW_Comm_get_reorder(MPI_Comm comm, LNW_Reorder* report);
#define LNW_Comm_get_reorder(comm, report) LNW_Comm_get_reorder_sized(comm, sizeof(LNW_Reorder), report)

/** @name Topology objects
 *  An operation with the suffix `_topology` takes such an object in place of a communicator; its ranks are those of the
 * communicator that the object was made from. Errors go to the error handler which that communicator had then.
 *  @{ */
/** As MPI_Dist_graph_create_adjacent, but makes no communicator, and takes no notice of weights. Collective over
 *  `comm`, and synchronising. Hints in `info` hold for all operations on the topology. */
LNW_PUBLIC int LNW_Topology_create(MPI_Comm comm, int indegree, const int sources[], const int* sourceweights,
                                   int outdegree, const int destinations[], const int* destweights, MPI_Info info,
                                   LNW_Topology* topology);
/** The topology, and the hints, of a distributed-graph, graph or Cartesian communicator. Collective, and synchronising.
 */
LNW_PUBLIC int LNW_Topology_from_comm(MPI_Comm comm, LNW_Topology* topology);
/** The neighborhoods, and the hints, of `topology` among those of its ranks that `comm` has: all that are left after
 *  one has died (MPIX_Comm_shrink), or any others of them, in any order. What is with ranks that are gone is with
 *  MPI_PROC_NULL: neighbours keep their positions, so that counts, displacements, indices and buffers of operations
 * stay as they are, nothing is sent for such a position and its part of the receive buffer is not written. Hints that
 *  describe ranks, as lnw_machine does, are of the ranks of `comm`. Collective over `comm`, and synchronising; the old
 *  communicator may be revoked or freed, and is not communicated on. MPI_ERR_TOPOLOGY if the two sides of an edge
 *  differ, on all ranks of `comm`. MPI_ERR_COMM if `comm` has a process that the topology's communicator has not, at
 * once and on this rank alone. Ranks that give other communicators otherwise wait for each other, as in calls of MPI.
 */
LNW_PUBLIC int LNW_Topology_shrink(LNW_Topology topology, MPI_Comm comm, LNW_Topology* shrunken);
/** The same of a communicator `comm_old` with a topology, as LNW_Topology_from_comm takes it. */
LNW_PUBLIC int LNW_Topology_shrink_comm(MPI_Comm comm_old, MPI_Comm comm, LNW_Topology* shrunken);
/** Numbers of neighbours as the operations see them, also those that are MPI_PROC_NULL. Local. */
LNW_PUBLIC int LNW_Topology_get_neighbors_count(LNW_Topology topology, int* indegree, int* outdegree);
/** The first `maxindegree` sources and `maxoutdegree` destinations, in the order of the blocks in the buffers. Local.
 */
LNW_PUBLIC int LNW_Topology_get_neighbors(LNW_Topology topology, int maxindegree, int sources[], int maxoutdegree,
                                          int destinations[]);
/** Local. Requests made on the topology live on. */
LNW_PUBLIC int LNW_Topology_free(LNW_Topology* topology);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
