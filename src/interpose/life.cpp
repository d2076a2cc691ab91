// The beginning and the end of the program.
#include <mpi.h>

#include <cstdlib>
#include <string_view>

#include "interpose/next.hpp"
#include "interpose/report.hpp"
#include "interpose/requests.hpp"
#include "interpose/settings.hpp"
#include "mpi/unknown_variables.hpp"

namespace laneway::interpose {

namespace {

bool is(const char* variable, std::string_view value) {
  const char* const found = std::getenv(variable);
  return found != nullptr && value == found;
}

/// The progress thread calls MPI beside the program.
bool needs_threads() {
  return enabled() && is("LANEWAY_PROGRESS", "thread");
}

}  // namespace

bool enabled() {
  static const bool disabled = is("LANEWAY_DISABLE", "1") || is("LANEWAY_DISABLE", "true");
  return !disabled;
}

bool has_world() {
  int initialized = 0;
  int finalized = 0;
  return PMPI_Initialized(&initialized) == MPI_SUCCESS && PMPI_Finalized(&finalized) == MPI_SUCCESS && initialized &&
         !finalized;
}

}  // namespace laneway::interpose

using namespace laneway::interpose;

INTERPOSE(MPI_Init_thread, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided)) {
  const int code = laneway_next_MPI_Init_thread(argc, argv, needs_threads() ? MPI_THREAD_MULTIPLE : required, provided);
  if (enabled()) laneway::warn_of_unknown_variables();
  return code;
}

INTERPOSE(MPI_Init, (int* argc, char*** argv), (argc, argv)) {
  int provided = MPI_THREAD_SINGLE;
  const int code = needs_threads() ? laneway_next_MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided)
                                   : laneway_next_MPI_Init(argc, argv);
  if (enabled()) laneway::warn_of_unknown_variables();
  return code;
}

INTERPOSE(MPI_Finalize, (void), ()) {
  if (enabled()) {
    free_all();
    tell_counts();
  }
  return laneway_next_MPI_Finalize();
}
