#include "operate/request.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "carriers/messages/p2p.hpp"
#include "choose/chooser.hpp"
#include "choose/way_back.hpp"
#include "comm/agreement.hpp"
#include "comm/background.hpp"
#include "comm/check_edges.hpp"
#include "comm/decisions.hpp"
#include "comm/talking.hpp"
#include "core/error.hpp"
#include "operate/dense_through_host.hpp"
#include "operate/fixed_operation.hpp"
#include "operate/kept_plans.hpp"
#include "operate/proof.hpp"
#include "operate/routes.hpp"
#include "operate/typed_plan.hpp"
#include "passes/transpose.hpp"
#include "setup/planner.hpp"

namespace laneway {

namespace {

/// A plan for one exchange, and the name of its strategy.
struct CallPlan {
  std::shared_ptr<const Plan> plan;
  std::string strategy = "direct";
  std::shared_ptr<MessageElements> elements = {};  ///< where MPI gathers and scatters
  std::shared_ptr<const TypedPattern> typed = {};  ///< then
  Combiners combiners = {};                        ///< of an operation that reduces
};

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
  found.check(communicator, call);
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
  CallPlan chosen{.plan = nullptr, .combiners = {reduction.combiner}};
  if (call.kind == Kind::reduce && !reduction.has_gaps) {
    const Routes::Routed routed =
        find_route(communicator, Kind::alltoall, arrivals_of(reduction.pattern), sent_bytes(call), phases);
    if (routed.plan) {
      chosen.plan = std::make_shared<const Plan>(combine_arrivals(*routed.plan, reduction.pattern, reduction.how));
      chosen.strategy = routed.strategy;
      return chosen;
    }
  }
  chosen.plan = std::make_shared<const Plan>(reduce_in_order(communicator.rank(), reduction.pattern, reduction.how));
  return chosen;
}

/// What a call that has agreed on nothing may use.
CallPlan choose_plan(Communicator& communicator, const Call& call, Phases phases) {
  if (reduces(call.kind)) return choose_reduction(communicator, call, phases);
  TypedPattern typed = typed_pattern(call, communicator.topology());
  if (has_equal_edges(call.kind) && plans_of_calls(communicator).routes) {
    const Routes::Routed routed = find_route(communicator, call.kind, describe(typed), sent_bytes(call), phases);
    if (routed.plan) return {.plan = routed.plan, .strategy = std::string(routed.strategy)};
  }
  if (std::optional<TypedPlan> planned = plan_typed(communicator.rank(), typed, buffers_of(call))) {
    CallPlan chosen{.plan = std::move(planned->plan), .elements = std::move(planned->elements)};
    if (chosen.elements) chosen.typed = std::make_shared<const TypedPattern>(std::move(typed));
    return chosen;
  }
  return {.plan = std::make_shared<const Plan>(plan_direct(communicator.rank(), describe(typed)))};
}

constexpr const char* relays_nothing =
    "nothing is relayed, since a rank has neither a progress engine that calls this library nor MPI_THREAD_MULTIPLE "
    "for "
    "a thread; lnw_progress=wait lets relays progress in calls of this library";

/// For calls that agree on nothing. `combiners`: of an operation that reduces.
DeviceUse device_use(Communicator& communicator, const Combiners& combiners) {
  if (combiners.empty()) return {.gives_addresses = communicator.call_hints().path == MemoryPath::device_aware};
  return {.combining = kernels_of(combiners)};
}

/// That of an earlier call with the same arguments, or a new one, which is kept.
std::shared_ptr<KeptPlan> find_plan(Communicator& communicator, const PrivateComm& comm, const Call& call,
                                    Phases phases) {
  KeptPlans& kept = communicator.attachment<KeptPlans>();
  const std::shared_ptr<Routes>& routes = plans_of_calls(communicator).routes;
  const auto key = [&] { return CallKey{call, phases == Phases::one, routes ? routes->version() : 0, &comm}; };
  if (std::shared_ptr<KeptPlan> known = kept.find(key())) {
    check_buffers(call, communicator.topology());
    return known;
  }
  CallPlan chosen = choose_plan(communicator, call, phases);
  auto plan = std::make_shared<KeptPlan>(std::move(chosen.plan), std::move(chosen.strategy),
                                         device_use(communicator, chosen.combiners), std::move(chosen.elements),
                                         std::move(chosen.typed), std::move(chosen.combiners));
  // Plans of datatypes are for buffers in the host's memory.
  if (!plan->elements() || !may_have_devices()) kept.keep(key(), communicator.topology(), plan);
  return plan;
}

/// On a binding that is kept, so that nothing is allocated where the buffers are those of an earlier call.
void run_bound(BoundPlan& bound, Buffers buffers, P2PTransport& transport) {
  try {
    Executor& executor = bound.bind(buffers, transport);
    Activity activity;
    if (!executor.independent()) activity.list(executor, Progress::in_calls);
    executor.start();
    activity.begin();
    activity.wait(&executor);
  } catch (...) {
    bound.forget();
    throw;
  }
}

/// Whether bytes of a buffer would be where no memory can be.
bool is_missing(const void* buffer, const Range& used) {
  return buffer == nullptr && used.bytes > 0 && lies_nowhere(used.offset);
}

}  // namespace

