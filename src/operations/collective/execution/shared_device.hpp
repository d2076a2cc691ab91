#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "communicator/arguments/collective.hpp"
#include "communicator/communicator.hpp"
#include "operations/choose/reasons.hpp"
#include "operations/collective/checked.hpp"
#include "operations/collective/knowledge.hpp"
#include "operations/request/work.hpp"

namespace laneway {

/// Runs a blocking allreduce in memory of devices that ranks share. The ranks of a node whose buffers are on one device
/// are a group: the first of them makes a buffer with a slot for each, which the others open once; each copies its
/// vector into its slot, combines its part of all slots there, and copies the whole result out. Between groups, on one
/// node or several, parts are combined along lanes, which ranks of equal number in their groups form, in the host's
/// memory (Adams, Bienz: Optimizing GPU-Aware Allreduce Operations, slides "Multiple MPI Ranks per GPU" and
/// "Locality-Aware Allreduce").
///
/// False on all ranks, and nothing has been done: the call has to run in another way. The first call of a class decides
/// for all of it, and is collective: calls with one operator, one datatype and vectors of about one size, all in place
/// or none. Buffers of later ones may be in memory of any kind. Operands are combined in the order of ranks of a group.
///
/// Where a device fails, all ranks throw: in this call or, where it failed after the last data had gone between nodes,
/// the others in the next one. Later calls return false.
[[nodiscard]] bool run_on_shared_device(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                                        const CollectiveCall& call);

/// Where calls like this one have been found to run there. Local.
[[nodiscard]] std::optional<Reasons> reasons_on_shared_device(Communicator& communicator, const DenseKnowledge& known,
                                                              const CollectiveCall& call);

/// The same as work of a persistent request, which has a buffer of its own, and why it is so. Null on all ranks: it has
/// to run in another way. `known`: of hints that all ranks have agreed on. Collective; what is wrong on one rank is
/// thrown on all by `together`.
[[nodiscard]] std::unique_ptr<Work> make_on_shared_device(Communicator& communicator,
                                                          const std::shared_ptr<const DenseKnowledge>& known,
                                                          PrivateComm& comm, const CheckedCollective& checked,
                                                          MPI_Info info, Reasons& reasons);

}  // namespace laneway
