#include "c/operation.hpp"

using namespace laneway;

int LNW_Ineighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Ineighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                             const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                             LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Ineighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Ineighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                            void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                            MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Ineighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                            LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Ineighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                              MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Ineighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                               MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Ineighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Ineighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                              MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                              const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Ineighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                              const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                              const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                              LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Ineighbor_allgather_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     int recvcount, MPI_Datatype recvtype, LNW_Topology topology,
                                     LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Ineighbor_allgatherv_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                      LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Ineighbor_alltoall_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    int recvcount, MPI_Datatype recvtype, LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Ineighbor_alltoallv_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                     MPI_Datatype recvtype, LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Ineighbor_alltoallw_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                     const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], LNW_Topology topology,
                                     LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Ineighbor_allgather_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       MPI_Count recvcount, MPI_Datatype recvtype, LNW_Topology topology,
                                       LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Ineighbor_allgatherv_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                        LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Ineighbor_alltoall_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      MPI_Count recvcount, MPI_Datatype recvtype, LNW_Topology topology,
                                      LNW_Request* request) {
  return nonblocking(__func__, topology, request, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Ineighbor_alltoallv_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                       MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                       const MPI_Aint rdispls[], MPI_Datatype recvtype, LNW_Topology topology,
                                       LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Ineighbor_alltoallw_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                       const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], LNW_Topology topology,
                                       LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}
