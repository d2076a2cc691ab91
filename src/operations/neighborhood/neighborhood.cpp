#include "operations/neighborhood/neighborhood.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/lowering/transpose.hpp"
#include "algorithms/planner/planner.hpp"
#include "base/error.hpp"
#include "communicator/background.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/check_edges.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "communicator/decisions.hpp"
#include "operations/choose/chooser.hpp"
#include "operations/choose/way_back.hpp"
#include "operations/neighborhood/fixed_operation.hpp"
#include "operations/neighborhood/routes.hpp"
#include "operations/plans/plan_cache.hpp"
#include "operations/plans/proof.hpp"
#include "operations/plans/typed_plan.hpp"
#include "operations/request/nonblocking.hpp"
#include "operations/request/persistent_exchange.hpp"
#include "runtime/carriers/messages/p2p.hpp"

namespace laneway {

namespace {

/// A plan for one exchange, and the name of its strategy.
struct CallPlan {
  std::shared_ptr<BoundPlan> bound;
  std::string strategy = "direct";
  std::shared_ptr<MessageElements> elements = {};  ///< where MPI gathers and scatters
  std::shared_ptr<const TypedPattern> typed = {};  ///< then
};

/// What serves the calls with certain arguments.
struct CachedCall {
  CallSignature signature = {};
  Phases phases = Phases::one;
  std::uint64_t routes = 0;                      ///< Routes::version
  std::shared_ptr<const PrivateComm> comm = {};  ///< on which its messages are
  CallPlan chosen = {};

