/* What stands between the module's interfaces and the C API: handles, buffers, and constants known by address.
 * What is used of a descriptor, base_addr, elem_len, rank and dim, is laid out alike by gfortran and flang. */
#include <ISO_Fortran_binding.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "laneway/laneway.h"

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "INTEGER must be C's int");

/* Of mpi_f08 and of mpif.h: an MPI library may keep its constants that are known by address twice. */
typedef struct {
  const void *bottom, *in_place, *unweighted, *weights_empty, *status_ignore, *statuses_ignore;
} Sentinels;
static Sentinels sentinels[2];
static int status_size;

#ifndef LANEWAY_WITHOUT_F08
void lnwf_find_f08(void);
#endif
void lnwf_find_integers(void);

void lnwf_set_sentinels(const CFI_cdesc_t* bottom, const CFI_cdesc_t* in_place, const CFI_cdesc_t* unweighted,
                        const CFI_cdesc_t* weights_empty, const CFI_cdesc_t* status_ignore,
                        const CFI_cdesc_t* statuses_ignore, int integers_of_status, int is_f08) {
  const Sentinels found = {bottom->base_addr,        in_place->base_addr,      unweighted->base_addr,
                           weights_empty->base_addr, status_ignore->base_addr, statuses_ignore->base_addr};
  sentinels[is_f08] = found;
  status_size = integers_of_status;
}

static void find_all(void) {
  lnwf_find_integers();
#ifndef LANEWAY_WITHOUT_F08
  lnwf_find_f08();
#endif
}

static void find_sentinels(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_all);
}

#define IS(address, name) ((address) == sentinels[0].name || ((address) == sentinels[1].name && (address) != NULL))

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
  if (IS(array->base_addr, bottom)) return MPI_BOTTOM;
  if (IS(array->base_addr, in_place)) return MPI_IN_PLACE;
  return is_contiguous(array) ? array->base_addr : LNW_NOT_CONTIGUOUS;
}

/* A buffer, and the datatype of what its counts and displacements count: `unit` elements. Where elements have gaps of
 * one size, as in a(i, :), it is one, resized; where they have several, as in a(2:n-1, :), those of the first
 * dimensions, up to the last at which distances differ. */
typedef struct {
  void* at;
  MPI_Datatype type;
  int64_t unit;
  int is_made, count_lists;
  void* lists[2];
} Section;

/* The distance in bytes of what lies in the dimensions from `first` on; 0 where it is not always the same. */
static MPI_Aint distance(const CFI_cdesc_t* array, int first) {
  MPI_Aint step = 0, next = 0;
  for (int i = first; i < array->rank; ++i) {
    const CFI_index_t extent = array->dim[i].extent;
    if (extent == 1) continue;
    if (step != 0 && array->dim[i].sm != next) return 0;
    if (step == 0) step = array->dim[i].sm;
    next = array->dim[i].sm * extent;
  }
  /* One of them alone. */
  return step != 0 ? step : (MPI_Aint)array->elem_len;
}

static Section section(const CFI_cdesc_t* array, MPI_Fint type) {
  Section found = {buffer(array), MPI_Type_f2c(type), 1, 0, 0, {NULL, NULL}};
  MPI_Aint lower, extent, step;
  int size;
  if (found.at != LNW_NOT_CONTIGUOUS || found.type == MPI_DATATYPE_NULL ||
      MPI_Type_get_extent(found.type, &lower, &extent) != MPI_SUCCESS ||
      MPI_Type_size(found.type, &size) != MPI_SUCCESS || lower != 0 || extent != size ||
      extent != (MPI_Aint)array->elem_len)
    return found;
  MPI_Datatype made, inner = found.type;
  int64_t unit = 1;
  for (int first = 0;; ++first) {
    step = distance(array, first);
    const CFI_dim_t dim = array->dim[first];
    const int code = step != 0              ? MPI_Type_create_resized(inner, 0, step, &made)
                     : dim.extent == 1      ? MPI_Type_dup(inner, &made)
                     : dim.extent > INT_MAX ? MPI_ERR_COUNT
                                            : MPI_Type_create_hvector((int)dim.extent, 1, dim.sm, inner, &made);
    if (inner != found.type) MPI_Type_free(&inner);
    if (code != MPI_SUCCESS) return found;
    inner = made;
    if (step != 0) break;
    unit *= dim.extent;
  }
  MPI_Type_commit(&made);
  const Section strided = {array->base_addr, made, unit, 1, 0, {NULL, NULL}};
  return strided;
}

