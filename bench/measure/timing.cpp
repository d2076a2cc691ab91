#include "measure/timing.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <numeric>
#include <random>

#include "base/simulated.hpp"

namespace laneway::bench {

namespace {

// A sample ends with the slowest rank and begins with the barrier's first: between nodes that alone is some 100 us.
// Actions that take this fraction of a batch are long enough by themselves.
constexpr double long_enough = 0.4;
constexpr int largest_batch = 2000;

/// Leaving a barrier takes ranks as long as some exchanges; simulated ones can agree on a time to begin at.
void start_together(MPI_Comm comm) {
  constexpr double agreed_before = 1;  // seconds in which all ranks learn the latest time
  const double begin = longest_of_ranks(MPI_Wtime(), comm) + agreed_before;
  pass(begin - MPI_Wtime());
}

double time(MPI_Comm comm, const std::function<void()>& action, int calls, double (*clock)()) {
  if constexpr (simulated)
    start_together(comm);
  else
    MPI_Barrier(comm);
  const double begin = clock();
  for (int i = 0; i < calls; ++i) action();
  return (clock() - begin) / calls;
}

void longest_of_ranks(std::vector<double>& seconds, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, comm);
}

/// As many calls as make the shortest action last long enough for the clock and the barrier.
int choose_batch(MPI_Comm comm, std::span<const std::function<void()>> actions, const Iterations& iterations) {
  int batch = 1;
  if constexpr (simulated) return batch;  // virtual time is exact
  for (int calls : {std::max(1, iterations.warmup), 20}) {
    std::vector<double> seconds;
    for (const std::function<void()>& action : actions) seconds.push_back(time(comm, action, calls, iterations.clock));
    longest_of_ranks(seconds, comm);
    const double shortest = *std::min_element(seconds.begin(), seconds.end());
    if (shortest >= long_enough * iterations.batch_seconds) return 1;
    const double wanted = iterations.batch_seconds / std::max(shortest, 1e-9);
    batch = static_cast<int>(std::min<double>(std::ceil(wanted), largest_batch));
  }
  return batch;
}

}  // namespace

double wall_seconds() {
  return MPI_Wtime();
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double longest_of_ranks(double seconds, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  return seconds;
}

Samples measure(MPI_Comm comm, std::span<const std::function<void()>> actions, const Iterations& iterations) {
  Samples samples;
  samples.seconds.resize(actions.size());
  if (actions.empty()) return samples;
  samples.batch = choose_batch(comm, actions, iterations);
  std::vector<std::size_t> order(actions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (int i = 0; i < iterations.timed; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t action : order)
      samples.seconds[action].push_back(time(comm, actions[action], samples.batch, iterations.clock));
  }
  for (std::vector<double>& seconds : samples.seconds) longest_of_ranks(seconds, comm);
  return samples;
}

}  // namespace laneway::bench
