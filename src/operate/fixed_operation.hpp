#pragma once

#include <compare>
#include <cstdint>
#include <memory>

#include "arguments/datatype.hpp"
#include "arguments/operations.hpp"
#include "arguments/signature.hpp"
#include "choose/chooser.hpp"
#include "operate/nonblocking.hpp"

namespace laneway {

/// Which operation, and the size of what it sends; of one that reduces, also the operator and the predefined type of
/// its elements. All ranks of a call know it without talking.
struct FixedKey {
  Kind kind;
  std::int64_t bytes = 0;
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype element = MPI_DATATYPE_NULL;

  friend auto operator<=>(const FixedKey&, const FixedKey&) = default;
};
[[nodiscard]] inline FixedKey key_of(const Call& call) {
  const std::int64_t bytes = sent_bytes(call);
  if (!reduces(call.kind)) return {call.kind, bytes};
  return {call.kind, bytes, call.op, base_type(call.send.type)};
}

/// An operation whose edges differ in size, on a communicator with the hint lnw_fixed_counts: the plan of one call
/// serves all later ones with datatypes of the same sizes, from and to any buffers.
class FixedOperation {
 public:
  /// Collective: agrees and plans as persistent operations do, for buffers in the kinds of memory that those of the
  /// first call are in. If the arguments of any rank are bad, all ranks throw.
  FixedOperation(Communicator& communicator, const Call& call, Use use, Phases phases);

  /// Ends the job if this call's arguments differ from those of the first: peers could only wait for ever.
  void check(Communicator& communicator, const Call& call) const;

  /// Exchanges start in the order of the calls.
  [[nodiscard]] std::unique_ptr<NonblockingExchange> start(Buffers buffers, Helper helper) const;

  [[nodiscard]] const Reasons& reasons() const { return reasons_; }
  /// Whether each edge is one message.
  [[nodiscard]] bool is_direct() const { return reasons_.strategy == "direct"; }
  [[nodiscard]] const std::shared_ptr<StartOrder>& order() const { return order_; }

 private:
  CallSignature signature_;
  RankPattern pattern_;
  Reasons reasons_;
  DeviceUse device_use_;
  std::shared_ptr<StartOrder> order_;
  std::shared_ptr<BoundPlan> bound_;  // without bindings if each edge is a message that needs no help
};

/// That of a call, made in the first one. Blocking and nonblocking ones have the same if both may relay.
[[nodiscard]] FixedOperation& fixed_operation(Communicator& communicator, const FixedKey& key, const Call& call,
                                              Use use = Use::calls, Phases phases = Phases::one);

}  // namespace laneway
