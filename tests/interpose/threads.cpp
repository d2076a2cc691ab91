// MPI_THREAD_MULTIPLE: each thread has a communicator and requests of its own.
#include <thread>

#include "check.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace {

constexpr int thread_count = 3;
constexpr int rounds = 30;

void work(const Graph& graph, MPI_Comm comm, int thread, int& wrong) {
  const int rank = rank_in(comm);
  const std::vector<int> in = graph.in(rank);
  std::vector<int> send(64), receive(64 * in.size() + 1), word(1);
  MPI_Request persistent = MPI_REQUEST_NULL;
#ifdef LANEWAY_HAS_PERSISTENT
  MPI_Neighbor_allgather_init(send.data(), 64, MPI_INT, receive.data(), 64, MPI_INT, comm, MPI_INFO_NULL, &persistent);
#elif defined(LANEWAY_HAS_EXTENSION_PERSISTENT)
  MPIX_Neighbor_allgather_init(send.data(), 64, MPI_INT, receive.data(), 64, MPI_INT, comm, MPI_INFO_NULL, &persistent);
#endif
  for (int round = 0; round < rounds; ++round) {
    std::fill(send.begin(), send.end(), 1000 * round + 10 * rank + thread);
    std::fill(receive.begin(), receive.end(), -1);
    MPI_Request request = persistent;
    if (round % 3 == 0 && persistent != MPI_REQUEST_NULL) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (round % 3 == 1) {
      MPI_Neighbor_allgather(send.data(), 64, MPI_INT, receive.data(), 64, MPI_INT, comm);
    } else {
      MPI_Ineighbor_allgather(send.data(), 64, MPI_INT, receive.data(), 64, MPI_INT, comm, &request);
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    for (std::size_t i = 0; i < in.size(); ++i)
      for (std::size_t j = 0; j < 64; ++j)
        wrong +=
            receive[64 * i + j] != 1000 * round + 10 * graph.edges[static_cast<std::size_t>(in[i])].source + thread;
  }
  if (persistent != MPI_REQUEST_NULL) MPI_Request_free(&persistent);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  const Graph graph = random_graph(size_of(MPI_COMM_WORLD), 5, Shape::symmetric);
  std::vector<MPI_Comm> comms;
  for (int t = 0; t < thread_count; ++t) comms.push_back(graph.create_adjacent(MPI_COMM_WORLD));
  std::vector<int> wrong(thread_count, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back(
        [&, t] { work(graph, comms[static_cast<std::size_t>(t)], t, wrong[static_cast<std::size_t>(t)]); });
  for (std::thread& thread : threads) thread.join();
  for (int count : wrong) CHECK(count == 0);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
