/** What MPI Advance's setters name, and the hints for it; comes with mpi_advance.h. */
#ifndef LANEWAY_MPI_ADVANCE_SETTERS_H
#define LANEWAY_MPI_ADVANCE_SETTERS_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where data is on a device, Laneway sees that itself: no enumerator that says so means anything else. */
#define LNW_MA_MEMORY(operation, name) \
  operation##_GPU_##name = operation##_##name, operation##_CTC_##name = operation##_##name

/* What setters name. That of Laneway is where all begin: it chooses. */
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
  ALLTOALL_PMPI,
  ALLTOALL_LANEWAY,
  LNW_MA_MEMORY(ALLTOALL, PAIRWISE),
  LNW_MA_MEMORY(ALLTOALL, NONBLOCKING)
};
enum AlltoallvMethod {
  ALLTOALLV_PAIRWISE,
  ALLTOALLV_NONBLOCKING,
  ALLTOALLV_BATCH,
  ALLTOALLV_BATCH_ASYNC,
  ALLTOALLV_PMPI,
  ALLTOALLV_LANEWAY,
  LNW_MA_MEMORY(ALLTOALLV, PAIRWISE),
  LNW_MA_MEMORY(ALLTOALLV, NONBLOCKING)
};
enum AllreduceMethod {
  ALLREDUCE_RECURSIVE_DOUBLING,
  ALLREDUCE_DISSEMINATION_LOC,
  ALLREDUCE_DISSEMINATION_ML,
  ALLREDUCE_DISSEMINATION_RADIX,
  ALLREDUCE_PMPI,
  ALLREDUCE_LANEWAY,
  LNW_MA_MEMORY(ALLREDUCE, RECURSIVE_DOUBLING),
  LNW_MA_MEMORY(ALLREDUCE, DISSEMINATION_LOC),
  LNW_MA_MEMORY(ALLREDUCE, DISSEMINATION_ML),
  LNW_MA_MEMORY(ALLREDUCE, DISSEMINATION_RADIX),
  LNW_MA_MEMORY(ALLREDUCE, PMPI)
};
enum AllgatherMethod {
  ALLGATHER_RING,
  ALLGATHER_BRUCK,
  ALLGATHER_PMPI,
  ALLGATHER_LANEWAY,
  LNW_MA_MEMORY(ALLGATHER, RING),
  LNW_MA_MEMORY(ALLGATHER, BRUCK),
  LNW_MA_MEMORY(ALLGATHER, PMPI)
};
enum AlltoallInitMethod {
  ALLTOALL_INIT_PAIRWISE,
  ALLTOALL_INIT_NONBLOCKING,
  ALLTOALL_INIT_RMA,
  ALLTOALL_INIT_PMPI,
  ALLTOALL_INIT_LANEWAY,
  LNW_MA_MEMORY(ALLTOALL_INIT, PAIRWISE),
  LNW_MA_MEMORY(ALLTOALL_INIT, NONBLOCKING),
  LNW_MA_MEMORY(ALLTOALL_INIT, PMPI)
};
enum AlltoallvInitMethod {
  ALLTOALLV_INIT_PAIRWISE,
  ALLTOALLV_INIT_NONBLOCKING,
  ALLTOALLV_INIT_RMA,
  ALLTOALLV_INIT_PMPI,
  ALLTOALLV_INIT_LANEWAY,
  LNW_MA_MEMORY(ALLTOALLV_INIT, PAIRWISE),
  LNW_MA_MEMORY(ALLTOALLV_INIT, NONBLOCKING),
  LNW_MA_MEMORY(ALLTOALLV_INIT, PMPI)
};
enum AllreduceInitMethod {
  ALLREDUCE_INIT_RECURSIVE_DOUBLING,
  ALLREDUCE_INIT_DISSEMINATION_LOC,
  ALLREDUCE_INIT_DISSEMINATION_ML,
  ALLREDUCE_INIT_DISSEMINATION_RADIX,
  ALLREDUCE_INIT_PMPI,
  ALLREDUCE_INIT_LANEWAY,
  LNW_MA_MEMORY(ALLREDUCE_INIT, RECURSIVE_DOUBLING),
  LNW_MA_MEMORY(ALLREDUCE_INIT, DISSEMINATION_LOC),
  LNW_MA_MEMORY(ALLREDUCE_INIT, DISSEMINATION_ML),
  LNW_MA_MEMORY(ALLREDUCE_INIT, DISSEMINATION_RADIX),
  LNW_MA_MEMORY(ALLREDUCE_INIT, PMPI)
};
enum AllgatherInitMethod {
  ALLGATHER_INIT_RING,
  ALLGATHER_INIT_BRUCK,
  ALLGATHER_INIT_PMPI,
  ALLGATHER_INIT_LANEWAY,
  LNW_MA_MEMORY(ALLGATHER_INIT, RING),
  LNW_MA_MEMORY(ALLGATHER_INIT, BRUCK),
  LNW_MA_MEMORY(ALLGATHER_INIT, PMPI)
};
enum NeighborAlltoallvMethod {
  NEIGHBOR_ALLTOALLV_STANDARD,
  NEIGHBOR_ALLTOALLV_LOCALITY,
  NEIGHBOR_ALLTOALLV_COLL_A2A,
  NEIGHBOR_ALLTOALLV_LANEWAY,
  LNW_MA_MEMORY(NEIGHBOR_ALLTOALLV, STANDARD),
  LNW_MA_MEMORY(NEIGHBOR_ALLTOALLV, LOCALITY)
};
enum NeighborAlltoallvInitMethod {
  NEIGHBOR_ALLTOALLV_INIT_STANDARD,
  NEIGHBOR_ALLTOALLV_INIT_LOCALITY,
  NEIGHBOR_ALLTOALLV_INIT_COLL_A2A,
  NEIGHBOR_ALLTOALLV_INIT_RMA,
  NEIGHBOR_ALLTOALLV_INIT_PSCW,
  NEIGHBOR_ALLTOALLV_INIT_LANEWAY,
  LNW_MA_MEMORY(NEIGHBOR_ALLTOALLV_INIT, STANDARD),
  LNW_MA_MEMORY(NEIGHBOR_ALLTOALLV_INIT, LOCALITY)
};
enum AlltoallCRSMethod {
  ALLTOALL_CRS_RMA,
  ALLTOALL_CRS_NONBLOCKING,
  ALLTOALL_CRS_NONBLOCKING_LOC,
  ALLTOALL_CRS_PERSONALIZED,
  ALLTOALL_CRS_PERSONALIZED_LOC,
  ALLTOALL_CRS_LANEWAY
};
enum AlltoallvCRSMethod {
  ALLTOALLV_CRS_NONBLOCKING,
  ALLTOALLV_CRS_NONBLOCKING_LOC,
  ALLTOALLV_CRS_PERSONALIZED,
  ALLTOALLV_CRS_PERSONALIZED_LOC,
  ALLTOALLV_CRS_LANEWAY
};

