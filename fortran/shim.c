/* What stands between the module's interfaces and the C API: handles, buffers, and constants known by address. */
#include <ISO_Fortran_binding.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "laneway/laneway.h"

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "INTEGER must be C's int");

static struct {
  const void *bottom, *in_place, *unweighted, *weights_empty, *status_ignore, *statuses_ignore;
  int status_size;
} sentinels;

void lnwf_find_sentinels(void);

void lnwf_set_sentinels(const CFI_cdesc_t* bottom, const CFI_cdesc_t* in_place, const CFI_cdesc_t* unweighted,
                        const CFI_cdesc_t* weights_empty, const CFI_cdesc_t* status_ignore,
                        const CFI_cdesc_t* statuses_ignore, int status_size) {
  sentinels.bottom = bottom->base_addr;
  sentinels.in_place = in_place->base_addr;
  sentinels.unweighted = unweighted->base_addr;
  sentinels.weights_empty = weights_empty->base_addr;
  sentinels.status_ignore = status_ignore->base_addr;
  sentinels.statuses_ignore = statuses_ignore->base_addr;
  sentinels.status_size = status_size;
}

static void find_sentinels(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, lnwf_find_sentinels);
}

static int is_contiguous(const CFI_cdesc_t* array) {
  CFI_index_t bytes = (CFI_index_t)array->elem_len;
  int adjacent = 1;
  for (int i = 0; i < array->rank; ++i) {
    const CFI_index_t extent = array->dim[i].extent;
    if (extent == 0) return 1;
    if (extent != 1 && array->dim[i].sm != bytes) adjacent = 0;
    bytes *= extent;
  }
  return adjacent;
}

static void* buffer(const CFI_cdesc_t* array) {
  find_sentinels();
  if (array->base_addr == sentinels.bottom) return MPI_BOTTOM;
  if (array->base_addr == sentinels.in_place) return MPI_IN_PLACE;
  return is_contiguous(array) ? array->base_addr : LNW_NOT_CONTIGUOUS;
}

static const int* weights(const MPI_Fint array[]) {
  find_sentinels();
  if (array == sentinels.unweighted) return MPI_UNWEIGHTED;
  if (array == sentinels.weights_empty) return MPI_WEIGHTS_EMPTY;
  return array;
}

static void finish(int code, MPI_Fint* ierror) {
  if (ierror != NULL) *ierror = code;
}

static void degrees(MPI_Comm comm, int* indegree, int* outdegree) {
  int kind = MPI_UNDEFINED, rank, weighted;
  *indegree = *outdegree = 0;
  if (comm == MPI_COMM_NULL || MPI_Topo_test(comm, &kind) != MPI_SUCCESS) return;
  if (kind == MPI_DIST_GRAPH) {
    MPI_Dist_graph_neighbors_count(comm, indegree, outdegree, &weighted);
  } else if (kind == MPI_CART) {
    MPI_Cartdim_get(comm, indegree);
    *indegree *= 2;
    *outdegree = *indegree;
  } else if (kind == MPI_GRAPH) {
    MPI_Comm_rank(comm, &rank);
    MPI_Graph_neighbors_count(comm, rank, indegree);
    *outdegree = *indegree;
  }
}

static MPI_Datatype* c_types(int count, const MPI_Fint types[]) {
  MPI_Datatype* converted = malloc(((size_t)count + 1) * sizeof *converted);
  for (int i = 0; converted != NULL && i < count; ++i) converted[i] = MPI_Type_f2c(types[i]);
  return converted;
}

/* The arguments of alltoallw whose length only the communicator knows. */
typedef struct {
  MPI_Comm comm;
  MPI_Datatype *send, *recv;
} Types;

static Types make_types(MPI_Fint comm, const MPI_Fint sendtypes[], const MPI_Fint recvtypes[]) {
  Types types = {MPI_Comm_f2c(comm), NULL, NULL};
  int indegree, outdegree;
  degrees(types.comm, &indegree, &outdegree);
  types.send = c_types(outdegree, sendtypes);
  types.recv = c_types(indegree, recvtypes);
  return types;
}

static void free_types(Types types) {
  free(types.send);
  free(types.recv);
}

void lnwf_get_version(MPI_Fint* major, MPI_Fint* minor, MPI_Fint* patch, MPI_Fint* ierror) {
  finish(LNW_Get_version(major, minor, patch), ierror);
}

void lnwf_dist_graph_create_adjacent(const MPI_Fint* comm_old, const MPI_Fint* indegree, const MPI_Fint sources[],
                                     const MPI_Fint sourceweights[], const MPI_Fint* outdegree,
                                     const MPI_Fint destinations[], const MPI_Fint destweights[], const MPI_Fint* info,
                                     int reorder, MPI_Fint* comm_dist_graph, MPI_Fint* ierror) {
  MPI_Comm created = MPI_COMM_NULL;
  const int code =
      LNW_Dist_graph_create_adjacent(MPI_Comm_f2c(*comm_old), *indegree, sources, weights(sourceweights), *outdegree,
                                     destinations, weights(destweights), MPI_Info_f2c(*info), reorder, &created);
  *comm_dist_graph = MPI_Comm_c2f(created);
  finish(code, ierror);
}

