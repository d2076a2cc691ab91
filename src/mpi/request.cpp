#include "mpi/request.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "mpi/agreement.hpp"
#include "mpi/background.hpp"
#include "mpi/check_edges.hpp"
#include "mpi/discovery.hpp"
#include "mpi/mailbox.hpp"
#include "mpi/routes.hpp"
#include "mpi/share_memory.hpp"
#include "setup/localizer.hpp"
#include "setup/planner.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

Plan make_plan(Communicator& communicator, const PrivateComm& comm, const RankPattern& pattern,
               const std::vector<Region>& regions, const Hints& hints) {
  StrategySettings settings = hints.settings;
  settings.fabric = communicator.fabric(hints.machine);
  const std::unique_ptr<Strategy> strategy = hints.strategy.row->make(settings);
  const PlanOptions options{hints.strategy.deduplicate, hints.lowering};
  std::vector<std::unique_ptr<Strategy>> inner_strategies;
  std::vector<InnerLevel> inner;
  for (std::size_t i = 0; i < hints.inner.size(); ++i) {
    inner_strategies.push_back(hints.inner[i].choice.row->make(settings));
    inner.push_back({regions[i + 1], inner_strategies.back().get(), hints.inner[i].choice.deduplicate});
  }
  Planner planner(comm.rank(), pattern, regions.front(), *strategy, options, inner);
  carry_out(planner, communicator, comm, hints);
  return planner.take_plan();
}

struct Planned {
  RankPattern pattern;
  std::shared_ptr<const Plan> plan;
  std::string strategy;
  Region node;
  Region sharing;
  LocalOptions local;
  std::int64_t shared_staging = 0;
  int tag = 0;
  Progress progress = Progress::in_calls;
};

/// The ranks that use the same memory as this one.
Region find_sharing(Communicator& communicator, const Hints& hints, bool translate) {
  if (hints.sharing == Sharing::none) return {};
  Region sharing = communicator.regions({}, translate).front();
  if (hints.sharing == Sharing::all || hints.machine.empty()) return sharing;
  const Region& described = communicator.node(hints.machine);
  std::erase_if(sharing.members, [&](Rank rank) {
    return !std::binary_search(described.members.begin(), described.members.end(), rank);
  });
  sharing.id = sharing.members.front();
  return sharing;
}

/// Collective: agrees on hints and arguments, and plans. If the arguments of any rank are bad, all ranks throw.
Planned plan_together(Communicator& communicator, PrivateComm& comm, MPI_Info info, const Describe& describe) {
  Planned planned;
  Hints hints;
  hints.strategy.row = &strategies().front();
  std::exception_ptr failure;
  try {
    planned.pattern = describe(communicator.topology());
    hints = resolve_hints(hints_in(info), communicator.hints);
    communicator.read_descriptions(hints);
  } catch (...) {
    failure = std::current_exception();
  }
  const bool translate = agree(comm, failure, hints, world_node_is_known());
  planned.tag = comm.take_tags();
  if (hints.check) check_edges(comm, planned.pattern);
  const std::vector<Region>& regions = communicator.regions(hints, translate);
  planned.plan = std::make_shared<const Plan>(make_plan(communicator, comm, planned.pattern, regions, hints));
  planned.strategy = hints.strategy_name;
  planned.node = regions.front();
  planned.progress = hints.progress;
  planned.sharing = find_sharing(communicator, hints, translate);
  planned.local = hints.local;
  planned.shared_staging = hints.shared_staging;
  return planned;
}

/// What the plan shares its staging memory with; null if it has memory of its own, or needs none.
std::shared_ptr<StagingArena> find_arena(Communicator& communicator, const PrivateComm& comm, const Planned& planned) {
  if (planned.shared_staging == 0) return nullptr;
  const Region node = planned.sharing.members.empty() ? Region{comm.rank(), {comm.rank()}} : planned.sharing;
  const std::int64_t bytes = largest(comm, node, planned.plan->staging_bytes);
  if (bytes == 0 || bytes > planned.shared_staging) return nullptr;
  std::shared_ptr<StagingArena>& arena = communicator.arenas[{planned.shared_staging, node.members}];
  if (!arena) arena = make_arena(comm, node, planned.shared_staging);
  return arena;
}

