/** MPI Advance's names over Laneway: programs written for its locality_aware.h (`MPIL_`), or for the generations before
 *  (`MPIX_`), compile with this header in its place. Objects, topologies, neighborhood alltoallv, dense operations and
 *  the `crs` calls; not in laneway.h. Where no setter has named an algorithm, Laneway chooses one. A setter gives the
 *  hint that is closest to what calls with an MPIL_Info and the `crs` calls do next; blocking calls choose always. */
#ifndef LANEWAY_MPI_ADVANCE_H
#define LANEWAY_MPI_ADVANCE_H

#include <laneway/laneway.h>
#include <laneway/mpi_advance_setters.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MPIL_Comm {
  MPI_Comm global_comm;
  MPI_Comm neighbor_comm; /* MPI_COMM_NULL without a topology */
  int ranks_per_node;     /* 0: nodes are as Laneway finds them */
  int next_tag;
} MPIL_Comm;
/* Of MPI_COMM_WORLD, unless MPIL_Init names another one. */
LNW_MA_SHARED MPIL_Comm lnw_ma_world = {MPI_COMM_WORLD, MPI_COMM_NULL, 0, 0};
LNW_MA_SHARED MPIL_Comm* MPIL_COMM_WORLD = &lnw_ma_world;
typedef struct MPIL_Info {
  MPI_Info info; /* hints of Laneway's may be set in it */
} MPIL_Info;
/* Lists of neighbours; what Laneway knows of them is made with the first communicator that they are used on. */
typedef struct MPIL_Topo {
  int indegree, outdegree;
  int *sources, *destinations;
  LNW_Topology topology;
} MPIL_Topo;
typedef struct MPIL_Request {
  LNW_Request request;
} MPIL_Request;

static inline int MPIL_Comm_init(MPIL_Comm** comm, MPI_Comm global_comm) {
  *comm = (MPIL_Comm*)malloc(sizeof **comm);
  if (*comm == NULL) return MPI_ERR_NO_MEM;
  (*comm)->global_comm = global_comm;
  (*comm)->neighbor_comm = MPI_COMM_NULL;
  (*comm)->ranks_per_node = 0;
  (*comm)->next_tag = 0;
  return MPI_SUCCESS;
}

static inline int MPIL_Comm_free(MPIL_Comm** comm) {
  int code = MPI_SUCCESS;
  if (*comm == NULL) return code;
  if ((*comm)->neighbor_comm != MPI_COMM_NULL) code = MPI_Comm_free(&(*comm)->neighbor_comm);
  if (*comm != &lnw_ma_world) free(*comm);
  *comm = NULL;
  return code;
}

/* Nodes of so many ranks that follow each other, in the calls with an MPIL_Info that come; 0: as Laneway finds them.
 * MPIL_COMM_WORLD stays as it is. */
static inline int MPIL_Comm_update_locality(MPIL_Comm* comm, int ppn) {
  if (comm == MPIL_COMM_WORLD || ppn < 0) return MPI_ERR_ARG;
  comm->ranks_per_node = ppn;
  return MPI_SUCCESS;
}
/* A tag that no call before this one has given for `comm`, until they are used up and come again. */
static inline int MPIL_Comm_tag(MPIL_Comm* comm, int* tag) {
  *tag = comm->next_tag;
  comm->next_tag = comm->next_tag < 32767 ? comm->next_tag + 1 : 0;
  return MPI_SUCCESS;
}

/* Laneway finds nodes by itself. */
static inline int MPIL_Comm_topo_init(MPIL_Comm* comm) {
  (void)comm;
  return MPI_SUCCESS;
}
static inline int MPIL_Comm_topo_free(MPIL_Comm* comm) {
  (void)comm;
  return MPI_SUCCESS;
}

