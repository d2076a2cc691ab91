// Written by api/generate.py from api/operations.toml.
#include "api/dense.hpp"

using namespace laneway;

int LNW_Alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::alltoall,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype}});
}

int LNW_Alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                        LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::alltoall,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype},
                                         .is_large = true});
}

int LNW_Alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                       void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                       MPI_Info info, LNW_Request* request) {
  return dense_persistent(
      __func__, comm, info, request,
      CollectiveCall{.kind = DenseKind::alltoallv,
                     .sendbuf = sendbuf,
                     .recvbuf = recvbuf,
                     .send = {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     .receive = {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                         MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::alltoallv,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                                         .receive = {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                                         .is_large = true});
}

int LNW_Alltoallw_init(const void* sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                       void* recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                       MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(
      __func__, comm, info, request,
      CollectiveCall{.kind = DenseKind::alltoallw,
                     .sendbuf = sendbuf,
                     .recvbuf = recvbuf,
                     .send = {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     .receive = {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                         const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                         LNW_Request* request) {
  return dense_persistent(
      __func__, comm, info, request,
      CollectiveCall{.kind = DenseKind::alltoallw,
                     .sendbuf = sendbuf,
                     .recvbuf = recvbuf,
                     .send = {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     .receive = {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                     .is_large = true});
}

int LNW_Allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::allgather,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype}});
}

int LNW_Allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                         LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::allgather,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype},
                                         .is_large = true});
}

int LNW_Allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                        LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::allgatherv,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                          MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::allgatherv,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.counts = recvcounts, .displacements = displs, .type = recvtype},
                                         .is_large = true});
}

int LNW_Gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::gather,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype},
                                         .root = root});
}

int LNW_Gather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                      LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::gather,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype},
                                         .root = root,
                                         .is_large = true});
}

int LNW_Gatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                     const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                     LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::gatherv,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.counts = recvcounts, .displacements = displs, .type = recvtype},
                                         .root = root});
}

int LNW_Gatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                       MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::gatherv,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.counts = recvcounts, .displacements = displs, .type = recvtype},
                                         .root = root,
                                         .is_large = true});
}

int LNW_Scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::scatter,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype},
                                         .root = root});
}

int LNW_Scatter_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                       LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::scatter,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = sendcount, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype},
                                         .root = root,
                                         .is_large = true});
}

int LNW_Scatterv_init(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                      void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                      LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::scatterv,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.counts = sendcounts, .displacements = displs, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype},
                                         .root = root});
}

int LNW_Scatterv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                        MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                        MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::scatterv,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.counts = sendcounts, .displacements = displs, .type = sendtype},
                                         .receive = {.count = recvcount, .type = recvtype},
                                         .root = root,
                                         .is_large = true});
}

int LNW_Bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                   LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::bcast,
                                         .sendbuf = buffer,
                                         .recvbuf = buffer,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .root = root});
}

int LNW_Bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                     LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::bcast,
                                         .sendbuf = buffer,
                                         .recvbuf = buffer,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .root = root,
                                         .is_large = true});
}

int LNW_Reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::reduce,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .op = op,
                                         .root = root});
}

int LNW_Reduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                      MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::reduce,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .op = op,
                                         .root = root,
                                         .is_large = true});
}

int LNW_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::allreduce,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .op = op});
}

int LNW_Allreduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::allreduce,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .op = op,
                                         .is_large = true});
}

int LNW_Reduce_scatter_init(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::reduce_scatter,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.type = datatype},
                                         .receive = {.counts = recvcounts, .type = datatype},
                                         .op = op});
}

int LNW_Reduce_scatter_init_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                              MPI_Op op, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::reduce_scatter,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.type = datatype},
                                         .receive = {.counts = recvcounts, .type = datatype},
                                         .op = op,
                                         .is_large = true});
}

int LNW_Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                                  MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::reduce_scatter_block,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.type = datatype},
                                         .receive = {.count = recvcount, .type = datatype},
                                         .op = op});
}

int LNW_Reduce_scatter_block_init_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                    MPI_Op op, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::reduce_scatter_block,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.type = datatype},
                                         .receive = {.count = recvcount, .type = datatype},
                                         .op = op,
                                         .is_large = true});
}

int LNW_Scan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::scan,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .op = op});
}

int LNW_Scan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::scan,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .op = op,
                                         .is_large = true});
}

int LNW_Exscan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::exscan,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .op = op});
}

int LNW_Exscan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(__func__, comm, info, request,
                          CollectiveCall{.kind = DenseKind::exscan,
                                         .sendbuf = sendbuf,
                                         .recvbuf = recvbuf,
                                         .send = {.count = count, .type = datatype},
                                         .receive = {.count = count, .type = datatype},
                                         .op = op,
                                         .is_large = true});
}

int LNW_Barrier_init(MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return dense_persistent(
      __func__, comm, info, request,
      CollectiveCall{.kind = DenseKind::barrier, .sendbuf = nullptr, .recvbuf = nullptr, .send = {}, .receive = {}});
}
