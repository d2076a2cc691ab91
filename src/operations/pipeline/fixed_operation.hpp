#pragma once

#include <mpi.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "communicator/arguments/signature.hpp"
#include "communicator/communicator.hpp"
#include "operations/pipeline/pipeline.hpp"
#include "operations/request/nonblocking.hpp"

namespace laneway {

/// What all ranks of a call know of it without talking: the operation, and as much as tells apart those that have plans
/// of their own.
struct FixedKey {
  int operation = 0;  ///< as operation_of says
  Phases phases = Phases::one;
  int root = 0;
  std::int64_t bytes = 0;
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype element = MPI_DATATYPE_NULL;

  friend auto operator<=>(const FixedKey&, const FixedKey&) = default;
};

/// An operation of which a hint of the communicator promises that all calls have the arguments of the first one, but
/// for the buffers: the plan of that call serves all later ones, which ask nobody for anything. All ranks have it or
/// none.
struct FixedOperation {
  CallSignature signature;
  RankPattern pattern;  ///< AlgorithmFamily::pattern, or none
  Reasons reasons;
  std::shared_ptr<StartOrder> order;  ///< of the calls, in which nonblocking exchanges start
  std::shared_ptr<BoundPlan> bound;   ///< null: no plan serves them

  /// Whether each edge is one message.
  [[nodiscard]] bool is_direct() const { return reasons.strategy == "direct"; }
};

/// Those of a communicator.
struct FixedOperations final : Attachment {
  std::map<FixedKey, std::unique_ptr<const FixedOperation>> of;

  /// What ranks have found out together may not be known to all of them. Plans on another communicator than now stay.
  void on(Change change) override {
    if (change == Change::unsure) of.clear();
  }
};

/// Prepares it as a persistent operation, for buffers in the kinds of memory that those of the family's call are in.
/// Collective as `prepare`.
[[nodiscard]] std::unique_ptr<const FixedOperation> make_fixed(AlgorithmFamily& family, Communicator& communicator,
                                                               PrivateComm& comm, Use use);

/// That of the communicator. Made in the first call with such a key, which is collective, by a family of the
/// `arguments`. If those of any rank are bad, all ranks throw, and try again in the next call.
template <class Family, class... Arguments>
const FixedOperation& fixed_operation(Communicator& communicator, const FixedKey& key, Use use,
                                      const Arguments&... arguments) {
  std::unique_ptr<const FixedOperation>& found = communicator.attachment<FixedOperations>().of[key];
  if (found) return *found;
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  std::unique_ptr<const FixedOperation> made = together(*comm, [&] {
    Family family(communicator, *comm, arguments...);
    return make_fixed(family, communicator, *comm, use);
  });
  return *(communicator.attachment<FixedOperations>().of[key] = std::move(made));
}

/// For a later call. `difference`: from the first one, as CallSignature says; empty: the promise is kept. `all_call`:
/// all ranks are in such a call, and throw Error(argument) with the first rank that breaks its promise; otherwise that
/// ends the job, since peers could only wait for ever.
void keep_promise(const FixedOperation& fixed, const char* hint, const char* operation, const std::string& difference,
                  bool all_call);

}  // namespace laneway
