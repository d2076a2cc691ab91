#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "communicator/arguments/operations.hpp"
#include "communicator/arguments/signature.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "operations/choose/chooser.hpp"
#include "operations/request/nonblocking.hpp"

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

/// An operation of which a hint of the communicator promises that all calls have the arguments of the first one, but
/// for the buffers: the plan of that call serves all later ones, which ask nobody for anything. All ranks have it or
/// none.
struct FixedOperation {
  CallSignature signature;
  Reasons reasons;
  DeviceUse device_use = {};
  RankPattern pattern = {};                ///< of a neighborhood, where other datatypes may stand for the same
  std::shared_ptr<StartOrder> order = {};  ///< of the calls, in which exchanges start; null: each is complete before
  std::shared_ptr<BoundPlan> bound = {};   ///< null: no plan serves them

  /// Whether each edge is one message.
  [[nodiscard]] bool is_direct() const { return reasons.strategy == "direct"; }
  /// Of the exchange of a call.
  [[nodiscard]] NonblockingParts parts(Buffers buffers, Helper helper) const;
};

/// What an error says where a rank breaks the promise of `hint`, by what CallSignature::difference says.
[[nodiscard]] std::string text_of_broken(const char* hint, Rank rank, std::string_view call,
                                         const std::string& difference);
/// Says so and ends the job: peers could only wait for ever.
[[noreturn]] void end_job(const std::string& broken, MPI_Comm comm);

/// That of a neighborhood operation under lnw_fixed_counts, whose edges may differ in size. Made in the first call with
/// datatypes of such sizes, which is collective: it agrees and plans as persistent operations do, for buffers in the
/// kinds of memory that its own are in. If the arguments of any rank are bad, all ranks throw. Blocking and nonblocking
/// calls have the same if both may relay.
[[nodiscard]] FixedOperation& fixed_operation(Communicator& communicator, const FixedKey& key, const Call& call,
                                              Use use = Use::calls, Phases phases = Phases::one);
/// Ends the job if the arguments of a later call differ from those of the first.
void keep_promise(const FixedOperation& fixed, Communicator& communicator, const Call& call);

}  // namespace laneway
