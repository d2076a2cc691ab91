#include "mpi/request.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check_edges.hpp"
#include "mpi/discovery.hpp"
#include "mpi/mailbox.hpp"
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
  Mailbox mailbox(comm);
  const std::pair key(hints.grid.empty() ? hints.machine : hints.grid, hints.level);
  const auto known = communicator.peer_regions.find(key);
  Round round = planner.begin(known == communicator.peer_regions.end() ? nullptr : &known->second);
  while (round.kind != Round::Kind::done) round = planner.resume(mailbox.carry(round));
  if (strategy->relays()) communicator.peer_regions.try_emplace(key, planner.peer_regions());
  return planner.take_plan();
}

}  // namespace

std::unique_ptr<Request> Request::make(Communicator& communicator, MPI_Info info, const Describe& describe,
                                       std::optional<Buffers> buffers) {
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  RankPattern pattern;
  Hints hints;
  hints.strategy.row = &strategies().front();
  std::exception_ptr failure;
  try {
    pattern = describe(communicator.topology());
    hints = resolve_hints(hints_in(info), communicator.hints);
    if (!hints.machine.empty() || !hints.grid.empty()) (void)communicator.regions(hints);
    (void)communicator.fabric(hints.machine);
  } catch (...) {
    failure = std::current_exception();
  }
  const bool translate = agree(*priv, failure, hints, world_node_is_known());
  const int tag = priv->take_tags();
  if (hints.check) check_edges(*priv, pattern);
  const std::vector<Region>& regions = communicator.regions(hints, translate);
  auto plan = std::make_shared<const Plan>(make_plan(communicator, *priv, pattern, regions, hints));
  std::unique_ptr<Request> request(
      new Request(priv, communicator.error_handler(), tag, std::move(plan), hints.strategy_name, regions.front()));
  // Buffers that the operation does not touch need not be given later.
  const auto touches = [](const std::vector<Edge>& edges) {
    return std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return !edge.ranges.empty(); });
  };
  if (!buffers && !touches(pattern.out) && !touches(pattern.in)) buffers = Buffers{};
  if (buffers) request->set_buffers(*buffers);
  return request;
}

std::unique_ptr<Request> Request::make_nonblocking(Communicator& communicator, const Describe& describe,
                                                   Buffers buffers) {
  const std::shared_ptr<StartOrder>& order = communicator.start_order();
  auto plan = std::make_shared<const Plan>(plan_direct(communicator.rank(), describe(communicator.topology())));
  std::unique_ptr<Request> request(
      new Request(order->comm(), communicator.error_handler(), order->tag(), std::move(plan), "direct", {}));
  request->nonblocking_ = std::make_unique<NonblockingExchange>(order, request->plan_, buffers);
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
  exchange_ = std::make_unique<Exchange>(plan_, buffers, transport);
}

Statistics Request::statistics() const {
  Statistics total;
  total.staging_bytes = plan_->staging_bytes;
  for (const Step& step : plan_->steps) {
    for (const CopyRun& run : step.runs) total.copied_bytes += run.bytes * run.count;
    if (step.kind != StepKind::send) continue;
    ++total.messages;
    total.bytes += step.span.bytes;
    if (std::binary_search(node_.members.begin(), node_.members.end(), step.peer)) continue;
    ++total.net_messages;
    total.net_bytes += step.span.bytes;
  }
  return total;
}

void run_blocking(Communicator& communicator, const Describe& describe, Buffers buffers) {
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  const RankPattern pattern = describe(communicator.topology());
  P2PTransport transport(priv->get(), PrivateComm::blocking_tag);
  Exchange exchange(std::make_shared<const Plan>(plan_direct(priv->rank(), pattern)), buffers, transport);
  exchange.start();
  exchange.wait();
}

}  // namespace laneway
