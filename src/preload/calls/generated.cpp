// Written by api/generate.py from api/operations.toml.
#include "preload/calls/neighborhood.hpp"

using namespace laneway;
using namespace laneway::interpose;

INTERPOSE(MPI_Neighbor_allgather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)) {
  const Call call{Kind::allgather,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.count = recvcount, .type = recvtype}};
  return take_blocking("MPI_Neighbor_allgather", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where);
  });
}

INTERPOSE(MPI_Ineighbor_allgather,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request)) {
  const Call call{Kind::allgather,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.count = recvcount, .type = recvtype}};
  return take_nonblocking("MPI_Ineighbor_allgather", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                request);
  });
}

INTERPOSE(MPI_Neighbor_allgatherv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
           const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)) {
  const Call call{Kind::allgatherv,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.counts = recvcounts, .displacements = displs, .type = recvtype}};
  return take_blocking("MPI_Neighbor_allgatherv", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                                                where);
  });
}

INTERPOSE(MPI_Ineighbor_allgatherv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
           const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, request)) {
  const Call call{Kind::allgatherv,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.counts = recvcounts, .displacements = displs, .type = recvtype}};
  return take_nonblocking("MPI_Ineighbor_allgatherv", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                                                 where, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoall,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)) {
  const Call call{
      Kind::alltoall, sendbuf, recvbuf, {.count = sendcount, .type = sendtype}, {.count = recvcount, .type = recvtype}};
  return take_blocking("MPI_Neighbor_alltoall", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where);
  });
}

INTERPOSE(MPI_Ineighbor_alltoall,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request)) {
  const Call call{
      Kind::alltoall, sendbuf, recvbuf, {.count = sendcount, .type = sendtype}, {.count = recvcount, .type = recvtype}};
  return take_nonblocking("MPI_Ineighbor_alltoall", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                               request);
  });
}

INTERPOSE(MPI_Neighbor_alltoallv,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)) {
  const Call call{Kind::alltoallv,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                  {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
  return take_blocking("MPI_Neighbor_alltoallv", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                               recvtype, where);
  });
}

INTERPOSE(MPI_Ineighbor_alltoallv,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request)) {
  const Call call{Kind::alltoallv,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                  {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
  return take_nonblocking("MPI_Ineighbor_alltoallv", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                                recvtype, where, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoallw,
          (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
           MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)) {
  const Call call{Kind::alltoallw,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                  {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}};
  return take_blocking("MPI_Neighbor_alltoallw", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                               recvtypes, where);
  });
}

INTERPOSE(MPI_Ineighbor_alltoallw,
          (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
           MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request)) {
  const Call call{Kind::alltoallw,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                  {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}};
  return take_nonblocking("MPI_Ineighbor_alltoallw", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                                recvtypes, where, request);
  });
}

#ifdef LANEWAY_HAS_LARGE_COUNT
INTERPOSE(MPI_Neighbor_allgather_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)) {
  const Call call{Kind::allgather,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.count = recvcount, .type = recvtype}};
  return take_blocking("MPI_Neighbor_allgather_c", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_allgather_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where);
  });
}

INTERPOSE(MPI_Ineighbor_allgather_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request)) {
  const Call call{Kind::allgather,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.count = recvcount, .type = recvtype}};
  return take_nonblocking("MPI_Ineighbor_allgather_c", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_allgather_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                  request);
  });
}

INTERPOSE(MPI_Neighbor_allgatherv_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
           const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)) {
  const Call call{Kind::allgatherv,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.counts = recvcounts, .displacements = displs, .type = recvtype}};
  return take_blocking("MPI_Neighbor_allgatherv_c", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_allgatherv_c(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                                                  where);
  });
}

INTERPOSE(MPI_Ineighbor_allgatherv_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
           const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, request)) {
  const Call call{Kind::allgatherv,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.counts = recvcounts, .displacements = displs, .type = recvtype}};
  return take_nonblocking("MPI_Ineighbor_allgatherv_c", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_allgatherv_c(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                                                   where, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoall_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)) {
  const Call call{
      Kind::alltoall, sendbuf, recvbuf, {.count = sendcount, .type = sendtype}, {.count = recvcount, .type = recvtype}};
  return take_blocking("MPI_Neighbor_alltoall_c", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoall_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where);
  });
}

INTERPOSE(MPI_Ineighbor_alltoall_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request)) {
  const Call call{
      Kind::alltoall, sendbuf, recvbuf, {.count = sendcount, .type = sendtype}, {.count = recvcount, .type = recvtype}};
  return take_nonblocking("MPI_Ineighbor_alltoall_c", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_alltoall_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                 request);
  });
}

INTERPOSE(MPI_Neighbor_alltoallv_c,
          (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)) {
  const Call call{Kind::alltoallv,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                  {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
  return take_blocking("MPI_Neighbor_alltoallv_c", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoallv_c(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                                 recvtype, where);
  });
}

INTERPOSE(MPI_Ineighbor_alltoallv_c,
          (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
           MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request)) {
  const Call call{Kind::alltoallv,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                  {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
  return take_nonblocking("MPI_Ineighbor_alltoallv_c", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_alltoallv_c(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                                                  recvtype, where, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoallw_c,
          (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
           MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)) {
  const Call call{Kind::alltoallw,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                  {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}};
  return take_blocking("MPI_Neighbor_alltoallw_c", comm, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoallw_c(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                                 recvtypes, where);
  });
}

INTERPOSE(MPI_Ineighbor_alltoallw_c,
          (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
           MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request)) {
  const Call call{Kind::alltoallw,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                  {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}};
  return take_nonblocking("MPI_Ineighbor_alltoallw_c", comm, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Ineighbor_alltoallw_c(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                                                  recvtypes, where, request);
  });
}
#endif

#ifdef LANEWAY_HAS_PERSISTENT
INTERPOSE(MPI_Neighbor_allgather_init,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request)) {
  const Call call{Kind::allgather,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.count = recvcount, .type = recvtype}};
  return take_persistent("MPI_Neighbor_allgather_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_allgather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                    info, request);
  });
}

