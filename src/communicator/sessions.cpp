#include "communicator/sessions.hpp"

#include <mpi.h>

#include <atomic>

#include "communicator/deferred_free.hpp"
#include "mpi/behind.hpp"
#include "mpi/running.hpp"

namespace laneway {

namespace {

std::atomic<int> open{0};
std::atomic<int> process{-1};

}  // namespace

int open_sessions() noexcept {
  return open.load(std::memory_order_acquire);
}

int process_in_sessions() noexcept {
  return process.load(std::memory_order_relaxed);
}

#if defined(MPI_SESSION_NULL) && !defined(LANEWAY_SIMULATED)
namespace {

using InitSession = int (*)(MPI_Info, MPI_Errhandler, MPI_Session*);
using FinalizeSession = int (*)(MPI_Session*);

int init_session(MPI_Info info, MPI_Errhandler handler, MPI_Session* session, InitSession behind) {
  const int code = behind(info, handler, session);
  if (code != MPI_SUCCESS) return code;
  MPI_Group all = MPI_GROUP_NULL;
  if (process_in_sessions() < 0 && MPI_Group_from_session_pset(*session, "mpi://WORLD", &all) == MPI_SUCCESS) {
    int own = -1;
    MPI_Group_rank(all, &own);
    MPI_Group_free(&all);
    process.store(own, std::memory_order_relaxed);
  }
  open.fetch_add(1, std::memory_order_acq_rel);
  return code;
}

/// MPI may end with the last session, as in MPI_Finalize. Another one is not waited in: of communicators that all have
/// freed, MPI_Session_finalize waits for nobody.
int finalize_session(MPI_Session* session, FinalizeSession behind) {
  const bool is_known = open_sessions() > 0;
  const bool is_last = is_known && open.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (is_last && !has_world()) finish_retired_of_sessions();
  const int code = behind(session);
  if (is_known && code != MPI_SUCCESS) open.fetch_add(1, std::memory_order_acq_rel);
  return code;
}

}  // namespace
#endif

}  // namespace laneway

#if defined(MPI_SESSION_NULL) && !defined(LANEWAY_SIMULATED)
// Weak: the preloaded library has others, for programs that use this one without knowing it, which it leaves alone
// while they only have sessions. PMPI_…: what Fortran bindings and tools call.
#define LANEWAY_IN_FRONT(Name, parameters, call)                                \
  extern "C" __attribute__((visibility("default"), weak)) int Name parameters { \
    static const auto behind = laneway::behind<decltype(&Name)>(#Name);         \
    return laneway::call;                                                       \
  }
LANEWAY_IN_FRONT(MPI_Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session* session),
                 init_session(info, handler, session, behind))
LANEWAY_IN_FRONT(PMPI_Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session* session),
                 init_session(info, handler, session, behind))
LANEWAY_IN_FRONT(MPI_Session_finalize, (MPI_Session * session), finalize_session(session, behind))
LANEWAY_IN_FRONT(PMPI_Session_finalize, (MPI_Session * session), finalize_session(session, behind))
#endif
