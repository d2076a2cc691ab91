#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "communicator/arguments/collective.hpp"
#include "mpi/made_type.hpp"

namespace laneway {

/// Copies, one after another, the bytes that `places` name from `from` on, which may be on a device, and back.
void pack_bytes(std::vector<std::byte>& copy, const void* from, const RangeList& places);
void unpack_bytes(void* to, const std::vector<std::byte>& copy, const RangeList& places);

/// Whether the MPI library is known to misplace a datatype's bytes (Quirks::misplaces_backward_types).
[[nodiscard]] bool is_misplaced_by_mpi(MPI_Datatype type);

/// The same bytes in the same order, named one by one, so that no MPI library misplaces them.
[[nodiscard]] MadeType type_of_places(const RangeList& places);

/// A call of MPI's own operation on packed copies of this rank's blocks. Counts and sizes of datatypes, by which MPI
/// libraries choose algorithms, stay what they are on all ranks.
class PackedCall {
 public:
  /// Null where the MPI library can have the datatypes themselves. `peers` and `is_root` as MpiCall has them.
  static std::unique_ptr<PackedCall> make(const CollectiveCall& call, int peers, bool is_root);
  ~PackedCall() = default;
  PackedCall(const PackedCall&) = delete;
  PackedCall& operator=(const PackedCall&) = delete;

  [[nodiscard]] const CollectiveCall& call() const { return call_; }
  /// Before the operation starts, and when it is complete.
  void fetch();
  void put_back() const;

 private:
  struct Side {
    RangeList places;
    std::vector<std::byte> copy;
    std::vector<MPI_Count> displacements;
    std::vector<MPI_Datatype> types;
    std::vector<MadeType> made;
  };
  explicit PackedCall(const CollectiveCall& call) : call_(call), sendbuf_(call.sendbuf), recvbuf_(call.recvbuf) {}
  static void describe(Side& side, SideArguments& arguments, const SideRow& names, int blocks);

  CollectiveCall call_;
  const void* sendbuf_;
  void* recvbuf_;
  Side send_;
  Side receive_;
};

}  // namespace laneway
