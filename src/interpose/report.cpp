#include "interpose/report.hpp"

#include <mpi.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "core/tell.hpp"

namespace laneway::interpose {

namespace {

struct Counts {
  std::int64_t taken = 0;
  std::map<std::string, std::int64_t> passed;  // by reason
};

std::mutex mutex;
std::map<std::string, Counts> calls;
std::int64_t timed_exchanges = 0;
std::int64_t untimed_exchanges = 0;
double saved_seconds = 0;

bool counts() {
  static const bool wanted = is_verbose();
  return wanted;
}

}  // namespace

void count_taken(const char* call) {
  if (!counts()) return;
  const std::lock_guard lock(mutex);
  ++calls[call].taken;
}

void count_passed(const char* call, const char* reason) {
  if (!counts()) return;
  const std::lock_guard lock(mutex);
  ++calls[call].passed[reason];
}

void count_exchanges(std::int64_t exchanges, std::optional<double> seconds_saved) {
  if (!counts()) return;
  const std::lock_guard lock(mutex);
  if (!seconds_saved) {
    untimed_exchanges += exchanges;
    return;
  }
  timed_exchanges += exchanges;
  saved_seconds += static_cast<double>(exchanges) * *seconds_saved;
}

void tell_counts() {
  if (!counts()) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  const std::lock_guard lock(mutex);
  if (calls.empty()) tell("preload: the program has called no neighborhood operation, so there was nothing to do");
  for (const auto& [name, found] : calls) {
    if (found.taken > 0) tell("preload: " + name + ": " + std::to_string(found.taken) + " taken over (rank 0)");
    for (const auto& [reason, count] : found.passed)
      tell("preload: " + name + ": " + std::to_string(count) + " left to the MPI library (rank 0): " + reason);
  }
  if (timed_exchanges > 0)
    tell("preload: " + std::to_string(timed_exchanges) + " exchanges have saved " + std::to_string(saved_seconds) +
         " s, by what was timed before them (rank 0)");
  if (untimed_exchanges > 0)
    tell("preload: what " + std::to_string(untimed_exchanges) + (timed_exchanges > 0 ? " other" : "") +
         " exchanges have saved is not measured (rank 0)");
}

}  // namespace laneway::interpose