static inline int MPIL_Info_init(MPIL_Info** info) {
  *info = (MPIL_Info*)malloc(sizeof **info);
  if (*info == NULL) return MPI_ERR_NO_MEM;
  (*info)->info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

static inline int MPIL_Info_free(MPIL_Info** info) {
  int code = MPI_SUCCESS;
  if (*info == NULL) return code;
  if ((*info)->info != MPI_INFO_NULL) code = MPI_Info_free(&(*info)->info);
  free(*info);
  *info = NULL;
  return code;
}

static inline MPI_Info lnw_ma_info(const MPIL_Info* info) {
  return info == NULL ? MPI_INFO_NULL : info->info;
}

/* Sets a hint that `hints` does not have; they are made where there are none. */
static inline int lnw_ma_add_hint(MPI_Info* hints, const char* key, const char* hint) {
  char value[MPI_MAX_INFO_VAL + 1];
  int given = 0;
  int code = MPI_SUCCESS;
  if (*hints == MPI_INFO_NULL) code = MPI_Info_create(hints);
  if (code == MPI_SUCCESS) code = MPI_Info_get(*hints, (char*)key, MPI_MAX_INFO_VAL, value, &given);
  if (code == MPI_SUCCESS && !given) code = MPI_Info_set(*hints, (char*)key, (char*)hint);
  return code;
}

/* The machine of MPIL_Comm_update_locality: nodes of equally many ranks, and what is left on a last one. */
static inline int lnw_ma_add_machine(MPI_Info* hints, const MPIL_Comm* comm) {
  char machine[MPI_MAX_INFO_VAL + 1];
  int ranks = 0;
  int code = MPI_Comm_size(comm->global_comm, &ranks);
  if (code != MPI_SUCCESS) return code;
  const int each = comm->ranks_per_node;
  if (ranks % each == 0) {
    snprintf(machine, sizeof machine, "node:%d rank:%d", ranks / each, each);
  } else {
    size_t length = (size_t)snprintf(machine, sizeof machine, "ranks:");
    for (int first = 0; first < ranks && length < sizeof machine; first += each)
      length += (size_t)snprintf(machine + length, sizeof machine - length, first == 0 ? "%d" : ",%d",
                                 ranks - first < each ? ranks - first : each);
    if (length >= sizeof machine) return MPI_ERR_ARG;
  }
  return lnw_ma_add_hint(hints, "lnw_machine", machine);
}

/* The hints of `info`, and those of the setter and of `comm` where `info` has none of their kind; freed by the caller
 * if not null. */
static inline int lnw_ma_hints(const MPIL_Info* info, const MPIL_Comm* comm, enum lnw_ma_setter setter,
                               MPI_Info* hints) {
  const char* const key = setter == lnw_ma_neighbor_init  ? "lnw_strategy"
                          : setter >= lnw_ma_alltoall_crs ? "lnw_find"
                                                          : "lnw_collective";
  const char* const hint = lnw_ma_hint(setter);
  int code = MPI_SUCCESS;
  *hints = MPI_INFO_NULL;
  if (lnw_ma_info(info) != MPI_INFO_NULL) code = MPI_Info_dup(info->info, hints);
  if (code == MPI_SUCCESS && hint != NULL) code = lnw_ma_add_hint(hints, key, hint);
  if (code == MPI_SUCCESS && comm->ranks_per_node > 0) code = lnw_ma_add_machine(hints, comm);
  return code;
}

static inline int* lnw_ma_copy(const int* ranks, int count) {
  int* const copy = (int*)malloc(((size_t)(count > 0 ? count : 0) + 1) * sizeof *copy);
  if (copy != NULL && count > 0) memcpy(copy, ranks, (size_t)count * sizeof *copy);
  return copy;
}

/* Weights change nothing. */
static inline int MPIL_Topo_init(int indegree, const int sources[], const int sourceweights[], int outdegree,
                                 const int destinations[], const int destweights[], MPIL_Info* info, MPIL_Topo** topo) {
  (void)sourceweights;
  (void)destweights;
  (void)info;
  *topo = (MPIL_Topo*)calloc(1, sizeof **topo);
  if (*topo == NULL) return MPI_ERR_NO_MEM;
  (*topo)->indegree = indegree;
  (*topo)->outdegree = outdegree;
  (*topo)->sources = lnw_ma_copy(sources, indegree);
  (*topo)->destinations = lnw_ma_copy(destinations, outdegree);
  return (*topo)->sources != NULL && (*topo)->destinations != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static inline int MPIL_Topo_from_neighbor_comm(MPIL_Comm* comm, MPIL_Topo** topo) {
  int indegree = 0, outdegree = 0, weighted = 0;
  int code = MPI_Dist_graph_neighbors_count(comm->neighbor_comm, &indegree, &outdegree, &weighted);
  if (code != MPI_SUCCESS) return code;
  int* const ranks = (int*)malloc(((size_t)indegree + (size_t)outdegree + 1) * 2 * sizeof *ranks);
  if (ranks == NULL) return MPI_ERR_NO_MEM;
  int* const weights = ranks + indegree + outdegree;
  code = MPI_Dist_graph_neighbors(comm->neighbor_comm, indegree, ranks, weights, outdegree, ranks + indegree,
                                  weights + indegree);
  if (code == MPI_SUCCESS) code = MPIL_Topo_init(indegree, ranks, NULL, outdegree, ranks + indegree, NULL, NULL, topo);
  free(ranks);
  return code;
}

static inline int MPIL_Topo_free(MPIL_Topo** topo) {
  int code = MPI_SUCCESS;
  if (*topo == NULL) return code;
  if ((*topo)->topology != LNW_TOPOLOGY_NULL) code = LNW_Topology_free(&(*topo)->topology);
  free((*topo)->sources);
  free((*topo)->destinations);
  free(*topo);
  *topo = NULL;
  return code;
}

static inline int lnw_ma_topology(MPIL_Topo* topo, MPIL_Comm* comm) {
  if (topo->topology != LNW_TOPOLOGY_NULL) return MPI_SUCCESS;
  return LNW_Topology_create(comm->global_comm, topo->indegree, topo->sources, MPI_UNWEIGHTED, topo->outdegree,
                             topo->destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, &topo->topology);
}

static inline int MPIL_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                                  const int sourceweights[], int outdegree, const int destinations[],
                                                  const int destweights[], MPIL_Info* info, int reorder,
                                                  MPIL_Comm** comm) {
  int code = MPIL_Comm_init(comm, comm_old);
  if (code == MPI_SUCCESS)
    code = LNW_Dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights, outdegree, destinations,
                                          destweights, lnw_ma_info(info), reorder, &(*comm)->neighbor_comm);
  return code;
}

