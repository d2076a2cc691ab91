/** MPI Advance's names over Laneway: programs written for its locality_aware.h (`MPIL_`), or for the generations before
 *  (`MPIX_`), compile with this header in its place. Objects, topologies, neighborhood alltoallv, dense operations and
 *  the `crs` calls; not in laneway.h. Where no setter has named an algorithm, Laneway chooses one. A setter gives the
 *  hint that is closest to what calls do next. A blocking call that a setter is for plans in each call. */
#ifndef LANEWAY_MPI_ADVANCE_H
#define LANEWAY_MPI_ADVANCE_H

#include <laneway/laneway.h>
#include <laneway/mpi_advance_objects.h>
#include <laneway/mpi_advance_setters.h>
#include <limits.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline int MPIL_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                          MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                          const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  if (lnw_ma_hint(lnw_ma_neighbor) == NULL)
    return LNW_Neighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                                  comm->neighbor_comm);
  int code = lnw_ma_hints(NULL, comm, lnw_ma_neighbor, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                                       comm->neighbor_comm, hints, &made);
  return lnw_ma_run(&hints, code, &made);
}

static inline int MPIL_Neighbor_alltoallv_topo(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                               MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                               const int rdispls[], MPI_Datatype recvtype, MPIL_Topo* topo,
                                               MPIL_Comm* comm) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_topology(topo, comm);
  if (code != MPI_SUCCESS) return code;
  if (lnw_ma_hint(lnw_ma_neighbor) == NULL)
    return LNW_Neighbor_alltoallv_topology(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                           recvtype, topo->topology);
  code = lnw_ma_hints(NULL, comm, lnw_ma_neighbor, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Neighbor_alltoallv_init_topology(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                                recvtype, topo->topology, hints, &made);
  return lnw_ma_run(&hints, code, &made);
}

static inline int MPIL_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                               MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                               const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm,
                                               MPIL_Info* info, MPIL_Request** request) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_neighbor_init, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                                       comm->neighbor_comm, hints, &made);
  return lnw_ma_keep_with(&hints, code, made, request);
}

static inline int MPIL_Neighbor_alltoallv_init_topo(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                    const int rdispls[], MPI_Datatype recvtype, MPIL_Topo* topo,
                                                    MPIL_Comm* comm, MPIL_Info* info, MPIL_Request** request) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_topology(topo, comm);
  if (code == MPI_SUCCESS) code = lnw_ma_hints(info, comm, lnw_ma_neighbor_init, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Neighbor_alltoallv_init_topology(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                                recvtype, topo->topology, hints, &made);
  return lnw_ma_keep_with(&hints, code, made, request);
}

/* An element of a send buffer: its number in the whole problem, and its place. */
typedef struct {
  long number;
  MPI_Count place;
  size_t at; /* in the list */
} lnw_ma_element;