void use_arena(NodeMemory& memory, std::shared_ptr<StagingArena> arena) {
  for (const auto& [rank, part] : arena->parts()) {
    NodeMemory::Part& peer = memory.peers[rank];
    peer.staging = part.staging;
    peer.words = part.words;
  }
  memory.own.staging = arena->own().staging;
  memory.own.words = arena->own().words;
  memory.arena = std::move(arena);
}

/// Lets the plan use the memory of the node, if its ranks can share any, and memory that it shares with other plans.
std::shared_ptr<NodeMemory> localize(Communicator& communicator, const PrivateComm& comm, Planned& planned) {
  const std::shared_ptr<StagingArena> arena = find_arena(communicator, comm, planned);
  if (planned.sharing.members.size() < 2 || (arena && arena->is_private())) {
    if (!arena) return nullptr;
    auto memory = std::make_shared<NodeMemory>();
    use_arena(*memory, arena);
    return memory;
  }
  planned.local.shares_staging = arena != nullptr;
  Localizer localizer(*planned.plan, planned.sharing, planned.local);
  Mailbox mailbox(comm);
  for (Round round = localizer.begin(); round.kind != Round::Kind::done;)
    round = localizer.resume(mailbox.carry(round));
  Plan plan = localizer.take_plan();
  const bool has_window = plan.window_bytes > 0;
  std::shared_ptr<NodeMemory> memory =
      share_memory(comm, planned.sharing, plan.window_bytes, has_window && !arena ? plan.staging_bytes : 0);
  if (!memory || (!has_window && !arena)) return nullptr;
  planned.plan = std::make_shared<const Plan>(std::move(plan));
  if (arena) {
    arena->add_readers(localizer.takers());
    use_arena(*memory, arena);
  }
  return memory;
}

/// A plan for one exchange, and the name of its strategy.
struct Chosen {
  std::shared_ptr<const Plan> plan;
  std::string strategy = "direct";
};

/// The peers of a rank that breaks the promise could only wait for ever.
[[noreturn]] void broken_promise(const Communicator& communicator, MPI_Comm comm) {
  std::cerr
      << "laneway: rank " << communicator.rank()
      << ": lnw_fixed_counts=true promised that counts, displacements and layouts of datatypes on this communicator "
         "never change, but they differ from those of the first call of this operation\n"
      << std::flush;
  MPI_Abort(comm, MPI_ERR_ARG);
  std::abort();
}

Chosen under_promise(Communicator& communicator, const Describe& describe, const Sizes& sizes) {
  std::unique_ptr<FixedPlan>& known = communicator.fixed_plans[sizes.key];
  if (!known) {
    const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
    Planned planned = plan_together(communicator, *priv, MPI_INFO_NULL, describe);
    known = std::make_unique<FixedPlan>(
        FixedPlan{std::move(planned.pattern), std::move(planned.plan), std::move(planned.strategy)});
  } else if (!(describe(communicator.topology()) == known->pattern)) {
    broken_promise(communicator, communicator.private_comm()->get());
  }
  return {known->plan, known->strategy};
}

/// What a call that can agree on nothing may use.
Chosen choose_plan(Communicator& communicator, const Describe& describe, const SizesOf& sizes_of) {
  if (communicator.fixed_counts) {
    const Sizes sizes = sizes_of();
    if (!sizes.uniform) return under_promise(communicator, describe, sizes);
  }
  const RankPattern pattern = describe(communicator.topology());
  if (communicator.routes) {
    const Sizes sizes = sizes_of();
    const std::vector<Edge>& edges = pattern.out.empty() ? pattern.in : pattern.out;
    if (sizes.uniform)
      if (auto plan = communicator.routes->plan(*sizes.uniform, pattern,
                                                edges.empty() ? sizes.bytes : edges.front().ranges.bytes()))
        return {std::move(plan), communicator.routes->strategy()};
  }
  return {std::make_shared<const Plan>(plan_direct(communicator.rank(), pattern))};
}

}  // namespace

