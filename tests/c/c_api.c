/* The C interface as C99 sees it: declarations, constants, error codes. No exception leaves the library: every failure
 * below is thrown inside it, and arrives here as a code. */
#include <laneway/laneway.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;
static int rank = 0;
static int size = 1;

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "[rank %d] %s:%d: %s\n", rank, __FILE__, __LINE__, #condition); \
      ++failures;                                                                     \
    }                                                                                 \
  } while (0)

/* A failure, with a text that says `part`. */
static void check_error(int code, const char* part, int line) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  if (code != MPI_SUCCESS && strstr(text, part) != NULL) return;
  fprintf(stderr, "[rank %d] %s:%d: '%s' is not in: %s\n", rank, __FILE__, line, part, text);
  ++failures;
}
#define CHECK_ERROR(call, part) check_error(call, part, __LINE__)

static void versions(void) {
  int major = -1, minor = -1, patch = -1;
  CHECK(LNW_Get_version(&major, &minor, &patch) == MPI_SUCCESS);
  CHECK(major == LNW_VERSION_MAJOR && minor == LNW_VERSION_MINOR && patch == LNW_VERSION_PATCH);
}

static void exchanges(MPI_Comm ring, int left, int right) {
  double owned[2], ghosts[2] = {-1, -1};
  const int counts[2] = {1, 1}, displacements[2] = {0, 1};
  const MPI_Aint bytes[2] = {0, sizeof(double)};
  const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
  const MPI_Count indices[2] = {0, 1};
  LNW_Request requests[6] = {LNW_REQUEST_NULL};
  MPI_Status statuses[6];
  int i, flag;
  owned[0] = rank;
  owned[1] = rank + 0.5;

  /* Destinations: right, left; sources: left, right. */
  CHECK(LNW_Neighbor_alltoallv(owned, counts, displacements, MPI_DOUBLE, ghosts, counts, displacements, MPI_DOUBLE,
                               ring) == MPI_SUCCESS);
  CHECK(ghosts[0] == left && ghosts[1] == right + 0.5);
  CHECK(LNW_Neighbor_alltoallw(owned, counts, bytes, types, ghosts, counts, bytes, types, ring) == MPI_SUCCESS);
  CHECK(LNW_Neighbor_alltoall(owned, 1, MPI_DOUBLE, ghosts, 1, MPI_DOUBLE, ring) == MPI_SUCCESS);
  CHECK(LNW_Neighbor_allgather(owned, 1, MPI_DOUBLE, ghosts, 1, MPI_DOUBLE, ring) == MPI_SUCCESS);
  CHECK(ghosts[0] == left && ghosts[1] == right);
  CHECK(LNW_Neighbor_allgatherv(owned, 1, MPI_DOUBLE, ghosts, counts, displacements, MPI_DOUBLE, ring) == MPI_SUCCESS);

  CHECK(LNW_Neighbor_allgather_init(owned, 1, MPI_DOUBLE, ghosts, 1, MPI_DOUBLE, ring, MPI_INFO_NULL, &requests[0]) ==
        MPI_SUCCESS);
  CHECK(LNW_Neighbor_allgatherv_init(owned, 1, MPI_DOUBLE, ghosts, counts, displacements, MPI_DOUBLE, ring,
                                     MPI_INFO_NULL, &requests[1]) == MPI_SUCCESS);
  CHECK(LNW_Neighbor_alltoall_init(owned, 1, MPI_DOUBLE, ghosts, 1, MPI_DOUBLE, ring, MPI_INFO_NULL, &requests[2]) ==
        MPI_SUCCESS);
  CHECK(LNW_Neighbor_alltoallv_init(owned, counts, displacements, MPI_DOUBLE, ghosts, counts, displacements, MPI_DOUBLE,
                                    ring, MPI_INFO_NULL, &requests[3]) == MPI_SUCCESS);
  CHECK(LNW_Neighbor_alltoallw_init(owned, counts, bytes, types, ghosts, counts, bytes, types, ring, MPI_INFO_NULL,
                                    &requests[4]) == MPI_SUCCESS);
  CHECK(LNW_Neighbor_alltoallv_init_indexed(owned, 2, counts, indices, MPI_DOUBLE, ghosts, 2, counts, indices,
                                            MPI_DOUBLE, ring, MPI_INFO_NULL, &requests[5]) == MPI_SUCCESS);
  for (i = 0; i < 6; ++i) {
    ghosts[0] = ghosts[1] = -1;
    CHECK(LNW_Startall(1, &requests[i]) == MPI_SUCCESS);
    if (i % 2 == 0) {
      CHECK(LNW_Waitall(1, &requests[i], &statuses[i]) == MPI_SUCCESS);
    } else {
      for (flag = 0; !flag;) CHECK(LNW_Test(&requests[i], &flag, &statuses[i]) == MPI_SUCCESS);
    }
    CHECK(ghosts[0] == left && ghosts[1] == (i < 2 ? right : right + 0.5));
  }
  {
    LNW_Request_statistics statistics;
    const char* strategy = NULL;
    MPI_Count length = 0;
    CHECK(LNW_Request_get_statistics(requests[3], &statistics) == MPI_SUCCESS);
    CHECK(statistics.net_bytes <= statistics.bytes);
    CHECK(LNW_Request_get_strategy(requests[3], &strategy) == MPI_SUCCESS);
    CHECK(strategy != NULL && strcmp(strategy, "direct") == 0);
    CHECK(LNW_Request_get_plan(requests[3], NULL, 0, &length) == MPI_SUCCESS);
    CHECK(length > 0);
  }
  for (i = 0; i < 6; ++i) {
    CHECK(LNW_Request_free(&requests[i]) == MPI_SUCCESS);
    CHECK(requests[i] == LNW_REQUEST_NULL);
  }
}

