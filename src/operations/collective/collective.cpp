#include "operations/collective/collective.hpp"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/arguments/signature.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/decisions.hpp"
#include "laneway/base.h"
#include "mpi/check.hpp"
#include "operations/choose/device_support.hpp"
#include "operations/collective/execution/mpi.hpp"
#include "operations/collective/execution/shared_device.hpp"
#include "operations/collective/execution/windows.hpp"
#include "operations/collective/fixed.hpp"
#include "operations/collective/knowledge.hpp"
#include "operations/collective/looked.hpp"
#include "operations/collective/plans.hpp"
#include "operations/collective/settled.hpp"
#include "operations/collective/start.hpp"
#include "operations/plans/host_images.hpp"
#include "operations/plans/plan_cache.hpp"
#include "operations/plans/proof.hpp"
#include "operations/request/mpi_exchange.hpp"
#include "runtime/device/memory.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

namespace {

/// Where a call runs.
struct Place {
  MPI_Comm comm = MPI_COMM_NULL;
  bool is_inter = false;
  int rank = 0;
  int ranks = 0;
  int peers = 0;  // those of the other group, of an intercommunicator

  explicit Place(MPI_Comm given) : comm(given) {
    require(comm != MPI_COMM_NULL, ErrorKind::communicator, "comm: MPI_COMM_NULL");
    int inter = 0;
    check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
    is_inter = inter != 0;
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    peers = ranks;
    if (is_inter) check_mpi(MPI_Comm_remote_size(comm, &peers), "MPI_Comm_remote_size");
  }

  [[nodiscard]] bool is_root(const CollectiveCall& call) const {
    return !has_root(call.kind) || call.root == (is_inter ? MPI_ROOT : rank);
  }
  /// An intercommunicator's buffers are given to MPI as they are. Throws Error(unsupported) where one that this rank
  /// uses is on a device that MPI does not know, and Error(communicator) where MPI has no such operation.
  void check_between(const CollectiveCall& call) const {
    require(call.kind != DenseKind::scan && call.kind != DenseKind::exscan, ErrorKind::communicator,
            "comm: an intercommunicator, on which there are no scans");
    const bool is_rooted = has_root(call.kind);
    if (call.kind == DenseKind::barrier || (is_rooted && call.root == MPI_PROC_NULL)) return;
    const bool from_root = call.kind == DenseKind::scatter || call.kind == DenseKind::scatterv;
    const bool is_bcast = call.kind == DenseKind::bcast;
    if (!is_bcast && (!is_rooted || from_root == is_root(call))) refuse_device(call.sendbuf, "sendbuf");
    if (is_bcast || !is_rooted || from_root != is_root(call))
      refuse_device(call.recvbuf, is_bcast ? "buffer" : "recvbuf");
  }
  /// `has_to_help`: on all ranks or none. What others wait for may be passed on in calls of this library alone, and
  /// this is one: a rank may wait for another operation before it comes here.
  [[nodiscard]] int run_mpi(const CollectiveCall& call, bool has_to_help) const {
    if (is_inter) check_between(call);
    const std::unique_ptr<HostImages> images = images_of(call, MemoryKind::host);
    const auto run = [&](const CollectiveCall& here) {
      const auto borrows = has_to_help ? MpiCall::Borrows::types : MpiCall::Borrows::all;
      MpiCall own(here, peers, ranks, is_root(here), borrows);
      return has_to_help ? own.run_progressing(comm) : own.run(comm);
    };
    if (!images) return run(call);
    images->fetch();
    images->synchronize();
    const int code = run(on_images(call, *images));
    images->put_back();
    images->synchronize();
    return code;
  }
  /// Where MPI does not take the buffers as they are. The arguments of an intercommunicator are MPI's business.
  [[nodiscard]] std::unique_ptr<HostImages> images_of(const CollectiveCall& call, MemoryKind memory) const {
    return is_inter ? nullptr : images_for_mpi(call, rank, ranks, memory);
  }
  [[nodiscard]] std::unique_ptr<MpiCall> mpi(const CollectiveCall& call, MpiCall::Borrows borrows) const {
    return std::make_unique<MpiCall>(call, peers, ranks, is_root(call), borrows);
  }