std::unique_ptr<Request> Request::make(Communicator& communicator, MPI_Info info, const Describe& describe,
                                       std::optional<Buffers> buffers) {
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  Planned planned = plan_together(communicator, *priv, info, describe);
  std::shared_ptr<NodeMemory> memory = localize(communicator, *priv, planned);
  std::unique_ptr<Request> request(new Request(priv, communicator.error_handler(), planned.tag, std::move(planned.plan),
                                               std::move(planned.strategy), std::move(planned.node)));
  request->progress_ = provide_progress(planned.progress);
  request->memory_ = std::move(memory);
  if (request->memory_) request->arena_ = request->memory_->arena.get();
  // Buffers that the operation does not touch need not be given later.
  const auto touches = [](const std::vector<Edge>& edges) {
    return std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return !edge.ranges.empty(); });
  };
  if (!buffers && !touches(planned.pattern.out) && !touches(planned.pattern.in)) buffers = Buffers{};
  if (buffers) request->set_buffers(*buffers);
  return request;
}

std::unique_ptr<Request> Request::make_nonblocking(Communicator& communicator, const Describe& describe,
                                                   const SizesOf& sizes_of, Buffers buffers) {
  const std::shared_ptr<StartOrder>& order = communicator.start_order();
  Chosen chosen = choose_plan(communicator, describe, sizes_of);
  std::unique_ptr<Request> request(new Request(order->comm(), communicator.error_handler(), order->tag(),
                                               std::move(chosen.plan), std::move(chosen.strategy), {}));
  request->nonblocking_ = std::make_unique<NonblockingExchange>(order, request->plan_, buffers,
                                                                provide_progress(resolve_progress(communicator.hints)));
  return request;
}

Request::Request(std::shared_ptr<PrivateComm> comm, std::shared_ptr<const ErrorHandler> handler, int tag,
                 std::shared_ptr<const Plan> plan, std::string strategy, Region node)
    : comm_(std::move(comm)),
      error_handler_(std::move(handler)),
      tag_(tag),
      plan_(std::move(plan)),
      strategy_(std::move(strategy)),
      node_(std::move(node)) {}

void Request::set_buffers(Buffers buffers) {
  P2PTransport transport(comm_->get(), tag_);
  exchange_ = std::make_unique<Exchange>(plan_, buffers, transport, progress_, memory_);
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

void Request::start_sharing() {
  require(arena_->claim(this), ErrorKind::request,
          "request shares its staging memory (lnw_shared_staging) with one that is active");
  const Release release(*this, *arena_);
  exchange_->start();
}

bool Request::test_sharing() {
  const Release release(*this, *arena_);
  return !exchange_ || exchange_->test();
}

void Request::wait_sharing() {
  const Release release(*this, *arena_);
  if (exchange_) exchange_->wait();
}

Statistics Request::statistics() const {
  Statistics total;
  total.staging_bytes = plan_->staging_bytes;
  if (arena_ != nullptr) total.arena_bytes = arena_->bytes();
  total.window_bytes = plan_->window_bytes;
  total.metadata_bytes = static_cast<std::int64_t>(sizeof *this) + metadata_bytes(*plan_);
  if (memory_)
    total.metadata_bytes +=
        static_cast<std::int64_t>(sizeof *memory_ + memory_->peers.size() * sizeof *memory_->peers.begin());
  if (exchange_) total.metadata_bytes += exchange_->metadata_bytes();
  for (const Step& step : plan_->steps) {
    for (const CopyRun& run : step.runs) total.copied_bytes += run.bytes * run.count;
    if (!sends(step.kind)) continue;
    ++total.messages;
    total.bytes += step.span.bytes;
    if (std::binary_search(node_.members.begin(), node_.members.end(), step.peer)) continue;
    ++total.net_messages;
    total.net_bytes += step.span.bytes;
  }
  return total;
}

void run_blocking(Communicator& communicator, const Describe& describe, const SizesOf& sizes_of, Buffers buffers) {
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  const Chosen chosen = choose_plan(communicator, describe, sizes_of);
  P2PTransport transport(priv->get(), PrivateComm::blocking_tag);
  Exchange exchange(chosen.plan, buffers, transport);
  exchange.start();
  exchange.wait();
}

}  // namespace laneway
