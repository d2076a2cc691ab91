/// A stand-in for Kokkos Comm's headers, for tests where it is not installed: the types of its seam for communication
/// spaces under their names, as far as laneway/kokkos_comm.hpp uses them. Written for these tests; it is not Kokkos
/// Comm, and has no communication of its own.
#pragma once

#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <optional>
#include <type_traits>

namespace KokkosComm {

namespace Impl {

template <class>
struct is_communication_space : std::false_type {};
template <class>
struct is_reduction_operator : std::false_type {};

}  // namespace Impl

template <class T>
concept KokkosView = Kokkos::is_view<T>::value;
template <class T>
concept MutKokkosView = KokkosView<T> && !std::is_const_v<typename T::value_type>;
template <class T>
concept KokkosExecutionSpace = Kokkos::is_execution_space<T>::value;
template <class T>
concept CommunicationSpace = Impl::is_communication_space<T>::value;
template <class T>
concept ReductionOperator = Impl::is_reduction_operator<T>::value;

struct MpiSpace {
  using reduction_op_type = MPI_Op;
};
template <>
struct Impl::is_communication_space<MpiSpace> : std::true_type {};

struct Max {};
struct Min {};
struct Sum {};
struct Prod {};
template <>
struct Impl::is_reduction_operator<Max> : std::true_type {};
template <>
struct Impl::is_reduction_operator<Min> : std::true_type {};
template <>
struct Impl::is_reduction_operator<Sum> : std::true_type {};
template <>
struct Impl::is_reduction_operator<Prod> : std::true_type {};

template <CommunicationSpace CommSpace, ReductionOperator Op>
MPI_Op reduction_op() {
  static_assert(std::is_same_v<CommSpace, MpiSpace>);
  if constexpr (std::is_same_v<Op, Max>)
    return MPI_MAX;
  else if constexpr (std::is_same_v<Op, Min>)
    return MPI_MIN;
  else if constexpr (std::is_same_v<Op, Sum>)
    return MPI_SUM;
  else
    return MPI_PROD;
}

template <CommunicationSpace CommSpace, KokkosExecutionSpace ExecSpace>
class Communicator;
template <CommunicationSpace CommSpace>
class Request;

namespace Impl {

template <KokkosView RecvView, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
struct Recv;
template <KokkosView SendView, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
struct Send;
template <CommunicationSpace CommSpace, KokkosExecutionSpace ExecSpace, KokkosView SendView, KokkosView RecvView>
struct Exchange;
template <KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
struct Barrier;

}  // namespace Impl

template <KokkosView SendView, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
Request<CommSpace> send(Communicator<CommSpace, ExecSpace>& comm, const SendView& view, int peer) {
  return Impl::Send<SendView, ExecSpace, CommSpace>::execute(comm, view, peer);
}
template <MutKokkosView RecvView, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
Request<CommSpace> recv(Communicator<CommSpace, ExecSpace>& comm, RecvView& view, int peer) {
  return Impl::Recv<RecvView, ExecSpace, CommSpace>::execute(comm, view, peer);
}
template <CommunicationSpace CommSpace, KokkosExecutionSpace ExecSpace, KokkosView SendView, MutKokkosView RecvView>
Request<CommSpace> exchange(Communicator<CommSpace, ExecSpace>& comm, const SendView& sent, int to,
                            const RecvView& received, int from) {
  return Impl::Exchange<CommSpace, ExecSpace, SendView, RecvView>::execute(comm, sent, to, received, from);
}

namespace Experimental {

namespace Impl {

template <KokkosView View, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
struct Broadcast;
template <KokkosView SendView, KokkosView RecvView, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
struct AllGather;
template <KokkosView SendView, KokkosView RecvView, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
struct AllToAll;
template <KokkosView SendView, KokkosView RecvView, ReductionOperator Op, KokkosExecutionSpace ExecSpace,
          CommunicationSpace CommSpace>
struct AllReduce;
template <KokkosView SendView, KokkosView RecvView, ReductionOperator Op, KokkosExecutionSpace ExecSpace,
          CommunicationSpace CommSpace>
struct Reduce;

}  // namespace Impl

template <KokkosView View, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
Request<CommSpace> broadcast(Communicator<CommSpace, ExecSpace>& comm, View view, int root) {
  return Impl::Broadcast<View, ExecSpace, CommSpace>::execute(comm, view, root);
}
template <KokkosView SendView, KokkosView RecvView, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
Request<CommSpace> allgather(Communicator<CommSpace, ExecSpace>& comm, const SendView sent, RecvView received) {
  return Impl::AllGather<SendView, RecvView, ExecSpace, CommSpace>::execute(comm, sent, received);
}
template <KokkosView SendView, KokkosView RecvView, KokkosExecutionSpace ExecSpace, CommunicationSpace CommSpace>
Request<CommSpace> alltoall(Communicator<CommSpace, ExecSpace>& comm, const SendView sent, RecvView received,
                            int count) {
  return Impl::AllToAll<SendView, RecvView, ExecSpace, CommSpace>::execute(comm, sent, received, count);
}
template <KokkosView SendView, KokkosView RecvView, ReductionOperator Op, KokkosExecutionSpace ExecSpace,
          CommunicationSpace CommSpace>
Request<CommSpace> allreduce(Communicator<CommSpace, ExecSpace>& comm, const SendView sent, RecvView received, Op) {
  return Impl::AllReduce<SendView, RecvView, Op, ExecSpace, CommSpace>::execute(comm, sent, received);
}
template <KokkosView SendView, KokkosView RecvView, ReductionOperator Op, KokkosExecutionSpace ExecSpace,
          CommunicationSpace CommSpace>
Request<CommSpace> reduce(Communicator<CommSpace, ExecSpace>& comm, const SendView sent, RecvView received, int root,
                          Op) {
  return Impl::Reduce<SendView, RecvView, Op, ExecSpace, CommSpace>::execute(comm, sent, received, root);
}

}  // namespace Experimental

}  // namespace KokkosComm