/* One for the whole program, whichever files include this. */
#define LNW_MA_SHARED __attribute__((weak))

/* A variable that says which algorithm is meant, and its setter. */
#define LNW_MA_ALGORITHM(method, variable, setter, begin) \
  LNW_MA_SHARED enum method variable = begin;             \
  static inline int setter(enum method algorithm) {       \
    variable = algorithm;                                 \
    return MPI_SUCCESS;                                   \
  }
LNW_MA_ALGORITHM(AlltoallMethod, mpil_alltoall_implementation, MPIL_Set_alltoall_algorithm, ALLTOALL_LANEWAY)
LNW_MA_ALGORITHM(AlltoallvMethod, mpil_alltoallv_implementation, MPIL_Set_alltoallv_algorithm, ALLTOALLV_LANEWAY)
LNW_MA_ALGORITHM(AllreduceMethod, mpil_allreduce_implementation, MPIL_Set_allreduce_algorithm, ALLREDUCE_LANEWAY)
LNW_MA_ALGORITHM(AllgatherMethod, mpil_allgather_implementation, MPIL_Set_allgather_algorithm, ALLGATHER_LANEWAY)
LNW_MA_ALGORITHM(NeighborAlltoallvMethod, mpil_neighbor_alltoallv_implementation, MPIL_Set_alltoallv_neighbor_algorithm,
                 NEIGHBOR_ALLTOALLV_LANEWAY)
