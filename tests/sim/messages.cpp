// Times of single messages from rank 0 to all others: `rank bytes seconds`, one line each.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/simulated.hpp"

__attribute__((visibility("default"))) int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double begin = 1;
  for (int peer = 1; peer < size; ++peer)
    for (int i = 1; i < argc; ++i, begin += 1) {
      const int bytes = std::atoi(argv[i]);
      std::vector<char> data(static_cast<std::size_t>(bytes));
      laneway::pass(begin - MPI_Wtime());
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank == 0) MPI_Isend(data.data(), bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request);
      if (rank == peer) MPI_Irecv(data.data(), bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (rank == peer) std::printf("%d %d %.12f\n", peer, bytes, MPI_Wtime() - begin);
    }
  MPI_Finalize();
  return 0;
}