/* Where programs that were built before look for the members. */
typedef char reorder_stays[offsetof(LNW_Reorder, moved) == 24 && offsetof(LNW_Reorder, has_partitioner) == 28 ? 1 : -1];
typedef char statistics_stay[offsetof(LNW_Request_statistics, metadata_bytes) == 64 ? 1 : -1];

/* Structures that the library fills: callers that know less or more of them, and the functions of earlier headers. */
static void sizes(MPI_Comm ring) {
  union {
    LNW_Request_statistics statistics;
    unsigned char bytes[sizeof(LNW_Request_statistics) + 16];
  } known, given;
  union {
    LNW_Reorder report;
    unsigned char bytes[sizeof(LNW_Reorder) + 16];
  } none;
  const size_t whole = sizeof(LNW_Request_statistics), some = 3 * sizeof(MPI_Count);
  double owned[2] = {0, 0}, ghosts[2];
  LNW_Request request = LNW_REQUEST_NULL;
  size_t i;
  CHECK(LNW_Neighbor_alltoall_init(owned, 1, MPI_DOUBLE, ghosts, 1, MPI_DOUBLE, ring, MPI_INFO_NULL, &request) ==
        MPI_SUCCESS);
  CHECK(LNW_Request_get_statistics(request, &known.statistics) == MPI_SUCCESS);
  CHECK(known.statistics.metadata_bytes > 0);

  memset(&given, 0x5a, sizeof given);
  CHECK(LNW_Request_get_statistics_sized(request, some, &given.statistics) == MPI_SUCCESS);
  CHECK(memcmp(&given, &known, some) == 0);
  for (i = some; i < sizeof given; ++i) CHECK(given.bytes[i] == 0x5a);

  memset(&given, 0x5a, sizeof given);
  CHECK(LNW_Request_get_statistics_sized(request, whole + 8, &given.statistics) == MPI_SUCCESS);
  CHECK(memcmp(&given, &known, whole) == 0);
  for (i = whole; i < sizeof given; ++i) CHECK(given.bytes[i] == (i < whole + 8 ? 0 : 0x5a));

  /* What programs call that were built when metadata_bytes was the last member. */
  memset(&given, 0x5a, sizeof given);
  CHECK((LNW_Request_get_statistics)(request, &given.statistics) == MPI_SUCCESS);
  CHECK(memcmp(&given, &known, 9 * sizeof(MPI_Count)) == 0);
  for (i = 9 * sizeof(MPI_Count); i < sizeof given; ++i) CHECK(given.bytes[i] == 0x5a);
  CHECK(LNW_Request_free(&request) == MPI_SUCCESS);

  memset(&none, 0x5a, sizeof none);
  CHECK_ERROR(LNW_Comm_get_reorder_sized(ring, sizeof none.report.weight, &none.report),
              "LNW_Comm_get_reorder on rank");
  CHECK(none.report.weight == 0 && none.bytes[sizeof none.report.weight] == 0x5a);
  memset(&none, 0x5a, sizeof none);
  CHECK_ERROR((LNW_Comm_get_reorder)(ring, &none.report), "LNW_Comm_get_reorder on rank");
  CHECK(none.report.has_partitioner == 0 && none.bytes[sizeof none.report] == 0x5a);
}

