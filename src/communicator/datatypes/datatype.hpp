#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes/ranges.hpp"

namespace laneway {

/// A datatype's type map as byte ranges in type map order, relative to the buffer, and its extent.
struct TypeMap {
  RangeList ranges;
  std::int64_t extent = 0;
  Range hull;                       ///< the smallest range that all are in
  bool names_no_byte_twice = true;  ///< as far as that is known without looking at each block
  bool goes_backward = false;       ///< by a negative extent or stride

  /// `count` elements, the first at `offset`.
  [[nodiscard]] RangeList elements(std::int64_t count, std::int64_t offset) const;
  /// The bytes of so many elements if they lie together, in order.
  [[nodiscard]] std::optional<Range> contiguous(std::int64_t count, std::int64_t offset) const;
  /// The smallest range that so many elements are in; must not be none.
  [[nodiscard]] Range hull_of(std::int64_t count, std::int64_t offset) const;
};

/// Whether nobody can free the datatype, nor make it again with another layout.
[[nodiscard]] bool is_predefined(MPI_Datatype type);

/// Reads any datatype by its envelope and contents; gaps are not in the ranges. Throws Error(type). That of a derived
/// datatype is read once, and is the same object for as long as the datatype lives.
[[nodiscard]] std::shared_ptr<const TypeMap> type_map(MPI_Datatype type);

/// Whether bytes that begin so far from MPI_BOTTOM, which is a null pointer, lie where no memory can be.
[[nodiscard]] constexpr bool lies_nowhere(std::int64_t offset) {
  constexpr std::int64_t page = 4096;
  return offset > -page && offset < page;
}
/// The same of so many elements of a datatype; false where they have no bytes.
[[nodiscard]] bool lie_nowhere(std::int64_t count, MPI_Datatype type, std::int64_t displacement, bool is_in_bytes);

/// Ends when a derived datatype does, after which its handle may be another one's.
[[nodiscard]] std::weak_ptr<const void> life_of(MPI_Datatype type);

/// The one predefined type that a datatype is made of; MPI_DATATYPE_NULL if it is made of none, or of several.
[[nodiscard]] MPI_Datatype base_type(MPI_Datatype type);

}  // namespace laneway