INTERPOSE(MPI_Neighbor_allgatherv_init,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
           const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, info, request)) {
  const Call call{Kind::allgatherv,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.counts = recvcounts, .displacements = displs, .type = recvtype}};
  return take_persistent("MPI_Neighbor_allgatherv_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_allgatherv_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                                     recvtype, where, info, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoall_init,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request)) {
  const Call call{
      Kind::alltoall, sendbuf, recvbuf, {.count = sendcount, .type = sendtype}, {.count = recvcount, .type = recvtype}};
  return take_persistent("MPI_Neighbor_alltoall_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                   info, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoallv_init,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
           MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info, request)) {
  const Call call{Kind::alltoallv,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                  {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
  return take_persistent("MPI_Neighbor_alltoallv_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                                    rdispls, recvtype, where, info, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoallw_init,
          (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
           MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info, request)) {
  const Call call{Kind::alltoallw,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                  {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}};
  return take_persistent("MPI_Neighbor_alltoallw_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                                    rdispls, recvtypes, where, info, request);
  });
}
#endif

#ifdef LANEWAY_HAS_PERSISTENT_LARGE_COUNT
INTERPOSE(MPI_Neighbor_allgather_init_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request)) {
  const Call call{Kind::allgather,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.count = recvcount, .type = recvtype}};
  return take_persistent("MPI_Neighbor_allgather_init_c", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_allgather_init_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                      info, request);
  });
}

INTERPOSE(MPI_Neighbor_allgatherv_init_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
           const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, info, request)) {
  const Call call{Kind::allgatherv,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.counts = recvcounts, .displacements = displs, .type = recvtype}};
  return take_persistent("MPI_Neighbor_allgatherv_init_c", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_allgatherv_init_c(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                                       recvtype, where, info, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoall_init_c,
          (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request)) {
  const Call call{
      Kind::alltoall, sendbuf, recvbuf, {.count = sendcount, .type = sendtype}, {.count = recvcount, .type = recvtype}};
  return take_persistent("MPI_Neighbor_alltoall_init_c", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoall_init_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                     info, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoallv_init_c,
          (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
           MPI_Info info, MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info, request)) {
  const Call call{Kind::alltoallv,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                  {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
  return take_persistent("MPI_Neighbor_alltoallv_init_c", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoallv_init_c(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                                      rdispls, recvtype, where, info, request);
  });
}

INTERPOSE(MPI_Neighbor_alltoallw_init_c,
          (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
           MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info, request)) {
  const Call call{Kind::alltoallw,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                  {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}};
  return take_persistent("MPI_Neighbor_alltoallw_init_c", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPI_Neighbor_alltoallw_init_c(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                                      rdispls, recvtypes, where, info, request);
  });
}
#endif

#ifdef LANEWAY_HAS_EXTENSION_PERSISTENT
INTERPOSE(MPIX_Neighbor_allgather_init,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request)) {
  const Call call{Kind::allgather,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.count = recvcount, .type = recvtype}};
  return take_persistent("MPIX_Neighbor_allgather_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPIX_Neighbor_allgather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                     info, request);
  });
}

INTERPOSE(MPIX_Neighbor_allgatherv_init,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
           const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, info, request)) {
  const Call call{Kind::allgatherv,
                  sendbuf,
                  recvbuf,
                  {.count = sendcount, .type = sendtype},
                  {.counts = recvcounts, .displacements = displs, .type = recvtype}};
  return take_persistent("MPIX_Neighbor_allgatherv_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPIX_Neighbor_allgatherv_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                                      recvtype, where, info, request);
  });
}

INTERPOSE(MPIX_Neighbor_alltoall_init,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request)) {
  const Call call{
      Kind::alltoall, sendbuf, recvbuf, {.count = sendcount, .type = sendtype}, {.count = recvcount, .type = recvtype}};
  return take_persistent("MPIX_Neighbor_alltoall_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPIX_Neighbor_alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, where,
                                                    info, request);
  });
}

INTERPOSE(MPIX_Neighbor_alltoallv_init,
          (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
           const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
           MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info, request)) {
  const Call call{Kind::alltoallv,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                  {.counts = recvcounts, .displacements = rdispls, .type = recvtype}};
  return take_persistent("MPIX_Neighbor_alltoallv_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPIX_Neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                                     rdispls, recvtype, where, info, request);
  });
}

INTERPOSE(MPIX_Neighbor_alltoallw_init,
          (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
           void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
           MPI_Comm comm, MPI_Info info, MPI_Request* request),
          (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info, request)) {
  const Call call{Kind::alltoallw,
                  sendbuf,
                  recvbuf,
                  {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                  {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}};
  return take_persistent("MPIX_Neighbor_alltoallw_init", comm, info, request, call, [&](MPI_Comm where) {
    return laneway_pass_MPIX_Neighbor_alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                                     rdispls, recvtypes, where, info, request);
  });
}
#endif