std::unique_ptr<Request> Request::make(Communicator& communicator, MPI_Info info, const Call& call,
                                       std::span<const PlanEvent> events) {
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  return together(*priv, [&] { return make(communicator, *priv, info, call, events); });
}

std::string text_of_decision(Kind kind, const Agreed& agreed, const Chosen& chosen) {
  return std::string(name(kind)) + ": " + chosen.reasons.strategy + (agreed.relays_nothing ? ", relays nothing" : "") +
         ", tag " + std::to_string(agreed.tag);
}

std::unique_ptr<Request> Request::make(Communicator& communicator, PrivateComm& priv, MPI_Info info, const Call& call,
                                       std::span<const PlanEvent> events) {
  compare_decisions(communicator, priv);
  require(events.empty() || !reduces(call.kind), ErrorKind::unsupported, "operations that reduce have no events");
  const bool may_come_back = call.kind == Kind::alltoallv_indexed;
  if (may_come_back) forget_exchange(communicator);
  Agreed agreed = agree_on(communicator, priv, info, call);
  agreed.events.assign(events.begin(), events.end());
  Chosen chosen = choose(communicator, priv, agreed, Use::request);
  note_decision(communicator, [&] { return text_of_decision(call.kind, agreed, chosen); });
  if (may_come_back) keep_exchange(communicator, agreed, std::move(chosen.by_messages), chosen.reasons);
  std::unique_ptr<Request> request(new Request(priv.shared_from_this(), communicator.error_handler(), agreed.tag,
                                               std::move(chosen.plan), std::move(chosen.reasons),
                                               agreed.regions.front()));
  request->device_use_ = chosen.device_use;
  if (agreed.reduction) request->combiners_ = {agreed.reduction->what.combiner};
  request->device_use_.combining = kernels_of(request->combiners_);
  request->helper_ = find_helper(agreed.hints.progress);
  if (request->helper_ == Helper::thread_for_all) employ(request->helper_);
  if (agreed.relays_nothing) request->reasons_.progress_reason = relays_nothing;
  request->stream_ = agreed.hints.stream;
  tell_reasons(request->reasons_, priv.rank());
  request->memory_ = std::move(chosen.memory);
  if (request->memory_) request->arena_ = request->memory_->arena.get();
  request->is_special_ = request->arena_ != nullptr;
  // Buffers that the operation does not touch need not be given later.
  const auto touches = [](const std::vector<Edge>& edges) {
    return std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return !edge.ranges.empty(); });
  };
  // Those of MPI_BOTTOM, which is a null pointer, are far from it.
  const Extents used = extents_of(request->plan());
  const bool is_later = !call.has_any_buffer() && (is_missing(nullptr, used.send) || is_missing(nullptr, used.receive));
  const bool binds = (call.has_buffers() && !is_later) || (!touches(agreed.pattern.out) && !touches(agreed.pattern.in));
  std::exception_ptr failure;
  try {
    if (binds) request->set_buffers(buffers_of(call));
  } catch (...) {
    failure = std::current_exception();
  }
  if (request->reasons_.path == MemoryPath::borrowed && agreed.sharing.members.size() > 1) {
    Talking talk(priv);
    (void)largest(talk, agreed.sharing, 0);  // all ranks of the node have bound their buffers
    if (request->exchange_) request->exchange_->open_lent();
  }
  if (failure) std::rethrow_exception(failure);
  if (agreed.hints.check_plan) {
    const Reduction* const reduction = agreed.reduction ? &agreed.reduction->what : nullptr;
    prove_plans(priv, request->plan(), reduction != nullptr ? reduction->pattern : agreed.pattern,
                request->reasons_.strategy, reduction != nullptr ? &reduction->how : nullptr);
  }
  return request;
}

