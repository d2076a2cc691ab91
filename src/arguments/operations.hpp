#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "arguments/call.hpp"
#include "arguments/datatype.hpp"
#include "arguments/topology.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

/// What each neighborhood operation moves, from its arguments. All throw Error with the name of the bad argument.

/// Those of one call, to be compared with later ones without describing these.
class KnownArguments {
 public:
  KnownArguments() = default;
  /// `given` has been found good.
  KnownArguments(const Call& given, const Topology& topology);

  /// False: these are arguments of no kind that is compared, which equal none.
  [[nodiscard]] bool known() const { return kind_.has_value(); }

  /// Of a derived datatype it is not enough that the handle is the same: it may be of another one since.
  [[nodiscard]] bool equal(const Call& given) const;

 private:
  struct Type {
    int slot = 0;  // of a list of types
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    std::shared_ptr<const TypeMap> map;  // of a derived one
  };

  struct Side {
    MPI_Count count = 0;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> displacements;
    std::vector<Type> types;  // one, or those of the neighbours

    [[nodiscard]] bool equal(const SideArguments& given, bool typed) const;
  };
  [[nodiscard]] static Side side_of(const SideArguments& given, const std::vector<Neighbor>& neighbors, int degree,
                                    const SideRow& row);

  std::optional<Kind> kind_;
  MPI_Op op_ = MPI_OP_NULL;
  bool commutes_ = true;
  Side send_;
  Side receive_;
};

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
