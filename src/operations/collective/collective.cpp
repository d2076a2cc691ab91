#include "operations/collective/collective.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "communicator/decisions.hpp"
#include "laneway/base.h"
#include "operations/choose/chooser.hpp"
#include "operations/collective/bundled_calls.hpp"
#include "operations/collective/dense_origin.hpp"
#include "operations/collective/exact.hpp"
#include "operations/collective/execution/own.hpp"
#include "operations/collective/execution/shared_device.hpp"
#include "operations/collective/execution/windows.hpp"
#include "operations/collective/family.hpp"
#include "operations/collective/tuned.hpp"
#include "operations/pipeline/fixed_operation.hpp"
#include "operations/pipeline/plan_cache.hpp"
#include "operations/request/nonblocking.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

namespace {

constexpr const char* between_groups = "the communicator joins two groups";
constexpr const char* of_some_ranks = "some ranks of the communicator have no neighbors, and take part in nothing";

CheckedCollective check(const CollectiveCall& call, const Place& place, const DenseKnowledge* known) {
  return {call, place.rank, place.ranks, known != nullptr && is_by_rank(known->hints.order)};
}

/// What a blocking or a nonblocking call comes to.
struct CachedCollective final : CachedCall {
  const DenseRule* rule = nullptr;
  std::shared_ptr<TunedDense> tuned;  ///< null: it stays with the rule
  bool needs_copies = false;          ///< where tuned calls run by a rule
  /// No hint and no device has a say in such calls: where ranks take turns on a core, what a call looks up is seldom in
  /// a cache.
  bool is_plain = false;

