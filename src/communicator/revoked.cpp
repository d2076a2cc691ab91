// In front of MPIX_Comm_revoke: what this library does for a communicator runs on duplicates of its own, which MPI does
// not revoke with it. Ranks that wait there, for one that has stopped, are to hear of it.
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "communicator/communicator.hpp"
#include "mpi/behind.hpp"
#include "mpi/running.hpp"

#ifdef LANEWAY_HAS_PROC_FAILED
namespace laneway {

namespace {

int revoke(MPI_Comm comm, int (*behind)(MPI_Comm)) noexcept {
  const auto revoke_own = [&](const PrivateComm* own) {
    if (own != nullptr && own->created()) behind(own->get());
  };
  const bool is_known = comm != MPI_COMM_NULL && is_running(comm);
  if (const Communicator* const known = is_known ? Communicator::find_any(comm) : nullptr) {
    revoke_own(&known->known_private_comm());
    revoke_own(known->nonblocking_comm().get());
  }
  return behind(comm);
}

}  // namespace

}  // namespace laneway

// Weak, as MPI_Session_init (sessions.cpp).
extern "C" {
__attribute__((visibility("default"), weak)) int MPIX_Comm_revoke(MPI_Comm comm) {
  static const auto behind = laneway::behind<int (*)(MPI_Comm)>("MPIX_Comm_revoke");
  return laneway::revoke(comm, behind);
}
__attribute__((visibility("default"), weak)) int PMPIX_Comm_revoke(MPI_Comm comm) {
  static const auto behind = laneway::behind<int (*)(MPI_Comm)>("PMPIX_Comm_revoke");
  return laneway::revoke(comm, behind);
}
}
#endif