std::unique_ptr<Request> Request::make_of(std::shared_ptr<PrivateComm> comm,
                                          std::shared_ptr<const ErrorHandler> handler, std::unique_ptr<Work> work,
                                          Reasons reasons) {
  std::unique_ptr<Request> request(
      new Request(std::move(comm), std::move(handler), 0, nullptr, std::move(reasons), Region{}));
  request->work_ = std::move(work);
  request->is_special_ = true;
  return request;
}

std::unique_ptr<Request> Request::of_dense(std::shared_ptr<PrivateComm> comm,
                                           std::shared_ptr<const ErrorHandler> handler, std::unique_ptr<Work> work,
                                           Reasons reasons) {
  std::unique_ptr<Request> request = make_of(std::move(comm), std::move(handler), std::move(work), std::move(reasons));
  request->is_dense_ = true;
  return request;
}

std::unique_ptr<Request> Request::make_nonblocking(Communicator& communicator, const Call& call) {
  const Buffers buffers = buffers_of(call);
  const Helper helper = find_helper(communicator.call_hints().progress);
  if (const FixedOperation* const fixed = find_fixed(communicator, call, Phases::split)) {
    std::unique_ptr<Request> request(new Request(fixed->order()->comm(), communicator.error_handler(),
                                                 fixed->order()->tag(), fixed->plan(), fixed->reasons(), {}));
    request->nonblocking_ = fixed->start(buffers, helper);
    return request;
  }
  const std::shared_ptr<StartOrder>& order = start_order(communicator);
  const std::shared_ptr<KeptPlan> kept = find_plan(communicator, *order->comm(), call, Phases::split);
  std::unique_ptr<Request> request(new Request(order->comm(), communicator.error_handler(), order->tag(), kept->plan(),
                                               Reasons{.strategy = kept->strategy()}, Region{}));
  request->typed_ = kept->typed();
  request->nonblocking_ = std::make_unique<NonblockingExchange>(
      order, kept->plan(), buffers,
      laneway::glance_at(buffers, *kept->plan(), device_use(communicator, kept->combiners())), kept->elements(), helper,
      kept->combiners());
  return request;
}

std::unique_ptr<Request> Request::of_dense(Communicator& communicator, const std::shared_ptr<PrivateComm>& comm,
                                           DenseParts parts) {
  std::unique_ptr<Request> request(new Request(comm, communicator.error_handler(), parts.tag, std::move(parts.plan),
                                               std::move(parts.reasons), std::move(parts.node)));
  request->is_dense_ = true;
  request->combiners_ = std::move(parts.combiners);
  request->memory_ = std::move(parts.memory);
  request->helper_ = find_helper(parts.progress);
  const std::shared_ptr<const Plan>& plan = request->plans_.plan();
  const BufferMemory where = laneway::glance_at(parts.buffers, *plan, DeviceUse{});
  if (!where.on_device().any()) {
    request->set_buffers(parts.buffers);
    return request;
  }
  auto images = std::make_unique<HostImages>(parts.buffers, where, touched_by(*plan), MemoryKind::pinned);
  employ(request->helper_);
  request->reasons_.progress_by = name(request->helper_);
  request->work_ = std::make_unique<DenseThroughHost>(comm, parts.tag, plan, request->memory_, request->combiners_,
                                                      std::move(images), progress_by(request->helper_));
  request->is_special_ = true;
  return request;
}

std::unique_ptr<Request> Request::of_dense(Communicator& communicator, const std::shared_ptr<StartOrder>& order,
                                           DenseParts parts) {
  const BufferMemory where = laneway::glance_at(parts.buffers, *parts.plan, DeviceUse{});
  std::unique_ptr<Request> request(new Request(order->comm(), communicator.error_handler(), order->tag(), parts.plan,
                                               std::move(parts.reasons), std::move(parts.node)));
  request->is_dense_ = true;
  const Helper helper = find_helper(parts.progress);
  std::unique_ptr<HostImages> images;
  if (where.on_device().any())
    images = std::make_unique<HostImages>(parts.buffers, where, touched_by(*parts.plan), MemoryKind::host);
  if (parts.bound)
    request->nonblocking_ =
        std::make_unique<NonblockingExchange>(order, std::move(parts.bound), parts.buffers, helper, std::move(images));
  else if (images)
    request->nonblocking_ = std::make_unique<NonblockingExchange>(order, std::move(parts.plan), std::move(images),
                                                                  helper, std::move(parts.combiners));
  else
    request->nonblocking_ = std::make_unique<NonblockingExchange>(order, std::move(parts.plan), parts.buffers, where,
                                                                  nullptr, helper, std::move(parts.combiners));
  return request;
}

