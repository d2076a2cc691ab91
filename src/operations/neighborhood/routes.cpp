#include "operations/neighborhood/routes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "communicator/control/control_rounds.hpp"
#include "communicator/decisions.hpp"
#include "communicator/nodes/discovery.hpp"
#include "operations/choose/costs.hpp"
#include "operations/choose/planning.hpp"

namespace laneway {

namespace {

/// A strategy whose lanes do not scale cuts by size, so that each of these classes has a route of its own.
struct ClassOfSizes {
  std::int64_t planned_bytes;
  std::int64_t largest_bytes;
};
constexpr std::array<ClassOfSizes, 3> classes_of_sizes = {
    {{512, 2048}, {8192, 32768}, {131072, std::numeric_limits<std::int64_t>::max()}}};
constexpr std::array<Kind, 2> operations = {Kind::allgather, Kind::alltoall};

std::vector<Rank> ranks_of(const std::vector<Neighbor>& neighbors) {
  std::vector<Rank> ranks;
  for (const Neighbor& neighbor : neighbors) ranks.push_back(neighbor.rank);
  return ranks;
}

/// Nothing to plan for messages of no bytes.
std::optional<std::size_t> class_of(std::int64_t bytes) {
  if (bytes == 0) return std::nullopt;
  std::size_t index = 0;
  while (bytes > classes_of_sizes[index].largest_bytes) ++index;
  return index;
}

}  // namespace

bool Routes::wanted(const Hints& hints, const Region& region, Rank ranks) {
  const std::vector<const StrategyRow*> rows = hints.strategy.rows();
  if (std::none_of(rows.begin(), rows.end(), [](const StrategyRow* row) { return row->traits.relays; })) return false;
  return !hints.strategy.is_automatic() || choose_from(hints, region, ranks).is_automatic();
}

std::shared_ptr<Routes> Routes::make(Communicator& communicator, const Hints& hints, const Agreement& nodes) {
  communicator.learn_regions(hints, nodes.regions);
  communicator.knows_nodes = nodes.knows_nodes;
  const Region& region = communicator.regions(hints, nodes.knows_nodes).front();
  if (!wanted(hints, region, communicator.ranks())) return nullptr;
  const bool chooses = hints.strategy.is_automatic();
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  return together(*priv, [&] {
    auto routes = std::make_shared<Routes>();
    routes->hints_ = hints;
    std::vector<SizeClass*> planned;
    for (const Kind operation : operations) {
      std::vector<SizeClass>& classes = routes->classes_[operation];
      classes.resize(classes_of_sizes.size());
      for (std::size_t i = 0; i < classes.size() && !chooses; ++i) {
        routes->plan_class(communicator, operation, i);
        planned.push_back(&classes[i]);
      }
    }
    if (!planned.empty()) agree_on_bounds(*priv, planned);
    return routes;
  });
}

void Routes::prepare(Communicator& communicator, Kind operation, const RankPattern& pattern, std::int64_t bytes) {
  const std::optional<std::size_t> index = class_of(bytes);
  if (!index || relays_nothing_ || classes_[operation][*index].planned) return;
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  std::vector<std::int64_t> of_edges = {bytes, -bytes};
  for (const std::vector<Edge>* edges : {&pattern.out, &pattern.in}) {
    if (edges->empty()) continue;
    const std::int64_t size = edges->front().ranges.bytes();
    of_edges = {std::min(of_edges[0], size), std::min(of_edges[1], -size)};
  }
  SizeClass& sizes = classes_[operation][*index];
  try {
    together(*priv, [&] {
      compare_decisions(communicator, *priv);
      const std::vector<std::int64_t> least = reduce_progressing(of_edges, MPI_INT64_T, MPI_MIN, *priv);
      if (least[0] != -least[1]) return relay_nothing();
      plan_class(communicator, operation, *index);
      agree_on_bounds(*priv, {&sizes});
      note_decision(communicator, [&] {
        return std::string(name(operation)) + " up to " + std::to_string(sizes.largest_bytes) + " bytes: route " +
               (sizes.route ? std::string(sizes.strategy) : "direct") + ", version " + std::to_string(version_);
      });
    });
  } catch (...) {
    sizes = {true, 0, nullptr, {}};  // on all ranks
    throw;
  }
}

void Routes::plan_class(Communicator& communicator, Kind operation, std::size_t index) {
  const ClassOfSizes& sizes = classes_of_sizes[index];
  SizeClass& result = classes_[operation][index];
  result = {true, sizes.largest_bytes, nullptr, {}};
  ++version_;
  const Topology& topology = communicator.topology();
  const RankPattern pattern =
      Route::unit_pattern(operation, ranks_of(topology.sources), ranks_of(topology.destinations), sizes.planned_bytes);
  const SizeClass& smallest = classes_[operation].front();
  std::int64_t staging = 0;
  if (index > 0 && !hints_.strategy.is_automatic() && hints_.strategy.row->traits.scales) {
    result.route = smallest.route;
    result.strategy = smallest.strategy;
    staging = result.route->plan(pattern, sizes.planned_bytes, hints_.lowering).staging_bytes;
  } else {
    PlannedRoute planned = plan_route(communicator, *communicator.private_comm(), hints_, pattern, sizes.planned_bytes);
    result.route = std::move(planned.route);
    result.strategy = planned.strategy;
    staging = planned.staging_bytes;
  }
  if (staging == 0) return;
  const double fits = static_cast<double>(hints_.staging_limit) / static_cast<double>(staging) *
                      static_cast<double>(sizes.planned_bytes);
  result.largest_bytes = std::min(sizes.largest_bytes, static_cast<std::int64_t>(std::min(fits, 0x1p62)));
}

void Routes::agree_on_bounds(const PrivateComm& comm, const std::vector<SizeClass*>& classes) {
  std::vector<std::int64_t> largest;
  for (const SizeClass* sizes : classes) largest.push_back(sizes->largest_bytes);
  std::vector<std::int64_t> agreed(largest.size());
  reduce_progressing(largest.data(), agreed.data(), static_cast<int>(largest.size()), MPI_INT64_T, MPI_MIN, comm);
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i]->largest_bytes = agreed[i];
}

Routes::Routed Routes::plan(Kind operation, const RankPattern& pattern, std::int64_t bytes) {
  const std::optional<std::size_t> index = class_of(bytes);
  if (!index) return {};
  const SizeClass& sizes = classes_[operation][*index];
  if (relays_nothing_ || !sizes.planned || !sizes.route || bytes > sizes.largest_bytes) return {};
  Recent& recent = recent_[operation];
  if (recent.bytes != bytes || !(recent.pattern == pattern))
    recent = {pattern, bytes, std::make_shared<const Plan>(sizes.route->plan(pattern, bytes, hints_.lowering))};
  return {recent.plan, sizes.strategy};
}

}  // namespace laneway