 private:
  static void refuse_device(const void* buffer, const char* name);
};

void Place::refuse_device(const void* buffer, const char* name) {
  const MemoryInfo memory = memory_at(buffer);
  require(memory.host_may_touch() || device_support(Device(memory)).takes, ErrorKind::unsupported, [&] {
    return std::string(name) +
           ": memory of a device, which the MPI library does not take; operations between two groups are its own";
  });
}

constexpr const char* between_groups = "the communicator joins two groups";
constexpr const char* of_some_ranks = "some ranks of the communicator have no neighbors, and take part in nothing";

Reasons mpi_reasons(const char* why) {
  Reasons reasons;
  reasons.strategy = "mpi";
  reasons.rule_reason = why;
  return reasons;
}

/// Whether a hint names a rule for such calls.
bool is_hinted(const DenseKnowledge& known, const CollectiveCall& call) {
  return read_collective(known.hints.collective, call.kind).rule != nullptr;
}

/// Whether no hint and no device has a say in calls with such arguments: where ranks take turns on a core, what a call
/// looks up is seldom in a cache.
bool is_plain(const Hints& hints, DenseKind kind) {
  return !hints.check && !hints.fixed_dense_counts && hints.progress != ProgressHint::wait &&
         (kind != DenseKind::allreduce || device_plugins().empty());
}

/// What a blocking call comes to.
struct CachedCollective {
  CallSignature signature;
  DenseDecision decision;
  std::shared_ptr<const PrivateComm> comm;
  std::unique_ptr<BoundPlan> bound;   ///< null: MPI's own operation
  std::shared_ptr<TunedDense> tuned;  ///< null: it stays with the decision
  bool is_plain = false;              ///< nothing but the decision concerns such calls