  [[nodiscard]] bool is_for(const Call& call, Phases as, std::uint64_t version, const PrivateComm& on) const {
    return phases == as && routes == version && comm.get() == &on && signature.equal(call);
  }
};
using CachedCalls = PlanCache<CachedCall, 8>;

constexpr std::int64_t most_plan_bytes = std::int64_t{1} << 22;
/// Of staging memory. Bindings that take little are kept for several pairs of buffers, the largest for none.
constexpr std::int64_t little_staging = std::int64_t{1} << 16;
constexpr std::int64_t most_staging = std::int64_t{1} << 20;

/// Of nonblocking calls several may be active, so that each has a binding of its own.
std::shared_ptr<BoundPlan> plan_of_calls(std::shared_ptr<const Plan> plan, Phases phases, Combiners combiners = {}) {
  const std::int64_t bytes = plan->staging_bytes + plan->shadow_bytes;
  const std::size_t bindings = phases == Phases::split || bytes > most_staging ? 0
                               : bytes <= little_staging                       ? BoundPlan::most_bindings
                                                                               : 1;
  return std::make_shared<BoundPlan>(std::move(plan), std::move(combiners), bindings);
}

std::uint64_t version_of_routes(Communicator& communicator) {
  const std::shared_ptr<Routes>& routes = plans_of_calls(communicator).routes;
  return routes ? routes->version() : 0;
}

/// Ranks that relay partial results know what elements are. A user's operator may have the handle of one before it on
/// some ranks only.
bool may_be_fixed(const Call& call) {
  return !reduces(call.kind) || (call.kind == Kind::reducev && is_predefined_operator(call.op));
}

/// Null if the operation is not under the promise of fixed counts.
FixedOperation* find_fixed(Communicator& communicator, const Call& call, Phases phases) {
  if (!plans_of_calls(communicator).fixed_counts || !may_be_fixed(call)) return nullptr;
  const FixedKey key = key_of(call);
  if (has_equal_edges(call.kind)) return nullptr;
  FixedOperation& found = fixed_operation(communicator, key, call, Use::calls, phases);
  check_buffers(call, communicator.topology());
  keep_promise(found, communicator, call);
  return &found;
}

/// The plan that relays edges of one size, if there is one.
Routes::Routed find_route(Communicator& communicator, Kind kind, const RankPattern& pattern, std::int64_t sent,
                          Phases phases) {
  const PlansOfCalls& has = plans_of_calls(communicator);
  if (!has.routes || (phases == Phases::split && !has.split_phases_relay)) return {};
  const std::vector<Edge>& edges = pattern.out.empty() ? pattern.in : pattern.out;
  const std::int64_t bytes = edges.empty() ? sent : edges.front().ranges.bytes();
  if (phases == Phases::one) has.routes->prepare(communicator, kind, pattern, bytes);
  return has.routes->plan(kind, pattern, bytes);
}

/// Of a call that reduces. Blocks of one size are relayed as those of an alltoall are, by the same routes; none of them
/// could be taken together, since each has a place of its own.
CallPlan choose_reduction(Communicator& communicator, const Call& call, Phases phases) {
  const Reduction reduction = reduction_of(call, communicator.topology());
  check_self_edges(communicator.rank(), reduction.pattern);
  const auto plan_of = [&](Plan plan) {
    return plan_of_calls(std::make_shared<const Plan>(std::move(plan)), phases, {reduction.combiner});
  };
  if (call.kind == Kind::reduce && !reduction.has_gaps) {
    const Routes::Routed routed =
        find_route(communicator, Kind::alltoall, arrivals_of(reduction.pattern), sent_bytes(call), phases);
    if (routed.plan)
      return {plan_of(combine_arrivals(*routed.plan, reduction.pattern, reduction.how)), std::string(routed.strategy)};
  }
  return {plan_of(reduce_in_order(communicator.rank(), reduction.pattern, reduction.how))};
}

/// What a call that has agreed on nothing may use.
CallPlan choose_plan(Communicator& communicator, const Call& call, Phases phases) {
  if (reduces(call.kind)) return choose_reduction(communicator, call, phases);
  TypedPattern typed = typed_pattern(call, communicator.topology());
  if (has_equal_edges(call.kind) && plans_of_calls(communicator).routes) {
    const Routes::Routed routed = find_route(communicator, call.kind, describe(typed), sent_bytes(call), phases);
    if (routed.plan) return {plan_of_calls(routed.plan, phases), std::string(routed.strategy)};
  }
  if (std::optional<TypedPlan> planned = plan_typed(communicator.rank(), typed, buffers_of(call))) {
    CallPlan chosen{.bound = plan_of_calls(std::move(planned->plan), phases), .elements = std::move(planned->elements)};
    if (chosen.elements) chosen.typed = std::make_shared<const TypedPattern>(std::move(typed));
    return chosen;
  }
  return {plan_of_calls(std::make_shared<const Plan>(plan_direct(communicator.rank(), describe(typed))), phases)};
}

constexpr const char* relays_nothing =
    "nothing is relayed, since a rank has neither a progress engine that calls this library nor MPI_THREAD_MULTIPLE "
    "for "
    "a thread; lnw_progress=wait lets relays progress in calls of this library";

/// The buffers of a call that agrees on nothing.
BufferMemory memory_of(Communicator& communicator, Buffers buffers, const BoundPlan& bound) {
  if (!has_plugins()) return {};
  const Combiners& combiners = bound.combiners();
  const bool gives_addresses = combiners.empty() && communicator.call_hints().path == MemoryPath::device_aware;
  return laneway::look_at(buffers, *bound.plan(),
                          {.gives_addresses = gives_addresses, .combining = kernels_of(combiners)});
}

/// That of an earlier call with the same arguments, or a new one, which goes into the cache.
std::shared_ptr<CachedCall> find_plan(Communicator& communicator, const PrivateComm& comm, const Call& call,
                                      Phases phases) {
  CachedCalls& cache = communicator.attachment<CachedCalls>();
  if (std::shared_ptr<CachedCall> known = cache.find(call, phases, version_of_routes(communicator), comm)) {
    check_buffers(call, communicator.topology());
    return known;
  }
  auto made = std::make_shared<CachedCall>();
  made->chosen = choose_plan(communicator, call, phases);
  // Plans of datatypes are for buffers in the host's memory.
  if (made->chosen.elements && may_have_devices()) return made;
  if (metadata_bytes(*made->chosen.bound->plan()) > most_plan_bytes) return made;
  made->signature = CallSignature(call, communicator.topology());
  made->phases = phases;
  made->routes = version_of_routes(communicator);
  made->comm = comm.shared_from_this();
  cache.add(made);
  return made;
}

/// Whether a call that has no buffers yet is bound all the same, since it touches none.
bool binds_at_once(const Call& call, const Agreed& agreed, const Plan& plan) {
  const auto touches = [](const std::vector<Edge>& edges) {
    return std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return !edge.ranges.empty(); });
  };
  const bool is_later = !call.has_any_buffer() && needs_buffers(plan);
  return (call.has_buffers() && !is_later) || (!touches(agreed.pattern.out) && !touches(agreed.pattern.in));
}

