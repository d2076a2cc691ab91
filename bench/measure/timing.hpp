#pragma once

#include <mpi.h>

#include <functional>
#include <span>
#include <vector>

namespace laneway::bench {

[[nodiscard]] double wall_seconds();
/// That this process has used so far: what others do on its core does not count.
[[nodiscard]] double processor_seconds();

struct Iterations {
  int warmup = 2;
  int timed = 20;
  double batch_seconds = 5e-3;  ///< that a sample of short actions lasts
  double (*clock)() = wall_seconds;
};

struct Samples {
  std::vector<std::vector<double>> seconds;  ///< of one call, by action and iteration; the same on all ranks
  int batch = 1;                             ///< calls in a sample
};

/// The longest of all ranks' times. Collective.
[[nodiscard]] double longest_of_ranks(double seconds, MPI_Comm comm);

/// Times collective actions side by side: in each iteration every action once, in an order that is drawn anew, after a
/// barrier; a sample is the longest time of any rank. Short actions are called several times in a row for a sample.
[[nodiscard]] Samples measure(MPI_Comm comm, std::span<const std::function<void()>> actions,
                              const Iterations& iterations);

}  // namespace laneway::bench