static int64_t integer_at(const void* integers, int i, size_t size) {
  const char* const from = (const char*)integers + (size_t)i * size;
  int few;
  int64_t many;
  memcpy(size == sizeof few ? (void*)&few : (void*)&many, from, size);
  return size == sizeof few ? few : many;
}

/* Counts, or then their displacements, of elements, `size` bytes each, as those of the section's datatype; where they
 * are no whole number of these, the buffer is one with gaps that cannot be described. */
static const void* in_units(Section* used, int n, const void* elements, size_t size) {
  if (used->unit == 1 || n <= 0) return elements;
  const void* const counts = used->count_lists > 0 ? used->lists[0] : NULL;
  char* const made = malloc((size_t)n * size);
  if (made == NULL) {
    used->at = LNW_NOT_CONTIGUOUS;
    return elements;
  }
  for (int i = 0; i < n; ++i) {
    const int64_t value = integer_at(elements, i, size), many = value / used->unit;
    const int few = (int)many;
    /* Where nothing is, MPI does not look at the displacement. */
    if (value % used->unit != 0 && (counts == NULL || integer_at(counts, i, size) != 0)) used->at = LNW_NOT_CONTIGUOUS;
    memcpy(made + (size_t)i * size, size == sizeof few ? (const void*)&few : (const void*)&many, size);
  }
  used->lists[used->count_lists++] = made;
  return made;
}

/* A section of which every element is named by its number. */
static Section section_of_elements(const CFI_cdesc_t* array, MPI_Fint type) {
  Section found = section(array, type);
  if (found.unit != 1) found.at = LNW_NOT_CONTIGUOUS;
  return found;
}

/* What is under way, or persistent, keeps the datatypes and counts that it needs. */
static void end_section(Section* used) {
  if (used->is_made) MPI_Type_free(&used->type);
  while (used->count_lists > 0) free(used->lists[--used->count_lists]);
}

static const int* weights(const MPI_Fint array[]) {
  find_sentinels();
  if (IS(array, unweighted)) return MPI_UNWEIGHTED;
  if (IS(array, weights_empty)) return MPI_WEIGHTS_EMPTY;
  return array;
}

static void finish(int code, MPI_Fint* ierror) {
  if (ierror != NULL) *ierror = code;
}

typedef struct {
  int in, out;
} Degrees;

static const Degrees no_degrees = {0, 0};

/* How many counts there are, which is asked only where one of the sections needs it. */
#define COUNTED(one, other, degrees) ((one).unit != 1 || (other).unit != 1 ? (degrees) : no_degrees)

static Degrees degrees_of_comm(MPI_Comm comm) {
  Degrees degrees = {0, 0};
  int kind = MPI_UNDEFINED, rank, weighted;
  if (comm == MPI_COMM_NULL || MPI_Topo_test(comm, &kind) != MPI_SUCCESS) return degrees;
  if (kind == MPI_DIST_GRAPH) {
    MPI_Dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &weighted);
  } else if (kind == MPI_CART) {
    MPI_Cartdim_get(comm, &degrees.in);
    degrees.in *= 2;
    degrees.out = degrees.in;
  } else if (kind == MPI_GRAPH) {
    MPI_Comm_rank(comm, &rank);
    MPI_Graph_neighbors_count(comm, rank, &degrees.in);
    degrees.out = degrees.in;
  }
  return degrees;
}

static Degrees degrees_of_topology(LNW_Topology topology) {
  Degrees degrees = {0, 0};
  if (topology != LNW_TOPOLOGY_NULL) LNW_Topology_get_neighbors_count(topology, &degrees.in, &degrees.out);
  return degrees;
}

static MPI_Datatype* c_types(int count, const MPI_Fint types[]) {
  MPI_Datatype* converted = malloc(((size_t)count + 1) * sizeof *converted);
  for (int i = 0; converted != NULL && types != NULL && i < count; ++i) converted[i] = MPI_Type_f2c(types[i]);
  return converted;
}

/* The arguments of alltoallw whose length only the neighborhood knows. */
typedef struct {
  MPI_Datatype *send, *recv;
} Types;

static Types make_types(Degrees degrees, const MPI_Fint sendtypes[], const MPI_Fint recvtypes[]) {
  const Types types = {c_types(degrees.out, sendtypes), c_types(degrees.in, recvtypes)};
  return types;
}

