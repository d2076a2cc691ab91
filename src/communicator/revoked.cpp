// In front of MPIX_Comm_revoke: what this library does for a communicator runs on duplicates of its own, which MPI does
// not revoke with it. Ranks that wait there, for one that has stopped, are to hear of it.
#include "communicator/revoked.hpp"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <mutex>
#include <utility>
#include <vector>

#include "communicator/communicator.hpp"
#include "mpi/attribute_key.hpp"
#include "mpi/behind.hpp"
#include "mpi/running.hpp"

namespace laneway {

#ifdef LANEWAY_HAS_PROC_FAILED
namespace {

using Duplicates = std::vector<std::weak_ptr<PrivateComm>>;

AttributeKey duplicates_key([](void* attribute) { delete static_cast<Duplicates*>(attribute); });
std::mutex adding;

/// Copies: MPI may call back while they are revoked.
Duplicates duplicates_of(MPI_Comm comm) {
  const std::lock_guard lock(adding);
  const auto* const found = static_cast<const Duplicates*>(duplicates_key.find(comm));
  return found != nullptr ? *found : Duplicates{};
}

int revoke(MPI_Comm comm, int (*behind)(MPI_Comm)) noexcept {
  const auto revoke_own = [&](const PrivateComm* own) {
    if (own != nullptr && own->created()) behind(own->get());
  };
  const bool is_known = comm != MPI_COMM_NULL && is_running(comm);
  if (const Communicator* const known = is_known ? Communicator::find_any(comm) : nullptr) {
    revoke_own(&known->known_private_comm());
    revoke_own(known->nonblocking_comm().get());
  }
  if (is_known)
    for (const std::weak_ptr<PrivateComm>& each : duplicates_of(comm)) revoke_own(each.lock().get());
  return behind(comm);
}

}  // namespace
#endif

void revoke_with([[maybe_unused]] MPI_Comm comm, [[maybe_unused]] const std::shared_ptr<PrivateComm>& own) {
#ifdef LANEWAY_HAS_PROC_FAILED
  const std::lock_guard lock(adding);
  auto* found = static_cast<Duplicates*>(duplicates_key.find(comm));
  if (found == nullptr) {
    auto made = std::make_unique<Duplicates>();
    duplicates_key.set(comm, made.get());
    found = made.release();
  }
  std::erase_if(*found, [](const auto& each) { return each.expired(); });
  found->push_back(own);
#endif
}

}  // namespace laneway

#ifdef LANEWAY_HAS_PROC_FAILED

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