  [[nodiscard]] bool is_for(const CollectiveCall& call) const { return signature.equal(call); }
};
using CachedCollectives = PlanCache<CachedCollective, 16>;

/// Goes into the cache unless ranks must ask each other for sizes.
std::shared_ptr<CachedCollective> plan_blocking(Communicator& communicator,
                                                const std::shared_ptr<const DenseKnowledge>& known,
                                                const CollectiveCall& call, const Place& place) {
  const Looked looked = look_at(call, place.rank, place.ranks, known->hints.order == ReductionOrder::canonical);
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  DenseDecision decision = decide(*known, known->hints, looked.ask_once(call, place.ranks));
  auto made = std::make_shared<CachedCollective>(
      CachedCollective{CallSignature(call, place.rank, place.ranks), std::move(decision), comm, nullptr,
                       communicator.attachment<DenseAutotuner>().find(CallForm::blocking, call, looked, known)});
  if (made->tuned) made->tuned->decided(made->decision.rule, looked.is_of_one_rule(call) || is_hinted(*known, call));
  tell_reasons(made->decision.reasons, place.rank);
  made->is_plain = is_plain(known->hints, call.kind);
  if (made->decision.rule == nullptr) return made;
  const DenseRule& rule = *made->decision.rule;
  const std::shared_ptr<const Plan> plan = packed(
      plan_dense(*known, rule, *comm, call, looked.blocks(call, place.rank, place.ranks), settings_of(known->hints)));
  made->bound = std::make_unique<BoundPlan>(plan, looked.combiners(*plan), bindings_of_blocking);
  return made;
}

/// Whether the host may touch this rank's buffers.
bool is_on_host(const CollectiveCall& call) {
  const Buffers buffers = buffers_of(call);
  return memory_at(buffers.send).host_may_touch() && memory_at(buffers.receive).host_may_touch();
}

bool is_in_windows(const DenseDecision& decision) {
  return decision.rule != nullptr && decision.rule->traits.windows != Windows::none;
}

constexpr const char* no_windows = "the MPI library has no windows on these ranks";

/// Null where there are no windows.
std::unique_ptr<WindowExchange> make_in_windows(const std::shared_ptr<PrivateComm>& comm, const DenseDecision& decision,
                                                const CollectiveCall& call, const DenseCall& blocks,
                                                std::shared_ptr<const Plan> plan) {
  const Buffers buffers = buffers_of(call);
  const BufferMemory where = glance_at(buffers, *plan, DeviceUse{});
  std::unique_ptr<HostImages> images;
  if (where.on_device().any())
    images = std::make_unique<HostImages>(buffers, where, touched_by(*plan), MemoryKind::pinned);
  return WindowExchange::make(comm, blocks, buffers, decision.rule->traits.windows, std::move(plan), std::move(images));
}

/// A window is made for each blocking call: others may have another buffer than last time, which nobody is told.
int run_in_windows(const std::shared_ptr<PrivateComm>& comm, const CachedCollective& made, const CollectiveCall& call,
                   const Place& place, bool has_to_help) {
  const DenseCall blocks = look_at(call, place.rank, place.ranks, false).blocks(call, place.rank, place.ranks);
  const std::unique_ptr<WindowExchange> exchange =
      together(*comm, [&] { return make_in_windows(comm, made.decision, call, blocks, made.bound->plan()); });
  if (exchange == nullptr) return place.run_mpi(call, has_to_help);
  (void)exchange->start();
  exchange->wait();
  exchange->close();
  return MPI_SUCCESS;
}

/// Whether the hint that promises arguments has a bearing on a call, on a communicator of which nothing may be known
/// yet. Local.
bool is_promised(MPI_Comm comm, const CollectiveCall& call) {
  if (!may_be_promised(call)) return false;
  Communicator* const known = Communicator::find(comm);
  return known != nullptr ? promises_counts(*known) : resolve_hints({}, hints_of(comm)).fixed_dense_counts;
}

/// Whether the buffers are such as may be bad in a call whose other arguments are those of a good one.
bool has_odd_buffers(const CollectiveCall& call) {
  const auto is_odd = [](const void* buffer) { return buffer == nullptr || buffer == LNW_NOT_CONTIGUOUS; };
  return is_odd(call.sendbuf) || is_odd(call.recvbuf) || call.recvbuf == MPI_IN_PLACE;
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
void note_dense(Communicator& communicator, const char* form, const CollectiveCall& call, const DenseDecision& decision,
                const DenseAutotuner& calls, const TunedDense* tuned) {
  note_decision(communicator, [&] {
    std::string text = std::string(form) + name(call.kind) + ": " + decision.reasons.strategy;
    if (tuned != nullptr) text += ", " + tuned->text();
    return text + (calls.are_due() ? ", trials are due" : "");
  });
}

bool may_be_cached(const CachedCollective& made, DenseKind kind) {
  return made.decision.rule == nullptr || !asks_for_sizes(*made.decision.rule, kind);
}

}  // namespace

int run_dense(MPI_Comm comm, const CollectiveCall& call) {
  const Place place(comm);
  if (place.is_inter) return place.run_mpi(call, false);
  Communicator* const known_before = Communicator::find(comm);
  std::shared_ptr<CachedCollective> found;
  if (known_before != nullptr) found = known_before->attachment<CachedCollectives>().find(call);
  if (!found || has_odd_buffers(call)) check_alone(place, call);
  Communicator& communicator = known_before != nullptr ? *known_before : Communicator::of(comm);
  if (communicator.partial) return place.run_mpi(call, false);
  bool has_to_help = false;
  if (!found || !found->is_plain) {
    const std::shared_ptr<const DenseKnowledge> known = know_dense(communicator);
    if (known->hints.check)
      compare_collective(*communicator.private_comm(), call, check_collective(call, place.rank, place.ranks));
    if (const FixedOperation* const fixed = fixed_dense(communicator, *known, call, Phases::one);
        fixed != nullptr && fixed->bound) {
      run_by_plan(*fixed->bound, buffers_of(call), *communicator.private_comm());
      return MPI_SUCCESS;
    }
    if (run_on_shared_device(communicator, known, call)) return MPI_SUCCESS;
    if (!found) {
      found = plan_blocking(communicator, known, call, place);
      if (may_be_cached(*found, call.kind)) communicator.attachment<CachedCollectives>().add(found);
    }
    has_to_help = known->hints.progress == ProgressHint::wait;
  }
  if (is_in_windows(found->decision))
    return run_in_windows(communicator.private_comm(), *found, call, place, has_to_help);
  DenseAutotuner& calls = communicator.attachment<DenseAutotuner>();
  TunedDense* const tuned = found->tuned.get();
  if (tuned != nullptr) calls.count(*tuned, 1);
  if (!found->is_plain) {
    note_dense(communicator, "blocking ", call, found->decision, calls, tuned);
    compare_decisions(communicator, *found->comm);
  }
  if (calls.are_due()) calls.tune(communicator, *found->comm, comm);
  const auto state = tuned != nullptr ? tuned->state() : TunedDense::State::as_decided;
  if (state == TunedDense::State::rule) {
    tuned->run(call, place.rank, place.ranks, *found->comm);
    return MPI_SUCCESS;
  }
  if (state == TunedDense::State::mpi || found->bound == nullptr) return place.run_mpi(call, has_to_help);
  run_by_plan(*found->bound, buffers_of(call), *found->comm);
  return MPI_SUCCESS;
}

Reasons reasons_of_dense(MPI_Comm comm, const CollectiveCall& call) {
  const Place place(comm);
  if (place.is_inter) return mpi_reasons(between_groups);
  Communicator& communicator = Communicator::of(comm);
  if (communicator.partial) return mpi_reasons(of_some_ranks);
  const std::shared_ptr<const DenseKnowledge> known = know_dense(communicator);
  if (std::optional<Reasons> reasons = reasons_on_shared_device(communicator, *known, call)) return *std::move(reasons);
  const Looked looked = look_at(call, place.rank, place.ranks, known->hints.order == ReductionOrder::canonical);
  DenseDecision decision = decide(*known, known->hints, looked.ask_once(call, place.ranks));
  const std::shared_ptr<const TunedDense> tuned =
      communicator.attachment<DenseAutotuner>().look_up(CallForm::blocking, call, looked, known);
  return (tuned ? tuned->instead_of(std::move(decision)) : std::move(decision)).reasons;
}

namespace {

std::unique_ptr<Request> start_mpi(const Place& place, const CollectiveCall& call, Reasons reasons) {
  std::unique_ptr<HostImages> images = place.images_of(call, MemoryKind::host);
  auto own = place.mpi(images ? on_images(call, *images) : call, MpiCall::Borrows::types);
  auto exchange = std::make_unique<MpiExchange>(std::move(own), place.rank, place.comm, std::move(images));
  exchange->start_once();
  return std::make_unique<Request>(nullptr, nullptr, std::move(exchange), std::move(reasons),
                                   Request::Life::nonblocking);
}

std::unique_ptr<Request> make_mpi(const Place& place, Communicator* communicator, MPI_Comm comm,
                                  const CollectiveCall& call, Reasons reasons) {
  std::unique_ptr<HostImages> images = place.images_of(call, MemoryKind::pinned);
  auto own = place.mpi(images ? on_images(call, *images) : call, MpiCall::Borrows::nothing);
  std::shared_ptr<PrivateComm> duplicate = PrivateComm::make();
  duplicate->duplicate(comm);
  auto exchange =
      std::make_unique<MpiExchange>(std::move(own), place.rank, duplicate->get(), std::move(images), duplicate);
  return std::make_unique<Request>(communicator != nullptr ? communicator->private_comm() : nullptr,
                                   communicator != nullptr ? communicator->error_handler() : nullptr,
                                   std::move(exchange), std::move(reasons));
}

/// That of a promised call; null: there is none. Collective in the first one.
std::unique_ptr<Request> start_fixed(MPI_Comm comm, const CollectiveCall& call) {
  if (!is_promised(comm, call)) return nullptr;
  Communicator& communicator = Communicator::of(comm);
  if (communicator.partial) return nullptr;
  const std::shared_ptr<const DenseKnowledge> known = know_dense(communicator);
  const FixedOperation* const fixed = fixed_dense(communicator, *known, call, Phases::split);
  if (fixed == nullptr || !fixed->bound) return nullptr;
  return start_by_plan(communicator, fixed->parts(buffers_of(call), find_helper(known->hints.progress)),
                       fixed->reasons);
}

/// What has been learnt in calls that block; null: nothing yet.
std::shared_ptr<const DenseKnowledge> knowledge_without_blocking(MPI_Comm comm) {
  Communicator* const communicator = Communicator::find(comm);
  if (communicator == nullptr || communicator->partial) return nullptr;
  return communicator->attachment<KnownDense>().own;
}

}  // namespace

std::unique_ptr<Request> start_dense(MPI_Comm comm, const CollectiveCall& call) {
  const Place place(comm);
  if (place.is_inter) {
    require(call.fault == nullptr, ErrorKind::argument, call.fault);
    place.check_between(call);
    return start_mpi(place, call, mpi_reasons(between_groups));
  }
  check_alone(place, call);
  if (std::unique_ptr<Request> fixed = start_fixed(comm, call)) return fixed;
  const std::shared_ptr<const DenseKnowledge> known = knowledge_without_blocking(comm);
  const bool by_rank = known && known->hints.order == ReductionOrder::canonical;
  const Looked looked = look_at(call, place.rank, place.ranks, by_rank);
  if (!known) return start_mpi(place, call, mpi_reasons("which ranks share a node is learnt in a call that blocks"));
  DenseAsk ask = looked.ask(call, place.ranks, Phases::split, 0);
  ask.may_ask_others = false;
  DenseDecision decision = decide(*known, known->hints, ask);
  Communicator& communicator = Communicator::of_nonblocking(comm);
  // Counted here, tried in a later call that may block.
  if (decision.may_be_tried && !looked.is_of_one_rule(call)) {
    DenseAutotuner& calls = communicator.attachment<DenseAutotuner>();
    if (const auto tuned = calls.find(CallForm::nonblocking, call, looked, known)) {
      tuned->speaks_against_trial(!is_on_host(call));
      calls.count(*tuned, 1);
      decision = tuned->instead_of(std::move(decision));
      note_dense(communicator, "nonblocking ", call, decision, calls, tuned.get());
    }
  }
  if (decision.rule == nullptr) return start_mpi(place, call, std::move(decision.reasons));
  return start_by_rule(communicator, *known, *decision.rule, call, looked, place.rank, std::move(decision.reasons));
}

namespace {

/// A persistent operation on which all ranks have agreed.
class Making {
 public:
  Making(const Place& place, Communicator& communicator, PrivateComm& comm, const CollectiveCall& call)
      : place_(place), communicator_(communicator), comm_(comm), call_(call) {}

