// The beginning and the end of the program.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/log_line.hpp"
#include "communicator/communicator.hpp"
#include "communicator/hints/unknown_variables.hpp"
#include "preload/calls/requests.hpp"
#include "preload/next.hpp"
#include "preload/p2p/point_to_point.hpp"
#include "preload/report/report.hpp"
#include "preload/settings.hpp"

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

/// LD_PRELOAD as this process was started with, and what its children get: for them this library would load an MPI
/// library that they do not need.
struct Preload {
  std::string own;
  std::string of_children;
  bool differs = false;
};

bool is_same_file(const std::string& entry, const char* library) {
  struct stat one {};
  struct stat other {};
  if (entry.find('/') == std::string::npos) return std::string_view(library).ends_with("/" + entry);
  return stat(entry.c_str(), &one) == 0 && stat(library, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

const Preload& preload() {
  static const Preload found = [] {
    Preload preload;
    const char* const list = std::getenv("LD_PRELOAD");
    Dl_info library{};
    if (list == nullptr || dladdr(reinterpret_cast<const void*>(&needs_threads), &library) == 0) return preload;
    preload.own = list;
    for (std::size_t begin = 0; begin < preload.own.size();) {
      const std::size_t end = std::min(preload.own.find_first_of(": ", begin), preload.own.size());
      const std::string entry = preload.own.substr(begin, end - begin);
      begin = end + 1;
      if (entry.empty()) continue;
      if (is_same_file(entry, library.dli_fname))
        preload.differs = true;
      else
        preload.of_children += (preload.of_children.empty() ? "" : ":") + entry;
    }
    return preload;
  }();
  return found;
}

void set_preload(const std::string& value) {
  if (value.empty())
    unsetenv("LD_PRELOAD");
  else
    setenv("LD_PRELOAD", value.c_str(), 1);
}

/// The processes that MPI starts are of this job.
class SpawnsRanks {
 public:
  SpawnsRanks() {
    if (preload().differs) set_preload(preload().own);
  }
  ~SpawnsRanks() {
    if (preload().differs) set_preload(preload().of_children);
  }
  SpawnsRanks(const SpawnsRanks&) = delete;
  SpawnsRanks& operator=(const SpawnsRanks&) = delete;
};

bool ends_in_callback = false;

void end() {
  p2p::end();
  free_all();
  report();
}

/// MPI has just been initialized. Whatever the program attaches to MPI_COMM_SELF from now on goes first in
/// MPI_Finalize, and may use its requests.
int begin(int code) {
  if (code != MPI_SUCCESS) return code;
  if (preload().differs) set_preload(preload().of_children);
  if (!enabled() && !only_counts()) return code;
  begin_report();
  warn_of_unknown_variables();
  // The library waits for all ranks at the end. What is attached first goes last: the report is told before.
  try {
    (void)Communicator::find(MPI_COMM_SELF);
  } catch (const std::exception& error) {
    log_line(error.what());
  }
  const auto at_end = [](MPI_Comm, int, void*, void*) {
    end();
    return MPI_SUCCESS;
  };
  int key = MPI_KEYVAL_INVALID;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, nullptr) != MPI_SUCCESS) return code;
  ends_in_callback = PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS;
  PMPI_Comm_free_keyval(&key);
  if (enabled()) p2p::begin();
  return code;
}

}  // namespace

bool enabled() {
  static const bool disabled = is("LANEWAY_DISABLE", "1") || is("LANEWAY_DISABLE", "true") || only_counts();
  return !disabled;
}

bool only_counts() {
  static const bool counts = is("LANEWAY_DISABLE", "count");
  return counts;
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
  check_loaded_libraries();
  return begin(laneway_pass_MPI_Init_thread(argc, argv, needs_threads() ? MPI_THREAD_MULTIPLE : required, provided));
}

INTERPOSE(MPI_Init, (int* argc, char*** argv), (argc, argv)) {
  check_loaded_libraries();
  int provided = MPI_THREAD_SINGLE;
  return begin(needs_threads() ? laneway_pass_MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided)
                               : laneway_pass_MPI_Init(argc, argv));
}

#ifdef LANEWAY_HAS_SESSIONS
INTERPOSE(MPI_Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session),
          (info, errhandler, session)) {
  check_loaded_libraries();
  const int code = laneway_pass_MPI_Session_init(info, errhandler, session);
  if (code == MPI_SUCCESS && preload().differs) set_preload(preload().of_children);
  return code;
}
#endif

INTERPOSE(MPI_Comm_spawn,
          (const char* command, char* argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* intercomm,
           int errcodes[]),
          (command, argv, maxprocs, info, root, comm, intercomm, errcodes)) {
  const SpawnsRanks ranks;
  return laneway_pass_MPI_Comm_spawn(command, argv, maxprocs, info, root, comm, intercomm, errcodes);
}

INTERPOSE(MPI_Comm_spawn_multiple,
          (int count, char* commands[], char** argvs[], const int maxprocs[], const MPI_Info infos[], int root,
           MPI_Comm comm, MPI_Comm* intercomm, int errcodes[]),
          (count, commands, argvs, maxprocs, infos, root, comm, intercomm, errcodes)) {
  const SpawnsRanks ranks;
  return laneway_pass_MPI_Comm_spawn_multiple(count, commands, argvs, maxprocs, infos, root, comm, intercomm, errcodes);
}

INTERPOSE(MPI_Finalize, (void), ()) {
  if ((enabled() || only_counts()) && !ends_in_callback) end();
  return laneway_pass_MPI_Finalize();
}