static inline int lnw_ma_compare(const void* a, const void* b) {
  const lnw_ma_element* const x = (const lnw_ma_element*)a;
  const lnw_ma_element* const y = (const lnw_ma_element*)b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

/* The places of all elements, list after list. Those with a number that came before have the place of the first one, so
 * that Laneway sends it once to a node. `size` is how long the buffer is. */
static inline MPI_Count* lnw_ma_places(int degree, const int counts[], const int displacements[], const long numbers[],
                                       MPI_Count* size) {
  size_t all = 0;
  *size = 0;
  for (int i = 0; i < degree; ++i) all += (size_t)counts[i];
  MPI_Count* const places = (MPI_Count*)malloc((all + 1) * sizeof *places);
  lnw_ma_element* const elements = (lnw_ma_element*)malloc((all + 1) * sizeof *elements);
  size_t at = 0;
  for (int i = 0; places != NULL && elements != NULL && i < degree; ++i)
    for (int k = 0; k < counts[i]; ++k, ++at) {
      places[at] = (MPI_Count)displacements[i] + k;
      if (places[at] >= *size) *size = places[at] + 1;
      elements[at].number = numbers == NULL ? 0 : numbers[places[at]];
      elements[at].place = places[at];
      elements[at].at = at;
    }
  if (numbers != NULL && at > 0) {
    qsort(elements, at, sizeof *elements, lnw_ma_compare);
    for (size_t i = 1; i < at; ++i) {
      if (elements[i].number == elements[i - 1].number) elements[i].place = elements[i - 1].place;
      places[elements[i].at] = elements[i].place;
    }
  }
  free(elements);
  return places;
}

static inline int lnw_ma_init_ext(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                  const long global_sindices[], MPI_Datatype sendtype, void* recvbuf,
                                  const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                                  LNW_Topology topology, const MPIL_Comm* comm, MPIL_Info* info,
                                  MPIL_Request** request) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Count send_size = 0, receive_size = 0;
  int indegree = 0, outdegree = 0;
  MPI_Info hints = MPI_INFO_NULL;
  int code = LNW_Topology_get_neighbors_count(topology, &indegree, &outdegree);
  if (code == MPI_SUCCESS) code = lnw_ma_hints(info, comm, lnw_ma_neighbor_init, &hints);
  if (code != MPI_SUCCESS) return code;
  MPI_Count* const send = lnw_ma_places(outdegree, sendcounts, sdispls, global_sindices, &send_size);
  MPI_Count* const receive = lnw_ma_places(indegree, recvcounts, rdispls, NULL, &receive_size);
  code =
      LNW_Neighbor_alltoallv_init_indexed_topology(sendbuf, send_size, sendcounts, send, sendtype, recvbuf,
                                                   receive_size, recvcounts, receive, recvtype, topology, hints, &made);
  free(send);
  free(receive);
  return lnw_ma_keep_with(&hints, code, made, request);
}

/* `global_sindices[i]` is the number of element i of the send buffer; elements of one number have one value. */
static inline int MPIL_Neighbor_alltoallv_init_ext_topo(const void* sendbuf, const int sendcounts[],
                                                        const int sdispls[], const long global_sindices[],
                                                        MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                        const int rdispls[], const long global_rindices[],
                                                        MPI_Datatype recvtype, MPIL_Topo* topo, MPIL_Comm* comm,
                                                        MPIL_Info* info, MPIL_Request** request) {
  (void)global_rindices;
  const int code = lnw_ma_topology(topo, comm);
  return code != MPI_SUCCESS ? code
                             : lnw_ma_init_ext(sendbuf, sendcounts, sdispls, global_sindices, sendtype, recvbuf,
                                               recvcounts, rdispls, recvtype, topo->topology, comm, info, request);
}

static inline int MPIL_Neighbor_alltoallv_init_ext(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                   const long global_sindices[], MPI_Datatype sendtype, void* recvbuf,
                                                   const int recvcounts[], const int rdispls[],
                                                   const long global_rindices[], MPI_Datatype recvtype, MPIL_Comm* comm,
                                                   MPIL_Info* info, MPIL_Request** request) {
  (void)global_rindices;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  int code = LNW_Topology_from_comm(comm->neighbor_comm, &topology);
  if (code != MPI_SUCCESS) return code;
  code = lnw_ma_init_ext(sendbuf, sendcounts, sdispls, global_sindices, sendtype, recvbuf, recvcounts, rdispls,
                         recvtype, topology, comm, info, request);
  LNW_Topology_free(&topology);
  return code;
}

/* Outputs are freed by MPIL_Free. */
static inline int MPIL_Alloc(void** pointer, const int bytes) {
  *pointer = malloc((size_t)(bytes > 0 ? bytes : 0) + 1);
  return *pointer != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}
static inline int MPIL_Free(void* pointer) {
  free(pointer);
  return MPI_SUCCESS;
}

/* An error of this library's kind that MPI Advance's calls find themselves. */
static inline int lnw_ma_fail(MPI_Comm comm, int code) {
  MPI_Comm_call_errhandler(comm, code);
  return code;
}

/* Frees the outputs of a `crs` call that has failed. */
static inline int lnw_ma_drop(int code, int** sources, int** counts, int** displacements, void** values) {
  free(*sources);
  *sources = NULL;
  if (counts != NULL) {
    free(*counts);
    *counts = NULL;
  }
  if (displacements != NULL) {
    free(*displacements);
    *displacements = NULL;
  }
  free(*values);
  *values = NULL;
  return code;
}

