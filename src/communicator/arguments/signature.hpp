#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "communicator/arguments/call.hpp"
#include "communicator/arguments/collective.hpp"
#include "communicator/arguments/topology.hpp"
#include "communicator/datatypes/datatype.hpp"

namespace laneway {

/// A number for each operation of any family.
[[nodiscard]] constexpr int operation_of(Kind kind) {
  return static_cast<int>(kind);
}
[[nodiscard]] constexpr int operation_of(DenseKind kind) {
  constexpr int first = 1 << 16;  // above those of neighborhoods
  return first + static_cast<int>(kind);
}

/// The arguments of a call but its buffers, to be compared with those of later calls without describing these: where
/// they are equal, one plan serves all.
class CallSignature {
 public:
  CallSignature() = default;
  /// Of a call that has been found good.
  CallSignature(const Call& call, const Topology& topology);
  /// Of alltoallw nothing is known, unless `types`: a list of them is long to compare.
  CallSignature(const CollectiveCall& call, Rank rank, Rank ranks, bool types = false);

  /// False: these are arguments of no kind that is compared, which equal none.
  [[nodiscard]] bool known() const { return operation_ != none; }
  /// Of a derived datatype it is not enough that the handle is the same: it may be of another one since. Likewise of an
  /// operator, which may commute or not.
  [[nodiscard]] bool equal(const Call& call) const;
  [[nodiscard]] bool equal(const CollectiveCall& call) const;
  /// What has changed, for people: "recvcounts[3] is 7 instead of 5"; empty if nothing has.
  template <class AnyCall>
  [[nodiscard]] std::string difference(const AnyCall& call) const;

 private:
  struct Type {
    int slot = 0;  ///< of a list of types
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    std::shared_ptr<const TypeMap> map;  ///< of a derived one
    [[nodiscard]] bool is_still(MPI_Datatype given) const;
  };
  struct Side {
    bool is_used = false;
    bool has_list = false;  ///< of types
    MPI_Count count = 0;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> displacements;
    std::vector<Type> types;  ///< one, or those of the blocks that are

    Side() = default;
    /// `slots`: those of the lists that mean something to their types; `entries`: of the others.
    Side(const SideArguments& given, int entries, const std::vector<int>& slots);
    [[nodiscard]] bool equal(const SideArguments& given) const;
    [[nodiscard]] std::string difference(const SideArguments& given, const SideRow& names) const;
  };
  static constexpr int none = -1;

  int operation_ = none;
  int root_ = 0;
  bool in_place_ = false;
  MPI_Op op_ = MPI_OP_NULL;
  bool commutes_ = true;
  Side send_;
  Side receive_;
};

}  // namespace laneway
