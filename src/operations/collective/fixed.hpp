#pragma once

#include <mpi.h>

#include "operations/collective/knowledge.hpp"
#include "operations/pipeline/fixed_operation.hpp"

namespace laneway {

/// Whether lnw_fixed_dense_counts has a bearing on a call, on a communicator of which nothing may be known yet. Local.
[[nodiscard]] bool is_promised(MPI_Comm comm, const CollectiveCall& call);

/// That of a v or w operation under lnw_fixed_dense_counts, with its root and its operator; null where it is not
/// promised, or no plan serves it. Blocking and nonblocking calls have their own. The first one is collective: the plan
/// is made as that of a persistent operation is, with the sizes of others' blocks and memory of the node. Under
/// lnw_check, in later blocking calls, all ranks throw Error(argument) with the first rank whose arguments have
/// changed, and with what has. Otherwise such a rank ends the job. `users`: the communicator of the call.
[[nodiscard]] const FixedOperation* find_fixed(Communicator& communicator, const DenseKnowledge& known, MPI_Comm users,
                                               const CollectiveCall& call, Phases phases);

}  // namespace laneway
