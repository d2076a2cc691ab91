#include "operations/collective/fixed.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

/// What all ranks of a call know of it without talking.
using PromisedKey = std::tuple<DenseKind, int, MPI_Op, MPI_Datatype, Phases>;

struct FixedDenseCalls final : Attachment {
  std::map<PromisedKey, std::unique_ptr<FixedOperation>> of;
  std::optional<bool> promises;  // of the communicator's own hints
  void on(Change) override { of.clear(); }
};

PromisedKey key_of_promise(const CollectiveCall& call, Phases phases) {
  const int root = has_root(call.kind) ? call.root : 0;
  if (!reduces(call.kind)) return {call.kind, root, MPI_OP_NULL, MPI_DATATYPE_NULL, phases};
  return {call.kind, root, call.op, call.receive.type, phases};
}

/// Collective.
std::unique_ptr<FixedOperation> make_promised(Communicator& communicator, const DenseKnowledge& known,
                                              const CollectiveCall& call, PrivateComm& comm, Phases phases) {
  const int tag = phases == Phases::split ? comm.take_tags() : 0;
  const Rank ranks = comm.size();
  const Looked looked = look_at(call, comm.rank(), ranks, known.hints.order == ReductionOrder::canonical);
  const DenseCall blocks = looked.blocks(call, comm.rank(), ranks);
  const std::int64_t mean = knows_all_sizes(call.kind) ? 0 : mean_block_bytes(call, blocks, comm);
  DenseAsk ask = looked.ask(call, ranks, phases, mean);
  ask.in_memory = true;
  ask.knows_mean = true;
  const DenseDecision decision = decide(known, known.hints, ask);
  auto made =
      std::make_unique<FixedOperation>(FixedOperation{CallSignature(call, comm.rank(), ranks, true), decision.reasons});
  tell_reasons(decision.reasons, comm.rank());
  if (decision.rule == nullptr || decision.rule->traits.windows != Windows::none) return made;
  Planned planned = plan_on_node(communicator, comm, known, known.hints,
                                 plan_dense(known, *decision.rule, comm, call, blocks, settings_of(known.hints)));
  const bool is_split = phases == Phases::split;
  made->bound = std::make_shared<BoundPlan>(planned.plan, looked.combiners(*planned.plan),
                                            is_split ? BoundPlan::most_bindings : bindings_of_blocking, planned.memory);
  if (is_split) made->order = std::make_shared<StartOrder>(comm.shared_from_this(), tag);
  return made;
}

/// What has changed on a rank.
using Change = std::array<char, 160>;

Change text_of_change(const std::string& text) {
  Change change{};
  std::copy_n(text.begin(), std::min(text.size(), change.size() - 1), change.begin());
  return change;
}

void keep_promise(const FixedOperation& fixed, const CollectiveCall& call, const DenseKnowledge& known,
                  const PrivateComm& comm) {
  std::string what;
  if (!fixed.signature.equal(call)) {
    (void)check_collective(call, comm.rank(), comm.size());
    what = fixed.signature.difference(call);
  }
  const auto broken_by = [&](Rank rank, const std::string& how) {
    return text_of_broken("lnw_fixed_dense_counts", rank, name(call.kind), how);
  };
  if (!known.hints.check || fixed.order) {
    if (what.empty()) return;
    end_job(broken_by(comm.rank(), what), comm.get());
  }
  const Change mine = text_of_change(what);
  std::vector<Change> all(static_cast<std::size_t>(comm.size()));
  std::vector<MPI_Request> requests(1);
  constexpr int bytes = sizeof(Change);
  check_mpi(MPI_Iallgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm.get(), requests.data()),
            "MPI_Iallgather");
  wait_all_progressing(comm, requests);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].front() == '\0') continue;
    comm.all_throw();
    throw Error(ErrorKind::argument, broken_by(static_cast<Rank>(rank), all[rank].data()));
  }
}

}  // namespace

/// Of a reduction, ranks may have other handles of a derived datatype, or of a user's operator.
bool may_be_promised(const CollectiveCall& call) {
  if (call.kind == DenseKind::reduce_scatter)
    return is_predefined_operator(call.op) && is_predefined(call.receive.type);
  return call.kind == DenseKind::allgatherv || !knows_all_sizes(call.kind);
}

bool promises_counts(Communicator& communicator) {
  std::optional<bool>& promises = communicator.attachment<FixedDenseCalls>().promises;
  if (!promises) promises = resolve_hints({}, communicator.hints).fixed_dense_counts;
  return *promises;
}

const FixedOperation* fixed_dense(Communicator& communicator, const DenseKnowledge& known, const CollectiveCall& call,
                                  Phases phases) {
  if (!known.hints.fixed_dense_counts || !may_be_promised(call)) return nullptr;
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  std::unique_ptr<FixedOperation>& found = communicator.attachment<FixedDenseCalls>().of[key_of_promise(call, phases)];
  // Where a rank's arguments are bad the others find nothing either, and all try again in the next call.
  if (!found)
    found = together(*comm, [&] { return make_promised(communicator, known, call, *comm, phases); });
  else
    keep_promise(*found, call, known, *comm);
  return found.get();
}

std::int64_t mean_block_bytes(const CollectiveCall& call, const DenseCall& blocks, const PrivateComm& comm) {
  const std::int64_t ranks = comm.size();
  const bool is_root = !has_root(call.kind) || call.root == comm.rank();
  const bool counts_sent = call.kind == DenseKind::scatterv;
  std::int64_t mine = 0;
  if (is_root)
    for (Rank peer = 0; peer < ranks; ++peer) mine += (counts_sent ? blocks.send : blocks.receive).bytes(peer);
  std::int64_t all = 0;
  reduce_progressing(&mine, &all, 1, MPI_INT64_T, MPI_SUM, comm);
  return all / (has_root(call.kind) ? ranks : ranks * ranks);
}

}  // namespace laneway