std::unique_ptr<Request> Request::of_mpi(Communicator* communicator, Rank rank, std::unique_ptr<MpiExchange> exchange,
                                         Reasons reasons, bool nonblocking) {
  auto plan = std::make_shared<Plan>();
  plan->rank = rank;
  std::unique_ptr<Request> request(new Request(communicator != nullptr ? communicator->private_comm() : nullptr,
                                               communicator != nullptr ? communicator->error_handler() : nullptr, 0,
                                               std::move(plan), std::move(reasons), Region{}));
  request->mpi_ = std::move(exchange);
  request->mpi_once_ = nonblocking;
  request->mpi_rank_ = rank;
  request->is_special_ = request->is_dense_ = true;
  return request;
}

std::unique_ptr<Request> Request::of_work(std::shared_ptr<const ErrorHandler> handler,
                                          std::shared_ptr<PrivateComm> comm, std::unique_ptr<NonblockingWork> work,
                                          std::string strategy) {
  std::unique_ptr<Request> request(new Request(std::move(comm), std::move(handler), 0, std::make_shared<const Plan>(),
                                               Reasons{.strategy = std::move(strategy)}, Region{}));
  request->nonblocking_ = std::move(work);
  return request;
}

Request::Request(std::shared_ptr<PrivateComm> comm, std::shared_ptr<const ErrorHandler> handler, int tag,
                 std::shared_ptr<const Plan> plan, Reasons reasons, Region node)
    : comm_(std::move(comm)),
      error_handler_(std::move(handler)),
      tag_(tag),
      plans_(std::move(plan)),
      reasons_(std::move(reasons)),
      node_(std::move(node)) {}

void Request::call_error_handler(int code) const {
  if (error_handler_) return error_handler_->call(*comm_, code);
  const MPI_Comm users = mpi_ ? mpi_->users() : MPI_COMM_NULL;
  laneway::call_error_handler(users != MPI_COMM_NULL ? users : MPI_COMM_WORLD, code);
}

void Request::set_buffers(Buffers buffers) {
  require(!work_, ErrorKind::request, "request is partitioned between two ranks, which keeps its buffers");
  if (buffers.send == nullptr || buffers.receive == nullptr) {
    const Extents used = extents_of(*plans_.plan());
    require(!is_missing(buffers.send, used.send), ErrorKind::buffer, "sendbuf is NULL");
    require(!is_missing(buffers.receive, used.receive), ErrorKind::buffer, "recvbuf is NULL");
  }
  std::unique_ptr<Exchange> exchange = bind(buffers, stream_);
  const bool needs_nobody = exchange->executor().starts_all_messages();
  if (!needs_nobody) employ(helper_);
  reasons_.progress_by = needs_nobody && helper_ != Helper::thread_for_all ? "mpi" : name(helper_);
  buffers_ = buffers;
  exchange_ = std::move(exchange);
}

std::unique_ptr<Exchange> Request::bind(Buffers buffers, std::optional<lnw_device_stream> stream) {
  P2PTransport transport(comm_->get(), tag_);
  const BufferMemory where = laneway::look_at(buffers, *plans_.plan(), device_use_);
  auto exchange = std::make_unique<Exchange>(plan_on(where, stream.has_value()), buffers, where, transport,
                                             progress_by(helper_), memory_, combiners_);
  if (stream) exchange->set_stream(stream);
  return exchange;
}

const std::shared_ptr<const Plan>& Request::plan_on(const BufferMemory& where, bool in_stream) {
  if (!in_stream) return plans_.on(where.behind_host());
  return plans_.on(InStream{where.on_device(), where.device_aware, memory_ != nullptr});
}

void Request::set_stream(std::optional<lnw_device_stream> stream) {
  require(!work_, ErrorKind::unsupported, "request is partitioned between two ranks, which follows no stream");
  if (exchange_) {
    const Executor& executor = exchange_->executor();
    const bool is_for_it = plan_on(executor.where(), stream.has_value()).get() == &executor.plan();
    exchange_->set_stream(stream);
    if (!is_for_it) {
      exchange_->set_stream(stream_);  // a bad stream has thrown: what is bound stays as it is
      exchange_ = bind(buffers_, stream);
    }
  }
  stream_ = stream;
}

