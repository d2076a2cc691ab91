#include "c/operation.hpp"

using namespace laneway;

int LNW_Neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                 MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                                MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Neighbor_alltoallv_init_indexed(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                        const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                        MPI_Count recvsize, const int recvcounts[], const MPI_Count recvindices[],
                                        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    alltoallv_indexed(sendbuf, sendsize, sendcounts, sendindices, sendtype, recvbuf, recvsize,
                                      recvcounts, recvindices, recvtype));
}

int LNW_Neighbor_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                   const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                   MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                 LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Neighbor_alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                  MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Neighbor_alltoallv_init_indexed_c(const void* sendbuf, MPI_Count sendsize, const MPI_Count sendcounts[],
                                          const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                          MPI_Count recvsize, const MPI_Count recvcounts[],
                                          const MPI_Count recvindices[], MPI_Datatype recvtype, MPI_Comm comm,
                                          MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    alltoallv_indexed(sendbuf, sendsize, sendcounts, sendindices, sendtype, recvbuf, recvsize,
                                      recvcounts, recvindices, recvtype));
}

int LNW_Neighbor_allgather_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         int recvcount, MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                         LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_allgatherv_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                          LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Neighbor_alltoall_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        int recvcount, MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                        LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_alltoallv_init_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                         MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                         const int rdispls[], MPI_Datatype recvtype, LNW_Topology topology,
                                         MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Neighbor_alltoallw_init_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                         const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                         LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Neighbor_alltoallv_init_indexed_topology(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                                 const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                                 MPI_Count recvsize, const int recvcounts[],
                                                 const MPI_Count recvindices[], MPI_Datatype recvtype,
                                                 LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    alltoallv_indexed(sendbuf, sendsize, sendcounts, sendindices, sendtype, recvbuf, recvsize,
                                      recvcounts, recvindices, recvtype));
}

int LNW_Neighbor_allgather_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                           LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_allgatherv_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                            void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                            MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                            LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Neighbor_alltoall_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                          LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_alltoallv_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                           MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                           const MPI_Aint rdispls[], MPI_Datatype recvtype, LNW_Topology topology,
                                           MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Neighbor_alltoallw_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                           const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                           LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Neighbor_alltoallv_init_indexed_topology_c(const void* sendbuf, MPI_Count sendsize,
                                                   const MPI_Count sendcounts[], const MPI_Count sendindices[],
                                                   MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                   const MPI_Count recvcounts[], const MPI_Count recvindices[],
                                                   MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                                   LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    alltoallv_indexed(sendbuf, sendsize, sendcounts, sendindices, sendtype, recvbuf, recvsize,
                                      recvcounts, recvindices, recvtype));
}
