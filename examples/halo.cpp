// One-dimensional halo: each rank owns `n` elements and has one ghost element at each end.
#include <cstdio>
#include <laneway/laneway.hpp>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    const int n = 4;
    laneway::HaloSide send, receive;
    if (rank > 0) {
      send.ranks.push_back(rank - 1);
      send.counts.push_back(1);
      send.indices.push_back(1);
      receive.ranks.push_back(rank - 1);
      receive.counts.push_back(1);
      receive.indices.push_back(0);
    }
    if (rank + 1 < size) {
      send.ranks.push_back(rank + 1);
      send.counts.push_back(1);
      send.indices.push_back(n);
      receive.ranks.push_back(rank + 1);
      receive.counts.push_back(1);
      receive.indices.push_back(n + 1);
    }
    laneway::Halo<double> halo(MPI_COMM_WORLD, send, receive, n + 2, {{"lnw_strategy", "three_step"}});

    std::vector<double> x(n + 2, -1);
    for (int i = 1; i <= n; ++i) x[static_cast<std::size_t>(i)] = rank * n + i - 1;
    halo.exchange(x);
    std::printf("rank %d: ghosts %g and %g\n", rank, x.front(), x.back());
  }
  MPI_Finalize();
}
