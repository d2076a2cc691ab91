#pragma once

#include <optional>

#include "arguments/operations.hpp"
#include "c/barrier.hpp"

namespace laneway {

/// The arguments of a neighborhood operation, which outlive it: its buffers, and what it moves on a given topology.
struct Operation {
  Buffers buffers;
  DescribeTypes types;  ///< null if elements are given by indices
  Describe indexed;     ///< then
  SizesOf sizes;
  ArgumentLists arguments;
  bool bind = true;  ///< whether persistent operations have their buffers already

  [[nodiscard]] RankPattern describe(const Topology& topology) const {
    return types ? laneway::describe(types(topology)) : indexed(topology);
  }
};

Operation allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype) noexcept;
Operation allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Integers recvcounts, Integers displs, MPI_Datatype recvtype) noexcept;
Operation alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype) noexcept;
Operation alltoallv(const void* sendbuf, Integers sendcounts, Integers sdispls, MPI_Datatype sendtype, void* recvbuf,
                    Integers recvcounts, Integers rdispls, MPI_Datatype recvtype) noexcept;
Operation alltoallw(const void* sendbuf, Integers sendcounts, Integers sdispls, const MPI_Datatype sendtypes[],
                    void* recvbuf, Integers recvcounts, Integers rdispls, const MPI_Datatype recvtypes[]) noexcept;
Operation alltoallv_indexed(const void* sendbuf, MPI_Count sendsize, Integers sendcounts, const MPI_Count sendindices[],
                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvsize, Integers recvcounts,
                            const MPI_Count recvindices[], MPI_Datatype recvtype) noexcept;

/// @name The C functions, in each way to run an operation
/// `call` is the function's name.
/// @{
int blocking(const char* call, MPI_Comm comm, const Operation& operation) noexcept;
int blocking(const char* call, LNW_Topology topology, const Operation& operation) noexcept;
int nonblocking(const char* call, MPI_Comm comm, LNW_Request* request, const Operation& operation) noexcept;
int nonblocking(const char* call, LNW_Topology topology, LNW_Request* request, const Operation& operation) noexcept;
int persistent(const char* call, MPI_Comm comm, MPI_Info info, LNW_Request* request,
               const Operation& operation) noexcept;
int persistent(const char* call, LNW_Topology topology, MPI_Info info, LNW_Request* request,
               const Operation& operation) noexcept;
/// @}

}  // namespace laneway