  [[nodiscard]] bool is_in_windows() const { return rule != nullptr && rule->traits.windows != Windows::none; }
};

/// Goes into the cache unless ranks must ask each other for sizes. A nonblocking call has messages alone.
std::shared_ptr<CachedCollective> plan_call(Communicator& communicator,
                                            const std::shared_ptr<const DenseKnowledge>& known,
                                            const CollectiveCall& call, const Place& place, Phases phases) {
  const bool blocks = phases == Phases::one;
  const Hints& hints = known->hints;
  const CheckedCollective checked = check(call, place, known.get());
  DenseAutotuner& calls = communicator.attachment<DenseAutotuner>();
  auto made = std::make_shared<CachedCollective>();
  made->comm = blocks ? communicator.private_comm() : start_order(communicator)->comm();
  made->phases = phases;
  made->version = blocks ? 0 : calls.version();
  Candidates candidates =
      candidates_of(*known, checked, blocks ? may_once(checked) : DenseMay{.phases = phases, .ask_others = false});
  const TrialResult* found = nullptr;
  if (blocks && candidates.only.empty())
    found = calls.try_sums(CallForm::blocking, checked, known, communicator, *made->comm, place.comm);
  if (blocks || (candidates.only.empty() && !checked.is_of_one_rule()))
    made->tuned = calls.find(blocks ? CallForm::blocking : CallForm::nonblocking, checked, known);
  if (made->tuned && !blocks) found = made->tuned->found();
  made->reasons = pick(std::move(candidates), found);
  made->rule = find_rule(checked.facts.kind, made->reasons.strategy);
  if (blocks) {
    const bool is_hinted = read_collective(hints.collective, call.kind).rule != nullptr;
    if (made->tuned) {
      made->tuned->decided(made->rule, checked.is_of_one_rule() || is_hinted);
      made->needs_copies = ContiguousBuffers::needs_copies(call, place.rank, place.ranks);
    }
    log_reasons(made->reasons, place.rank);
    made->is_plain = !hints.check && !hints.fixed_dense_counts && hints.progress != ProgressHint::wait &&
                     (call.kind != DenseKind::allreduce || device_plugins().empty());
  }
  if (made->rule != nullptr) {
    const auto plan = packed(plan_dense(*known, *made->rule, *made->comm, checked));
    made->bound = std::make_shared<BoundPlan>(ready_plan(checked, plan), blocks ? bindings_of_blocking : 0);
    if (asks_for_sizes(*made->rule, call.kind)) return made;
  }
  // A rank that found this again would go another way than those whose arguments have changed.
  if (blocks && may_yet_be_bundled(communicator, call)) return made;
  made->signature = CallSignature(call, place.rank, place.ranks);
  communicator.attachment<PlanCache>().add(made);
  return made;
}

/// That of an earlier nonblocking call; null: there is none.
std::shared_ptr<const CachedCollective> find_nonblocking(MPI_Comm comm, const CollectiveCall& call) {
  Communicator* const communicator = Communicator::find(comm);
  if (communicator == nullptr) return nullptr;
  return communicator->attachment<PlanCache>().find<CachedCollective>(
      call, Phases::split, communicator->attachment<DenseAutotuner>().version());
}

/// A window is made for each blocking call: others may have another buffer than last time, which nobody is told.
int run_in_windows(const std::shared_ptr<PrivateComm>& comm, const CachedCollective& cached, const CollectiveCall& call,
                   const Place& place, bool has_to_help) {
  const DenseCall blocks = check(call, place, nullptr).blocks();
  const std::unique_ptr<Work> exchange = together(*comm, [&] {
    return make_in_windows(comm, blocks, buffers_of(call), cached.rule->traits.windows, cached.bound->plan(),
                           WindowUse::once);
  });
  if (exchange == nullptr) return place.run(call, has_to_help);
  (void)exchange->start();
  exchange->wait();
  return MPI_SUCCESS;
}

/// Whether the buffers are such as may be bad in a call whose other arguments are those of a good one.
bool has_odd_buffers(const CollectiveCall& call) {
  const auto is_odd = [](const void* buffer) { return buffer == nullptr || buffer == LNW_NOT_CONTIGUOUS; };
  return is_odd(call.sendbuf) || is_odd(call.recvbuf) || call.recvbuf == MPI_IN_PLACE;
}

/// Of the communicator's own hints.
struct Promise final : Attachment {
  std::optional<bool> counts;
};

/// Of a reduction, ranks may have other handles of a derived datatype, or of a user's operator.
bool may_be_promised(const CollectiveCall& call) {
  if (call.kind == DenseKind::reduce_scatter)
    return is_predefined_operator(call.op) && is_predefined(call.receive.type);
  return call.kind == DenseKind::allgatherv || !knows_all_sizes(call.kind);
}

FixedKey key_of(const CollectiveCall& call, Phases phases) {
  FixedKey key{.operation = operation_of(call.kind), .phases = phases, .root = has_root(call.kind) ? call.root : 0};
  if (!reduces(call.kind)) return key;
  key.op = call.op;
  key.element = call.receive.type;
  return key;
}

/// Whether lnw_order=exact has a bearing on a nonblocking call. `known`: null if nothing is known yet. Local.
bool is_exact(MPI_Comm comm, const DenseKnowledge* known, const CollectiveCall& call) {
  if (known != nullptr) return known->hints.order == ReductionOrder::exact && adds_floats(call);
  if (!adds_floats(call)) return false;
  const Communicator* const communicator = Communicator::find(comm);
  return resolve_order(communicator != nullptr ? communicator->hints : hints_of(comm)) == ReductionOrder::exact;
}

/// Whether lnw_fixed_dense_counts has a bearing on a call, on a communicator of which nothing may be known yet. Local.
bool is_promised(MPI_Comm comm, const CollectiveCall& call) {
  if (!may_be_promised(call)) return false;
  Communicator* const known = Communicator::find(comm);
  if (known == nullptr) return resolve_hints({}, hints_of(comm)).fixed_dense_counts;
  std::optional<bool>& counts = known->attachment<Promise>().counts;
  if (!counts) counts = resolve_hints({}, known->hints).fixed_dense_counts;
  return *counts;
}

/// That of a v or w operation under lnw_fixed_dense_counts, with its root and its operator; null where it is not
/// promised, or no plan serves it. Blocking and nonblocking calls have their own. The first one is collective: the plan
/// is made as that of a persistent operation is, with the sizes of others' blocks and memory of the node. Under
/// lnw_check, in later blocking calls, all ranks throw Error(argument) with the first rank whose arguments have
/// changed, and with what has. Otherwise such a rank ends the job. `users`: the communicator of the call.
const FixedOperation* find_fixed(Communicator& communicator, const DenseKnowledge& known, MPI_Comm users,
                                 const CollectiveCall& call, Phases phases) {
  if (!known.hints.fixed_dense_counts || !may_be_promised(call)) return nullptr;
  const FixedOperation& fixed =
      fixed_operation<CollectiveFamily>(communicator, key_of(call, phases), Use::calls, users, call, phases);
  std::string difference;
  if (!fixed.signature.equal(call)) {
    const PrivateComm& comm = *fixed.order->comm();
    check_collective(call, comm.rank(), comm.size());
    difference = fixed.signature.difference(call);
  }
  keep_promise(fixed, "lnw_fixed_dense_counts", name(call.kind), difference,
               known.hints.check && phases == Phases::one);
  return fixed.bound ? &fixed : nullptr;
}

/// Before a call meets other ranks: these may not call at all where the arguments of this rank are bad. In the first
/// call of a promise all ranks hear of it.
void check_alone(const Place& place, const CollectiveCall& call) {
  try {
    check_dense(call, place.rank, place.ranks);
  } catch (const Error&) {
    if (!is_promised(place.comm, call)) throw;
  }
}

/// What all ranks know before a call runs: the rule, how often such calls have come, and whether some are tried now.
void note_dense(Communicator& communicator, const char* form, const CollectiveCall& call, const Reasons& reasons,
                const DenseAutotuner& calls, const TunedDense* tuned) {
  note_decision(communicator, [&] {
    std::string text = std::string(form) + name(call.kind) + ": " + reasons.strategy;
    if (tuned != nullptr) text += ", " + tuned->text();
    return text + (calls.are_due() ? ", trials are due" : "");
  });
}

int run_cached(Communicator& communicator, const CachedCollective& cached, MPI_Comm comm, const CollectiveCall& call,
               bool has_to_help) {
  if (cached.is_in_windows())
    return run_in_windows(communicator.private_comm(), cached, call, Place(comm), has_to_help);
  DenseAutotuner& calls = communicator.attachment<DenseAutotuner>();
  TunedDense* const tuned = cached.tuned.get();
  if (tuned != nullptr) calls.count(*tuned, 1);
  if (!cached.is_plain) {
    note_dense(communicator, "blocking ", call, cached.reasons, calls, tuned);
    compare_decisions(communicator, *cached.comm);
  }
  if (calls.are_due()) calls.tune(communicator, *cached.comm, comm);
  const auto state = tuned != nullptr ? tuned->state() : TunedDense::State::as_decided;
  if (state == TunedDense::State::rule) {
    tuned->run(call, *cached.comm, cached.needs_copies);
    return MPI_SUCCESS;
  }
  if (state == TunedDense::State::mpi || cached.bound == nullptr)
    return Place(comm, *cached.comm).run(call, has_to_help);
  cached.bound->run(buffers_of(call), *cached.comm);
  return MPI_SUCCESS;
}

/// Null: lnw_order does not ask for it.
std::unique_ptr<ExactCall> exact_call(Communicator& communicator, ReductionOrder order, const CollectiveCall& call,
                                      const Place& place) {
  if (order != ReductionOrder::exact || !adds_floats(call)) return nullptr;
  return std::make_unique<ExactCall>(communicator, call, place.rank, place.ranks);
}

/// That of a persistent call. What is wrong with its hints is said where ranks agree on them.
ReductionOrder order_in(MPI_Info info, const Communicator& communicator) {
  try {
    return resolve_hints(hints_in(info), communicator.hints).order;
  } catch (const Error&) {
    return ReductionOrder::fixed;
  }
}

int run_exactly(ExactCall& exact, MPI_Comm comm) {
  exact.fetch();
  const int code = run_dense(comm, exact.call());
  if (code == MPI_SUCCESS) exact.put_back();
  return code;
}

/// `make` makes the request of a call. `exact`: see exact_call.
template <class Make>
std::unique_ptr<Request> make_exactly(std::unique_ptr<ExactCall> exact, const CollectiveCall& call, Make&& make) {
  std::unique_ptr<Request> request = make(exact ? exact->call() : call);
  if (exact)
    request->decorate(
        [&](std::unique_ptr<Work> work) { return std::make_unique<ExactWork>(std::move(exact), std::move(work)); });
  return request;
}

/// Of a call that more concerns than its plan. `cached`: null if there is none.
int run_by_hints(const Place& place, const CollectiveCall& call, std::shared_ptr<const CachedCollective> cached) {
  if (place.is_inter) {
    place.check_between(call);
    return place.run(call, false);
  }
  if (!cached || has_odd_buffers(call)) check_alone(place, call);
  Communicator& communicator = Communicator::of(place.comm);
  if (communicator.partial) return place.run(call, false);
  if (cached && cached->is_plain) return run_cached(communicator, *cached, place.comm, call, false);
  const std::shared_ptr<const DenseKnowledge> known = know_dense(communicator);
  if (known->hints.check)
    compare_collective(*communicator.private_comm(), call, check_collective(call, place.rank, place.ranks));
  if (const auto exact = exact_call(communicator, known->hints.order, call, place))
    return run_exactly(*exact, place.comm);
  if (const FixedOperation* const fixed = find_fixed(communicator, *known, place.comm, call, Phases::one)) {
    fixed->bound->run(buffers_of(call), *fixed->order->comm(), fixed->order->tag());
    return MPI_SUCCESS;
  }
  if (run_on_shared_device(communicator, known, call)) return MPI_SUCCESS;
  if (run_bundled(communicator, known, place.comm, call)) return MPI_SUCCESS;
  if (!cached) cached = plan_call(communicator, known, call, place, Phases::one);
  return run_cached(communicator, *cached, place.comm, call, known->hints.progress == ProgressHint::wait);
}

std::unique_ptr<Request> request_of_mpi(std::unique_ptr<Work> work, Reasons reasons, Request::Life life) {
  return std::make_unique<Request>(nullptr, nullptr, std::move(work), std::move(reasons), life);
}
std::unique_ptr<Request> start_mpi(const Place& place, const CollectiveCall& call, Reasons reasons) {
  return request_of_mpi(place.start(call), std::move(reasons), Request::Life::nonblocking);
}

/// That of a promised call; null: there is none. Collective in the first one.
std::unique_ptr<Request> start_fixed(MPI_Comm comm, const CollectiveCall& call) {
  if (!is_promised(comm, call)) return nullptr;
  Communicator& communicator = Communicator::of(comm);
  if (communicator.partial) return nullptr;
  const std::shared_ptr<const DenseKnowledge> known = know_dense(communicator);
  const FixedOperation* const fixed = find_fixed(communicator, *known, comm, call, Phases::split);
  if (fixed == nullptr) return nullptr;
  return start_request(communicator, fixed->order, fixed->bound, buffers_of(call), find_helper(known->hints.progress),
                       fixed->reasons);
}

/// What has been learnt in calls that block; null: nothing yet.
std::shared_ptr<const DenseKnowledge> knowledge_without_blocking(MPI_Comm comm) {
  Communicator* const communicator = Communicator::find(comm);
  if (communicator == nullptr || communicator->partial) return nullptr;
  return communicator->attachment<KnownDense>().own;
}

}  // namespace

