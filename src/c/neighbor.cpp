#include "c/barrier.hpp"
#include "mpi/operations.hpp"

using namespace laneway;

namespace {

int blocking(const char* call, const void* sendbuf, void* recvbuf, MPI_Comm comm, const Describe& describe) {
  return guarded(call, comm, [&] {
    run_blocking(comm,
                 [&](const Topology& topology) {
                   check_buffers(sendbuf, recvbuf);
                   return describe(topology);
                 },
                 {sendbuf, recvbuf});
  });
}

int persistent(const char* call, const void* sendbuf, void* recvbuf, MPI_Comm comm, MPI_Info info, LNW_Request* request,
               const Describe& describe, bool bind = true) {
  return guarded(call, comm, [&] {
    auto made = Request::make(
        comm, info,
        [&](const Topology& topology) {
          require_pointer(request, "request");
          check_buffers(sendbuf, recvbuf);
          return describe(topology);
        },
        bind ? std::optional(Buffers{sendbuf, recvbuf}) : std::nullopt);
    *request = handle_of(std::move(made));
  });
}

}  // namespace

int LNW_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, sendbuf, recvbuf, comm, [&](const Topology& t) {
    return describe_allgather(t, {sendcount, sendtype}, {recvcount, recvtype});
  });
}

int LNW_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                            const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, sendbuf, recvbuf, comm, [&](const Topology& t) {
    return describe_allgatherv(t, {sendcount, sendtype}, {recvcounts, displs, recvtype});
  });
}

int LNW_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                          MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, sendbuf, recvbuf, comm, [&](const Topology& t) {
    return describe_alltoall(t, {sendcount, sendtype}, {recvcount, recvtype});
  });
}

int LNW_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                           void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                           MPI_Comm comm) {
  return blocking(__func__, sendbuf, recvbuf, comm, [&](const Topology& t) {
    return describe_alltoallv(t, {sendcounts, sdispls, sendtype}, {recvcounts, rdispls, recvtype});
  });
}

int LNW_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                           const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return blocking(__func__, sendbuf, recvbuf, comm, [&](const Topology& t) {
    return describe_alltoallw(t, {sendcounts, sdispls, sendtypes}, {recvcounts, rdispls, recvtypes});
  });
}

int LNW_Neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, sendbuf, recvbuf, comm, info, request, [&](const Topology& t) {
    return describe_allgather(t, {sendcount, sendtype}, {recvcount, recvtype});
  });
}

int LNW_Neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                 MPI_Info info, LNW_Request* request) {
  return persistent(__func__, sendbuf, recvbuf, comm, info, request, [&](const Topology& t) {
    return describe_allgatherv(t, {sendcount, sendtype}, {recvcounts, displs, recvtype});
  });
}

int LNW_Neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, sendbuf, recvbuf, comm, info, request, [&](const Topology& t) {
    return describe_alltoall(t, {sendcount, sendtype}, {recvcount, recvtype});
  });
}

int LNW_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                                MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, sendbuf, recvbuf, comm, info, request, [&](const Topology& t) {
    return describe_alltoallv(t, {sendcounts, sdispls, sendtype}, {recvcounts, rdispls, recvtype});
  });
}

int LNW_Neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                LNW_Request* request) {
  return persistent(__func__, sendbuf, recvbuf, comm, info, request, [&](const Topology& t) {
    return describe_alltoallw(t, {sendcounts, sdispls, sendtypes}, {recvcounts, rdispls, recvtypes});
  });
}

int LNW_Neighbor_alltoallv_init_indexed(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                        const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                        MPI_Count recvsize, const int recvcounts[], const MPI_Count recvindices[],
                                        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(
      __func__, sendbuf, recvbuf, comm, info, request,
      [&](const Topology& t) {
        return describe_indexed(t, {sendsize, sendcounts, sendindices, sendtype},
                                {recvsize, recvcounts, recvindices, recvtype});
      },
      sendbuf != nullptr || recvbuf != nullptr);
}
