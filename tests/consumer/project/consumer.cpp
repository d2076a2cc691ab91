#include <cstdio>
#include <laneway/laneway.hpp>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool passed = false;
  {
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    const laneway::HaloSide send{{next}, {1}, {0}}, receive{{previous}, {1}, {1}};
    laneway::Halo<double> halo(MPI_COMM_WORLD, send, receive, {{"lnw_strategy", "three_step"}});
    std::vector<double> x{rank + 0.5, -1};
    halo.exchange(x);
    passed = x[1] == previous + 0.5;
  }
  if (rank == 0) std::printf("consumer: %s\n", passed ? "passed" : "failed");
  MPI_Finalize();
  return passed ? 0 : 1;
}
