#include "operations/neighborhood/neighborhood.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/lowering/transpose.hpp"
#include "algorithms/planner/planner.hpp"
#include "base/error.hpp"
#include "communicator/background.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/check_edges.hpp"
#include "communicator/decisions.hpp"
#include "operations/neighborhood/neighborhood_origin.hpp"
#include "operations/neighborhood/routes.hpp"
#include "operations/pipeline/plan_cache.hpp"
#include "operations/plans/typed_plan.hpp"
#include "operations/request/nonblocking.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_plan_bytes = std::int64_t{1} << 22;
/// Of staging memory. Bindings that take little are kept for several pairs of buffers, the largest for none.
constexpr std::int64_t little_staging = std::int64_t{1} << 16;
constexpr std::int64_t most_staging = std::int64_t{1} << 20;

/// How a call that agrees on nothing is planned.
struct CallPlan {
  ReadyPlan ready;
  std::string strategy;
};

/// Of nonblocking calls several may be active, so that each has a binding of its own.
std::size_t bindings_of(const Plan& plan, Phases phases) {
  const std::int64_t bytes = plan.staging_bytes + plan.shadow_bytes;
  if (phases == Phases::split || bytes > most_staging) return 0;
  return bytes <= little_staging ? BoundPlan::most_bindings : 1;
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
const FixedOperation* find_fixed(Communicator& communicator, const Call& call, Phases phases) {
  const PlansOfCalls& has = plans_of_calls(communicator);
  if (!has.fixed_counts || !may_be_fixed(call)) return nullptr;
  const FixedKey key = fixed_key(call, has.split_phases_relay ? Phases::one : phases);
  if (has_equal_edges(call.kind)) return nullptr;
  const FixedOperation& fixed = fixed_operation(communicator, key, call);
  const Topology& topology = communicator.topology();
  check_buffers(call, topology);
  if (fixed.signature.equal(call)) return &fixed;
  if ((reduces(call.kind) ? reduction_of(call, topology).pattern : describe(call, topology)) != fixed.pattern)
    keep_promise(fixed, "lnw_fixed_counts", name(call.kind), fixed.signature.difference(call), false);
  return &fixed;
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
  const auto ready = [&](Plan plan) {
    return ReadyPlan{.plan = std::make_shared<const Plan>(std::move(plan)), .combiners = {reduction.combiner}};
  };
  if (call.kind == Kind::reduce && !reduction.has_gaps) {
    const Routes::Routed routed =
        find_route(communicator, Kind::alltoall, arrivals_of(reduction.pattern), sent_bytes(call), phases);
    if (routed.plan)
      return {ready(combine_arrivals(*routed.plan, reduction.pattern, reduction.how)), std::string(routed.strategy)};
  }
  return {ready(reduce_in_order(communicator.rank(), reduction.pattern, reduction.how)), "direct"};
}

/// What a call that has agreed on nothing may use.
CallPlan choose_plan(Communicator& communicator, const Call& call, Phases phases) {
  if (reduces(call.kind)) return choose_reduction(communicator, call, phases);
  TypedPattern typed = typed_pattern(call, communicator.topology());
  if (has_equal_edges(call.kind) && plans_of_calls(communicator).routes) {
    const Routes::Routed routed = find_route(communicator, call.kind, describe(typed), sent_bytes(call), phases);
    if (routed.plan) return {{.plan = routed.plan}, std::string(routed.strategy)};
  }
  if (std::optional<TypedPlan> planned = plan_typed(communicator.rank(), typed, buffers_of(call))) {
    CallPlan chosen{{.plan = std::move(planned->plan), .elements = std::move(planned->elements)}, "direct"};
    if (chosen.ready.elements) chosen.ready.typed = std::make_shared<const TypedPattern>(std::move(typed));
    return chosen;
  }
  return {{.plan = std::make_shared<const Plan>(plan_direct(communicator.rank(), describe(typed)))}, "direct"};
}

/// For buffers wherever they are.
std::shared_ptr<BoundPlan> bound_plan(Communicator& communicator, ReadyPlan ready, Phases phases) {
  DeviceUse& use = ready.device_use;
  use.gives_addresses = ready.combiners.empty() && communicator.call_hints().path == MemoryPath::device_aware;
  use.combining = kernels_of(ready.combiners);
  const std::size_t bindings = bindings_of(*ready.plan, phases);
  return std::make_shared<BoundPlan>(std::move(ready), bindings);
}

/// That of an earlier call with the same arguments, or a new one, which goes into the cache.
std::shared_ptr<const CachedCall> find_plan(Communicator& communicator, const PrivateComm& comm, const Call& call,
                                            Phases phases) {
  PlanCache& cache = communicator.attachment<PlanCache>();
  if (std::shared_ptr<CachedCall> known = cache.find(call, phases, version_of_routes(communicator), &comm)) {
    check_buffers(call, communicator.topology());
    return known;
  }
  CallPlan chosen = choose_plan(communicator, call, phases);
  auto made = std::make_shared<CachedCall>();
  made->reasons.strategy = std::move(chosen.strategy);
  // Plans of datatypes are for buffers in the host's memory.
  const bool serves_again = !(chosen.ready.elements && may_have_devices());
  made->bound = bound_plan(communicator, std::move(chosen.ready), phases);
  if (!serves_again || metadata_bytes(*made->bound->plan()) > most_plan_bytes) return made;
  made->signature = CallSignature(call, communicator.topology());
  made->phases = phases;
  made->version = version_of_routes(communicator);
  made->comm = comm.shared_from_this();
  cache.add(made);
  return made;
}

}  // namespace

