#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/arguments/call.hpp"
#include "communicator/arguments/held.hpp"

namespace laneway {

/// A copy of an array of integers, as wide as what it was given.
class KeptIntegers {
 public:
  KeptIntegers() = default;
  KeptIntegers(const Integers& given, std::int64_t entries);
  /// As int, which all must fit into, unless they are to be wide.
  KeptIntegers(const std::vector<std::int64_t>& values, bool is_wide);

  [[nodiscard]] Integers get() const;
  [[nodiscard]] std::int64_t bytes() const;

 private:
  bool is_null_ = true;
  bool is_wide_ = false;
  std::vector<int> narrow_;
  std::vector<std::int64_t> wide_;
};

/// Copies of the arguments of one side, and its datatypes, which the program may free.
class KeptSide {
 public:
  KeptSide() = default;
  /// `entries` of each array; `slots`: those whose datatypes mean something.
  KeptSide(const SideArguments& given, std::int64_t entries, const std::vector<int>& slots);

  /// Valid as long as this and `handles`, which gets its list of datatypes.
  [[nodiscard]] SideArguments get(std::vector<MPI_Datatype>& handles) const;
  /// Of the copies.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  MPI_Count count_ = 0;
  KeptIntegers counts_;
  KeptIntegers displacements_;
  bool is_indexed_ = false;
  std::vector<MPI_Count> indices_;
  std::vector<MPI_Count> lengths_;
  std::unique_ptr<const HeldType> type_;
  bool has_list_ = false;                               // of datatypes
  std::vector<std::shared_ptr<const HeldType>> types_;  // null where they mean nothing
  const char* type_name_ = nullptr;
};

}  // namespace laneway
