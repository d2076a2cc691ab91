// Ranks without neighbours that do not call neighborhood operations, as in PETSc, and ones that do.
#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  Graph graph;
  for (const Graph::Edge& edge : ring_graph(size_of(MPI_COMM_WORLD) - 1).edges)
    graph.edges.push_back({edge.source + 1, edge.destination + 1});  // without rank 0
  const MPI_Comm comm = graph.create_adjacent(MPI_COMM_WORLD);
  const std::vector<int> in = graph.in(rank);
  const std::size_t degree = in.size();
  std::vector<int> send(degree + 1, rank), receive(degree + 1), counts(degree + 1, 1), places(degree + 1);
  for (std::size_t i = 0; i < degree; ++i) places[i] = static_cast<int>(i);
  const auto check = [&] {
    for (std::size_t i = 0; i < degree; ++i) CHECK(receive[i] == graph.edges[static_cast<std::size_t>(in[i])].source);
    std::fill(receive.begin(), receive.end(), -1);
  };
  for (int round = 0; round < 6; ++round) {
    if (degree == 0 && round < 4) continue;
    MPI_Request requests[2];
    MPI_Ineighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_INT, receive.data(), counts.data(),
                            places.data(), MPI_INT, comm, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS && requests[0] == MPI_REQUEST_NULL);
    check();
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, receive.data(), 1, MPI_INT, comm);
    check();
  }
  // From a communicator in which some ranks have no neighbours, one in which all have, and another of the first kind.
  const MPI_Comm untouched = graph.create_adjacent(MPI_COMM_WORLD);
  for (const Graph& next : {ring_graph(size_of(comm)), graph}) {
    const MPI_Comm made = next.create_adjacent(untouched);
    const std::vector<int> sources = next.in(rank);
    std::vector<int> all(sources.size() + 1);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, made);
    for (std::size_t i = 0; i < sources.size(); ++i)
      CHECK(all[i] == next.edges[static_cast<std::size_t>(sources[i])].source);
  }
  const int status = verdict();
  MPI_Finalize();
  return status;
}
