#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "communicator/datatypes/datatype.hpp"
#include "operations/collective/checked.hpp"
#include "runtime/device/buffers.hpp"

namespace laneway {

/// What all ranks know of a call with equal blocks, whatever datatypes and buffers each of them gives. Calls
/// of one class can have one plan.
struct CallClass {
  DenseKind kind = DenseKind::barrier;
  int root = 0;
  std::int64_t count = 0;                    ///< bytes of a block, or elements of a vector that is combined
  MPI_Op op = MPI_OP_NULL;                   ///< MPI's own
  MPI_Datatype element = MPI_DATATYPE_NULL;  ///< MPI's own, of what is combined
  bool in_place = false;                     ///< on all ranks

  friend bool operator==(const CallClass&, const CallClass&) = default;

  /// What the call's buffers need, for elements that lie together.
  struct Bytes {
    std::int64_t send = 0;
    std::int64_t receive = 0;
  };
  [[nodiscard]] Bytes bytes(Rank rank, Rank ranks) const;
  /// The largest buffer of any rank.
  [[nodiscard]] std::int64_t most_bytes(Rank ranks) const {
    return std::max(bytes(root, ranks).send, bytes(root, ranks).receive);
  }
  /// The call that stands for all: its blocks lie together.
  [[nodiscard]] CollectiveCall call(Buffers buffers) const;
};

/// Nothing where ranks may differ in more than datatypes and buffers: unequal blocks, a user's operator or datatype.
[[nodiscard]] std::optional<CallClass> class_of(const CheckedCollective& checked);

/// The buffers of the call that stands for one: the caller's own where these lie as they must, or copies. What is on a
/// device must lie so.
class ContiguousBuffers {
 public:
  ContiguousBuffers(const CallClass& call_class, const CollectiveCall& call, Rank rank, Rank ranks);
  /// Whether copies are needed, which is so for all calls with such arguments.
  [[nodiscard]] static bool needs_copies(const CollectiveCall& call, Rank rank, Rank ranks);
  [[nodiscard]] Buffers buffers() const { return buffers_; }
  /// Brings what has been received to where the caller wants it.
  void finish();

 private:
  Buffers buffers_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  void* wanted_ = nullptr;
  RangeList places_;  // of what is received, from there
};

}  // namespace laneway
