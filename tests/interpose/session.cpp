// A program that never calls MPI_Init: communicators of a session, to which MPI_COMM_WORLD and MPI_COMM_SELF are
// unknown.
#include "check.hpp"

int main() {
#ifdef LANEWAY_HAS_SESSIONS
  MPI_Session session = MPI_SESSION_NULL;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
  MPI_Group group = MPI_GROUP_NULL;
  CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK(MPI_Comm_create_from_group(group, "laneway test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) == MPI_SUCCESS);
  MPI_Group_free(&group);
  const int rank = rank_in(comm);
  const Graph graph = ring_graph(size_of(comm));
  MPI_Comm ring = graph.create_adjacent(comm);
  const std::vector<int> in = graph.in(rank);
  std::vector<int> received(in.size() + 1);
  const auto check = [&] {
    for (std::size_t i = 0; i < in.size(); ++i)
      CHECK(received[i] == graph.edges[static_cast<std::size_t>(in[i])].source);
    std::fill(received.begin(), received.end(), -1);
  };
  CHECK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, ring) == MPI_SUCCESS);
  check();
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(MPI_Ineighbor_allgather(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, ring, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  check();
#ifdef LANEWAY_HAS_PERSISTENT
  CHECK(MPI_Neighbor_allgather_init(&rank, 1, MPI_INT, received.data(), 1, MPI_INT, ring, MPI_INFO_NULL, &request) ==
        MPI_SUCCESS);
  CHECK(MPI_Start(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  check();
  CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
#endif
  int total = 0;
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) std::puts(total == 0 ? "all checks hold" : "checks have failed");
  MPI_Comm_free(&ring);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return total == 0 ? 0 : 1;
#else
  std::puts("SKIP: the MPI library has no sessions");
#endif
}
