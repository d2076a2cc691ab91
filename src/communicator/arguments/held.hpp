#pragma once

#include <mpi.h>

#include <memory>

#include "mpi/made_type.hpp"

namespace laneway {

/// An operator that is used after the call that names it. MPI lets a program free its own meanwhile: the library stands
/// in front of MPI_Op_free, and what is held is freed when nobody holds it any more. Where it is called past the
/// library, by one that the dynamic linker looks up elsewhere, the handle is all there is.
class HeldOperator {
 public:
  explicit HeldOperator(MPI_Op op);
  ~HeldOperator();
  HeldOperator(const HeldOperator&) = delete;
  HeldOperator& operator=(const HeldOperator&) = delete;

  [[nodiscard]] MPI_Op get() const { return op_; }

 private:
  MPI_Op op_;
  bool is_users_;
};

/// A datatype that is used after the call that names it: the caller's own while that lives, as a user's operator may
/// look at it; then a duplicate.
class HeldType {
 public:
  explicit HeldType(MPI_Datatype type);
  ~HeldType();
  HeldType(const HeldType&) = delete;
  HeldType& operator=(const HeldType&) = delete;

  [[nodiscard]] MPI_Datatype get() const {
    return copy_.get() != MPI_DATATYPE_NULL && life_.expired() ? copy_.get() : type_;
  }

 private:
  MPI_Datatype type_;
  MadeType copy_;  // null: of a predefined one
  std::weak_ptr<const void> life_;
};

}  // namespace laneway