ExchangeParts parts_of(PrivateComm& priv, const Agreed& agreed, Chosen& chosen) {
  ExchangeParts parts{.comm = priv.shared_from_this(), .tag = agreed.tag, .plan = std::move(chosen.plan)};
  parts.memory = std::move(chosen.memory);
  if (agreed.reduction) parts.combiners = {agreed.reduction->what.combiner};
  parts.device_use = chosen.device_use;
  parts.device_use.combining = kernels_of(parts.combiners);
  parts.helper = find_helper(agreed.hints.progress);
  if (parts.helper == Helper::thread_for_all) employ(parts.helper);
  parts.node = agreed.regions.front();
  parts.stream = agreed.hints.stream;
  return parts;
}

std::unique_ptr<Request> make(Communicator& communicator, PrivateComm& priv, MPI_Info info, const Call& call,
                              CallEvents events) {
  compare_decisions(communicator, priv);
  require(events.events.empty() || !reduces(call.kind), ErrorKind::unsupported,
          "operations that reduce have no events");
  const bool may_come_back = call.kind == Kind::alltoallv_indexed;
  if (may_come_back) forget_exchange(communicator);
  Agreed agreed = agree_on(communicator, priv, info, call);
  agreed.events = std::move(events.events);
  Chosen chosen = choose(communicator, priv, agreed, Use::request);
  note_decision(communicator, [&] { return text_of_decision(call.kind, agreed, chosen); });
  if (may_come_back) keep_exchange(communicator, agreed, std::move(chosen.by_messages), chosen.reasons);
  ExchangeParts parts = parts_of(priv, agreed, chosen);
  parts.partitions = std::move(events.partitions);
  Reasons reasons = std::move(chosen.reasons);
  if (agreed.relays_nothing) reasons.progress_reason = relays_nothing;
  tell_reasons(reasons, priv.rank());
  const bool binds = binds_at_once(call, agreed, *parts.plan);
  std::unique_ptr<PersistentExchange> work;
  if (parts.memory && parts.memory->arena)
    work = std::make_unique<SharedStagingExchange>(std::move(parts));
  else
    work = std::make_unique<PersistentExchange>(std::move(parts));
  std::exception_ptr failure;
  try {
    if (binds) reasons.progress_by = work->bind(buffers_of(call));
  } catch (...) {
    failure = std::current_exception();
  }
  if (reasons.path == MemoryPath::borrowed && agreed.sharing.members.size() > 1) {
    MpiBootstrap bootstrap(priv);
    (void)largest(bootstrap, agreed.sharing, 0);  // all ranks of the node have bound their buffers
    work->prepare();
  }
  if (failure) std::rethrow_exception(failure);
  if (agreed.hints.check_plan) {
    const Reduction* const reduction = agreed.reduction ? &agreed.reduction->what : nullptr;
    prove_plans(priv, work->plan(), reduction != nullptr ? reduction->pattern : agreed.pattern, reasons.strategy,
                reduction != nullptr ? &reduction->how : nullptr);
  }
  return std::make_unique<Request>(priv.shared_from_this(), communicator.error_handler(), std::move(work),
                                   std::move(reasons));
}

}  // namespace