/* What has arrived, as elements of `type`, in memory of its own; `counts` and `displacements` may be NULL. An error
 * where `type` has another size than what was sent, or an int does not count the elements; then there are no outputs,
 * and `*recv_nnz` and `*elements` are 0. */
static inline int lnw_ma_take(LNW_Arrivals arrivals, MPI_Comm comm, MPI_Datatype type, int* recv_nnz, int** sources,
                              int** counts, int** displacements, int* elements, void** values) {
  const int* ranks = NULL;
  const MPI_Count *arrived = NULL, *offsets = NULL;
  MPI_Aint lower = 0, extent = 0;
  int entries = 0, all = 0;
  *recv_nnz = *elements = 0;
  *sources = NULL;
  if (counts != NULL) *counts = NULL;
  if (displacements != NULL) *displacements = NULL;
  *values = NULL;
  int code = LNW_Arrivals_get_count(arrivals, &entries);
  if (code == MPI_SUCCESS) code = LNW_Arrivals_get_sources(arrivals, &ranks, &arrived, &offsets);
  if (code == MPI_SUCCESS && type != MPI_DATATYPE_NULL) code = MPI_Type_get_extent(type, &lower, &extent);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; i < entries; ++i) {
    if (arrived[i] > INT_MAX - all) return lnw_ma_fail(comm, MPI_ERR_COUNT);
    all += (int)arrived[i];
  }
  *sources = lnw_ma_copy(ranks, entries);
  if (counts != NULL) *counts = lnw_ma_copy(ranks, entries);
  if (displacements != NULL) *displacements = lnw_ma_copy(ranks, entries);
  *values = malloc((size_t)(extent > 0 ? extent : 0) * (size_t)all + 1);
  if (*values == NULL || *sources == NULL || (counts != NULL && *counts == NULL) ||
      (displacements != NULL && *displacements == NULL))
    return lnw_ma_drop(lnw_ma_fail(comm, MPI_ERR_NO_MEM), sources, counts, displacements, values);
  code = LNW_Arrivals_copy(arrivals, 0, NULL, NULL, NULL, *values, all, type);
  if (code != MPI_SUCCESS) return lnw_ma_drop(code, sources, counts, displacements, values);
  for (int i = 0; i < entries; ++i) {
    if (counts != NULL) (*counts)[i] = (int)arrived[i];
    if (displacements != NULL) (*displacements)[i] = (int)offsets[i];
  }
  *recv_nnz = entries;
  *elements = all;
  return MPI_SUCCESS;
}

/* `recvcount` elements of `recvtype` from each source: as many as `sendcount`, of the same size as `sendtype`. */
static inline int MPIL_Alltoall_crs(const int send_nnz, const int* dest, const int sendcount, MPI_Datatype sendtype,
                                    const void* sendvals, int* recv_nnz, int** src_ptr, int recvcount,
                                    MPI_Datatype recvtype, void** recvvals_ptr, MPIL_Info* info, MPIL_Comm* comm) {
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  int elements = 0;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_alltoall_crs, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Sparse_alltoall(send_nnz, dest, sendvals, sendcount, sendtype, comm->global_comm, hints, &arrivals);
  if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
  if (code != MPI_SUCCESS) return code;
  code = lnw_ma_take(arrivals, comm->global_comm, recvtype, recv_nnz, src_ptr, NULL, NULL, &elements, recvvals_ptr);
  LNW_Arrivals_free(&arrivals);
  if (code == MPI_SUCCESS && recvcount != sendcount) {
    *recv_nnz = 0;
    code = lnw_ma_drop(lnw_ma_fail(comm->global_comm, recvcount < sendcount ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT),
                       src_ptr, NULL, NULL, recvvals_ptr);
  }
  return code;
}

