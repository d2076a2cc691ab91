#pragma once

#include <mpi.h>

#include <memory>

#include "operations/request/request.hpp"

namespace laneway {

/// The arguments of LNW_Alltoallv_counted_init.
struct CountedCall {
  const void* sendbuf = nullptr;
  const int* sendcounts = nullptr;
  const int* sdispls = nullptr;
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  void* recvbuf = nullptr;
  int* recvcounts = nullptr;
  const int* recvcapacities = nullptr;
  const int* rdispls = nullptr;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  const char* fault = nullptr;  ///< what is wrong with an argument besides these; null: nothing
};

/// An all-to-all whose counts are read when it starts, in memory of any kind. Plans have sizes; so this is none: each
/// rank sends each other one a message, which begins with its size, and receives it where there is room for the
/// largest. Collective: what is wrong on one rank is thrown on all.
[[nodiscard]] std::unique_ptr<Request> make_counted(MPI_Comm comm, MPI_Info info, const CountedCall& call);

}  // namespace laneway
