#include "communicator/hints/unknown_variables.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/log_line.hpp"
#include "base/nearest.hpp"
#include "base/simulated.hpp"
#include "communicator/hints/hints.hpp"

namespace laneway {

namespace {

constexpr std::string_view prefix = "LANEWAY_";
// After the prefix: tests mark processes with names of their own.
constexpr std::string_view of_tests = "TEST_";

std::vector<std::string_view> known_variables() {
  std::vector<std::string_view> names;
  for (const HintRow& row : hint_rows)
    if (!row.environment.empty()) names.push_back(row.environment);
  for (const VariableRow& row : variable_rows()) names.push_back(row.name);
  return names;
}

bool is_rank_0() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized) return is_first_process();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

/// Nothing that goes wrong here may keep this rank from a call that others make.
bool warn() noexcept {
  if constexpr (simulated) return false;
  try {
    const char* const log = std::getenv("LANEWAY_LOG");
    for (const std::string& complaint : {complaint_about_variables(environ), complaint_about_log(log ? log : "")})
      if (!complaint.empty() && is_rank_0()) log_line(complaint);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

}  // namespace

std::string complaint_about_variables(const char* const* environment) {
  const std::vector<std::string_view> known = known_variables();
  std::string unknown;
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (!name.starts_with(prefix) || name.substr(prefix.size()).starts_with(of_tests) ||
        std::ranges::find(known, name) != known.end())
      continue;
    unknown += (unknown.empty() ? "" : "; ") + std::string(name) + " is not a variable of Laneway's and is ignored";
    const std::string_view nearest = nearest_first(name, known).front();
    if (is_near(name, nearest)) unknown += ": is " + std::string(nearest) + " meant?";
  }
  return unknown;
}

void warn_of_unknown_variables() {
  static const bool warned = warn();
  static_cast<void>(warned);
}

}  // namespace laneway