FixedKey fixed_key(const Call& call, Phases phases) {
  FixedKey key{.operation = operation_of(call.kind), .phases = phases, .bytes = sent_bytes(call)};
  if (!reduces(call.kind)) return key;
  key.op = call.op;
  key.element = base_type(call.send.type);
  return key;
}

const FixedOperation& fixed_operation(Communicator& communicator, const FixedKey& key, const Call& call, Use use) {
  return fixed_operation<NeighborhoodFamily>(communicator, key, use, call, key.phases);
}

std::unique_ptr<Request> make_neighborhood(Communicator& communicator, MPI_Info info, const Call& call,
                                           CallEvents events) {
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  return together(*comm, [&] {
    NeighborhoodFamily family(communicator, *comm, call, Phases::split, std::move(events));
    std::unique_ptr<Request> request = make_request(family, communicator, *comm, info);
    request->keep(std::make_unique<NeighborhoodOrigin>(communicator, info, call));
    return request;
  });
}

CallEvents events_of(const Topology& topology, const Call& call, std::span<const int> sent,
                     std::span<const int> received) {
  auto partitions = std::make_unique<EdgePartitions>(sent, received);
  CallEvents events{.events = partitions->events(describe(call, topology), topology, call)};
  events.partitions = std::move(partitions);
  return events;
}

std::unique_ptr<Request> start_neighborhood(Communicator& communicator, const Call& call) {
  const Buffers buffers = buffers_of(call);
  const Helper helper = find_helper(communicator.call_hints().progress);
  if (const FixedOperation* const fixed = find_fixed(communicator, call, Phases::split))
    return start_request(communicator, fixed->order, fixed->bound, buffers, helper, fixed->reasons);
  const std::shared_ptr<StartOrder>& order = start_order(communicator);
  const std::shared_ptr<const CachedCall> cached = find_plan(communicator, *order->comm(), call, Phases::split);
  return start_request(communicator, order, cached->bound, buffers, helper, cached->reasons);
}

void run_blocking(Communicator& communicator, const Call& call) {
  const Buffers buffers = buffers_of(call);
  // Others may not call where the arguments of this rank are bad: it does not meet them before it knows.
  if (!communicator.has_private_comm() && !plans_of_calls(communicator).fixed_counts)
    check_call(call, communicator.topology());
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  if (const FixedOperation* const fixed = find_fixed(communicator, call, Phases::one))
    return NonblockingExchange(fixed->order, fixed->bound, buffers, Helper::none).wait();
  find_plan(communicator, *comm, call, Phases::one)->bound->run(buffers, *comm);
}

std::string strategy_of_blocking(Communicator& communicator, const Call& call) {
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  const auto cached =
      communicator.attachment<PlanCache>().find(call, Phases::one, version_of_routes(communicator), comm.get());
  return cached ? cached->reasons.strategy : "";
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
  const auto plan = std::make_shared<const Plan>(plan_direct(priv->rank(), pattern));
  bound_plan(communicator, {.plan = plan}, Phases::one)->run(buffers_of(call), *priv);
}

}  // namespace laneway