int run_dense(MPI_Comm comm, Communicator* known, const CollectiveCall& call) {
  if (known != nullptr && run_bundled_again(*known, call)) return MPI_SUCCESS;
  std::shared_ptr<CachedCollective> cached;
  if (known != nullptr) cached = known->attachment<PlanCache>().find<CachedCollective>(call);
  if (cached && cached->is_plain && !has_odd_buffers(call)) return run_cached(*known, *cached, comm, call, false);
  return run_by_hints(Place(comm), call, std::move(cached));
}

void try_sums(MPI_Comm comm, const CollectiveCall& call) {
  Communicator& communicator = Communicator::of(comm);
  const std::shared_ptr<const DenseKnowledge> known = know_dense(communicator);
  const CheckedCollective checked = check(call, Place(comm), known.get());
  if (!candidates_of(*known, checked, may_once(checked)).only.empty()) return;
  (void)communicator.attachment<DenseAutotuner>().try_sums(CallForm::blocking, checked, known, communicator,
                                                           *communicator.private_comm(), comm);
}

Reasons reasons_of_dense(MPI_Comm comm, const CollectiveCall& call) {
  const Place place(comm);
  if (place.is_inter) return mpi_reasons(between_groups);
  Communicator& communicator = Communicator::of(comm);
  if (communicator.partial) return mpi_reasons(of_some_ranks);
  const std::shared_ptr<const DenseKnowledge> known = know_dense(communicator);
  if (const auto exact = exact_call(communicator, known->hints.order, call, place))
    return reasons_of_dense(comm, exact->call());
  if (std::optional<Reasons> reasons = reasons_on_shared_device(communicator, *known, call)) return *std::move(reasons);
  const CheckedCollective checked = check(call, place, known.get());
  return pick(candidates_of(*known, checked, may_once(checked)),
              communicator.attachment<DenseAutotuner>().look_up(CallForm::blocking, checked, known));
}

