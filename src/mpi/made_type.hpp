#pragma once

#include <mpi.h>

#include <utility>

#include "mpi/check.hpp"

namespace laneway {

/// A datatype that this library has made, and frees: also where what makes several of them fails at a later one.
class MadeType {
 public:
  MadeType() = default;
  ~MadeType() {
    if (type_ != MPI_DATATYPE_NULL && !mpi_is_finalized()) MPI_Type_free(&type_);
  }
  MadeType(MadeType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  MadeType& operator=(MadeType&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  MadeType(const MadeType&) = delete;
  MadeType& operator=(const MadeType&) = delete;

  /// For the function of MPI that makes it.
  [[nodiscard]] MPI_Datatype* place() { return &type_; }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace laneway
