// Written by api/generate.py from api/operations.toml.
#include "api/operation.hpp"

using namespace laneway;

int LNW_Ineighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::allgather,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype}});
}

int LNW_Ineighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                              MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::allgather,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype}});
}

int LNW_Ineighbor_allgather_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     int recvcount, MPI_Datatype recvtype, LNW_Topology topology,
                                     LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::allgather,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype}});
}

int LNW_Ineighbor_allgather_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       MPI_Count recvcount, MPI_Datatype recvtype, LNW_Topology topology,
                                       LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::allgather,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype}});
}

int LNW_Ineighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                             const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                             LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::allgatherv,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Ineighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                               MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::allgatherv,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Ineighbor_allgatherv_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                      LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::allgatherv,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Ineighbor_allgatherv_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                        LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::allgatherv,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Ineighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::alltoall,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype}});
}

int LNW_Ineighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::alltoall,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype}});
}

int LNW_Ineighbor_alltoall_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    int recvcount, MPI_Datatype recvtype, LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::alltoall,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype}});
}

int LNW_Ineighbor_alltoall_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      MPI_Count recvcount, MPI_Datatype recvtype, LNW_Topology topology,
                                      LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::alltoall,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype}});
}

int LNW_Ineighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                            void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                            MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::alltoallv,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                      {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Ineighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                              MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                              const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::alltoallv,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                      {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Ineighbor_alltoallv_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                     MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                     MPI_Datatype recvtype, LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::alltoallv,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                      {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Ineighbor_alltoallv_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                       MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                       const MPI_Aint rdispls[], MPI_Datatype recvtype, LNW_Topology topology,
                                       LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::alltoallv,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                      {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Ineighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                            LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::alltoallw,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                      {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Ineighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                              const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                              const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                              LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::alltoallw,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                      {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Ineighbor_alltoallw_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                     const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], LNW_Topology topology,
                                     LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::alltoallw,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                      {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Ineighbor_alltoallw_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                       const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], LNW_Topology topology,
                                       LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::alltoallw,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                      {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Ineighbor_reduce(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                         MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::reduce,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype},
                      op});
}

int LNW_Ineighbor_reduce_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::reduce,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype},
                      op});
}

int LNW_Ineighbor_reduce_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  int recvcount, MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                  LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::reduce,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype},
                      op});
}

int LNW_Ineighbor_reduce_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                    LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::reduce,
                      sendbuf,
                      recvbuf,
                      {.count = sendcount, .type = sendtype},
                      {.count = recvcount, .type = recvtype},
                      op});
}

int LNW_Ineighbor_reducev(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                          void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Op op,
                          MPI_Comm comm, LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::reducev,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                      {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                      op});
}

int LNW_Ineighbor_reducev_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm,
                            LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::reducev,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                      {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                      op});
}

int LNW_Ineighbor_reducev_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                   MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::reducev,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                      {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                      op});
}

int LNW_Ineighbor_reducev_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                     MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                     const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                     LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::reducev,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                      {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                      op});
}

int LNW_Ineighbor_reducew(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                          const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                          const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op, MPI_Comm comm,
                          LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::reducew,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                      {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                      op});
}

int LNW_Ineighbor_reducew_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op, MPI_Comm comm,
                            LNW_Request* request) {
  return nonblocking(__func__, comm, request,
                     {Kind::reducew,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                      {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                      op});
}

int LNW_Ineighbor_reducew_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                   const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                   const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                   LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::reducew,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                      {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                      op});
}

int LNW_Ineighbor_reducew_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                     const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                     LNW_Topology topology, LNW_Request* request) {
  return nonblocking(__func__, topology, request,
                     {Kind::reducew,
                      sendbuf,
                      recvbuf,
                      {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                      {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                      op});
}
