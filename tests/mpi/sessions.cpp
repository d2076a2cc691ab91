// A program that only opens a session: no MPI_COMM_WORLD, no MPI_COMM_SELF.
#include <array>
#include <cstdio>

#include "laneway/laneway.h"

#if MPI_VERSION >= 4

namespace {

void expect(bool good, const char* what) {
  if (!good) std::printf("wrong: %s\n", what);
}

void exchange(MPI_Comm comm, int rank, int size) {
  const std::array<int, 2> sources{(rank + size - 1) % size, (rank + 1) % size};
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  expect(LNW_Topology_create(comm, 2, sources.data(), MPI_UNWEIGHTED, 2, sources.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                             &topology) == MPI_SUCCESS,
         "LNW_Topology_create");
  int sent = 10 + rank;
  const std::array<int, 2> expected{10 + sources[0], 10 + sources[1]};
  std::array<int, 2> received{};
  expect(LNW_Neighbor_allgather_topology(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, topology) == MPI_SUCCESS &&
             received == expected,
         "blocking");
  LNW_Request request = LNW_REQUEST_NULL;
  received = {};
  expect(LNW_Ineighbor_allgather_topology(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, topology, &request) ==
                 MPI_SUCCESS &&
             LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && received == expected,
         "nonblocking");
  for (const char* strategy : {"direct", "auto"}) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "lnw_strategy", strategy);
    received = {};
    expect(LNW_Neighbor_allgather_init_topology(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, topology, info,
                                                &request) == MPI_SUCCESS &&
               LNW_Start(&request) == MPI_SUCCESS && LNW_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               received == expected && LNW_Request_free(&request) == MPI_SUCCESS,
           strategy);
    MPI_Info_free(&info);
  }
  // What needs MPI_COMM_WORLD says so.
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_machine", "node:* rank:1");
  expect(LNW_Neighbor_allgather_init_topology(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, topology, info,
                                              &request) != MPI_SUCCESS,
         "lnw_machine");
  MPI_Info_free(&info);
  LNW_Request null = LNW_REQUEST_NULL;
  expect(LNW_Start(&null) != MPI_SUCCESS, "LNW_Start of a null request");
  expect(LNW_Topology_free(&topology) == MPI_SUCCESS, "LNW_Topology_free");
}

}  // namespace

int main() {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create_from_group(group, "laneway", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  exchange(comm, rank, size);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  std::puts("good");
}

#else

int main() {
  std::puts("SKIP: this MPI library has no sessions");
}

#endif