static void free_types(Types types) {
  free(types.send);
  free(types.recv);
}

/* Statuses in C for those of Fortran, which may be ignored. */
typedef struct {
  MPI_Fint* fortran;
  MPI_Status few[8];
  MPI_Status* all;
} Statuses;

static MPI_Status* begin_statuses(Statuses* statuses, int count, MPI_Fint fortran[]) {
  find_sentinels();
  statuses->fortran = fortran;
  statuses->all = NULL;
  if (IS(fortran, status_ignore) || IS(fortran, statuses_ignore) || count <= 0) return MPI_STATUSES_IGNORE;
  const size_t n = (size_t)count;
  statuses->all = n <= sizeof statuses->few / sizeof *statuses->few ? statuses->few : malloc(n * sizeof(MPI_Status));
  return statuses->all != NULL ? statuses->all : MPI_STATUSES_IGNORE;
}

/* `count`: of those that were filled; may be MPI_UNDEFINED, which is negative. */
static void end_statuses(Statuses* statuses, int count) {
  for (int i = 0; statuses->all != NULL && i < count; ++i)
    MPI_Status_c2f(&statuses->all[i], statuses->fortran + (size_t)i * (size_t)status_size);
  if (statuses->all != statuses->few) free(statuses->all);
}

/* Indices start at 1 in Fortran. `count` may be MPI_UNDEFINED, which is negative. */
static void to_fortran(int count, MPI_Fint indices[]) {
  for (int i = 0; i < count; ++i)
    if (indices[i] != MPI_UNDEFINED) ++indices[i];
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

void lnwf_comm_get_reorder(const MPI_Fint* comm, LNW_Reorder* report, MPI_Fint* ierror) {
  /* The function, not the macro: it fills what the module's type has. */
  finish((LNW_Comm_get_reorder)(MPI_Comm_f2c(*comm), report), ierror);
}

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

void lnwf_topology_get_neighbors_count(const LNW_Topology* topology, MPI_Fint* indegree, MPI_Fint* outdegree,
                                       MPI_Fint* ierror) {
  finish(LNW_Topology_get_neighbors_count(*topology, indegree, outdegree), ierror);
}

void lnwf_topology_get_neighbors(const LNW_Topology* topology, const MPI_Fint* maxindegree, MPI_Fint sources[],
                                 const MPI_Fint* maxoutdegree, MPI_Fint destinations[], MPI_Fint* ierror) {
  finish(LNW_Topology_get_neighbors(*topology, *maxindegree, sources, *maxoutdegree, destinations), ierror);
}

void lnwf_topology_shrink(const LNW_Topology* topology, const MPI_Fint* comm, LNW_Topology* shrunken,
                          MPI_Fint* ierror) {
  finish(LNW_Topology_shrink(*topology, MPI_Comm_f2c(*comm), shrunken), ierror);
}

void lnwf_topology_shrink_comm(const MPI_Fint* comm_old, const MPI_Fint* comm, LNW_Topology* shrunken,
                               MPI_Fint* ierror) {
  finish(LNW_Topology_shrink_comm(MPI_Comm_f2c(*comm_old), MPI_Comm_f2c(*comm), shrunken), ierror);
}

void lnwf_topology_free(LNW_Topology* topology, MPI_Fint* ierror) {
  finish(LNW_Topology_free(topology), ierror);
}

void lnwf_sparse_alltoall(const MPI_Fint* ndestinations, const MPI_Fint destinations[], const CFI_cdesc_t* sendbuf,
                          const MPI_Fint* sendcount, const MPI_Fint* sendtype, const MPI_Fint* comm,
                          const MPI_Fint* info, LNW_Arrivals* arrivals, MPI_Fint* ierror) {
  Section of_sendbuf = section_of_elements(sendbuf, *sendtype);
  const int code = LNW_Sparse_alltoall(*ndestinations, destinations, of_sendbuf.at, *sendcount, of_sendbuf.type,
                                       MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), arrivals);
  end_section(&of_sendbuf);
  finish(code, ierror);
}

