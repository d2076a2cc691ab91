#pragma once

#include <mpi.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "arguments/datatype.hpp"
#include "arguments/topology.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

/// What each neighborhood operation moves, from its arguments. All throw Error with the name of the bad argument.

/// An argument array of int, MPI_Count or MPI_Aint; may be null.
class Integers {
 public:
  Integers() = default;
  template <std::signed_integral T>
  Integers(const T* values) : values_(values), wide_(sizeof(T) == sizeof(std::int64_t)) {
    static_assert(sizeof(T) == sizeof(std::int64_t) || std::is_same_v<T, int>);
  }

  [[nodiscard]] bool null() const { return values_ == nullptr; }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const {
    if (!wide_) return static_cast<const int*>(values_)[i];
    std::int64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(values_) + i * std::int64_t{sizeof value}, sizeof value);
    return value;
  }

 private:
  const void* values_ = nullptr;
  bool wide_ = false;
};

enum class Form : std::uint8_t { none, allgather, allgatherv, alltoall, alltoallv, alltoallw };

/// What a call was given, apart from its buffers.
struct ArgumentLists {
  Form form = Form::none;
  std::array<MPI_Datatype, 2> types{MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};  ///< sent, received; if all edges have one
  std::array<MPI_Count, 2> counts{};                                        ///< likewise
  std::array<Integers, 2> of_destinations = {};                             ///< otherwise: counts, displacements
  std::array<Integers, 2> of_sources = {};
  std::array<const MPI_Datatype*, 2> each_type{};
};

/// Which operation, and the size of what it sends.
using FixedKey = std::array<std::int64_t, 2>;

/// Those of one call, to be compared with later ones without describing these.
class KnownArguments {
 public:
  KnownArguments() = default;
  /// `given` has been found good.
  KnownArguments(const ArgumentLists& given, const Topology& topology);

  /// False: these are arguments of no form, which equal none.
  [[nodiscard]] bool known() const { return form_ != Form::none; }

  /// Of a derived datatype it is not enough that the handle is the same: it may be of another one since.
  [[nodiscard]] bool equal(const ArgumentLists& given) const;

 private:
  struct Type {
    int slot = 0;  // of a list of types
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    std::shared_ptr<const TypeMap> map;  // of a derived one
  };

  Form form_ = Form::none;
  std::array<std::vector<Type>, 2> types_;  // one, or those of the neighbours
  std::array<MPI_Count, 2> counts_{};
  std::array<std::vector<std::int64_t>, 2> of_destinations_;
  std::array<std::vector<std::int64_t>, 2> of_sources_;
};

/// One side of an operation whose blocks all have one datatype.
struct UniformSide {
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

struct CountsSide {
  Integers counts;
  Integers displacements;  ///< in extents of `type`
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

struct TypesSide {
  Integers counts;
  Integers displacements;  ///< in bytes
  const MPI_Datatype* types = nullptr;
};

struct IndexedSide {
  MPI_Count size = 0;  ///< elements in the buffer
  Integers counts;
  const MPI_Count* indices = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
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

[[nodiscard]] TypedPattern typed_allgather(const Topology& topology, const UniformSide& send,
                                           const UniformSide& receive);
[[nodiscard]] TypedPattern typed_allgatherv(const Topology& topology, const UniformSide& send,
                                            const CountsSide& receive);
[[nodiscard]] TypedPattern typed_alltoall(const Topology& topology, const UniformSide& send,
                                          const UniformSide& receive);
[[nodiscard]] TypedPattern typed_alltoallv(const Topology& topology, const CountsSide& send, const CountsSide& receive);
[[nodiscard]] TypedPattern typed_alltoallw(const Topology& topology, const TypesSide& send, const TypesSide& receive);

/// The bytes of all edges.
[[nodiscard]] RankPattern describe(const TypedPattern& pattern);
[[nodiscard]] RankPattern describe_indexed(const Topology& topology, const IndexedSide& send,
                                           const IndexedSide& receive);

/// Throws Error(buffer) for MPI_IN_PLACE and LNW_NOT_CONTIGUOUS, which no neighborhood operation takes.
void check_buffers(const void* sendbuf, const void* recvbuf);

}  // namespace laneway
