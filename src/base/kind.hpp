// Written by api/generate.py from api/operations.toml.
#pragma once

#include <cstdint>

namespace laneway {

/// Which operation. Numbers are those of LNW_Kind.
enum class Kind : std::uint8_t {
  allgather = 1,          ///< every destination gets the same block
  allgatherv = 2,         ///< as allgather; what sources send differs in size
  alltoall = 3,           ///< every destination gets a block of its own
  alltoallv = 4,          ///< as alltoall; blocks differ in size
  alltoallw = 5,          ///< as alltoall; blocks differ in size and datatype
  alltoallv_indexed = 6,  ///< blocks are lists of elements
  reduce = 7,             ///< every destination combines a block of its own from each source
  reducev = 8,            ///< as reduce; blocks differ in size
  reducew = 9,            ///< as reduce; blocks differ in size and datatype
  reducev_indexed = 10,   ///< as reducev; blocks are lists of elements
};

[[nodiscard]] constexpr const char* name(Kind kind) {
  switch (kind) {
    case Kind::allgather:
      return "allgather";
    case Kind::allgatherv:
      return "allgatherv";
    case Kind::alltoall:
      return "alltoall";
    case Kind::alltoallv:
      return "alltoallv";
    case Kind::alltoallw:
      return "alltoallw";
    case Kind::alltoallv_indexed:
      return "alltoallv_indexed";
    case Kind::reduce:
      return "reduce";
    case Kind::reducev:
      return "reducev";
    case Kind::reducew:
      return "reducew";
    case Kind::reducev_indexed:
      return "reducev_indexed";
  }
  return "?";
}

/// Whether all edges carry equally many bytes, so that the way of the data follows from the graph alone.
[[nodiscard]] constexpr bool has_equal_edges(Kind kind) {
  return !(kind == Kind::allgatherv || kind == Kind::alltoallv || kind == Kind::alltoallw ||
           kind == Kind::alltoallv_indexed || kind == Kind::reduce || kind == Kind::reducev || kind == Kind::reducew ||
           kind == Kind::reducev_indexed);
}

/// Whether all edges of a source carry the same message.
[[nodiscard]] constexpr bool sends_same(Kind kind) {
  return kind == Kind::allgather || kind == Kind::allgatherv;
}

/// Whether its buffers may be given after it has been made.
[[nodiscard]] constexpr bool may_bind_later(Kind kind) {
  return kind == Kind::alltoallv_indexed || kind == Kind::reducev_indexed;
}

/// Whether what arrives is combined with what is there.
[[nodiscard]] constexpr bool reduces(Kind kind) {
  return kind == Kind::reduce || kind == Kind::reducev || kind == Kind::reducew || kind == Kind::reducev_indexed;
}

}  // namespace laneway
