#include "c/operation.hpp"

using namespace laneway;

int LNW_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, comm, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                            const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, comm, allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                          MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, comm, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                           void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                           MPI_Comm comm) {
  return blocking(__func__, comm,
                  alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                           const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return blocking(__func__, comm,
                  alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, comm, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                              const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                              MPI_Comm comm) {
  return blocking(__func__, comm, allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Neighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                            MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, comm, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                             MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                             const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(__func__, comm,
                  alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Neighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                             const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                             const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return blocking(__func__, comm,
                  alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Neighbor_allgather_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    int recvcount, MPI_Datatype recvtype, LNW_Topology topology) {
  return blocking(__func__, topology, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_allgatherv_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                     LNW_Topology topology) {
  return blocking(__func__, topology, allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Neighbor_alltoall_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                   int recvcount, MPI_Datatype recvtype, LNW_Topology topology) {
  return blocking(__func__, topology, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_alltoallv_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                    MPI_Datatype recvtype, LNW_Topology topology) {
  return blocking(__func__, topology,
                  alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Neighbor_alltoallw_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                    const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], LNW_Topology topology) {
  return blocking(__func__, topology,
                  alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

int LNW_Neighbor_allgather_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      MPI_Count recvcount, MPI_Datatype recvtype, LNW_Topology topology) {
  return blocking(__func__, topology, allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_allgatherv_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                       LNW_Topology topology) {
  return blocking(__func__, topology, allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

int LNW_Neighbor_alltoall_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     MPI_Count recvcount, MPI_Datatype recvtype, LNW_Topology topology) {
  return blocking(__func__, topology, alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

int LNW_Neighbor_alltoallv_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                      MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], MPI_Datatype recvtype, LNW_Topology topology) {
  return blocking(__func__, topology,
                  alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

int LNW_Neighbor_alltoallw_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                      const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], LNW_Topology topology) {
  return blocking(__func__, topology,
                  alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}