/* Every form of every operation, by its declaration. */
static void forms(MPI_Comm ring, int left, int right) {
  double owned[2], ghosts[2];
  const int counts[2] = {1, 1}, displacements[2] = {0, 1};
  const MPI_Count large[2] = {1, 1}, indices[2] = {0, 1};
  const MPI_Aint bytes[2] = {0, sizeof(double)}, places[2] = {0, 1};
  const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
  const MPI_Datatype d = MPI_DOUBLE;
  LNW_Topology topology = LNW_TOPOLOGY_NULL, copy = LNW_TOPOLOGY_NULL;
  LNW_Request requests[24];
  int sources[2], destinations[2], i, n = 0, indegree = 0, outdegree = 0;
  int index = 0, flag = 0, some = 0, done[24];
  MPI_Status statuses[24];
  owned[0] = rank;
  owned[1] = rank + 0.5;

  CHECK(LNW_Topology_from_comm(ring, &copy) == MPI_SUCCESS);
  CHECK(LNW_Topology_get_neighbors_count(copy, &indegree, &outdegree) == MPI_SUCCESS);
  CHECK(indegree == 2 && outdegree == 2);
  CHECK(LNW_Topology_get_neighbors(copy, 2, sources, 2, destinations) == MPI_SUCCESS);
  CHECK(sources[0] == left && destinations[0] == right);
  CHECK(LNW_Topology_create(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL,
                            &topology) == MPI_SUCCESS);
  CHECK(LNW_Topology_free(&copy) == MPI_SUCCESS);
  CHECK(copy == LNW_TOPOLOGY_NULL);

#define RECEIVED(call)                                   \
  do {                                                   \
    ghosts[0] = ghosts[1] = -1;                          \
    CHECK((call) == MPI_SUCCESS);                        \
    CHECK(ghosts[0] == left && (int)ghosts[1] == right); \
  } while (0)
  RECEIVED(LNW_Neighbor_allgather_c(owned, 1, d, ghosts, 1, d, ring));
  RECEIVED(LNW_Neighbor_allgatherv_c(owned, 1, d, ghosts, large, places, d, ring));
  RECEIVED(LNW_Neighbor_alltoall_c(owned, 1, d, ghosts, 1, d, ring));
  RECEIVED(LNW_Neighbor_alltoallv_c(owned, large, places, d, ghosts, large, places, d, ring));
  RECEIVED(LNW_Neighbor_alltoallw_c(owned, large, bytes, types, ghosts, large, bytes, types, ring));
  RECEIVED(LNW_Neighbor_allgather_topology(owned, 1, d, ghosts, 1, d, topology));
  RECEIVED(LNW_Neighbor_allgatherv_topology(owned, 1, d, ghosts, counts, displacements, d, topology));
  RECEIVED(LNW_Neighbor_alltoall_topology(owned, 1, d, ghosts, 1, d, topology));
  RECEIVED(
      LNW_Neighbor_alltoallv_topology(owned, counts, displacements, d, ghosts, counts, displacements, d, topology));
  RECEIVED(LNW_Neighbor_alltoallw_topology(owned, counts, bytes, types, ghosts, counts, bytes, types, topology));
  RECEIVED(LNW_Neighbor_allgather_topology_c(owned, 1, d, ghosts, 1, d, topology));
  RECEIVED(LNW_Neighbor_allgatherv_topology_c(owned, 1, d, ghosts, large, places, d, topology));
  RECEIVED(LNW_Neighbor_alltoall_topology_c(owned, 1, d, ghosts, 1, d, topology));
  RECEIVED(LNW_Neighbor_alltoallv_topology_c(owned, large, places, d, ghosts, large, places, d, topology));
  RECEIVED(LNW_Neighbor_alltoallw_topology_c(owned, large, bytes, types, ghosts, large, bytes, types, topology));

#define BEGUN(call)                        \
  do {                                     \
    LNW_Request* request = &requests[n++]; \
    CHECK((call) == MPI_SUCCESS);          \
  } while (0)
  /* Each receives in the same place: one after the other. */
#define COMPLETED(call)                                         \
  do {                                                          \
    ghosts[0] = ghosts[1] = -1;                                 \
    n = 0;                                                      \
    BEGUN(call);                                                \
    CHECK(LNW_Wait(&requests[0], &statuses[0]) == MPI_SUCCESS); \
    CHECK(requests[0] == LNW_REQUEST_NULL);                     \
    CHECK(ghosts[0] == left && (int)ghosts[1] == right);        \
  } while (0)
  COMPLETED(LNW_Ineighbor_allgather(owned, 1, d, ghosts, 1, d, ring, request));
  COMPLETED(LNW_Ineighbor_allgatherv(owned, 1, d, ghosts, counts, displacements, d, ring, request));
  COMPLETED(LNW_Ineighbor_alltoall(owned, 1, d, ghosts, 1, d, ring, request));
  COMPLETED(LNW_Ineighbor_alltoallv(owned, counts, displacements, d, ghosts, counts, displacements, d, ring, request));
  COMPLETED(LNW_Ineighbor_alltoallw(owned, counts, bytes, types, ghosts, counts, bytes, types, ring, request));
  COMPLETED(LNW_Ineighbor_allgather_c(owned, 1, d, ghosts, 1, d, ring, request));
  COMPLETED(LNW_Ineighbor_allgatherv_c(owned, 1, d, ghosts, large, places, d, ring, request));
  COMPLETED(LNW_Ineighbor_alltoall_c(owned, 1, d, ghosts, 1, d, ring, request));
  COMPLETED(LNW_Ineighbor_alltoallv_c(owned, large, places, d, ghosts, large, places, d, ring, request));
  COMPLETED(LNW_Ineighbor_alltoallw_c(owned, large, bytes, types, ghosts, large, bytes, types, ring, request));
  COMPLETED(LNW_Ineighbor_allgather_topology(owned, 1, d, ghosts, 1, d, topology, request));
  COMPLETED(LNW_Ineighbor_allgatherv_topology(owned, 1, d, ghosts, counts, displacements, d, topology, request));
  COMPLETED(LNW_Ineighbor_alltoall_topology(owned, 1, d, ghosts, 1, d, topology, request));
  COMPLETED(LNW_Ineighbor_alltoallv_topology(owned, counts, displacements, d, ghosts, counts, displacements, d,
                                             topology, request));
  COMPLETED(
      LNW_Ineighbor_alltoallw_topology(owned, counts, bytes, types, ghosts, counts, bytes, types, topology, request));
  COMPLETED(LNW_Ineighbor_allgather_topology_c(owned, 1, d, ghosts, 1, d, topology, request));
  COMPLETED(LNW_Ineighbor_allgatherv_topology_c(owned, 1, d, ghosts, large, places, d, topology, request));
  COMPLETED(LNW_Ineighbor_alltoall_topology_c(owned, 1, d, ghosts, 1, d, topology, request));
  COMPLETED(LNW_Ineighbor_alltoallv_topology_c(owned, large, places, d, ghosts, large, places, d, topology, request));
  COMPLETED(
      LNW_Ineighbor_alltoallw_topology_c(owned, large, bytes, types, ghosts, large, bytes, types, topology, request));

  n = 0;
#define MADE(call) BEGUN(call)
  MADE(LNW_Neighbor_allgather_init_c(owned, 1, d, ghosts, 1, d, ring, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_allgatherv_init_c(owned, 1, d, ghosts, large, places, d, ring, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoall_init_c(owned, 1, d, ghosts, 1, d, ring, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoallv_init_c(owned, large, places, d, ghosts, large, places, d, ring, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoallw_init_c(owned, large, bytes, types, ghosts, large, bytes, types, ring, MPI_INFO_NULL,
                                     request));
  MADE(LNW_Neighbor_alltoallv_init_indexed_c(owned, 2, large, indices, d, ghosts, 2, large, indices, d, ring,
                                             MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_allgather_init_topology(owned, 1, d, ghosts, 1, d, topology, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_allgatherv_init_topology(owned, 1, d, ghosts, counts, displacements, d, topology, MPI_INFO_NULL,
                                             request));
  MADE(LNW_Neighbor_alltoall_init_topology(owned, 1, d, ghosts, 1, d, topology, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoallv_init_topology(owned, counts, displacements, d, ghosts, counts, displacements, d, topology,
                                            MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoallw_init_topology(owned, counts, bytes, types, ghosts, counts, bytes, types, topology,
                                            MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoallv_init_indexed_topology(owned, 2, counts, indices, d, ghosts, 2, counts, indices, d,
                                                    topology, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_allgather_init_topology_c(owned, 1, d, ghosts, 1, d, topology, MPI_INFO_NULL, request));
  MADE(
      LNW_Neighbor_allgatherv_init_topology_c(owned, 1, d, ghosts, large, places, d, topology, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoall_init_topology_c(owned, 1, d, ghosts, 1, d, topology, MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoallv_init_topology_c(owned, large, places, d, ghosts, large, places, d, topology,
                                              MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoallw_init_topology_c(owned, large, bytes, types, ghosts, large, bytes, types, topology,
                                              MPI_INFO_NULL, request));
  MADE(LNW_Neighbor_alltoallv_init_indexed_topology_c(owned, 2, large, indices, d, ghosts, 2, large, indices, d,
                                                      topology, MPI_INFO_NULL, request));
  CHECK(n == 18);
  for (i = 0; i < n; ++i) {
    ghosts[0] = ghosts[1] = -1;
    CHECK(LNW_Start(&requests[i]) == MPI_SUCCESS);
    flag = 0;
    switch (i % 5) {
      case 0:
        while (!flag) CHECK(LNW_Testall(n, requests, &flag, statuses) == MPI_SUCCESS);
        break;
      case 1:
        CHECK(LNW_Waitany(n, requests, &index, &statuses[0]) == MPI_SUCCESS && index == i);
        break;
      case 2:
        while (!flag) CHECK(LNW_Testany(n, requests, &index, &flag, &statuses[0]) == MPI_SUCCESS);
        CHECK(index == i);
        break;
      case 3:
        CHECK(LNW_Waitsome(n, requests, &some, done, statuses) == MPI_SUCCESS && some == 1 && done[0] == i);
        break;
      default:
        do CHECK(LNW_Testsome(n, requests, &some, done, statuses) == MPI_SUCCESS);
        while (some == 0);
        CHECK(some == 1 && done[0] == i);
    }
    CHECK(ghosts[0] == left && (int)ghosts[1] == right);
  }
  CHECK(LNW_Topology_shrink(topology, MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
  ghosts[0] = ghosts[1] = -1;
  CHECK(LNW_Request_rebuild_topology(requests[3], copy, &requests[n]) == MPI_SUCCESS);
  CHECK(LNW_Start(&requests[n]) == MPI_SUCCESS && LNW_Wait(&requests[n], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(ghosts[0] == left && (int)ghosts[1] == right);
  CHECK(LNW_Request_free(&requests[n]) == MPI_SUCCESS && LNW_Topology_free(&copy) == MPI_SUCCESS);
  ghosts[0] = -1;
  CHECK(LNW_Request_rebuild(requests[3], MPI_COMM_SELF, &requests[n]) == MPI_SUCCESS);
  CHECK(LNW_Start(&requests[n]) == MPI_SUCCESS && LNW_Wait(&requests[n], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(ghosts[0] == (left == rank ? left : -1));
  CHECK(LNW_Request_free(&requests[n]) == MPI_SUCCESS);
  for (i = 0; i < n; ++i) CHECK(LNW_Request_free(&requests[i]) == MPI_SUCCESS);
  CHECK(LNW_Topology_free(&topology) == MPI_SUCCESS);
}

static void errors(MPI_Comm ring) {
  int value = 0;
  LNW_Request request = LNW_REQUEST_NULL;
  MPI_Info info;
  const int counts[2] = {2, 2};
  const MPI_Count indices[4] = {0, 1, 2, 3};
  CHECK_ERROR(LNW_Neighbor_allgather_init(&value, -1, MPI_INT, &value, 1, MPI_INT, ring, MPI_INFO_NULL, &request),
              "sendcount is -1");
  CHECK_ERROR(LNW_Neighbor_alltoallv_init_indexed(&value, 3, counts, indices, MPI_INT, &value, 4, counts, indices,
                                                  MPI_INT, ring, MPI_INFO_NULL, &request),
              "sendindices[3] is 3, the buffer has 3 elements");
  CHECK_ERROR(LNW_Start(&request), "LNW_REQUEST_NULL");
  CHECK_ERROR(LNW_Start(NULL), "request is NULL");
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_strategy", "nonsense");
  CHECK_ERROR(LNW_Neighbor_allgather_init(&value, 0, MPI_INT, &value, 0, MPI_INT, ring, info, &request), "nonsense");
  MPI_Info_free(&info);

#ifndef LANEWAY_TEST_SANITIZED
  /* 2^48 bytes with gaps, to be packed: std::bad_alloc inside. A rank that sends to itself packs nothing. A sanitizer
   * would end the program. */
  if (size > 1) {
    MPI_Datatype huge;
    MPI_Type_vector(1 << 18, 1 << 28, 1 << 29, MPI_INT, &huge);
    MPI_Type_commit(&huge);
    CHECK_ERROR(LNW_Neighbor_allgather_init(&value, 1, huge, &value, 1, huge, ring, MPI_INFO_NULL, &request),
                "out of memory");
    CHECK(request == LNW_REQUEST_NULL);
    MPI_Type_free(&huge);
  }
#endif
}

/* A line of two elements a rank, closed to a ring: two fields of different datatypes, and a sum back. */
static void halos(int left, int right) {
  const MPI_Count first = 2 * rank, ghost_ids[2] = {2 * left + 1, 2 * right}, nobodys = -4;
  const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
  const int extent = 2, width = 1, period = 1;
  int bad_extent = 0;
  double x[4] = {-1, -1, -1, -1};
  int y[4] = {-1, -1, -1, -1};
  void* arrays[2];
  MPI_Count owned = -1, elements = -1;
  LNW_Halo halo = LNW_HALO_NULL, grid = LNW_HALO_NULL;
  LNW_Request request = LNW_REQUEST_NULL;
  int dims = -1, coords = -1, i;
  arrays[0] = x;
  arrays[1] = y;
  for (i = 0; i < 2; ++i) {
    x[i] = 2 * rank + i;
    y[i] = 10 * (2 * rank + i);
  }
  CHECK(LNW_Halo_create(MPI_COMM_WORLD, first, 2, 2, ghost_ids, MPI_INFO_NULL, &halo) == MPI_SUCCESS);
  CHECK(LNW_Halo_get_count(halo, &owned, &elements) == MPI_SUCCESS && owned == 2 && elements == 4);
  CHECK(LNW_Halo_init_fields(halo, 2, arrays, types, MPI_INFO_NULL, &request) == MPI_SUCCESS);
  CHECK(LNW_Start(&request) == MPI_SUCCESS && LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(x[2] == 2 * left + 1 && x[3] == 2 * right && y[2] == 10 * (2 * left + 1) && y[3] == 20 * right);
  CHECK(LNW_Request_free(&request) == MPI_SUCCESS);
  CHECK(LNW_Halo_reverse_init(halo, x, MPI_DOUBLE, MPI_SUM, MPI_INFO_NULL, &request) == MPI_SUCCESS);
  CHECK(LNW_Start(&request) == MPI_SUCCESS && LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(x[0] == 4 * rank && x[1] == 4 * rank + 2);
  CHECK(LNW_Request_free(&request) == MPI_SUCCESS);
  CHECK(LNW_Halo_create_cart(MPI_COMM_WORLD, 1, NULL, &extent, &width, &period, 1, MPI_INFO_NULL, &grid) ==
        MPI_SUCCESS);
  CHECK(LNW_Halo_get_cart(grid, 1, &dims, &coords) == MPI_SUCCESS && dims == size && coords == rank);
  CHECK_ERROR(LNW_Halo_get_cart(halo, 1, &dims, &coords), "halo is not of a grid");
  CHECK_ERROR(LNW_Halo_create(MPI_COMM_WORLD, first, 2, 1, &nobodys, MPI_INFO_NULL, &grid),
              "ghost_ids[0] is -4, which no rank owns");
  CHECK_ERROR(LNW_Halo_create_cart(MPI_COMM_WORLD, 1, NULL, &bad_extent, &width, &period, 1, MPI_INFO_NULL, &grid),
              "extents[0] is 0");
  CHECK_ERROR(LNW_Halo_init(LNW_HALO_NULL, x, MPI_DOUBLE, MPI_INFO_NULL, &request), "halo is LNW_HALO_NULL");
  CHECK(LNW_Halo_free(&grid) == MPI_SUCCESS && LNW_Halo_free(&halo) == MPI_SUCCESS && halo == LNW_HALO_NULL);
}

/* Two numbers to the right, by each form with large counts. */
static void sparse(int left, int right) {
  const int numbers[4] = {rank, -1, 100 + rank, -1};
  const MPI_Count counts[2] = {1, 1};
  const MPI_Aint places[2] = {0, 2};
  const int both[2] = {right, right};
  int form;
  for (form = 0; form < 3; ++form) {
    LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
    LNW_Request request = LNW_REQUEST_NULL;
    int entries = -1;
    const int* sources = NULL;
    const MPI_Count* arrived = NULL;
    void* data = NULL;
    MPI_Count bytes = -1;
    if (form == 0)
      CHECK(LNW_Sparse_alltoallv_c(2, both, numbers, counts, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &arrivals) == MPI_SUCCESS);
    if (form == 1)
      CHECK(LNW_Isparse_alltoallv_c(2, both, numbers, counts, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals,
                                    &request) == MPI_SUCCESS);
    if (form == 2)
      CHECK(LNW_Isparse_alltoall_c(2, both, numbers, 2, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals, &request) ==
            MPI_SUCCESS);
    if (form > 0) {
      CHECK(arrivals == LNW_ARRIVALS_NULL);
      CHECK(LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      CHECK(request == LNW_REQUEST_NULL);
    }
    CHECK(LNW_Arrivals_get_count(arrivals, &entries) == MPI_SUCCESS && entries == 2);
    CHECK(LNW_Arrivals_get_sources(arrivals, &sources, &arrived, NULL) == MPI_SUCCESS);
    CHECK(sources[0] == left && sources[1] == left && arrived[1] == (form == 2 ? 2 : 1));
    CHECK(LNW_Arrivals_get_data(arrivals, &data, &bytes) == MPI_SUCCESS);
    CHECK(bytes == (MPI_Count)((form == 2 ? 4 : 2) * sizeof(int)));
    CHECK(((int*)data)[0] == left && ((int*)data)[form == 2 ? 2 : 1] == 100 + left);
    CHECK(LNW_Arrivals_free(&arrivals) == MPI_SUCCESS);
  }
}

int main(int argc, char** argv) {
  int left, right, total = 0;
  int neighbors_in[2], neighbors_out[2];
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  neighbors_in[0] = neighbors_out[1] = left;
  neighbors_in[1] = neighbors_out[0] = right;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors_in, MPI_UNWEIGHTED, 2, neighbors_out,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring) == MPI_SUCCESS);
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  versions();
  exchanges(ring, left, right);
  sizes(ring);
  forms(ring, left, right);
  errors(ring);
  halos(left, right);
  sparse(left, right);
  exchanges(ring, left, right);
  MPI_Comm_free(&ring);
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", total == 0 ? "passed" : "FAILED");
  MPI_Finalize();
  return total != 0;
}
