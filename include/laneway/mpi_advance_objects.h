/** Objects of mpi_advance.h, which this comes with. */
#ifndef LANEWAY_MPI_ADVANCE_OBJECTS_H
#define LANEWAY_MPI_ADVANCE_OBJECTS_H

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
  int *sourceweights, *destweights; /* both NULL where there are none */
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
  const char* const key = lnw_ma_key(setter);
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

static inline int* lnw_ma_copy_weights(const int* weights, int count) {
  return weights == NULL || weights == MPI_UNWEIGHTED || weights == MPI_WEIGHTS_EMPTY ? NULL
                                                                                      : lnw_ma_copy(weights, count);
}

/* Weights are kept, and change nothing. */
static inline int MPIL_Topo_init(int indegree, const int sources[], const int sourceweights[], int outdegree,
                                 const int destinations[], const int destweights[], MPIL_Info* info, MPIL_Topo** topo) {
  (void)info;
  *topo = (MPIL_Topo*)calloc(1, sizeof **topo);
  if (*topo == NULL) return MPI_ERR_NO_MEM;
  (*topo)->indegree = indegree;
  (*topo)->outdegree = outdegree;
  (*topo)->sources = lnw_ma_copy(sources, indegree);
  (*topo)->destinations = lnw_ma_copy(destinations, outdegree);
  (*topo)->sourceweights = lnw_ma_copy_weights(sourceweights, indegree);
  (*topo)->destweights = lnw_ma_copy_weights(destweights, outdegree);
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
  if (code == MPI_SUCCESS)
    code = MPIL_Topo_init(indegree, ranks, weighted ? weights : NULL, outdegree, ranks + indegree,
                          weighted ? weights + indegree : NULL, NULL, topo);
  free(ranks);
  return code;
}

static inline int MPIL_Topo_free(MPIL_Topo** topo) {
  int code = MPI_SUCCESS;
  if (*topo == NULL) return code;
  if ((*topo)->topology != LNW_TOPOLOGY_NULL) code = LNW_Topology_free(&(*topo)->topology);
  free((*topo)->sources);
  free((*topo)->destinations);
  free((*topo)->sourceweights);
  free((*topo)->destweights);
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

/* Runs a request that was made for one call, and frees it with its hints. */
static inline int lnw_ma_run(MPI_Info* hints, int code, LNW_Request* made) {
  if (*hints != MPI_INFO_NULL) MPI_Info_free(hints);
  if (code != MPI_SUCCESS) return code;
  code = LNW_Start(made);
  if (code == MPI_SUCCESS) code = LNW_Wait(made, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) code = LNW_Request_free(made);
  return code;
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

#ifdef __cplusplus
}
#endif

#endif