void lnwf_neighbor_allgather(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                             const CFI_cdesc_t* recvbuf, const MPI_Fint* recvcount, const MPI_Fint* recvtype,
                             const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(LNW_Neighbor_allgather(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm)),
         ierror);
}

void lnwf_neighbor_allgatherv(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                              const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[], const MPI_Fint displs[],
                              const MPI_Fint* recvtype, const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(LNW_Neighbor_allgatherv(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), recvcounts,
                                 displs, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm)),
         ierror);
}

void lnwf_neighbor_alltoall(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                            const CFI_cdesc_t* recvbuf, const MPI_Fint* recvcount, const MPI_Fint* recvtype,
                            const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(LNW_Neighbor_alltoall(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                               MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm)),
         ierror);
}

void lnwf_neighbor_alltoallv(const CFI_cdesc_t* sendbuf, const MPI_Fint sendcounts[], const MPI_Fint sdispls[],
                             const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[],
                             const MPI_Fint rdispls[], const MPI_Fint* recvtype, const MPI_Fint* comm,
                             MPI_Fint* ierror) {
  finish(LNW_Neighbor_alltoallv(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                recvcounts, rdispls, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm)),
         ierror);
}

void lnwf_neighbor_alltoallw(const CFI_cdesc_t* sendbuf, const MPI_Fint sendcounts[], const MPI_Aint sdispls[],
                             const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[],
                             const MPI_Aint rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* comm,
                             MPI_Fint* ierror) {
  const Types types = make_types(*comm, sendtypes, recvtypes);
  const int code = LNW_Neighbor_alltoallw(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf), recvcounts,
                                          rdispls, types.recv, types.comm);
  free_types(types);
  finish(code, ierror);
}

void lnwf_neighbor_allgather_init(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                                  const CFI_cdesc_t* recvbuf, const MPI_Fint* recvcount, const MPI_Fint* recvtype,
                                  const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Neighbor_allgather_init(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                     MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void lnwf_neighbor_allgatherv_init(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                                   const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[], const MPI_Fint displs[],
                                   const MPI_Fint* recvtype, const MPI_Fint* comm, const MPI_Fint* info,
                                   LNW_Request* request, MPI_Fint* ierror) {
  finish(
      LNW_Neighbor_allgatherv_init(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), recvcounts,
                                   displs, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
      ierror);
}

void lnwf_neighbor_alltoall_init(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                                 const CFI_cdesc_t* recvbuf, const MPI_Fint* recvcount, const MPI_Fint* recvtype,
                                 const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Neighbor_alltoall_init(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                    MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void lnwf_neighbor_alltoallv_init(const CFI_cdesc_t* sendbuf, const MPI_Fint sendcounts[], const MPI_Fint sdispls[],
                                  const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[],
                                  const MPI_Fint rdispls[], const MPI_Fint* recvtype, const MPI_Fint* comm,
                                  const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Neighbor_alltoallv_init(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                     recvcounts, rdispls, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm),
                                     MPI_Info_f2c(*info), request),
         ierror);
}

void lnwf_neighbor_alltoallw_init(const CFI_cdesc_t* sendbuf, const MPI_Fint sendcounts[], const MPI_Aint sdispls[],
                                  const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[],
                                  const MPI_Aint rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* comm,
                                  const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  const Types types = make_types(*comm, sendtypes, recvtypes);
  const int code =
      LNW_Neighbor_alltoallw_init(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf), recvcounts,
                                  rdispls, types.recv, types.comm, MPI_Info_f2c(*info), request);
  free_types(types);
  finish(code, ierror);
}

void lnwf_neighbor_alltoallv_init_indexed(const CFI_cdesc_t* sendbuf, const MPI_Count* sendsize,
                                          const MPI_Fint sendcounts[], const MPI_Count sendindices[],
                                          const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf,
                                          const MPI_Count* recvsize, const MPI_Fint recvcounts[],
                                          const MPI_Count recvindices[], const MPI_Fint* recvtype, const MPI_Fint* comm,
                                          const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Neighbor_alltoallv_init_indexed(
             buffer(sendbuf), *sendsize, sendcounts, sendindices, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvsize,
             recvcounts, recvindices, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void lnwf_start(LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Start(request), ierror);
}

void lnwf_startall(const MPI_Fint* count, LNW_Request array_of_requests[], MPI_Fint* ierror) {
  finish(LNW_Startall(*count, array_of_requests), ierror);
}

void lnwf_test(LNW_Request* request, int* flag, MPI_Fint status[], MPI_Fint* ierror) {
  find_sentinels();
  const int ignored = status == sentinels.status_ignore;
  MPI_Status completed;
  *flag = 0;
  const int code = LNW_Test(request, flag, ignored ? MPI_STATUS_IGNORE : &completed);
  if (code == MPI_SUCCESS && *flag && !ignored) MPI_Status_c2f(&completed, status);
  finish(code, ierror);
}

void lnwf_wait(LNW_Request* request, MPI_Fint status[], MPI_Fint* ierror) {
  find_sentinels();
  const int ignored = status == sentinels.status_ignore;
  MPI_Status completed;
  const int code = LNW_Wait(request, ignored ? MPI_STATUS_IGNORE : &completed);
  if (code == MPI_SUCCESS && !ignored) MPI_Status_c2f(&completed, status);
  finish(code, ierror);
}

void lnwf_waitall(const MPI_Fint* count, LNW_Request array_of_requests[], MPI_Fint array_of_statuses[],
                  MPI_Fint* ierror) {
  find_sentinels();
  const int code = LNW_Waitall(*count, array_of_requests, MPI_STATUSES_IGNORE);
  if (code == MPI_SUCCESS && array_of_statuses != sentinels.statuses_ignore) {
    LNW_Request none = LNW_REQUEST_NULL;
    MPI_Status empty;
    LNW_Wait(&none, &empty);
    for (int i = 0; i < *count; ++i)
      MPI_Status_c2f(&empty, array_of_statuses + (size_t)i * (size_t)sentinels.status_size);
  }
  finish(code, ierror);
}

void lnwf_request_free(LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Request_free(request), ierror);
}

void lnwf_request_set_buffers(const LNW_Request* request, const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf,
                              MPI_Fint* ierror) {
  finish(LNW_Request_set_buffers(*request, buffer(sendbuf), buffer(recvbuf)), ierror);
}

void lnwf_request_get_statistics(const LNW_Request* request, LNW_Request_statistics* statistics, MPI_Fint* ierror) {
  finish(LNW_Request_get_statistics(*request, statistics), ierror);
}

void lnwf_request_get_strategy(const LNW_Request* request, const char** name, MPI_Count* length, MPI_Fint* ierror) {
  const int code = LNW_Request_get_strategy(*request, name);
  *length = code == MPI_SUCCESS ? (MPI_Count)strlen(*name) : 0;
  finish(code, ierror);
}

void lnwf_request_get_plan(const LNW_Request* request, char* text, MPI_Count size, MPI_Count* length,
                           MPI_Fint* ierror) {
  finish(LNW_Request_get_plan(*request, text, size, length), ierror);
}

#ifdef LANEWAY_HAS_INEIGHBOR
void lnwf_ineighbor_allgather(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                              const CFI_cdesc_t* recvbuf, const MPI_Fint* recvcount, const MPI_Fint* recvtype,
                              const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Ineighbor_allgather(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                 MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), request),
         ierror);
}

