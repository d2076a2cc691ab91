#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "communicator/arguments/collective.hpp"
#include "communicator/arguments/held.hpp"
#include "mpi/made_type.hpp"
#include "operations/request/packed_call.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// The arguments of MPI's own functions. Those that an operation does not have mean nothing.
template <class Count, class Displacement>
struct MpiSide {
  Count count = 0;
  const Count* counts = nullptr;
  const Displacement* displacements = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const MPI_Datatype* types = nullptr;
};
template <class Count, class Displacement>
struct BasicMpiArguments {
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  MpiSide<Count, Displacement> send;
  MpiSide<Count, Displacement> receive;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
};
using MpiArguments = BasicMpiArguments<int, int>;
using LargeMpiArguments = BasicMpiArguments<MPI_Count, MPI_Aint>;

/// MPI's own operation, blocking or nonblocking. Returns MPI's code.
int call_mpi(DenseKind kind, const MpiArguments& arguments, MPI_Comm comm);
int start_mpi(DenseKind kind, const MpiArguments& arguments, MPI_Comm comm, MPI_Request* request);
#ifdef LANEWAY_HAS_LARGE_COUNT_COLLECTIVES
int call_mpi(DenseKind kind, const LargeMpiArguments& arguments, MPI_Comm comm);
int start_mpi(DenseKind kind, const LargeMpiArguments& arguments, MPI_Comm comm, MPI_Request* request);
#endif

/// `count` elements as one: so many as fit into int at once, and the rest.
[[nodiscard]] MadeType as_one(std::int64_t count, MPI_Datatype type);

/// What a nonblocking function of MPI's own starts.
class MpiOperation {
 public:
  MpiOperation() = default;
  virtual ~MpiOperation() = default;
  MpiOperation(const MpiOperation&) = delete;
  MpiOperation& operator=(const MpiOperation&) = delete;

  /// Returns MPI's code.
  virtual int start(MPI_Comm comm, MPI_Request* request) = 0;
  /// When what has started is complete. May start more, at whose end it is called again.
  virtual void finish(MPI_Request*) {}
  /// What it does, as a plan; null: that is MPI's business.
  [[nodiscard]] virtual const Plan* plan() const { return nullptr; }
};

/// A call as MPI's own functions take it. Where large counts are given and MPI has no functions for them, counts of
/// equal blocks become datatypes; those of unequal ones must fit into int.
class MpiCall final : public MpiOperation {
 public:
  /// How long the caller's arrays, and then its datatypes, are there.
  enum class Borrows : std::uint8_t { all, types, nothing };

  /// `peers`: entries of arrays that have one for each rank that this one talks to; `is_root`: whether this rank's
  /// arguments for the root mean something. Throws Error(count).
  MpiCall(const CollectiveCall& call, int peers, int ranks, bool is_root, Borrows borrows);
  ~MpiCall() override = default;
  MpiCall(const MpiCall&) = delete;
  MpiCall& operator=(const MpiCall&) = delete;

  int run(MPI_Comm comm);
  /// A blocking reduction that needs none of this, as most; nothing: it does.
  [[nodiscard]] static std::optional<int> run_as_given(const CollectiveCall& call, MPI_Comm comm);
  /// As run, but the process's exchanges are advanced meanwhile: by MPI's nonblocking operation, so that all ranks do
  /// so. Must not borrow all.
  int run_progressing(MPI_Comm comm);
  int start(MPI_Comm comm, MPI_Request* request) override;
  void finish(MPI_Request*) override {
    if (packed_) packed_->put_back();
  }

 private:
  struct Owned {
    std::vector<int> counts;
    std::vector<int> displacements;
    std::vector<MPI_Count> large_counts;
    std::vector<MPI_Aint> large_displacements;
    std::vector<MPI_Datatype> types;
    std::vector<MPI_Datatype> handles;  // of the caller's datatypes
    std::vector<MadeType> made;
  };
  void fill(const SideArguments& given, const SideRow& names, int entries, Borrows borrows, bool is_send);
  void fill_small(const SideArguments& given, const SideRow& names, int entries, Borrows borrows, bool is_send);
  void fill_large(const SideArguments& given, const SideRow& names, int entries, bool is_send);
  void send_copies(int ranks);
  void pack_copies();
  [[nodiscard]] MPI_Datatype received_type(int peer) const;
  void own_types(const SideArguments& given, int entries, bool is_send);
  void lengthen_types(MPI_Comm comm);
  [[nodiscard]] int run_own(MPI_Comm comm) const;
  [[nodiscard]] int run_in_parts(MPI_Comm comm) const;

  void begin_at_block(const CollectiveCall& call);
  void fill(const CollectiveCall& call, int entries, bool is_root, Borrows borrows);

  DenseKind kind_;
  std::unique_ptr<PackedCall> packed_;  // null: MPI has the caller's buffers and datatypes
  bool is_large_ = false;
  std::int64_t parts_count_ = 0;  // elements of a reduction that are too many for one call; 0: they are not
  MpiArguments small_;
  LargeMpiArguments large_;
  std::optional<HeldOperator> op_;   // of one that goes on after the call
  std::optional<HeldType> operand_;  // of one that combines and borrows no datatypes
  std::vector<std::byte> copies_;    // of what is given in place, where MPI is wrong about it
  Owned send_;
  Owned receive_;
};

}  // namespace laneway