void lnwf_sparse_alltoallv(const MPI_Fint* ndestinations, const MPI_Fint destinations[], const CFI_cdesc_t* sendbuf,
                           const MPI_Fint sendcounts[], const MPI_Fint sdispls[], const MPI_Fint* sendtype,
                           const MPI_Fint* comm, const MPI_Fint* info, LNW_Arrivals* arrivals, MPI_Fint* ierror) {
  Section of_sendbuf = section_of_elements(sendbuf, *sendtype);
  const int code = LNW_Sparse_alltoallv(*ndestinations, destinations, of_sendbuf.at, sendcounts, sdispls,
                                        of_sendbuf.type, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), arrivals);
  end_section(&of_sendbuf);
  finish(code, ierror);
}

void lnwf_sparse_alltoallv_c(const MPI_Fint* ndestinations, const MPI_Fint destinations[], const CFI_cdesc_t* sendbuf,
                             const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Fint* sendtype,
                             const MPI_Fint* comm, const MPI_Fint* info, LNW_Arrivals* arrivals, MPI_Fint* ierror) {
  Section of_sendbuf = section_of_elements(sendbuf, *sendtype);
  const int code = LNW_Sparse_alltoallv_c(*ndestinations, destinations, of_sendbuf.at, sendcounts, sdispls,
                                          of_sendbuf.type, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), arrivals);
  end_section(&of_sendbuf);
  finish(code, ierror);
}

void lnwf_isparse_alltoall(const MPI_Fint* ndestinations, const MPI_Fint destinations[], const CFI_cdesc_t* sendbuf,
                           const MPI_Fint* sendcount, const MPI_Fint* sendtype, const MPI_Fint* comm,
                           const MPI_Fint* info, LNW_Arrivals* arrivals, LNW_Request* request, MPI_Fint* ierror) {
  Section of_sendbuf = section_of_elements(sendbuf, *sendtype);
  const int code = LNW_Isparse_alltoall(*ndestinations, destinations, of_sendbuf.at, *sendcount, of_sendbuf.type,
                                        MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), arrivals, request);
  end_section(&of_sendbuf);
  finish(code, ierror);
}

void lnwf_isparse_alltoallv(const MPI_Fint* ndestinations, const MPI_Fint destinations[], const CFI_cdesc_t* sendbuf,
                            const MPI_Fint sendcounts[], const MPI_Fint sdispls[], const MPI_Fint* sendtype,
                            const MPI_Fint* comm, const MPI_Fint* info, LNW_Arrivals* arrivals, LNW_Request* request,
                            MPI_Fint* ierror) {
  Section of_sendbuf = section_of_elements(sendbuf, *sendtype);
  const int code = LNW_Isparse_alltoallv(*ndestinations, destinations, of_sendbuf.at, sendcounts, sdispls,
                                         of_sendbuf.type, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), arrivals, request);
  end_section(&of_sendbuf);
  finish(code, ierror);
}

void lnwf_arrivals_get_count(const LNW_Arrivals* arrivals, MPI_Fint* nsources, MPI_Fint* ierror) {
  finish(LNW_Arrivals_get_count(*arrivals, nsources), ierror);
}

void lnwf_arrivals_get_data(const LNW_Arrivals* arrivals, void** data, MPI_Count* bytes, MPI_Fint* ierror) {
  finish(LNW_Arrivals_get_data(*arrivals, data, bytes), ierror);
}

void lnwf_arrivals_copy(const LNW_Arrivals* arrivals, const MPI_Fint* maxsources, MPI_Fint sources[],
                        MPI_Count recvcounts[], MPI_Count rdispls[], const CFI_cdesc_t* recvbuf,
                        const MPI_Count* recvcount, const MPI_Fint* recvtype, MPI_Fint* ierror) {
  Section of_recvbuf = section_of_elements(recvbuf, *recvtype);
  const int code = LNW_Arrivals_copy(*arrivals, *maxsources, sources, recvcounts, rdispls, of_recvbuf.at, *recvcount,
                                     of_recvbuf.type);
  end_section(&of_recvbuf);
  finish(code, ierror);
}

void lnwf_arrivals_get_info(const LNW_Arrivals* arrivals, MPI_Fint* info, MPI_Fint* ierror) {
  MPI_Info reasons = MPI_INFO_NULL;
  const int code = LNW_Arrivals_get_info(*arrivals, &reasons);
  *info = MPI_Info_c2f(reasons);
  finish(code, ierror);
}

void lnwf_arrivals_free(LNW_Arrivals* arrivals, MPI_Fint* ierror) {
  finish(LNW_Arrivals_free(arrivals), ierror);
}