std::unique_ptr<Request> start_dense(MPI_Comm comm, const CollectiveCall& call) {
  const Place place(comm);
  if (place.is_inter) {
    place.check_between(call);
    return start_mpi(place, call, mpi_reasons(between_groups));
  }
  std::shared_ptr<const CachedCollective> cached = find_nonblocking(comm, call);
  if (!cached || has_odd_buffers(call)) check_alone(place, call);
  const std::shared_ptr<const DenseKnowledge> known = knowledge_without_blocking(comm);
  if (is_exact(comm, known.get(), call)) {
    auto exact = std::make_unique<ExactCall>(Communicator::of_nonblocking(comm), call, place.rank, place.ranks);
    exact->fetch();
    return make_exactly(std::move(exact), call, [&](const CollectiveCall& sums) { return start_dense(comm, sums); });
  }
  if (std::unique_ptr<Request> fixed = start_fixed(comm, call)) return fixed;
  if (!known) return start_mpi(place, call, mpi_reasons("which ranks share a node is learnt in a call that blocks"));
  Communicator& communicator = Communicator::of_nonblocking(comm);
  if (std::unique_ptr<Request> together = start_bundled(communicator, known, place, call)) return together;
  if (!cached) cached = plan_call(communicator, known, call, place, Phases::split);
  // Counted here, tried in a later call that may block.
  if (TunedDense* const tuned = cached->tuned.get()) {
    DenseAutotuner& calls = communicator.attachment<DenseAutotuner>();
    tuned->forbid_trial(!is_on_host(call));
    calls.count(*tuned, 1);
    note_dense(communicator, "nonblocking ", call, cached->reasons, calls, tuned);
  }
  if (!cached->bound) return start_mpi(place, call, cached->reasons);
  return start_request(communicator, start_order(communicator), cached->bound, buffers_of(call),
                       find_helper(known->hints.progress), cached->reasons);
}

std::unique_ptr<Request> make_dense(MPI_Comm comm, MPI_Info info, const CollectiveCall& call) {
  const Place place(comm);
  const auto by_mpi = [&](const char* why) {
    return request_of_mpi(place.make(call), mpi_reasons(why), Request::Life::persistent);
  };
  if (place.is_inter) {
    place.check_between(call);
    return by_mpi(between_groups);
  }
  Communicator& communicator = Communicator::of(comm);
  if (communicator.partial) {
    (void)check(call, place, nullptr);
    return by_mpi(of_some_ranks);
  }
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  return together(*priv, [&] {
    const ReductionOrder order = adds_floats(call) ? order_in(info, communicator) : ReductionOrder::fixed;
    if (order == ReductionOrder::exact) (void)check(call, place, nullptr);
    auto request = make_exactly(exact_call(communicator, order, call, place), call, [&](const CollectiveCall& made) {
      CollectiveFamily family(communicator, *priv, comm, made, Phases::split, info);
      return make_request(family, communicator, *priv, info);
    });
    request->keep(std::make_unique<DenseOrigin>(communicator, info, call));
    return request;
  });
}

}  // namespace laneway