LNW_MA_ALGORITHM(AlltoallInitMethod, mpil_alltoall_init_implementation, MPIL_Set_alltoall_init_algorithm,
                 ALLTOALL_INIT_LANEWAY)
LNW_MA_ALGORITHM(AlltoallvInitMethod, mpil_alltoallv_init_implementation, MPIL_Set_alltoallv_init_algorithm,
                 ALLTOALLV_INIT_LANEWAY)
LNW_MA_ALGORITHM(AllreduceInitMethod, mpil_allreduce_init_implementation, MPIL_Set_allreduce_init_algorithm,
                 ALLREDUCE_INIT_LANEWAY)
LNW_MA_ALGORITHM(AllgatherInitMethod, mpil_allgather_init_implementation, MPIL_Set_allgather_init_algorithm,
                 ALLGATHER_INIT_LANEWAY)
LNW_MA_ALGORITHM(NeighborAlltoallvInitMethod, mpil_neighbor_alltoallv_init_implementation,
                 MPIL_Set_alltoallv_neighbor_init_algorithm, NEIGHBOR_ALLTOALLV_INIT_LANEWAY)
LNW_MA_ALGORITHM(AlltoallCRSMethod, mpil_alltoall_crs_implementation, MPIL_Set_alltoall_crs, ALLTOALL_CRS_LANEWAY)
LNW_MA_ALGORITHM(AlltoallvCRSMethod, mpil_alltoallv_crs_implementation, MPIL_Set_alltoallv_crs, ALLTOALLV_CRS_LANEWAY)
#undef LNW_MA_ALGORITHM
LNW_MA_SHARED int mpil_collective_radix = 2; /* changes nothing */
static inline int MPIL_Set_collective_radix(int radix) {
  mpil_collective_radix = radix;
  return MPI_SUCCESS;
}

/* Which operation a hint is for. */
enum lnw_ma_setter {
  lnw_ma_alltoall,
  lnw_ma_alltoallv,
  lnw_ma_allreduce,
  lnw_ma_allgather,
  lnw_ma_neighbor,
  lnw_ma_alltoall_init,
  lnw_ma_alltoallv_init,
  lnw_ma_allreduce_init,
  lnw_ma_allgather_init,
  lnw_ma_neighbor_init,
  lnw_ma_alltoall_crs,
  lnw_ma_alltoallv_crs
};

static inline const char* lnw_ma_key(enum lnw_ma_setter setter) {
  if (setter == lnw_ma_neighbor || setter == lnw_ma_neighbor_init) return "lnw_strategy";
  return setter == lnw_ma_alltoall_crs || setter == lnw_ma_alltoallv_crs ? "lnw_find" : "lnw_collective";
}