void lnwf_topology_from_arrivals(const LNW_Arrivals* arrivals, const MPI_Fint* info, LNW_Topology* topology,
                                 MPI_Fint* ierror) {
  finish(LNW_Topology_from_arrivals(*arrivals, MPI_Info_f2c(*info), topology), ierror);
}

void lnwf_topology_from_arrivals_reversed(const LNW_Arrivals* arrivals, const MPI_Fint* info, LNW_Topology* topology,
                                          MPI_Fint* ierror) {
  finish(LNW_Topology_from_arrivals_reversed(*arrivals, MPI_Info_f2c(*info), topology), ierror);
}

void lnwf_topology_create_from_destinations(const MPI_Fint* comm, const MPI_Fint* outdegree,
                                            const MPI_Fint destinations[], const MPI_Fint destweights[],
                                            const MPI_Fint* info, LNW_Topology* topology, LNW_Arrivals* arrivals,
                                            MPI_Fint* ierror) {
  finish(LNW_Topology_create_from_destinations(MPI_Comm_f2c(*comm), *outdegree, destinations, weights(destweights),
                                               MPI_Info_f2c(*info), topology, arrivals),
         ierror);
}

void lnwf_topology_create_from_sources(const MPI_Fint* comm, const MPI_Fint* indegree, const MPI_Fint sources[],
                                       const MPI_Fint sourceweights[], const MPI_Fint* info, LNW_Topology* topology,
                                       LNW_Arrivals* arrivals, MPI_Fint* ierror) {
  finish(LNW_Topology_create_from_sources(MPI_Comm_f2c(*comm), *indegree, sources, weights(sourceweights),
                                          MPI_Info_f2c(*info), topology, arrivals),
         ierror);
}

void lnwf_dist_graph_create(const MPI_Fint* comm_old, const MPI_Fint* n, const MPI_Fint sources[],
                            const MPI_Fint degrees[], const MPI_Fint destinations[], const MPI_Fint edge_weights[],
                            const MPI_Fint* info, int reorder, MPI_Fint* comm_dist_graph, MPI_Fint* ierror) {
  MPI_Comm created = MPI_COMM_NULL;
  const int code = LNW_Dist_graph_create(MPI_Comm_f2c(*comm_old), *n, sources, degrees, destinations,
                                         weights(edge_weights), MPI_Info_f2c(*info), reorder, &created);
  *comm_dist_graph = MPI_Comm_c2f(created);
  finish(code, ierror);
}

#define FORM(name) name
#define COUNT MPI_Fint
#define DISPLACEMENT MPI_Fint
#define WHERE MPI_Fint
#define TO_C(where) MPI_Comm_f2c(where)
#define DEGREES degrees_of_comm
#include "edges.h"
#include "operations.h"

#define FORM(name) name##_c
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#define WHERE MPI_Fint
#define TO_C(where) MPI_Comm_f2c(where)
#define DEGREES degrees_of_comm
#include "edges.h"
#include "operations.h"

#define FORM(name) name##_topology
#define COUNT MPI_Fint
#define DISPLACEMENT MPI_Fint
#define WHERE LNW_Topology
#define TO_C(where) (where)
#define DEGREES degrees_of_topology
#include "edges.h"
#include "operations.h"

#define FORM(name) name##_topology_c
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#define WHERE LNW_Topology
#define TO_C(where) (where)
#define DEGREES degrees_of_topology
#include "edges.h"
#include "operations.h"

static Degrees ranks_of(MPI_Comm comm) {
  Degrees ranks = {0, 0};
  int is_inter = 0;
  if (comm == MPI_COMM_NULL) return ranks;
  MPI_Comm_test_inter(comm, &is_inter);
  if (is_inter)
    MPI_Comm_remote_size(comm, &ranks.in);
  else
    MPI_Comm_size(comm, &ranks.in);
  ranks.out = ranks.in;
  return ranks;
}

/* As many as there are ranks where the lists of counts of an operation with a root count. */
static Degrees ranks_at(MPI_Comm comm, int root) {
  int rank = MPI_PROC_NULL, is_inter = 0;
  if (comm == MPI_COMM_NULL) return no_degrees;
  MPI_Comm_test_inter(comm, &is_inter);
  if (!is_inter) MPI_Comm_rank(comm, &rank);
  return root == (is_inter ? MPI_ROOT : rank) ? ranks_of(comm) : no_degrees;
}

#define FORM(name) name
#define COUNT MPI_Fint
#define DISPLACEMENT MPI_Fint
#define INT_COUNTS
#include "collectives.h"
#undef INT_COUNTS