void lnwf_ineighbor_allgatherv(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                               const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[], const MPI_Fint displs[],
                               const MPI_Fint* recvtype, const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Ineighbor_allgatherv(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), recvcounts,
                                  displs, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), request),
         ierror);
}

void lnwf_ineighbor_alltoall(const CFI_cdesc_t* sendbuf, const MPI_Fint* sendcount, const MPI_Fint* sendtype,
                             const CFI_cdesc_t* recvbuf, const MPI_Fint* recvcount, const MPI_Fint* recvtype,
                             const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Ineighbor_alltoall(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), request),
         ierror);
}

void lnwf_ineighbor_alltoallv(const CFI_cdesc_t* sendbuf, const MPI_Fint sendcounts[], const MPI_Fint sdispls[],
                              const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[],
                              const MPI_Fint rdispls[], const MPI_Fint* recvtype, const MPI_Fint* comm,
                              LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Ineighbor_alltoallv(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                 recvcounts, rdispls, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), request),
         ierror);
}

void lnwf_ineighbor_alltoallw(const CFI_cdesc_t* sendbuf, const MPI_Fint sendcounts[], const MPI_Aint sdispls[],
                              const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const MPI_Fint recvcounts[],
                              const MPI_Aint rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* comm,
                              LNW_Request* request, MPI_Fint* ierror) {
  const Types types = make_types(*comm, sendtypes, recvtypes);
  const int code = LNW_Ineighbor_alltoallw(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf),
                                           recvcounts, rdispls, types.recv, types.comm, request);
  free_types(types);
  finish(code, ierror);
}
#endif

#ifdef LANEWAY_HAS_TOPOLOGY
void lnwf_topology_create(const MPI_Fint* comm, const MPI_Fint* indegree, const MPI_Fint sources[],
                          const MPI_Fint sourceweights[], const MPI_Fint* outdegree, const MPI_Fint destinations[],
                          const MPI_Fint destweights[], const MPI_Fint* info, LNW_Topology* topology,
                          MPI_Fint* ierror) {
  finish(LNW_Topology_create(MPI_Comm_f2c(*comm), *indegree, sources, weights(sourceweights), *outdegree, destinations,
                             weights(destweights), MPI_Info_f2c(*info), topology),
         ierror);
}

void lnwf_topology_from_comm(const MPI_Fint* comm, LNW_Topology* topology, MPI_Fint* ierror) {
  finish(LNW_Topology_from_comm(MPI_Comm_f2c(*comm), topology), ierror);
}

void lnwf_topology_free(LNW_Topology* topology, MPI_Fint* ierror) {
  finish(LNW_Topology_free(topology), ierror);
}
#endif