/* The hint of what is set; NULL where Laneway has nothing alike, and chooses. */
static inline const char* lnw_ma_hint(enum lnw_ma_setter setter) {
  /* One leader a node, several, all ranks, and several that serve all. */
  static const char* const all_to_all[] = {"alltoall:pairwise",
                                           "alltoall:nonblocking",
                                           "alltoall:hierarchical",
                                           "alltoall:hierarchical",
                                           "alltoall:multi_leader",
                                           "alltoall:multi_leader",
                                           "alltoall:node_aware",
                                           "alltoall:node_aware",
                                           "alltoall:locality_aware",
                                           "alltoall:locality_aware",
                                           "alltoall:multi_leader_locality",
                                           "alltoall:multi_leader_locality",
                                           "alltoall:mpi",
                                           NULL};
  /* A few messages at a time are closest to all at once. */
  static const char* const all_to_all_v[] = {"alltoallv:pairwise",    "alltoallv:nonblocking", "alltoallv:nonblocking",
                                             "alltoallv:nonblocking", "alltoallv:mpi",         NULL};
  static const char* const all_to_all_init[] = {"alltoall:pairwise", "alltoall:nonblocking", "alltoall:rma_fence",
                                                "alltoall:mpi", NULL};
  static const char* const all_to_all_v_init[] = {"alltoallv:pairwise", "alltoallv:nonblocking", "alltoallv:rma_fence",
                                                  "alltoallv:mpi", NULL};
  static const char* const reduce[] = {"allreduce:recursive_doubling",
                                       "allreduce:locality_aware",
                                       "allreduce:locality_aware",
                                       NULL,
                                       "allreduce:mpi",
                                       NULL};
  static const char* const gather[] = {"allgather:ring", "allgather:bruck", "allgather:mpi", NULL};
  /* What goes as in an alltoall, or by windows, goes straight from rank to rank. */
  static const char* const neighbor[] = {"direct", "three_step", "direct", NULL};
  static const char* const neighbor_init[] = {"direct", "three_step", "direct", "direct", "direct", NULL};
  static const char* const crs[] = {"rma", "nbx", "nbx_node", "personalized", "personalized_node", NULL};
  switch (setter) {
    case lnw_ma_alltoall:
      return all_to_all[mpil_alltoall_implementation];
    case lnw_ma_alltoallv:
      return all_to_all_v[mpil_alltoallv_implementation];
    case lnw_ma_allreduce:
      return reduce[mpil_allreduce_implementation];
    case lnw_ma_allgather:
      return gather[mpil_allgather_implementation];
    case lnw_ma_neighbor:
      return neighbor[mpil_neighbor_alltoallv_implementation];
    case lnw_ma_alltoall_init:
      return all_to_all_init[mpil_alltoall_init_implementation];
    case lnw_ma_alltoallv_init:
      return all_to_all_v_init[mpil_alltoallv_init_implementation];
    case lnw_ma_allreduce_init:
      return reduce[mpil_allreduce_init_implementation];
    case lnw_ma_allgather_init:
      return gather[mpil_allgather_init_implementation];
    case lnw_ma_neighbor_init:
      return neighbor_init[mpil_neighbor_alltoallv_init_implementation];
    case lnw_ma_alltoall_crs:
      return crs[mpil_alltoall_crs_implementation];
    case lnw_ma_alltoallv_crs:
      return crs[mpil_alltoallv_crs_implementation + 1];
  }
  return NULL;
}

/* As version 2.0.0 spells them. */
#define MPIL_Set_alltoallv_neighbor_alogorithm MPIL_Set_alltoallv_neighbor_algorithm
#define MPIL_Set_alltoallv_neighbor_init_alogorithm MPIL_Set_alltoallv_neighbor_init_algorithm
/* As the generation before calls them. */
#define mpix_alltoall_implementation mpil_alltoall_implementation
#define mpix_alltoallv_implementation mpil_alltoallv_implementation
#define mpix_neighbor_alltoallv_implementation mpil_neighbor_alltoallv_implementation
#define mpix_neighbor_alltoallv_init_implementation mpil_neighbor_alltoallv_init_implementation
#define mpix_alltoall_crs_implementation mpil_alltoall_crs_implementation
#define mpix_alltoallv_crs_implementation mpil_alltoallv_crs_implementation

#ifdef __cplusplus
}
#endif

#endif