#define FORM(name) name##_c
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#include "collectives.h"

#include "movers.h"
#include "pairs.h"

void lnwf_start(LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Start(request), ierror);
}

void lnwf_startall(const MPI_Fint* count, LNW_Request array_of_requests[], MPI_Fint* ierror) {
  finish(LNW_Startall(*count, array_of_requests), ierror);
}

void lnwf_test(LNW_Request* request, int* flag, MPI_Fint status[], MPI_Fint* ierror) {
  *flag = 0;
  Statuses statuses;
  MPI_Status* const found = begin_statuses(&statuses, 1, status);
  const int code = LNW_Test(request, flag, found);
  end_statuses(&statuses, *flag ? 1 : 0);
  finish(code, ierror);
}

void lnwf_testall(const MPI_Fint* count, LNW_Request array_of_requests[], int* flag, MPI_Fint array_of_statuses[],
                  MPI_Fint* ierror) {
  *flag = 0;
  Statuses statuses;
  MPI_Status* const found = begin_statuses(&statuses, *count, array_of_statuses);
  const int code = LNW_Testall(*count, array_of_requests, flag, found);
  end_statuses(&statuses, *flag ? *count : 0);
  finish(code, ierror);
}

void lnwf_testany(const MPI_Fint* count, LNW_Request array_of_requests[], MPI_Fint* index, int* flag, MPI_Fint status[],
                  MPI_Fint* ierror) {
  *flag = 0;
  *index = MPI_UNDEFINED;
  Statuses statuses;
  MPI_Status* const found = begin_statuses(&statuses, 1, status);
  const int code = LNW_Testany(*count, array_of_requests, index, flag, found);
  end_statuses(&statuses, *flag ? 1 : 0);
  to_fortran(1, index);
  finish(code, ierror);
}

void lnwf_testsome(const MPI_Fint* incount, LNW_Request array_of_requests[], MPI_Fint* outcount,
                   MPI_Fint array_of_indices[], MPI_Fint array_of_statuses[], MPI_Fint* ierror) {
  *outcount = 0;
  Statuses statuses;
  MPI_Status* const found = begin_statuses(&statuses, *incount, array_of_statuses);
  const int code = LNW_Testsome(*incount, array_of_requests, outcount, array_of_indices, found);
  end_statuses(&statuses, *outcount);
  to_fortran(*outcount, array_of_indices);
  finish(code, ierror);
}

void lnwf_wait(LNW_Request* request, MPI_Fint status[], MPI_Fint* ierror) {
  Statuses statuses;
  MPI_Status* const found = begin_statuses(&statuses, 1, status);
  const int code = LNW_Wait(request, found);
  end_statuses(&statuses, code == MPI_SUCCESS ? 1 : 0);
  finish(code, ierror);
}

void lnwf_waitall(const MPI_Fint* count, LNW_Request array_of_requests[], MPI_Fint array_of_statuses[],
                  MPI_Fint* ierror) {
  Statuses statuses;
  MPI_Status* const found = begin_statuses(&statuses, *count, array_of_statuses);
  const int code = LNW_Waitall(*count, array_of_requests, found);
  end_statuses(&statuses, code == MPI_SUCCESS ? *count : 0);
  finish(code, ierror);
}

void lnwf_waitany(const MPI_Fint* count, LNW_Request array_of_requests[], MPI_Fint* index, MPI_Fint status[],
                  MPI_Fint* ierror) {
  *index = MPI_UNDEFINED;
  Statuses statuses;
  MPI_Status* const found = begin_statuses(&statuses, 1, status);
  const int code = LNW_Waitany(*count, array_of_requests, index, found);
  end_statuses(&statuses, code == MPI_SUCCESS ? 1 : 0);
  to_fortran(1, index);
  finish(code, ierror);
}

void lnwf_waitsome(const MPI_Fint* incount, LNW_Request array_of_requests[], MPI_Fint* outcount,
                   MPI_Fint array_of_indices[], MPI_Fint array_of_statuses[], MPI_Fint* ierror) {
  *outcount = 0;
  Statuses statuses;
  MPI_Status* const found = begin_statuses(&statuses, *incount, array_of_statuses);
  const int code = LNW_Waitsome(*incount, array_of_requests, outcount, array_of_indices, found);
  end_statuses(&statuses, *outcount);
  to_fortran(*outcount, array_of_indices);
  finish(code, ierror);
}