std::string text_of_decision(Kind kind, const Agreed& agreed, const Chosen& chosen) {
  return std::string(name(kind)) + ": " + chosen.reasons.strategy + (agreed.relays_nothing ? ", relays nothing" : "") +
         ", tag " + std::to_string(agreed.tag);
}

std::unique_ptr<Request> make_neighborhood(Communicator& communicator, MPI_Info info, const Call& call,
                                           CallEvents events) {
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  return together(*priv, [&] { return make(communicator, *priv, info, call, std::move(events)); });
}

std::unique_ptr<Request> start_neighborhood(Communicator& communicator, const Call& call) {
  const Buffers buffers = buffers_of(call);
  const Helper helper = find_helper(communicator.call_hints().progress);
  const auto request = [&](const StartOrder& order, std::unique_ptr<Work> work, Reasons reasons) {
    return std::make_unique<Request>(order.comm(), communicator.error_handler(), std::move(work), std::move(reasons),
                                     Request::Life::nonblocking);
  };
  if (const FixedOperation* const fixed = find_fixed(communicator, call, Phases::split))
    return request(*fixed->order, std::make_unique<NonblockingExchange>(fixed->parts(buffers, helper)), fixed->reasons);
  const std::shared_ptr<StartOrder>& order = start_order(communicator);
  const std::shared_ptr<CachedCall> cached = find_plan(communicator, *order->comm(), call, Phases::split);
  const auto& [bound, strategy, elements, typed] = cached->chosen;
  auto work = std::make_unique<NonblockingExchange>(NonblockingParts{.order = order,
                                                                     .buffers = buffers,
                                                                     .bound = bound,
                                                                     .where = memory_of(communicator, buffers, *bound),
                                                                     .elements = elements,
                                                                     .typed = typed,
                                                                     .helper = helper});
  return request(*order, std::move(work), Reasons{.strategy = strategy});
}

void run_blocking(Communicator& communicator, const Call& call) {
  const Buffers buffers = buffers_of(call);
  // Others may not call where the arguments of this rank are bad: it does not meet them before it knows.
  if (!communicator.has_private_comm() && !plans_of_calls(communicator).fixed_counts)
    check_call(call, communicator.topology());
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  if (const FixedOperation* const fixed = find_fixed(communicator, call, Phases::one))
    return NonblockingExchange(fixed->parts(buffers, Helper::none)).wait();
  const std::shared_ptr<CachedCall> cached = find_plan(communicator, *priv, call, Phases::one);
  const CallPlan& chosen = cached->chosen;
  P2PTransport transport(priv->get(), PrivateComm::blocking_tag, chosen.elements.get());
  chosen.bound->run(buffers, memory_of(communicator, buffers, *chosen.bound), transport);
}

std::string strategy_of_blocking(Communicator& communicator, const Call& call) {
  const std::shared_ptr<CachedCall> cached = communicator.attachment<CachedCalls>().find(
      call, Phases::one, version_of_routes(communicator), *communicator.private_comm());
  return cached ? cached->chosen.strategy : "";
}

void run_agreed(Communicator& communicator, const Call& call) {
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  compare_decisions(communicator, *priv);
  RankPattern pattern;
  std::uint64_t edges = 0;
  std::exception_ptr failure;
  try {
    pattern = describe(call, communicator.topology());
    check_self_edges(priv->rank(), pattern);
    edges = edge_sum(priv->rank(), pattern);
  } catch (...) {
    failure = std::current_exception();
  }
  Hints none;
  none.strategy.row = &strategies().front();
  if (!agree(*priv, failure, none, {}, {}, edges).edges_match) {
    check_edges(*priv, pattern);
    throw Error(ErrorKind::topology, "the two sides of some edge differ in size");
  }
  BoundPlan once(std::make_shared<const Plan>(plan_direct(priv->rank(), pattern)));
  P2PTransport transport(priv->get(), PrivateComm::blocking_tag);
  once.run(buffers_of(call), memory_of(communicator, buffers_of(call), once), transport);
}

}  // namespace laneway
