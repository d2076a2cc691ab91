/// MPI's own datatypes and the operators that apply to them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support.hpp"

namespace laneway::test {

struct PredefinedType {
  enum class Kind { integer, real, complex, logical, byte, pair };

  std::string name;
  MPI_Datatype type;
  Kind kind;
  std::size_t bytes;  ///< the extent
  /// Writes an element: a small number, so that any order of combining gives the same bits.
  void (*fill)(Random&, std::byte* element);
};

/// Those that this MPI library has.
[[nodiscard]] const std::vector<PredefinedType>& predefined_types();
/// Null if it is none of them.
[[nodiscard]] const PredefinedType* find_predefined_type(MPI_Datatype type);

struct PredefinedOperator {
  const char* name;
  MPI_Op op;
};
/// By the standard (MPI 4.0, section 6.9.2), those which this MPI library applies to the datatype, too.
[[nodiscard]] std::vector<PredefinedOperator> operators_of(const PredefinedType& type);

/// Nobody says what is in the bytes that elements do not use: sets them to 0.
void clear_unused(const PredefinedType& type, std::vector<std::byte>& elements);

}  // namespace laneway::test
