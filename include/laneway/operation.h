/** For bindings: one function and one structure for all operations, new ones included. */
#ifndef LANEWAY_OPERATION_H
#define LANEWAY_OPERATION_H

#include <laneway/base.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which operation: docs/reference/c.md says which arguments each has. */
typedef enum LNW_Kind {
  /* generated: api/generate.py */
  LNW_NEIGHBOR_ALLGATHER = 1,
  LNW_NEIGHBOR_ALLGATHERV = 2,
  LNW_NEIGHBOR_ALLTOALL = 3,
  LNW_NEIGHBOR_ALLTOALLV = 4,
  LNW_NEIGHBOR_ALLTOALLW = 5,
  LNW_NEIGHBOR_ALLTOALLV_INDEXED = 6,
  LNW_NEIGHBOR_REDUCE = 7,
  LNW_NEIGHBOR_REDUCEV = 8,
  LNW_NEIGHBOR_REDUCEW = 9,
  LNW_NEIGHBOR_REDUCEV_INDEXED = 10
  /* end of what is generated */
} LNW_Kind;

/** A call: an operation and its arguments, each under its name in the functions for this operation (`displs` of
 *  allgatherv is `rdispls`). What the operation does not have is not looked at. LNW_CALL_INIT sets all that is not
 *  given.
 *
 *  Later versions may append members; zero in these is as if they were not there. */
typedef struct LNW_Call {
  size_t size;  /**< sizeof(LNW_Call): how much of the structure the caller knows */
  int kind;     /**< of LNW_Kind */
  int is_large; /**< whether arrays of counts are MPI_Count and of displacements MPI_Aint, as in functions `_c`, not
                   int; displacements of alltoallw are MPI_Aint anyway */
  const void* sendbuf;
  MPI_Count sendcount;
  MPI_Count sendsize;
  const void* sendcounts;
  const void* sdispls;
  const MPI_Count* sendindices;
  MPI_Datatype sendtype;
  const MPI_Datatype* sendtypes;
  void* recvbuf;
  MPI_Count recvcount;
  MPI_Count recvsize;
  const void* recvcounts;
  const void* rdispls;
  const MPI_Count* recvindices;
  MPI_Datatype recvtype;
  const MPI_Datatype* recvtypes;
} LNW_Call;

/** A call of `kind` without arguments. */
#define LNW_CALL_INIT(kind)                                                                                         \
  {                                                                                                                 \
    sizeof(LNW_Call), kind, 0, NULL, 0, 0, NULL, NULL, NULL, MPI_DATATYPE_NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, \
        MPI_DATATYPE_NULL, NULL                                                                                     \
  }

/** What an operation runs on: `topology` or, where that is LNW_TOPOLOGY_NULL, `comm`. */
typedef struct LNW_Place {
  MPI_Comm comm;
  LNW_Topology topology;
} LNW_Place;

/** The persistent operation of `call`, as by its function: LNW_Neighbor_alltoallv_init with
 *  LNW_NEIGHBOR_ALLTOALLV, say. The structure and what its members point to, but for the buffers, may be freed after
 *  the call. Errors name the arguments as those of the function are called. MPI_ERR_ARG if `call` is NULL, has no kind
 *  of LNW_Kind or one that reduces, for which LNW_Call has no operator, or has a size that no version had or members
 * that this library does not know. */
LNW_PUBLIC int LNW_Operation_init(const LNW_Call* call, LNW_Place place, MPI_Info info, LNW_Request* request);

#ifdef __cplusplus
}
#endif

#endif
