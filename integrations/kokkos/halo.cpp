/// Times the halo of a contiguous View against the C API, and of a strided one against packing by hand, in turns.
/// With --json FILE, appends a record of each.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "laneway/kokkos.hpp"

namespace {

using Contiguous = Kokkos::View<double*, Kokkos::HostSpace>;
using Strided = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
constexpr int iterations = 200, rounds = 21;

template <class F>
double seconds(F&& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  double taken = -MPI_Wtime();
  for (int i = 0; i < iterations; ++i) f();
  taken += MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return taken / iterations;
}

std::FILE* records = nullptr;

/// Prints the medians of two ways that take turns, and what the second costs of the first.
template <class First, class Second>
void compare(const char* kind, std::size_t elements, const char* baseline, int rank, First&& first, Second&& second) {
  std::vector<double> times[2];
  for (int round = 0; round <= rounds; ++round) {
    const double one = seconds(first), two = seconds(second);
    if (round == 0) continue;
    times[0].push_back(one);
    times[1].push_back(two);
  }
  for (auto& list : times) std::sort(list.begin(), list.end());
  const double a = times[0][rounds / 2], b = times[1][rounds / 2];
  if (rank != 0) return;
  std::printf("time %s, %zu elements, %s: %.2f us, View %.2f us, ratio %.3f\n", kind, elements, baseline, a * 1e6,
              b * 1e6, b / a);
  if (records == nullptr) return;
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::fprintf(records,
               "{\"benchmark\":\"kokkos\",\"view\":\"%s\",\"elements\":%zu,\"ranks\":%d,\"baseline\":\"%s\","
               "\"baseline_s\":%.9g,\"view_s\":%.9g,\"ratio\":%.4g}\n",
               kind, elements, ranks, baseline, a, b, b / a);
}

struct Ring {
  int rank = 0, size = 0, next = 0, previous = 0;

  Ring() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
  }
};

void contiguous(const Ring& ring, std::size_t width) {
  const std::size_t n = 16 * width;
  Contiguous u("u", n);
  using laneway::Part;
  const std::vector<Part<1>> send{{ring.next, {{n - 2 * width}, {n - width}}}},
      receive{{ring.previous, {{0}, {width}}}};
  laneway::kokkos::Halo<Contiguous> halo(MPI_COMM_WORLD, u, send, receive);
  const laneway::Graph graph(MPI_COMM_WORLD, std::array{ring.previous}, std::array{ring.next});
  const int count = static_cast<int>(width), from = static_cast<int>(n - 2 * width), to = 0;
  LNW_Request request = LNW_REQUEST_NULL;
  laneway::check(LNW_Neighbor_alltoallv_init(u.data(), &count, &from, MPI_DOUBLE, u.data(), &count, &to, MPI_DOUBLE,
                                             graph.get(), MPI_INFO_NULL, &request));
  laneway::Persistent plain(request);
  const Kokkos::DefaultHostExecutionSpace space;
  compare(
      "contiguous", width, "C API", ring.rank,
      [&] {
        LNW_Start(&request);
        LNW_Wait(&request, MPI_STATUS_IGNORE);
      },
      [&] { halo.exchange(space, u); });
}

/// A column of a matrix in rows: one element of each.
void strided(const Ring& ring, std::size_t n) {
  Strided u("u", n, 64);
  using laneway::Part;
  const std::vector<Part<2>> send{{ring.next, {{0, 62}, {n, 63}}}}, receive{{ring.previous, {{0, 0}, {n, 1}}}};
  laneway::kokkos::Halo<Strided> halo(MPI_COMM_WORLD, u, send, receive);
  const laneway::Graph graph(MPI_COMM_WORLD, std::array{ring.previous}, std::array{ring.next});
  std::vector<double> out(n), in(n);
  const std::array count{static_cast<int>(n)}, zero{0};
  laneway::Persistent plain = laneway::neighbor_alltoallv_init<double>(graph.get(), std::span<const double>(out),
                                                                       {count, zero}, std::span(in), {count, zero});
  const Kokkos::DefaultHostExecutionSpace space;
  compare(
      "strided", n, "packed by hand", ring.rank,
      [&] {
        for (std::size_t i = 0; i < n; ++i) out[i] = u(i, 62);
        plain.run();
        for (std::size_t i = 0; i < n; ++i) u(i, 0) = in[i];
      },
      [&] { halo.exchange(space, u); });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  const bool has_records = argc == 3 && std::strcmp(argv[1], "--json") == 0;
  if (argc != 1 && !has_records) {
    std::fprintf(stderr, "usage: laneway-kokkos-halo [--json FILE]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  {
    const Ring ring;
    if (has_records && ring.rank == 0 && (records = std::fopen(argv[2], "a")) == nullptr) {
      std::perror(argv[2]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (const std::size_t elements : {64, 1024, 16384}) {
      contiguous(ring, elements);
      strided(ring, elements);
    }
  }
  if (records != nullptr && std::fclose(records) != 0) std::perror(argv[2]);
  Kokkos::finalize();
  MPI_Finalize();
}