void lnwf_request_free(LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Request_free(request), ierror);
}

void lnwf_request_set_buffers(const LNW_Request* request, const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf,
                              MPI_Fint* ierror) {
  finish(LNW_Request_set_buffers(*request, buffer(sendbuf), buffer(recvbuf)), ierror);
}

void lnwf_request_rebuild(const LNW_Request* request, const MPI_Fint* comm, LNW_Request* rebuilt, MPI_Fint* ierror) {
  finish(LNW_Request_rebuild(*request, MPI_Comm_f2c(*comm), rebuilt), ierror);
}

void lnwf_request_rebuild_topology(const LNW_Request* request, const LNW_Topology* topology, LNW_Request* rebuilt,
                                   MPI_Fint* ierror) {
  finish(LNW_Request_rebuild_topology(*request, *topology, rebuilt), ierror);
}

void lnwf_queue_init(LNW_Queue* queue, const int* kind, void* const* stream, MPI_Fint* ierror) {
  finish(LNW_Queue_init(queue, *kind, stream != NULL ? *stream : NULL), ierror);
}

void lnwf_queue_wait(const LNW_Queue* queue, MPI_Fint* ierror) {
  finish(LNW_Queue_wait(*queue), ierror);
}

void lnwf_queue_progress(const LNW_Queue* queue, int* flag, MPI_Fint* ierror) {
  *flag = 0;
  finish(LNW_Queue_progress(*queue, flag), ierror);
}

void lnwf_queue_free(LNW_Queue* queue, MPI_Fint* ierror) {
  finish(LNW_Queue_free(queue), ierror);
}

void lnwf_queue_get_statistics(const LNW_Queue* queue, LNW_Queue_statistics* statistics, MPI_Fint* ierror) {
  finish(LNW_Queue_get_statistics(*queue, statistics), ierror);
}

void lnwf_enqueue_start(const LNW_Queue* queue, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Enqueue_start(*queue, request), ierror);
}

void lnwf_enqueue_startall(const LNW_Queue* queue, const MPI_Fint* count, LNW_Request array_of_requests[],
                           MPI_Fint* ierror) {
  finish(LNW_Enqueue_startall(*queue, *count, array_of_requests), ierror);
}

void lnwf_enqueue_wait(const LNW_Queue* queue, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Enqueue_wait(*queue, request), ierror);
}

void lnwf_enqueue_waitall(const LNW_Queue* queue, const MPI_Fint* count, LNW_Request array_of_requests[],
                          MPI_Fint* ierror) {
  finish(LNW_Enqueue_waitall(*queue, *count, array_of_requests), ierror);
}

void lnwf_enqueue_ready(const LNW_Queue* queue, const LNW_Request* request, const MPI_Fint* partition,
                        MPI_Fint* ierror) {
  finish(LNW_Enqueue_ready(*queue, *request, *partition), ierror);
}

/* Edges count from 1. */
void lnwf_enqueue_ready_edge(const LNW_Queue* queue, const LNW_Request* request, const MPI_Fint* edge,
                             const MPI_Fint* partition, MPI_Fint* ierror) {
  finish(LNW_Enqueue_ready_edge(*queue, *request, *edge - 1, *partition), ierror);
}

void lnwf_enqueue_call(const LNW_Queue* queue, void (*function)(void*), void* const* argument, MPI_Fint* ierror) {
  finish(LNW_Enqueue_call(*queue, function, *argument), ierror);
}

void lnwf_request_set_stream(const LNW_Request* request, void* stream, MPI_Fint* ierror) {
  finish(LNW_Request_set_stream(*request, stream), ierror);
}

void lnwf_stream_synchronize(const CFI_cdesc_t* array, void* stream, MPI_Fint* ierror) {
  finish(LNW_Stream_synchronize(array->base_addr, stream), ierror);
}

void lnwf_request_get_statistics(const LNW_Request* request, LNW_Request_statistics* statistics, MPI_Fint* ierror) {
  finish((LNW_Request_get_statistics)(*request, statistics), ierror);
}

void lnwf_request_get_info(const LNW_Request* request, MPI_Fint* info, MPI_Fint* ierror) {
  MPI_Info reasons = MPI_INFO_NULL;
  const int code = LNW_Request_get_info(*request, &reasons);
  *info = MPI_Info_c2f(reasons);
  finish(code, ierror);
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
