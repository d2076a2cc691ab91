#pragma once

#include <mpi.h>

#include "mpi/topology.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

/// What each neighborhood operation moves, from its arguments. All throw Error with the name of the bad argument.

/// One side of an operation whose blocks all have one datatype.
struct UniformSide {
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

struct CountsSide {
  const int* counts = nullptr;
  const int* displacements = nullptr;  ///< in extents of `type`
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

struct TypesSide {
  const int* counts = nullptr;
  const MPI_Aint* displacements = nullptr;  ///< in bytes
  const MPI_Datatype* types = nullptr;
};

struct IndexedSide {
  MPI_Count size = 0;  ///< elements in the buffer
  const int* counts = nullptr;
  const MPI_Count* indices = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

[[nodiscard]] RankPattern describe_allgather(const Topology& topology, const UniformSide& send,
                                             const UniformSide& receive);
[[nodiscard]] RankPattern describe_allgatherv(const Topology& topology, const UniformSide& send,
                                              const CountsSide& receive);
[[nodiscard]] RankPattern describe_alltoall(const Topology& topology, const UniformSide& send,
                                            const UniformSide& receive);
[[nodiscard]] RankPattern describe_alltoallv(const Topology& topology, const CountsSide& send,
                                             const CountsSide& receive);
[[nodiscard]] RankPattern describe_alltoallw(const Topology& topology, const TypesSide& send, const TypesSide& receive);
[[nodiscard]] RankPattern describe_indexed(const Topology& topology, const IndexedSide& send,
                                           const IndexedSide& receive);

/// Throws Error(buffer) for MPI_IN_PLACE and LNW_NOT_CONTIGUOUS, which no neighborhood operation takes.
void check_buffers(const void* sendbuf, const void* recvbuf);

}  // namespace laneway
