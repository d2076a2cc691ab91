// Jacobi's iteration for Laplace's equation in three dimensions, a block for each rank. The solution is x + y + z.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <laneway/kokkos.hpp>
#include <utility>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  {
    using Field = Kokkos::View<double***>;
    const int own = 4, iterations = argc > 1 ? std::atoi(argv[1]) : 400;
    int ranks = 0;
    std::array<int, 3> blocks{}, periodic{}, at{};
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, blocks.data());
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 3, blocks.data(), periodic.data(), 0, &grid);
    int rank = 0;
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 3, at.data());

    Field u("u", own + 2, own + 2, own + 2), next("next", own + 2, own + 2, own + 2);
    const auto exact = [=](int i, int j, int k) {
      return static_cast<double>(at[0] * own + i + at[1] * own + j + at[2] * own + k);
    };
    // The boundary of the whole grid is in ghost layers that no neighbour fills; all else begins with zero.
    const auto start = Kokkos::create_mirror_view(u);
    const auto outside = [&](int x, int d) {
      return (x == 0 && at[d] == 0) || (x == own + 1 && at[d] == blocks[d] - 1);
    };
    for (int i = 0; i < own + 2; ++i)
      for (int j = 0; j < own + 2; ++j)
        for (int k = 0; k < own + 2; ++k)
          start(i, j, k) = outside(i, 0) || outside(j, 1) || outside(k, 2) ? exact(i, j, k) : 0;
    Kokkos::deep_copy(u, start);
    Kokkos::deep_copy(next, start);

    const laneway::Parts<3> parts = laneway::cart_parts<3>(grid, laneway::kokkos::strided(u).extents, 1, false);
    laneway::kokkos::Halo<Field> halo(grid, u, parts.send, parts.receive);
    const Kokkos::DefaultExecutionSpace space;
    const Kokkos::MDRangePolicy<Kokkos::Rank<3>> inner(space, {1, 1, 1}, {own + 1, own + 1, own + 1});
    for (int iteration = 0; iteration < iterations; ++iteration) {
      halo.exchange(space, u);
      Kokkos::parallel_for(
          "jacobi", inner, KOKKOS_LAMBDA(int i, int j, int k) {
            next(i, j, k) =
                (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) + u(i, j, k - 1) + u(i, j, k + 1)) /
                6;
          });
      std::swap(u, next);
    }

    double error = 0;
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), u);
    for (int i = 1; i <= own; ++i)
      for (int j = 1; j <= own; ++j)
        for (int k = 1; k <= own; ++k) error = std::max(error, std::abs(values(i, j, k) - exact(i, j, k)));
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, grid);
    if (rank == 0) std::printf("largest error %.1e: %s\n", error, error < 1e-4 ? "solved" : "not solved");
    MPI_Comm_free(&grid);
  }
  Kokkos::finalize();
  MPI_Finalize();
}
