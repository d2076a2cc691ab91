/* The C interface as C99 sees it: declarations, constants, error codes. No exception leaves the library: every failure
 * below is thrown inside it, and arrives here as a code. */
#include <laneway/laneway.h>
#include <limits.h>
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
  errors(ring);
  exchanges(ring, left, right);
  MPI_Comm_free(&ring);
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", total == 0 ? "passed" : "FAILED");
  MPI_Finalize();
  return total != 0;
}