/* A request in its object, or none. */
static inline int lnw_ma_keep(int code, LNW_Request made, MPIL_Request** request) {
  if (code != MPI_SUCCESS) return code;
  *request = (MPIL_Request*)malloc(sizeof **request);
  if (*request == NULL) return MPI_ERR_NO_MEM;
  (*request)->request = made;
  return MPI_SUCCESS;
}

/* Frees the hints, and keeps the request. */
static inline int lnw_ma_keep_with(MPI_Info* hints, int code, LNW_Request made, MPIL_Request** request) {
  if (*hints != MPI_INFO_NULL) MPI_Info_free(hints);
  return lnw_ma_keep(code, made, request);
}

static inline int MPIL_Start(MPIL_Request* request) {
  return LNW_Start(&request->request);
}
static inline int MPIL_Wait(MPIL_Request* request, MPI_Status* status) {
  return LNW_Wait(&request->request, status == NULL ? MPI_STATUS_IGNORE : status);
}
static inline int MPIL_Request_free(MPIL_Request** request) {
  int code = MPI_SUCCESS;
  if (*request == NULL) return code;
  code = LNW_Request_free(&(*request)->request);
  free(*request);
  *request = NULL;
  return code;
}

static inline int MPIL_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                          MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                          const int rdispls[], MPI_Datatype recvtype, MPIL_Comm* comm) {
  return LNW_Neighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                                comm->neighbor_comm);
}

