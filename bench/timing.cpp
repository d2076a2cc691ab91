#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace laneway::bench {

namespace {

// A sample ends with the slowest rank and begins with the barrier's first: between nodes that alone is some 100 us.
constexpr double short_seconds = 2e-3;
constexpr double batch_seconds = 5e-3;
constexpr int largest_batch = 2000;

double time(MPI_Comm comm, const std::function<void()>& action, int calls) {
  MPI_Barrier(comm);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) action();
  return (MPI_Wtime() - begin) / calls;
}

void longest_of_ranks(std::vector<double>& seconds, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, comm);
}

/// As many calls as make the shortest action last long enough for the clock and the barrier.
int choose_batch(MPI_Comm comm, std::span<const std::function<void()>> actions, int warmup) {
  int batch = 1;
  for (int calls : {std::max(1, warmup), 20}) {
    std::vector<double> seconds;
    for (const std::function<void()>& action : actions) seconds.push_back(time(comm, action, calls));
    longest_of_ranks(seconds, comm);
    const double shortest = *std::min_element(seconds.begin(), seconds.end());
    if (shortest >= short_seconds) return 1;
    const double wanted = batch_seconds / std::max(shortest, 1e-9);
    batch = static_cast<int>(std::min<double>(std::ceil(wanted), largest_batch));
  }
  return batch;
}

}  // namespace

double longest_of_ranks(double seconds, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  return seconds;
}

Samples measure(MPI_Comm comm, std::span<const std::function<void()>> actions, const Iterations& iterations) {
  Samples samples;
  samples.seconds.resize(actions.size());
  if (actions.empty()) return samples;
  samples.batch = choose_batch(comm, actions, iterations.warmup);
  std::vector<std::size_t> order(actions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (int i = 0; i < iterations.timed; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t action : order) samples.seconds[action].push_back(time(comm, actions[action], samples.batch));
  }
  for (std::vector<double>& seconds : samples.seconds) longest_of_ranks(seconds, comm);
  return samples;
}

}  // namespace laneway::bench