  std::unique_ptr<Request> make(MPI_Info info) {
    agree_on(info);
    if (hints_.check) compare_collective(comm_, call_, looked_.checked);
    if (!are_on_hosts_)
      if (std::unique_ptr<Request> shared = make_on_shared_device(communicator_, known_, comm_, call_, looked_, info))
        return shared;
    DenseAsk ask = looked_.ask(call_, place_.ranks, Phases::split, mean_bytes());
    ask.knows_mean = true;
    ask.in_memory = true;
    ask.limits_staging = false;
    DenseDecision decision = decide(*known_, hints_, ask);
    compare_decisions(communicator_, comm_);
    decision = tried(std::move(decision));
    note_decision(communicator_, [&] {
      return "persistent " + std::string(name(call_.kind)) + ": " + decision.reasons.strategy + ", tag " +
             std::to_string(tag_);
    });
    tell_reasons(decision.reasons, place_.rank);
    if (decision.rule == nullptr) return make_mpi(place_, &communicator_, comm_.get(), call_, decision.reasons);
    return make_by(decision);
  }

 private:
  void agree_on(MPI_Info info) {
    std::exception_ptr failure;
    std::optional<Rank> region;
    hints_.strategy.row = &strategies().front();
    try {
      hints_ = resolve_hints(hints_in(info), communicator_.hints);
      (void)read_collective(hints_.collective, call_.kind);
      looked_ = look_at(call_, place_.rank, place_.ranks, hints_.order == ReductionOrder::canonical);
      communicator_.read_descriptions(hints_);
      region = communicator_.known_region(hints_);
    } catch (...) {
      failure = std::current_exception();
    }
    const Agreement agreement = agree(comm_, failure, hints_, {failure || is_on_host(call_)}, region);
    are_on_hosts_ = agreement.flags[0];
    communicator_.learn_regions(hints_, agreement.regions);
    communicator_.knows_nodes = agreement.knows_nodes;
    tag_ = comm_.take_tags();
    known_ = learn_dense(communicator_, comm_, hints_, agreement.knows_nodes, agreement.have_helpers);
  }

