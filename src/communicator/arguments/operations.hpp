#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/arguments/call.hpp"
#include "communicator/arguments/topology.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "plan/pattern.hpp"

namespace laneway {

/// What each neighborhood operation moves, from its arguments. All throw Error with the name of the bad argument.

/// One edge as its arguments say: elements of a datatype, the first of them `offset` bytes from the beginning of the
/// buffer.
struct TypedEdge {
  Rank peer = 0;
  std::int64_t offset = 0;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::shared_ptr<const TypeMap> map;

  [[nodiscard]] std::int64_t bytes() const { return count * map->ranges.bytes(); }
};

struct TypedPattern {
  std::vector<TypedEdge> out;
  std::vector<TypedEdge> in;
};

/// Of a call that has no index lists.
[[nodiscard]] TypedPattern typed_pattern(const Call& call, const Topology& topology);

/// Throws Error(buffer) for a buffer that no call takes, or that is null though such a call uses it. The rest of the
/// call has been found good.
void check_buffers(const Call& call, const Topology& topology);

/// The bytes of all edges.
[[nodiscard]] RankPattern describe(const TypedPattern& pattern);
[[nodiscard]] RankPattern describe(const Call& call, const Topology& topology);

}  // namespace laneway
