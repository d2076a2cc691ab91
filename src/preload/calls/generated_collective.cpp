// Written by api/generate.py from api/operations.toml.
#include "preload/calls/collective.hpp"

using namespace laneway;
using namespace laneway::interpose;

INTERPOSE(MPI_Alltoall,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)) {
  return take_dense(
      "MPI_Alltoall", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::alltoall,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.count = recvcount, .type = recvtype}};
      },
      [&] { return laneway_pass_MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm); });
}

INTERPOSE(MPI_Alltoallv,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)) {
  return take_dense(
      "MPI_Alltoallv", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::alltoallv,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                              .receive = {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
      },
      [&] {
        return laneway_pass_MPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                          recvtype, comm);
      });
}

INTERPOSE(MPI_Alltoallw,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)) {
  return take_dense(
      "MPI_Alltoallw", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::alltoallw,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                              .receive = {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}};
      },
      [&] {
        return laneway_pass_MPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                          recvtypes, comm);
      });
}

INTERPOSE(MPI_Allgather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)) {
  return take_dense(
      "MPI_Allgather", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::allgather,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.count = recvcount, .type = recvtype}};
      },
      [&] { return laneway_pass_MPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm); });
}

INTERPOSE(MPI_Allgatherv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
           const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)) {
  return take_dense(
      "MPI_Allgatherv", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::allgatherv,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.counts = recvcounts, .displacements = displs, .type = recvtype}};
      },
      [&] {
        return laneway_pass_MPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
      });
}

INTERPOSE(MPI_Gather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)) {
  return take_dense(
      "MPI_Gather", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::gather,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.count = recvcount, .type = recvtype},
                              .root = root};
      },
      [&] { return laneway_pass_MPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm); });
}

INTERPOSE(MPI_Scatter,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)) {
  return take_dense(
      "MPI_Scatter", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::scatter,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.count = recvcount, .type = recvtype},
                              .root = root};
      },
      [&] { return laneway_pass_MPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm); });
}

INTERPOSE(MPI_Bcast, (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm),
          (buffer, count, datatype, root, comm)) {
  return take_dense(
      "MPI_Bcast", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::bcast,
                              .sendbuf = buffer,
                              .recvbuf = buffer,
                              .send = {.count = count, .type = datatype},
                              .receive = {.count = count, .type = datatype},
                              .root = root};
      },
      [&] { return laneway_pass_MPI_Bcast(buffer, count, datatype, root, comm); });
}

INTERPOSE(MPI_Reduce,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm),
          (sendbuf, recvbuf, count, datatype, op, root, comm)) {
  return take_dense(
      "MPI_Reduce", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::reduce,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = count, .type = datatype},
                              .receive = {.count = count, .type = datatype},
                              .op = op,
                              .root = root};
      },
      [&] { return laneway_pass_MPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm); });
}

INTERPOSE(MPI_Allreduce,
          (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
          (sendbuf, recvbuf, count, datatype, op, comm)) {
  return take_dense(
      "MPI_Allreduce", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::allreduce,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = count, .type = datatype},
                              .receive = {.count = count, .type = datatype},
                              .op = op};
      },
      [&] { return laneway_pass_MPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm); });
}

INTERPOSE(MPI_Reduce_scatter,
          (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
          (sendbuf, recvbuf, recvcounts, datatype, op, comm)) {
  return take_dense(
      "MPI_Reduce_scatter", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::reduce_scatter,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.type = datatype},
                              .receive = {.counts = recvcounts, .type = datatype},
                              .op = op};
      },
      [&] { return laneway_pass_MPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm); });
}

INTERPOSE(MPI_Reduce_scatter_block,
          (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
          (sendbuf, recvbuf, recvcount, datatype, op, comm)) {
  return take_dense(
      "MPI_Reduce_scatter_block", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::reduce_scatter_block,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.type = datatype},
                              .receive = {.count = recvcount, .type = datatype},
                              .op = op};
      },
      [&] { return laneway_pass_MPI_Reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm); });
}

INTERPOSE(MPI_Barrier, (MPI_Comm comm), (comm)) {
  return take_dense(
      "MPI_Barrier", comm,
      [&] {
        return CollectiveCall{
            .kind = DenseKind::barrier, .sendbuf = nullptr, .recvbuf = nullptr, .send = {}, .receive = {}};
      },
      [&] { return laneway_pass_MPI_Barrier(comm); });
}

#ifdef LANEWAY_HAS_LARGE_COUNT_COLLECTIVES
INTERPOSE(MPI_Alltoall_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)) {
  return take_dense(
      "MPI_Alltoall_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::alltoall,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.count = recvcount, .type = recvtype},
                              .is_large = true};
      },
      [&] { return laneway_pass_MPI_Alltoall_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm); });
}

