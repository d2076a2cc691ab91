#pragma once

#include <cstdint>

#include "operations/collective/start.hpp"
#include "operations/neighborhood/fixed_operation.hpp"

namespace laneway {

/// Whether the hint has a bearing on such calls, which all ranks know. Local.
[[nodiscard]] bool may_be_promised(const CollectiveCall& call);
/// Whether the communicator has the hint. Local.
[[nodiscard]] bool promises_counts(Communicator& communicator);

/// That of a v or w operation under lnw_fixed_dense_counts, with its root and its operator; null where it is not
/// promised. Blocking and nonblocking calls have their own. The first one is collective: the plan is made as that of a
/// persistent operation is, with the sizes of others' blocks and memory of the node. Under lnw_check, in later blocking
/// calls, all ranks throw Error(argument) with the first rank whose arguments have changed, and with what has.
/// Otherwise such a rank ends the job.
[[nodiscard]] const FixedOperation* fixed_dense(Communicator& communicator, const DenseKnowledge& known,
                                                const CollectiveCall& call, Phases phases);

/// Bytes of a block of the call in the mean of all ranks, where no rank knows the sizes of all. Collective.
[[nodiscard]] std::int64_t mean_block_bytes(const CollectiveCall& call, const DenseCall& blocks,
                                            const PrivateComm& comm);

}  // namespace laneway