namespace {

/// Gives shared staging memory back as soon as the request is inactive, also if it fails.
class Release {
 public:
  Release(const Request& request, StagingArena& arena) : request_(request), arena_(arena) {}
  ~Release() {
    if (!request_.active()) arena_.release(&request_);
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  const Request& request_;
  StagingArena& arena_;
};

}  // namespace

void Request::fail() noexcept {
  if (exchange_->active()) return;
  exchange_.reset();
  failed_ = true;
}

void Request::start_specially() {
  if (in_queue()) refuse_queued();
  start_in_queue();
}

bool Request::claim() {
  if (claimed_ || in_queue() || !bound() || active()) return false;
  if (arena_ != nullptr && !arena_->claim(this)) return false;
  claimed_ = true;
  return true;
}

void Request::unclaim() {
  claimed_ = false;
  if (arena_ != nullptr) arena_->release(this);
}

void Request::start_claimed() {
  claimed_ = false;
  if (mpi_) return mpi_->start();
  if (work_) return work_->start();
  if (arena_ == nullptr) return run([&] { exchange_->start(); });
  const Release release(*this, *arena_);
  run([&] { exchange_->start(); });
}

bool Request::test_specially() {
  if (in_queue()) refuse_queued();
  return test_in_queue();
}

void Request::wait_specially() {
  if (in_queue()) refuse_queued();
  if (work_) return work_->wait();
  if (mpi_) return mpi_->wait();
  const Release release(*this, *arena_);
  if (exchange_) run([&] { exchange_->wait(); });
}

Statistics Request::statistics() const {
  Statistics total;
  const Plan& plan = this->plan();
  total.staging_bytes = plan.staging_bytes + plan.shadow_bytes;
  if (arena_ != nullptr) total.arena_bytes = arena_->bytes();
  total.window_bytes = plan.window_bytes;
  total.metadata_bytes = static_cast<std::int64_t>(sizeof *this) + metadata_bytes(plan);
  if (memory_)
    total.metadata_bytes +=
        static_cast<std::int64_t>(sizeof *memory_ + memory_->peers.size() * sizeof *memory_->peers.begin());
  if (exchange_) total.metadata_bytes += exchange_->executor().metadata_bytes();
  for (const Step& step : plan.steps) {
    for (const CopyRun& run : step.runs) total.copied_bytes += run.bytes * run.count;
    if (!sends(step) || step.span.bytes == 0) continue;
    ++total.messages;
    total.bytes += step.span.bytes;
    if (std::binary_search(node_.members.begin(), node_.members.end(), step.peer)) continue;
    ++total.net_messages;
    total.net_bytes += step.span.bytes;
  }
  return total;
}

void run_blocking(Communicator& communicator, const Call& call) {
  const Buffers buffers = buffers_of(call);
  // Others may not call where the arguments of this rank are bad: it does not meet them before it knows.
  if (!communicator.has_private_comm() && !plans_of_calls(communicator).fixed_counts)
    check_call(call, communicator.topology());
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  if (const FixedOperation* const fixed = find_fixed(communicator, call, Phases::one))
    return fixed->start(buffers, Helper::none)->wait();
  const std::shared_ptr<KeptPlan> kept = find_plan(communicator, *priv, call, Phases::one);
  P2PTransport transport(priv->get(), PrivateComm::blocking_tag, kept->elements().get());
  KeptPlan::Claim claim(*kept);
  if (BoundPlan* const bound = claim.bound()) return run_bound(*bound, buffers, transport);
  const BufferMemory where = laneway::glance_at(buffers, *kept->plan(), device_use(communicator, kept->combiners()));
  Exchange exchange(PlansByBuffers(kept->plan()).on(where.behind_host()), buffers, where, transport, Progress::in_calls,
                    nullptr, kept->combiners());
  exchange.start();
  exchange.wait();
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
  const Buffers buffers = buffers_of(call);
  P2PTransport transport(priv->get(), PrivateComm::blocking_tag);
  const BufferMemory where = laneway::glance_at(buffers, *plan, device_use(communicator, {}));
  Exchange exchange(PlansByBuffers(plan).on(where.behind_host()), buffers, where, transport, Progress::in_calls,
                    nullptr);
  exchange.start();
  exchange.wait();
}

const Plan& Request::plan() const {
  if (exchange_) return exchange_->executor().plan();
  if (work_) return work_->plan();
  if (!typed_) return *plans_.plan();
  if (!plan_as_bytes_) plan_as_bytes_ = std::make_unique<const Plan>(plan_direct(comm_->rank(), describe(*typed_)));
  return *plan_as_bytes_;
}

}  // namespace laneway