  /// What a trial says, which is made here if such requests are expected to start so often that it pays.
  DenseDecision tried(DenseDecision decision) {
    DenseAutotuner& calls = communicator_.attachment<DenseAutotuner>();
    std::shared_ptr<TunedDense> tuned;
    if (are_on_hosts_ && decision.may_be_tried && !looked_.is_of_one_rule(call_))
      tuned = calls.find(CallForm::persistent, call_, looked_, known_);
    const bool measures = hints_.tuning == Tuning::measure;
    if (tuned) calls.count(*tuned, measures ? std::numeric_limits<double>::infinity() : hints_.exchanges);
    if (calls.are_due()) calls.tune(communicator_, comm_, place_.comm);
    return tuned ? tuned->instead_of(std::move(decision)) : decision;
  }

  /// Of all blocks, where no rank knows the sizes of all.
  [[nodiscard]] std::int64_t mean_bytes() const {
    if (knows_all_sizes(call_.kind)) return 0;
    return mean_block_bytes(call_, looked_.blocks(call_, place_.rank, place_.ranks), comm_);
  }

  std::unique_ptr<Request> make_by_windows(const DenseDecision& decision) {
    const DenseCall blocks = looked_.blocks(call_, place_.rank, place_.ranks);
    auto plan =
        std::make_shared<const Plan>(plan_dense(*known_, *decision.rule, comm_, call_, blocks, settings_of(hints_)));
    const std::shared_ptr<PrivateComm> comm = comm_.shared_from_this();
    std::unique_ptr<WindowExchange> exchange = make_in_windows(comm, decision, call_, blocks, std::move(plan));
    if (exchange == nullptr) return make_mpi(place_, &communicator_, comm_.get(), call_, mpi_reasons(no_windows));
    return std::make_unique<Request>(comm, communicator_.error_handler(), std::move(exchange), decision.reasons);
  }

