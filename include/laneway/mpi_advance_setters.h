/** What MPI Advance's setters name, and the hints for it; comes with mpi_advance.h. */
#ifndef LANEWAY_MPI_ADVANCE_SETTERS_H
#define LANEWAY_MPI_ADVANCE_SETTERS_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What setters name. */
enum AlltoallMethod {
  ALLTOALL_PAIRWISE,
  ALLTOALL_NONBLOCKING,
  ALLTOALL_HIERARCHICAL_PAIRWISE,
  ALLTOALL_HIERARCHICAL_NONBLOCKING,
  ALLTOALL_MULTILEADER_PAIRWISE,
  ALLTOALL_MULTILEADER_NONBLOCKING,
  ALLTOALL_NODE_AWARE_PAIRWISE,
  ALLTOALL_NODE_AWARE_NONBLOCKING,
  ALLTOALL_LOCALITY_AWARE_PAIRWISE,
  ALLTOALL_LOCALITY_AWARE_NONBLOCKING,
  ALLTOALL_MULTILEADER_LOCALITY_PAIRWISE,
  ALLTOALL_MULTILEADER_LOCALITY_NONBLOCKING,
  ALLTOALL_PMPI
};
enum AlltoallvMethod {
  ALLTOALLV_PAIRWISE,
  ALLTOALLV_NONBLOCKING,
  ALLTOALLV_BATCH,
  ALLTOALLV_BATCH_ASYNC,
  ALLTOALLV_PMPI
};
enum AllreduceMethod {
  ALLREDUCE_RECURSIVE_DOUBLING,
  ALLREDUCE_DISSEMINATION_LOC,
  ALLREDUCE_DISSEMINATION_ML,
  ALLREDUCE_DISSEMINATION_RADIX,
  ALLREDUCE_PMPI
};
enum AllgatherMethod { ALLGATHER_RING, ALLGATHER_BRUCK, ALLGATHER_PMPI };
enum AlltoallInitMethod { ALLTOALL_INIT_PAIRWISE, ALLTOALL_INIT_NONBLOCKING, ALLTOALL_INIT_RMA, ALLTOALL_INIT_PMPI };
enum AlltoallvInitMethod {
  ALLTOALLV_INIT_PAIRWISE,
  ALLTOALLV_INIT_NONBLOCKING,
  ALLTOALLV_INIT_RMA,
  ALLTOALLV_INIT_PMPI
};
enum AllreduceInitMethod {
  ALLREDUCE_INIT_RECURSIVE_DOUBLING,
  ALLREDUCE_INIT_DISSEMINATION_LOC,
  ALLREDUCE_INIT_DISSEMINATION_ML,
  ALLREDUCE_INIT_DISSEMINATION_RADIX,
  ALLREDUCE_INIT_PMPI
};
enum AllgatherInitMethod { ALLGATHER_INIT_RING, ALLGATHER_INIT_BRUCK, ALLGATHER_INIT_PMPI };
enum NeighborAlltoallvMethod { NEIGHBOR_ALLTOALLV_STANDARD, NEIGHBOR_ALLTOALLV_LOCALITY };
enum NeighborAlltoallvInitMethod { NEIGHBOR_ALLTOALLV_INIT_STANDARD, NEIGHBOR_ALLTOALLV_INIT_LOCALITY };
enum AlltoallCRSMethod {
  ALLTOALL_CRS_RMA,
  ALLTOALL_CRS_NONBLOCKING,
  ALLTOALL_CRS_NONBLOCKING_LOC,
  ALLTOALL_CRS_PERSONALIZED,
  ALLTOALL_CRS_PERSONALIZED_LOC
};
enum AlltoallvCRSMethod {
  ALLTOALLV_CRS_NONBLOCKING,
  ALLTOALLV_CRS_NONBLOCKING_LOC,
  ALLTOALLV_CRS_PERSONALIZED,
  ALLTOALLV_CRS_PERSONALIZED_LOC
};

/* One for the whole program, whichever files include this. */
#define LNW_MA_SHARED __attribute__((weak))

/* Which setters have been called. */
enum lnw_ma_setter {
  lnw_ma_alltoall_init,
  lnw_ma_alltoallv_init,
  lnw_ma_allreduce_init,
  lnw_ma_allgather_init,
  lnw_ma_neighbor_init,
  lnw_ma_alltoall_crs,
  lnw_ma_alltoallv_crs,
  lnw_ma_setters
};
LNW_MA_SHARED int lnw_ma_chosen[lnw_ma_setters] = {0}; /* 1 + the enumerator; 0: none */

