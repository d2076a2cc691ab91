#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/bytes/types.hpp"
#include "base/dense_kind.hpp"
#include "communicator/arguments/call.hpp"

namespace laneway {

/// Which buffer argument may be MPI_IN_PLACE, and on which ranks.
enum class InPlace : std::uint8_t { never, send_everywhere, send_at_root, receive_at_root };

/// What the arguments of a dense operation are called, for errors.
struct DenseRow {
  DenseKind kind;
  SideRow send;
  SideRow receive;
  InPlace in_place = InPlace::never;
};
[[nodiscard]] const DenseRow& row_of(DenseKind kind);

/// A dense operation and its arguments, as the caller has given them: nothing is checked. A broadcast has its buffer on
/// the side that receives.
struct CollectiveCall {
  DenseKind kind;
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  SideArguments send;
  SideArguments receive;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  const char* fault = nullptr;  ///< what is wrong with the call beside these
  bool is_large = false;        ///< whether it is one of the functions `_c`
  bool any_order = false;       ///< the operator gives the same bits in every order, whatever lnw_order says
};

/// Whether the rank's arguments for one side mean anything: a root alone has some, and nobody in place.
[[nodiscard]] bool is_in_place(const CollectiveCall& call);
[[nodiscard]] bool uses_send(const CollectiveCall& call, bool is_root);
[[nodiscard]] bool uses_receive(const CollectiveCall& call, bool is_root);
/// How many entries their arrays have. `peers`: the ranks of the communicator, or of the other group.
[[nodiscard]] int entries(const CollectiveCall& call, int peers, int ranks);

/// Throws Error that names the bad argument, of MPI's own class. `rank` and `ranks`: of an intracommunicator. Returns
/// the bytes of a block (a vector, where blocks are combined), the same on all ranks; -1 where blocks may differ.
std::int64_t check_collective(const CollectiveCall& call, Rank rank, Rank ranks);

}  // namespace laneway
