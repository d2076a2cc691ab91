// Written by api/generate.py from api/operations.toml.
#include "operations/collective/execution/mpi.hpp"

namespace laneway {

int call_mpi(DenseKind kind, const MpiArguments& a, MPI_Comm comm) {
  switch (kind) {
    case DenseKind::alltoall:
      return MPI_Alltoall(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, comm);
    case DenseKind::alltoallv:
      return MPI_Alltoallv(a.sendbuf, a.send.counts, a.send.displacements, a.send.type, a.recvbuf, a.receive.counts,
                           a.receive.displacements, a.receive.type, comm);
    case DenseKind::alltoallw:
      return MPI_Alltoallw(a.sendbuf, a.send.counts, a.send.displacements, a.send.types, a.recvbuf, a.receive.counts,
                           a.receive.displacements, a.receive.types, comm);
    case DenseKind::allgather:
      return MPI_Allgather(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, comm);
    case DenseKind::allgatherv:
      return MPI_Allgatherv(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.counts, a.receive.displacements,
                            a.receive.type, comm);
    case DenseKind::gather:
      return MPI_Gather(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, a.root, comm);
    case DenseKind::gatherv:
      return MPI_Gatherv(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.counts, a.receive.displacements,
                         a.receive.type, a.root, comm);
    case DenseKind::scatter:
      return MPI_Scatter(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, a.root,
                         comm);
    case DenseKind::scatterv:
      return MPI_Scatterv(a.sendbuf, a.send.counts, a.send.displacements, a.send.type, a.recvbuf, a.receive.count,
                          a.receive.type, a.root, comm);
    case DenseKind::bcast:
      return MPI_Bcast(a.recvbuf, a.receive.count, a.receive.type, a.root, comm);
    case DenseKind::reduce:
      return MPI_Reduce(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, a.root, comm);
    case DenseKind::allreduce:
      return MPI_Allreduce(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm);
    case DenseKind::reduce_scatter:
      return MPI_Reduce_scatter(a.sendbuf, a.recvbuf, a.receive.counts, a.receive.type, a.op, comm);
    case DenseKind::reduce_scatter_block:
      return MPI_Reduce_scatter_block(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm);
    case DenseKind::scan:
      return MPI_Scan(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm);
    case DenseKind::exscan:
      return MPI_Exscan(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm);
    case DenseKind::barrier:
      return MPI_Barrier(comm);
  }
  return MPI_ERR_INTERN;
}

int start_mpi(DenseKind kind, const MpiArguments& a, MPI_Comm comm, MPI_Request* request) {
  switch (kind) {
    case DenseKind::alltoall:
      return MPI_Ialltoall(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, comm,
                           request);
    case DenseKind::alltoallv:
      return MPI_Ialltoallv(a.sendbuf, a.send.counts, a.send.displacements, a.send.type, a.recvbuf, a.receive.counts,
                            a.receive.displacements, a.receive.type, comm, request);
    case DenseKind::alltoallw:
      return MPI_Ialltoallw(a.sendbuf, a.send.counts, a.send.displacements, a.send.types, a.recvbuf, a.receive.counts,
                            a.receive.displacements, a.receive.types, comm, request);
    case DenseKind::allgather:
      return MPI_Iallgather(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, comm,
                            request);
    case DenseKind::allgatherv:
      return MPI_Iallgatherv(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.counts, a.receive.displacements,
                             a.receive.type, comm, request);
    case DenseKind::gather:
      return MPI_Igather(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, a.root, comm,
                         request);
    case DenseKind::gatherv:
      return MPI_Igatherv(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.counts, a.receive.displacements,
                          a.receive.type, a.root, comm, request);
    case DenseKind::scatter:
      return MPI_Iscatter(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, a.root,
                          comm, request);
    case DenseKind::scatterv:
      return MPI_Iscatterv(a.sendbuf, a.send.counts, a.send.displacements, a.send.type, a.recvbuf, a.receive.count,
                           a.receive.type, a.root, comm, request);
    case DenseKind::bcast:
      return MPI_Ibcast(a.recvbuf, a.receive.count, a.receive.type, a.root, comm, request);
    case DenseKind::reduce:
      return MPI_Ireduce(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, a.root, comm, request);
    case DenseKind::allreduce:
      return MPI_Iallreduce(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm, request);
    case DenseKind::reduce_scatter:
      return MPI_Ireduce_scatter(a.sendbuf, a.recvbuf, a.receive.counts, a.receive.type, a.op, comm, request);
    case DenseKind::reduce_scatter_block:
      return MPI_Ireduce_scatter_block(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm, request);
    case DenseKind::scan:
      return MPI_Iscan(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm, request);
    case DenseKind::exscan:
      return MPI_Iexscan(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm, request);
    case DenseKind::barrier:
      return MPI_Ibarrier(comm, request);
  }
  return MPI_ERR_INTERN;
}

#ifdef LANEWAY_HAS_LARGE_COUNT_COLLECTIVES
int call_mpi(DenseKind kind, const LargeMpiArguments& a, MPI_Comm comm) {
  switch (kind) {
    case DenseKind::alltoall:
      return MPI_Alltoall_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, comm);
    case DenseKind::alltoallv:
      return MPI_Alltoallv_c(a.sendbuf, a.send.counts, a.send.displacements, a.send.type, a.recvbuf, a.receive.counts,
                             a.receive.displacements, a.receive.type, comm);
    case DenseKind::alltoallw:
      return MPI_Alltoallw_c(a.sendbuf, a.send.counts, a.send.displacements, a.send.types, a.recvbuf, a.receive.counts,
                             a.receive.displacements, a.receive.types, comm);
    case DenseKind::allgather:
      return MPI_Allgather_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, comm);
    case DenseKind::allgatherv:
      return MPI_Allgatherv_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.counts,
                              a.receive.displacements, a.receive.type, comm);
    case DenseKind::gather:
      return MPI_Gather_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, a.root,
                          comm);
    case DenseKind::gatherv:
      return MPI_Gatherv_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.counts, a.receive.displacements,
                           a.receive.type, a.root, comm);
    case DenseKind::scatter:
      return MPI_Scatter_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, a.root,
                           comm);
    case DenseKind::scatterv:
      return MPI_Scatterv_c(a.sendbuf, a.send.counts, a.send.displacements, a.send.type, a.recvbuf, a.receive.count,
                            a.receive.type, a.root, comm);
    case DenseKind::bcast:
      return MPI_Bcast_c(a.recvbuf, a.receive.count, a.receive.type, a.root, comm);
    case DenseKind::reduce:
      return MPI_Reduce_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, a.root, comm);
    case DenseKind::allreduce:
      return MPI_Allreduce_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm);
    case DenseKind::reduce_scatter:
      return MPI_Reduce_scatter_c(a.sendbuf, a.recvbuf, a.receive.counts, a.receive.type, a.op, comm);
    case DenseKind::reduce_scatter_block:
      return MPI_Reduce_scatter_block_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm);
    case DenseKind::scan:
      return MPI_Scan_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm);
    case DenseKind::exscan:
      return MPI_Exscan_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm);
    case DenseKind::barrier:
      return MPI_Barrier(comm);
  }
  return MPI_ERR_INTERN;
}

