// Game of Life on a torus, a block for each rank: a glider moves by one cell in four generations.
#include <array>
#include <cstdio>
#include <laneway/kokkos.hpp>
#include <utility>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  {
    using Cells = Kokkos::View<int**>;
    const int own = 12, generations = 16;
    int ranks = 0;
    std::array<int, 2> blocks{}, periodic{1, 1}, at{};
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, blocks.data());
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 2, blocks.data(), periodic.data(), 0, &grid);
    int rank = 0;
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, at.data());

    Cells now("now", own + 2, own + 2), next("next", own + 2, own + 2);
    if (rank == 0) {
      const auto start = Kokkos::create_mirror_view(now);
      for (const auto& [i, j] : {std::pair(1, 2), {2, 3}, {3, 1}, {3, 2}, {3, 3}}) start(i, j) = 1;
      Kokkos::deep_copy(now, start);
    }
    const laneway::Parts<2> parts = laneway::cart_parts<2>(grid, laneway::kokkos::strided(now).extents, 1);
    laneway::kokkos::Halo<Cells> halo(grid, now, parts.send, parts.receive);
    const Kokkos::DefaultExecutionSpace space;
    const Kokkos::MDRangePolicy<Kokkos::Rank<2>> inner(space, {1, 1}, {own + 1, own + 1});
    for (int generation = 0; generation < generations; ++generation) {
      halo.exchange(space, now);
      Kokkos::parallel_for(
          "generation", inner, KOKKOS_LAMBDA(int i, int j) {
            int around = -now(i, j);
            for (int di = -1; di <= 1; ++di)
              for (int dj = -1; dj <= 1; ++dj) around += now(i + di, j + dj);
            next(i, j) = around == 3 || (around == 2 && now(i, j) == 1);
          });
      std::swap(now, next);
    }

    // Sums of the cells' coordinates: the glider has gone by generations / 4 in both.
    std::array<long, 3> sums{};
    const auto cells = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), now);
    for (int i = 1; i <= own; ++i)
      for (int j = 1; j <= own; ++j)
        if (cells(i, j) == 1) {
          const int moved = generations / 4;
          const auto back = [&](int x, int block, int n) { return (block * own + x - moved + n) % n; };
          sums[0] += 1;
          sums[1] += back(i, at[0], blocks[0] * own);
          sums[2] += back(j, at[1], blocks[1] * own);
        }
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 3, MPI_LONG, MPI_SUM, grid);
    const bool right = sums == std::array<long, 3>{5, 12, 11};
    if (rank == 0) std::printf("%ld cells live, the glider is %s\n", sums[0], right ? "where it should be" : "lost");
    MPI_Comm_free(&grid);
  }
  Kokkos::finalize();
  MPI_Finalize();
}