static inline int MPIL_Neighbor_alltoallv_topo(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                               MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                               const int rdispls[], MPI_Datatype recvtype, MPIL_Topo* topo,
                                               MPIL_Comm* comm) {
  const int code = lnw_ma_topology(topo, comm);
  return code != MPI_SUCCESS ? code
                             : LNW_Neighbor_alltoallv_topology(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                               recvcounts, rdispls, recvtype, topo->topology);
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

/* What has arrived, in memory of its own; `counts` and `displacements` may be NULL. */
static inline int lnw_ma_take(LNW_Arrivals arrivals, int* recv_nnz, int** sources, int** counts, int** displacements,
                              int* elements, void** values) {
  const int* ranks = NULL;
  const MPI_Count *arrived = NULL, *offsets = NULL;
  void* data = NULL;
  MPI_Count bytes = 0;
  int code = LNW_Arrivals_get_count(arrivals, recv_nnz);
  if (code == MPI_SUCCESS) code = LNW_Arrivals_get_sources(arrivals, &ranks, &arrived, &offsets);
  if (code == MPI_SUCCESS) code = LNW_Arrivals_get_data(arrivals, &data, &bytes);
  if (code != MPI_SUCCESS) return code;
  *sources = lnw_ma_copy(ranks, *recv_nnz);
  if (counts != NULL) *counts = lnw_ma_copy(ranks, *recv_nnz);
  if (displacements != NULL) *displacements = lnw_ma_copy(ranks, *recv_nnz);
  *values = malloc((size_t)bytes + 1);
  if (*values == NULL || *sources == NULL) return MPI_ERR_NO_MEM;
  if (bytes > 0) memcpy(*values, data, (size_t)bytes);
  *elements = 0;
  for (int i = 0; i < *recv_nnz; ++i) {
    if (counts != NULL) (*counts)[i] = (int)arrived[i];
    if (displacements != NULL) (*displacements)[i] = (int)offsets[i];
    *elements += (int)arrived[i];
  }
  return MPI_SUCCESS;
}

static inline int MPIL_Alltoall_crs(const int send_nnz, const int* dest, const int sendcount, MPI_Datatype sendtype,
                                    const void* sendvals, int* recv_nnz, int** src_ptr, int recvcount,
                                    MPI_Datatype recvtype, void** recvvals_ptr, MPIL_Info* info, MPIL_Comm* comm) {
  (void)recvcount;
  (void)recvtype;
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  int elements = 0;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_alltoall_crs, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Sparse_alltoall(send_nnz, dest, sendvals, sendcount, sendtype, comm->global_comm, hints, &arrivals);
  if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
  if (code != MPI_SUCCESS) return code;
  code = lnw_ma_take(arrivals, recv_nnz, src_ptr, NULL, NULL, &elements, recvvals_ptr);
  LNW_Arrivals_free(&arrivals);
  return code;
}

static inline int MPIL_Alltoallv_crs(const int send_nnz, const int send_size, const int* dest, const int* sendcounts,
                                     const int* sdispls, MPI_Datatype sendtype, const void* sendvals, int* recv_nnz,
                                     int* recv_size, int** src_ptr, int** recvcounts_ptr, int** rdispls_ptr,
                                     MPI_Datatype recvtype, void** recvvals_ptr, MPIL_Info* info, MPIL_Comm* comm) {
  (void)send_size;
  (void)recvtype;
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  int code = lnw_ma_hints(info, comm, lnw_ma_alltoallv_crs, &hints);
  if (code == MPI_SUCCESS)
    code = LNW_Sparse_alltoallv(send_nnz, dest, sendvals, sendcounts, sdispls, sendtype, comm->global_comm, hints,
                                &arrivals);
  if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
  if (code != MPI_SUCCESS) return code;
  code = lnw_ma_take(arrivals, recv_nnz, src_ptr, recvcounts_ptr, rdispls_ptr, recv_size, recvvals_ptr);
  LNW_Arrivals_free(&arrivals);
  return code;
}

static inline int MPIL_Alltoall(const void* sendbuf, const int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                const int recvcount, MPI_Datatype recvtype, MPIL_Comm* comm) {
  return LNW_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->global_comm);
}
static inline int MPIL_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                 MPI_Datatype recvtype, MPIL_Comm* comm) {
  return LNW_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                       comm->global_comm);
}
static inline int MPIL_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 int recvcount, MPI_Datatype recvtype, MPIL_Comm* comm) {
  return LNW_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->global_comm);
}
static inline int MPIL_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                 MPIL_Comm* comm) {
  return LNW_Allreduce(sendbuf, recvbuf, count, datatype, op, comm->global_comm);
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

/* Laneway makes what these ask for by itself, where it is needed first. */
static inline int MPIL_Init(MPI_Comm comm) {
  lnw_ma_world.global_comm = comm;
  MPIL_COMM_WORLD = &lnw_ma_world;
  return MPI_SUCCESS;
}
static inline int MPIL_Finalize(void) {
  return MPI_SUCCESS;
}
static inline int MPIL_Comm_leader_init(MPIL_Comm* comm, int procs_per_leader) {
  (void)comm;
  (void)procs_per_leader;
  return MPI_SUCCESS;
}
static inline int MPIL_Comm_leader_free(MPIL_Comm* comm) {
  (void)comm;
  return MPI_SUCCESS;
}
static inline int MPIL_Comm_win_init(MPIL_Comm* comm, int bytes, int type_bytes) {
  (void)comm;
  (void)bytes;
  (void)type_bytes;
  return MPI_SUCCESS;
}
static inline int MPIL_Comm_win_free(MPIL_Comm* comm) {
  (void)comm;
  return MPI_SUCCESS;
}
static inline int MPIL_Comm_device_init(MPIL_Comm* comm) {
  (void)comm;
  return MPI_SUCCESS;
}
static inline int MPIL_Comm_device_free(MPIL_Comm* comm) {
  (void)comm;
  return MPI_SUCCESS;
}
static inline int MPIL_Comm_req_resize(MPIL_Comm* comm, int n) {
  (void)comm;
  (void)n;
  return MPI_SUCCESS;
}
static inline int MPIL_Request_reorder(MPIL_Request* request, int value) {
  (void)request;
  (void)value;
  return MPI_SUCCESS;
}

/* Requests need no windows: `lnw_collective=alltoallv:rma_fence` and `rma_lock` make theirs themselves. */
static inline int MPIL_Request_win_init(MPIL_Request* request, void* memory, int bytes, int type_bytes, MPI_Comm comm) {
  (void)request;
  (void)memory;
  (void)type_bytes;
  (void)comm;
  return bytes < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
}
static inline int MPIL_Request_win_free(MPIL_Request* request) {
  (void)request;
  return MPI_SUCCESS;
}

/* The generation before had the same names with another prefix. */
#define MPIX_Comm MPIL_Comm
#define MPIX_Info MPIL_Info
#define MPIX_Topo MPIL_Topo
#define MPIX_Request MPIL_Request
#define MPIX_Comm_init MPIL_Comm_init
#define MPIX_Comm_free MPIL_Comm_free
#define MPIX_Comm_topo_init MPIL_Comm_topo_init
#define MPIX_Comm_topo_free MPIL_Comm_topo_free
#define MPIX_Info_init MPIL_Info_init
#define MPIX_Info_free MPIL_Info_free
#define MPIX_Topo_init MPIL_Topo_init
#define MPIX_Topo_from_neighbor_comm MPIL_Topo_from_neighbor_comm
#define MPIX_Topo_free MPIL_Topo_free
#define MPIX_Dist_graph_create_adjacent MPIL_Dist_graph_create_adjacent
#define MPIX_Start MPIL_Start
#define MPIX_Wait MPIL_Wait
#define MPIX_Request_free MPIL_Request_free
#define MPIX_Neighbor_alltoallv MPIL_Neighbor_alltoallv
#define MPIX_Neighbor_alltoallv_topo MPIL_Neighbor_alltoallv_topo
#define MPIX_Neighbor_alltoallv_init MPIL_Neighbor_alltoallv_init
#define MPIX_Neighbor_alltoallv_init_topo MPIL_Neighbor_alltoallv_init_topo
#define MPIX_Neighbor_alltoallv_init_ext MPIL_Neighbor_alltoallv_init_ext
#define MPIX_Neighbor_alltoallv_init_ext_topo MPIL_Neighbor_alltoallv_init_ext_topo
#define MPIX_Alltoall_crs MPIL_Alltoall_crs
#define MPIX_Alltoallv_crs MPIL_Alltoallv_crs
#define MPIX_Alltoall MPIL_Alltoall
#define MPIX_Alltoallv MPIL_Alltoallv
#define MPIX_Allgather MPIL_Allgather
#define MPIX_Allreduce MPIL_Allreduce
#define MPIX_Alltoall_init MPIL_Alltoall_init
#define MPIX_Alltoallv_init MPIL_Alltoallv_init
#define MPIX_Allgather_init MPIL_Allgather_init
#define MPIX_Allreduce_init MPIL_Allreduce_init
#define MPIX_Comm_update_locality MPIL_Comm_update_locality
#define MPIX_Comm_tag MPIL_Comm_tag
#define MPIX_Comm_leader_init MPIL_Comm_leader_init
#define MPIX_Comm_leader_free MPIL_Comm_leader_free
#define MPIX_Comm_win_init MPIL_Comm_win_init
#define MPIX_Comm_win_free MPIL_Comm_win_free
#define MPIX_Comm_device_init MPIL_Comm_device_init
#define MPIX_Comm_device_free MPIL_Comm_device_free
#define MPIX_Comm_req_resize MPIL_Comm_req_resize
#define MPIX_Request_reorder MPIL_Request_reorder
#define MPIX_Request_win_init MPIL_Request_win_init
#define MPIX_Request_win_free MPIL_Request_win_free
#define MPIX_Alloc MPIL_Alloc
#define MPIX_Free MPIL_Free
/* And the first one said in the name how data moves. */
#define MPIX_Neighbor_part_locality_topo_alltoallv_init MPIL_Neighbor_alltoallv_init_topo
#define MPIX_Neighbor_locality_topo_alltoallv_init MPIL_Neighbor_alltoallv_init_ext_topo

#ifdef __cplusplus
}
#endif

#endif