int start_mpi(DenseKind kind, const LargeMpiArguments& a, MPI_Comm comm, MPI_Request* request) {
  switch (kind) {
    case DenseKind::alltoall:
      return MPI_Ialltoall_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, comm,
                             request);
    case DenseKind::alltoallv:
      return MPI_Ialltoallv_c(a.sendbuf, a.send.counts, a.send.displacements, a.send.type, a.recvbuf, a.receive.counts,
                              a.receive.displacements, a.receive.type, comm, request);
    case DenseKind::alltoallw:
      return MPI_Ialltoallw_c(a.sendbuf, a.send.counts, a.send.displacements, a.send.types, a.recvbuf, a.receive.counts,
                              a.receive.displacements, a.receive.types, comm, request);
    case DenseKind::allgather:
      return MPI_Iallgather_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, comm,
                              request);
    case DenseKind::allgatherv:
      return MPI_Iallgatherv_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.counts,
                               a.receive.displacements, a.receive.type, comm, request);
    case DenseKind::gather:
      return MPI_Igather_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, a.root,
                           comm, request);
    case DenseKind::gatherv:
      return MPI_Igatherv_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.counts, a.receive.displacements,
                            a.receive.type, a.root, comm, request);
    case DenseKind::scatter:
      return MPI_Iscatter_c(a.sendbuf, a.send.count, a.send.type, a.recvbuf, a.receive.count, a.receive.type, a.root,
                            comm, request);
    case DenseKind::scatterv:
      return MPI_Iscatterv_c(a.sendbuf, a.send.counts, a.send.displacements, a.send.type, a.recvbuf, a.receive.count,
                             a.receive.type, a.root, comm, request);
    case DenseKind::bcast:
      return MPI_Ibcast_c(a.recvbuf, a.receive.count, a.receive.type, a.root, comm, request);
    case DenseKind::reduce:
      return MPI_Ireduce_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, a.root, comm, request);
    case DenseKind::allreduce:
      return MPI_Iallreduce_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm, request);
    case DenseKind::reduce_scatter:
      return MPI_Ireduce_scatter_c(a.sendbuf, a.recvbuf, a.receive.counts, a.receive.type, a.op, comm, request);
    case DenseKind::reduce_scatter_block:
      return MPI_Ireduce_scatter_block_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm, request);
    case DenseKind::scan:
      return MPI_Iscan_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm, request);
    case DenseKind::exscan:
      return MPI_Iexscan_c(a.sendbuf, a.recvbuf, a.receive.count, a.receive.type, a.op, comm, request);
    case DenseKind::barrier:
      return MPI_Ibarrier(comm, request);
  }
  return MPI_ERR_INTERN;
}

#endif

}  // namespace laneway
