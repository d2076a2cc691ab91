#pragma once

#include <optional>

#include "arguments/collective.hpp"
#include "choose/reasons.hpp"
#include "comm/communicator.hpp"
#include "operate/dense_knowledge.hpp"

namespace laneway {

/// Runs a blocking allreduce in memory of the device that the ranks of each node share: the first of them makes a
/// buffer with a slot for each, which the others open once; each copies its vector into its slot, combines its part of
/// all slots there, and copies the whole result out. Between nodes, parts are combined along lanes, which ranks of
/// equal number on their nodes form, in the host's memory (Adams, Bienz: Optimizing GPU-Aware Allreduce Operations,
/// slides "Multiple MPI Ranks per GPU" and "Locality-Aware Allreduce").
///
/// False on all ranks, and nothing has been done: the call has to run in another way. The first call of a class decides
/// for all of it, and is collective: calls with one operator, one datatype and vectors of about one size, all in place
/// or none. Buffers of later ones may be in memory of any kind. Operands are combined in the order of ranks on a node.
[[nodiscard]] bool run_on_shared_device(Communicator& communicator, const DenseKnowledge& known,
                                        const CollectiveCall& call);

/// Where calls like this one have been found to run there. Local.
[[nodiscard]] std::optional<Reasons> reasons_on_shared_device(Communicator& communicator, const CollectiveCall& call);

}  // namespace laneway