/* Hints for each enumerator; NULL where Laneway has nothing alike, and chooses. */
static inline const char* lnw_ma_hint(enum lnw_ma_setter setter) {
  static const char* const all_to_all[] = {"alltoall:pairwise", "alltoall:nonblocking", NULL, "alltoall:mpi"};
  static const char* const all_to_all_v[] = {"alltoallv:pairwise", "alltoallv:nonblocking", NULL, "alltoallv:mpi"};
  static const char* const reduce[] = {"allreduce:recursive_doubling", "allreduce:locality_aware",
                                       "allreduce:locality_aware", NULL, "allreduce:mpi"};
  static const char* const gather[] = {"allgather:ring", "allgather:bruck", "allgather:mpi"};
  static const char* const neighbor[] = {"direct", "three_step"};
  static const char* const crs[] = {"rma", "nbx", "nbx_node", "personalized", "personalized_node"};
  const int chosen = lnw_ma_chosen[setter] - 1;
  if (chosen < 0) return NULL;
  switch (setter) {
    case lnw_ma_alltoall_init:
      return all_to_all[chosen];
    case lnw_ma_alltoallv_init:
      return all_to_all_v[chosen];
    case lnw_ma_allreduce_init:
      return reduce[chosen];
    case lnw_ma_allgather_init:
      return gather[chosen];
    case lnw_ma_neighbor_init:
      return neighbor[chosen];
    case lnw_ma_alltoall_crs:
      return crs[chosen];
    case lnw_ma_alltoallv_crs:
      return crs[chosen + 1];
    default:
      return NULL;
  }
}

static inline int lnw_ma_set(enum lnw_ma_setter setter, int enumerator) {
  lnw_ma_chosen[setter] = 1 + enumerator;
  return MPI_SUCCESS;
}
static inline int MPIL_Set_alltoall_init_algorithm(enum AlltoallInitMethod algorithm) {
  return lnw_ma_set(lnw_ma_alltoall_init, (int)algorithm);
}
static inline int MPIL_Set_alltoallv_init_algorithm(enum AlltoallvInitMethod algorithm) {
  return lnw_ma_set(lnw_ma_alltoallv_init, (int)algorithm);
}
static inline int MPIL_Set_allreduce_init_algorithm(enum AllreduceInitMethod algorithm) {
  return lnw_ma_set(lnw_ma_allreduce_init, (int)algorithm);
}
static inline int MPIL_Set_allgather_init_algorithm(enum AllgatherInitMethod algorithm) {
  return lnw_ma_set(lnw_ma_allgather_init, (int)algorithm);
}
static inline int MPIL_Set_alltoallv_neighbor_init_algorithm(enum NeighborAlltoallvInitMethod algorithm) {
  return lnw_ma_set(lnw_ma_neighbor_init, (int)algorithm);
}
static inline int MPIL_Set_alltoall_crs(enum AlltoallCRSMethod algorithm) {
  return lnw_ma_set(lnw_ma_alltoall_crs, (int)algorithm);
}
static inline int MPIL_Set_alltoallv_crs(enum AlltoallvCRSMethod algorithm) {
  return lnw_ma_set(lnw_ma_alltoallv_crs, (int)algorithm);
}
/* Of blocking calls, which choose. */
static inline int MPIL_Set_alltoall_algorithm(enum AlltoallMethod algorithm) {
  (void)algorithm;
  return MPI_SUCCESS;
}
static inline int MPIL_Set_alltoallv_algorithm(enum AlltoallvMethod algorithm) {
  (void)algorithm;
  return MPI_SUCCESS;
}
static inline int MPIL_Set_allreduce_algorithm(enum AllreduceMethod algorithm) {
  (void)algorithm;
  return MPI_SUCCESS;
}
static inline int MPIL_Set_allgather_algorithm(enum AllgatherMethod algorithm) {
  (void)algorithm;
  return MPI_SUCCESS;
}
static inline int MPIL_Set_alltoallv_neighbor_algorithm(enum NeighborAlltoallvMethod algorithm) {
  (void)algorithm;
  return MPI_SUCCESS;
}
static inline int MPIL_Set_collective_radix(int radix) {
  (void)radix;
  return MPI_SUCCESS;
}
/* As version 2.0.0 spells them. */
#define MPIL_Set_alltoallv_neighbor_alogorithm MPIL_Set_alltoallv_neighbor_algorithm
#define MPIL_Set_alltoallv_neighbor_init_alogorithm MPIL_Set_alltoallv_neighbor_init_algorithm

#ifdef __cplusplus
}
#endif

#endif