static inline int MPIL_Alltoallv_crs(const int send_nnz, const int send_size, const int* dest, const int* sendcounts,
                                     const int* sdispls, MPI_Datatype sendtype, const void* sendvals, int* recv_nnz,
                                     int* recv_size, int** src_ptr, int** recvcounts_ptr, int** rdispls_ptr,
                                     MPI_Datatype recvtype, void** recvvals_ptr, MPIL_Info* info, MPIL_Comm* comm) {
  (void)send_size;
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_alltoallv_crs, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Sparse_alltoallv(send_nnz, dest, sendvals, sendcounts, sdispls, sendtype, comm->global_comm, hints,
                                &arrivals);
  if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
  if (code != MPI_SUCCESS) return code;
  code = lnw_ma_take(arrivals, comm->global_comm, recvtype, recv_nnz, src_ptr, recvcounts_ptr, rdispls_ptr, recv_size,
                     recvvals_ptr);
  LNW_Arrivals_free(&arrivals);
  return code;
}

static inline int MPIL_Alltoall(const void* sendbuf, const int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                const int recvcount, MPI_Datatype recvtype, MPIL_Comm* comm) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  if (lnw_ma_hint(lnw_ma_alltoall) == NULL)
    return LNW_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->global_comm);
  int code = lnw_ma_hints(NULL, comm, lnw_ma_alltoall, &hints);
  if (code == MPI_SUCCESS)
    code =
        LNW_Alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->global_comm, hints, &made);
  return lnw_ma_run(&hints, code, &made);
}
static inline int MPIL_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                 MPI_Datatype recvtype, MPIL_Comm* comm) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  if (lnw_ma_hint(lnw_ma_alltoallv) == NULL)
    return LNW_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                         comm->global_comm);
  int code = lnw_ma_hints(NULL, comm, lnw_ma_alltoallv, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                              comm->global_comm, hints, &made);
  return lnw_ma_run(&hints, code, &made);
}
static inline int MPIL_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 int recvcount, MPI_Datatype recvtype, MPIL_Comm* comm) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  if (lnw_ma_hint(lnw_ma_allgather) == NULL)
    return LNW_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->global_comm);
  int code = lnw_ma_hints(NULL, comm, lnw_ma_allgather, &hints);
  if (code == MPI_SUCCESS)
    code =
        LNW_Allgather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->global_comm, hints, &made);
  return lnw_ma_run(&hints, code, &made);
}
static inline int MPIL_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                 MPIL_Comm* comm) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  if (lnw_ma_hint(lnw_ma_allreduce) == NULL)
    return LNW_Allreduce(sendbuf, recvbuf, count, datatype, op, comm->global_comm);
  int code = lnw_ma_hints(NULL, comm, lnw_ma_allreduce, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Allreduce_init(sendbuf, recvbuf, count, datatype, op, comm->global_comm, hints, &made);
  return lnw_ma_run(&hints, code, &made);
}

static inline int MPIL_Alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     int recvcount, MPI_Datatype recvtype, MPIL_Comm* comm, MPIL_Info* info,
                                     MPIL_Request** request) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_alltoall_init, &hints);
  if (code == MPI_SUCCESS)
    code =
        LNW_Alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->global_comm, hints, &made);
  return lnw_ma_keep_with(&hints, code, made, request);
}
static inline int MPIL_Alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                      MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                      MPI_Datatype recvtype, MPIL_Comm* comm, MPIL_Info* info, MPIL_Request** request) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_alltoallv_init, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                              comm->global_comm, hints, &made);
  return lnw_ma_keep_with(&hints, code, made, request);
}
static inline int MPIL_Allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      int recvcount, MPI_Datatype recvtype, MPIL_Comm* comm, MPIL_Info* info,
                                      MPIL_Request** request) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_allgather_init, &hints);
  if (code == MPI_SUCCESS)
    code =
        LNW_Allgather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->global_comm, hints, &made);
  return lnw_ma_keep_with(&hints, code, made, request);
}
static inline int MPIL_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                      MPIL_Comm* comm, MPIL_Info* info, MPIL_Request** request) {
  LNW_Request made = LNW_REQUEST_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_allreduce_init, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Allreduce_init(sendbuf, recvbuf, count, datatype, op, comm->global_comm, hints, &made);
  return lnw_ma_keep_with(&hints, code, made, request);
}

#ifdef __cplusplus
}
#endif

#include <laneway/mpi_advance_names.h> /* of what is above */

#endif
