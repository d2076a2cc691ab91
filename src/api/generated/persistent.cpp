// Written by api/generate.py from api/operations.toml.
#include "api/operation.hpp"

using namespace laneway;

int LNW_Neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::allgather,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype}});
}

int LNW_Neighbor_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::allgather,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype}});
}

int LNW_Neighbor_allgather_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         int recvcount, MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                         LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::allgather,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype}});
}

int LNW_Neighbor_allgather_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                           LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::allgather,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype}});
}

int LNW_Neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                 MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::allgatherv,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Neighbor_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                   const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                   MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::allgatherv,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Neighbor_allgatherv_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                          LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::allgatherv,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Neighbor_allgatherv_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                            void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                            MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                            LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::allgatherv,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.counts = recvcounts, .displacements = displs, .type = recvtype}});
}

int LNW_Neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::alltoall,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype}});
}

int LNW_Neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                 LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::alltoall,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype}});
}

int LNW_Neighbor_alltoall_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        int recvcount, MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                        LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::alltoall,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype}});
}

int LNW_Neighbor_alltoall_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                          LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::alltoall,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype}});
}

int LNW_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                                MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::alltoallv,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::alltoallv,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Neighbor_alltoallv_init_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                         MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                         const int rdispls[], MPI_Datatype recvtype, LNW_Topology topology,
                                         MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::alltoallv,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Neighbor_alltoallv_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                           MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                           const MPI_Aint rdispls[], MPI_Datatype recvtype, LNW_Topology topology,
                                           MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::alltoallv,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     {.counts = recvcounts, .displacements = rdispls, .type = recvtype}});
}

int LNW_Neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::alltoallw,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Neighbor_alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                  MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::alltoallw,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Neighbor_alltoallw_init_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                         const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                         LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::alltoallw,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Neighbor_alltoallw_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                           const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                           LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::alltoallw,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     {.counts = recvcounts, .displacements = rdispls, .types = recvtypes}});
}

int LNW_Neighbor_alltoallv_init_indexed(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                        const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                        MPI_Count recvsize, const int recvcounts[], const MPI_Count recvindices[],
                                        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::alltoallv_indexed,
                     sendbuf,
                     recvbuf,
                     {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
                     {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype}});
}

int LNW_Neighbor_alltoallv_init_indexed_c(const void* sendbuf, MPI_Count sendsize, const MPI_Count sendcounts[],
                                          const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                          MPI_Count recvsize, const MPI_Count recvcounts[],
                                          const MPI_Count recvindices[], MPI_Datatype recvtype, MPI_Comm comm,
                                          MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::alltoallv_indexed,
                     sendbuf,
                     recvbuf,
                     {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
                     {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype}});
}

int LNW_Neighbor_alltoallv_init_indexed_topology(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                                 const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                                 MPI_Count recvsize, const int recvcounts[],
                                                 const MPI_Count recvindices[], MPI_Datatype recvtype,
                                                 LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::alltoallv_indexed,
                     sendbuf,
                     recvbuf,
                     {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
                     {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype}});
}

int LNW_Neighbor_alltoallv_init_indexed_topology_c(const void* sendbuf, MPI_Count sendsize,
                                                   const MPI_Count sendcounts[], const MPI_Count sendindices[],
                                                   MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize,
                                                   const MPI_Count recvcounts[], const MPI_Count recvindices[],
                                                   MPI_Datatype recvtype, LNW_Topology topology, MPI_Info info,
                                                   LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::alltoallv_indexed,
                     sendbuf,
                     recvbuf,
                     {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
                     {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype}});
}

int LNW_Neighbor_reduce_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                             MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::reduce,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype},
                     op});
}

int LNW_Neighbor_reduce_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                               LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::reduce,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype},
                     op});
}

int LNW_Neighbor_reduce_init_topology(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      int recvcount, MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                      MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::reduce,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype},
                     op});
}

int LNW_Neighbor_reduce_init_topology_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        MPI_Count recvcount, MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                        MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::reduce,
                     sendbuf,
                     recvbuf,
                     {.count = sendcount, .type = sendtype},
                     {.count = recvcount, .type = recvtype},
                     op});
}

int LNW_Neighbor_reducev_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                              void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                              MPI_Op op, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::reducev,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                     op});
}

int LNW_Neighbor_reducev_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm,
                                MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::reducev,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                     op});
}

int LNW_Neighbor_reducev_init_topology(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                       MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                       const int rdispls[], MPI_Datatype recvtype, MPI_Op op, LNW_Topology topology,
                                       MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::reducev,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                     op});
}

int LNW_Neighbor_reducev_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                         MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                         const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Op op,
                                         LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::reducev,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .type = sendtype},
                     {.counts = recvcounts, .displacements = rdispls, .type = recvtype},
                     op});
}

int LNW_Neighbor_reducew_init(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                              const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                              const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op, MPI_Comm comm,
                              MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::reducew,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                     op});
}

int LNW_Neighbor_reducew_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op, MPI_Comm comm,
                                MPI_Info info, LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::reducew,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                     op});
}

int LNW_Neighbor_reducew_init_topology(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                       const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                       LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::reducew,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                     op});
}

int LNW_Neighbor_reducew_init_topology_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                         const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Op op,
                                         LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::reducew,
                     sendbuf,
                     recvbuf,
                     {.counts = sendcounts, .displacements = sdispls, .types = sendtypes},
                     {.counts = recvcounts, .displacements = rdispls, .types = recvtypes},
                     op});
}

int LNW_Neighbor_reducev_init_indexed(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                      const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                      MPI_Count recvsize, const int recvcounts[], const MPI_Count recvindices[],
                                      MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                      LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::reducev_indexed,
                     sendbuf,
                     recvbuf,
                     {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
                     {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype},
                     op});
}

int LNW_Neighbor_reducev_init_indexed_c(const void* sendbuf, MPI_Count sendsize, const MPI_Count sendcounts[],
                                        const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                        MPI_Count recvsize, const MPI_Count recvcounts[], const MPI_Count recvindices[],
                                        MPI_Datatype recvtype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                        LNW_Request* request) {
  return persistent(__func__, comm, info, request,
                    {Kind::reducev_indexed,
                     sendbuf,
                     recvbuf,
                     {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
                     {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype},
                     op});
}

int LNW_Neighbor_reducev_init_indexed_topology(const void* sendbuf, MPI_Count sendsize, const int sendcounts[],
                                               const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                               MPI_Count recvsize, const int recvcounts[],
                                               const MPI_Count recvindices[], MPI_Datatype recvtype, MPI_Op op,
                                               LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::reducev_indexed,
                     sendbuf,
                     recvbuf,
                     {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
                     {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype},
                     op});
}

int LNW_Neighbor_reducev_init_indexed_topology_c(const void* sendbuf, MPI_Count sendsize, const MPI_Count sendcounts[],
                                                 const MPI_Count sendindices[], MPI_Datatype sendtype, void* recvbuf,
                                                 MPI_Count recvsize, const MPI_Count recvcounts[],
                                                 const MPI_Count recvindices[], MPI_Datatype recvtype, MPI_Op op,
                                                 LNW_Topology topology, MPI_Info info, LNW_Request* request) {
  return persistent(__func__, topology, info, request,
                    {Kind::reducev_indexed,
                     sendbuf,
                     recvbuf,
                     {.count = sendsize, .counts = sendcounts, .indices = sendindices, .type = sendtype},
                     {.count = recvsize, .counts = recvcounts, .indices = recvindices, .type = recvtype},
                     op});
}