INTERPOSE(MPI_Alltoallv_c,
          (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)) {
  return take_dense(
      "MPI_Alltoallv_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::alltoallv,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                              .receive = {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                              .is_large = true};
      },
      [&] {
        return laneway_pass_MPI_Alltoallv_c(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                            recvtype, comm);
      });
}

INTERPOSE(MPI_Alltoallw_c,
          (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
           MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)) {
  return take_dense(
      "MPI_Alltoallw_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::alltoallw,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                              .receive = {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                              .is_large = true};
      },
      [&] {
        return laneway_pass_MPI_Alltoallw_c(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                            recvtypes, comm);
      });
}

INTERPOSE(MPI_Allgather_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)) {
  return take_dense(
      "MPI_Allgather_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::allgather,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.count = recvcount, .type = recvtype},
                              .is_large = true};
      },
      [&] { return laneway_pass_MPI_Allgather_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm); });
}

INTERPOSE(MPI_Allgatherv_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
           const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)) {
  return take_dense(
      "MPI_Allgatherv_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::allgatherv,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.counts = recvcounts, .displacements = displs, .type = recvtype},
                              .is_large = true};
      },
      [&] {
        return laneway_pass_MPI_Allgatherv_c(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
      });
}

INTERPOSE(MPI_Gather_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)) {
  return take_dense(
      "MPI_Gather_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::gather,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.count = recvcount, .type = recvtype},
                              .root = root,
                              .is_large = true};
      },
      [&] {
        return laneway_pass_MPI_Gather_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
      });
}

INTERPOSE(MPI_Scatter_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)) {
  return take_dense(
      "MPI_Scatter_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::scatter,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = sendcount, .type = sendtype},
                              .receive = {.count = recvcount, .type = recvtype},
                              .root = root,
                              .is_large = true};
      },
      [&] {
        return laneway_pass_MPI_Scatter_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
      });
}

INTERPOSE(MPI_Bcast_c, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm),
          (buffer, count, datatype, root, comm)) {
  return take_dense(
      "MPI_Bcast_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::bcast,
                              .sendbuf = buffer,
                              .recvbuf = buffer,
                              .send = {.count = count, .type = datatype},
                              .receive = {.count = count, .type = datatype},
                              .root = root,
                              .is_large = true};
      },
      [&] { return laneway_pass_MPI_Bcast_c(buffer, count, datatype, root, comm); });
}

INTERPOSE(MPI_Reduce_c,
          (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
           MPI_Comm comm),
          (sendbuf, recvbuf, count, datatype, op, root, comm)) {
  return take_dense(
      "MPI_Reduce_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::reduce,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = count, .type = datatype},
                              .receive = {.count = count, .type = datatype},
                              .op = op,
                              .root = root,
                              .is_large = true};
      },
      [&] { return laneway_pass_MPI_Reduce_c(sendbuf, recvbuf, count, datatype, op, root, comm); });
}

INTERPOSE(MPI_Allreduce_c,
          (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
          (sendbuf, recvbuf, count, datatype, op, comm)) {
  return take_dense(
      "MPI_Allreduce_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::allreduce,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.count = count, .type = datatype},
                              .receive = {.count = count, .type = datatype},
                              .op = op,
                              .is_large = true};
      },
      [&] { return laneway_pass_MPI_Allreduce_c(sendbuf, recvbuf, count, datatype, op, comm); });
}

INTERPOSE(MPI_Reduce_scatter_c,
          (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
           MPI_Comm comm),
          (sendbuf, recvbuf, recvcounts, datatype, op, comm)) {
  return take_dense(
      "MPI_Reduce_scatter_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::reduce_scatter,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.type = datatype},
                              .receive = {.counts = recvcounts, .type = datatype},
                              .op = op,
                              .is_large = true};
      },
      [&] { return laneway_pass_MPI_Reduce_scatter_c(sendbuf, recvbuf, recvcounts, datatype, op, comm); });
}

INTERPOSE(MPI_Reduce_scatter_block_c,
          (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
          (sendbuf, recvbuf, recvcount, datatype, op, comm)) {
  return take_dense(
      "MPI_Reduce_scatter_block_c", comm,
      [&] {
        return CollectiveCall{.kind = DenseKind::reduce_scatter_block,
                              .sendbuf = sendbuf,
                              .recvbuf = recvbuf,
                              .send = {.type = datatype},
                              .receive = {.count = recvcount, .type = datatype},
                              .op = op,
                              .is_large = true};
      },
      [&] { return laneway_pass_MPI_Reduce_scatter_block_c(sendbuf, recvbuf, recvcount, datatype, op, comm); });
}
#endif