  std::unique_ptr<Request> make_by(const DenseDecision& decision) {
    if (is_in_windows(decision)) return make_by_windows(decision);
    const DenseCall blocks = looked_.blocks(call_, place_.rank, place_.ranks);
    Planned planned = plan_on_node(communicator_, comm_, *known_, hints_,
                                   plan_dense(*known_, *decision.rule, comm_, call_, blocks, settings_of(hints_)));
    if (hints_.check_plan) prove_dense_plans(comm_, *planned.plan, blocks, decision.reasons.strategy);
    Reasons reasons = decision.reasons;
    reasons.no_puts = std::move(planned.reasons.no_puts);
    ExchangeParts parts{.comm = comm_.shared_from_this(), .tag = tag_, .plan = std::move(planned.plan)};
    parts.memory = std::move(planned.memory);
    parts.combiners = looked_.combiners(*parts.plan);
    parts.helper = find_helper(hints_.progress);
    parts.node = known_->node;
    return make_by_plan(communicator_, std::move(parts), buffers_of(call_), std::move(reasons));
  }

  const Place& place_;
  Communicator& communicator_;
  PrivateComm& comm_;
  const CollectiveCall& call_;
  Hints hints_;
  Looked looked_;
  std::shared_ptr<const DenseKnowledge> known_;
  bool are_on_hosts_ = false;  // the buffers of all ranks
  int tag_ = 0;
};

}  // namespace

std::unique_ptr<Request> make_dense(MPI_Comm comm, MPI_Info info, const CollectiveCall& call) {
  const Place place(comm);
  if (place.is_inter) {
    require(call.fault == nullptr, ErrorKind::argument, call.fault);
    place.check_between(call);
    return make_mpi(place, nullptr, comm, call, mpi_reasons(between_groups));
  }
  Communicator& communicator = Communicator::of(comm);
  if (communicator.partial) {
    (void)look_at(call, place.rank, place.ranks, false);
    return make_mpi(place, nullptr, comm, call, mpi_reasons(of_some_ranks));
  }
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  return together(*priv, [&] { return Making(place, communicator, *priv, call).make(info); });
}

}  // namespace laneway
