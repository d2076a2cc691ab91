/// The backend with Kokkos Comm's own types. Compiled where Kokkos Comm is found.
#include <vector>

#include "laneway/kokkos_comm.hpp"

namespace {

using Space = laneway::KokkosCommSpace;
using Exec = Kokkos::DefaultHostExecutionSpace;
using Comm = KokkosComm::Communicator<Space, Exec>;
using Values = Kokkos::View<double*, Kokkos::HostSpace>;
using Cells = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
namespace wide = KokkosComm::Experimental;

}  // namespace

void laneway_use_of_messages(Comm& comm, const Values& sent, const Values& received, int peer) {
  std::vector<KokkosComm::Request<Space>> requests;
  requests.push_back(KokkosComm::recv(comm, received, peer));
  requests.push_back(KokkosComm::send(comm, sent, peer));
  (void)KokkosComm::wait_any(requests);
  KokkosComm::wait_all(requests);
}

void laneway_use_of_collectives(Comm& comm, const Values& one, const Values& all) {
  wide::allreduce(comm, one, all, KokkosComm::Sum()).wait();
  wide::reduce(comm, one, all, 0, KokkosComm::Max()).wait();
  wide::broadcast(comm, one, 0).wait();
  wide::allgather(comm, one, all).wait();
  wide::alltoall(comm, one, all, 1).wait();
  KokkosComm::Impl::Barrier<Exec, Space>{comm};
}

void laneway_use_of_halos(Comm& comm, const Cells& u, const std::vector<laneway::Part<2>>& parts) {
  auto halo = laneway::kokkos_comm::halo(comm, u, parts, parts);
  halo.exchange(comm.exec(), u);
}

void laneway_use_of_communicators(Comm& comm) {
  auto twin = comm.duplicate();
  auto half = comm.split(0, 0);
  if (twin && half) (void)(twin->size() + half->rank());
}
