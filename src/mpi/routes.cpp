#include "mpi/routes.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "mpi/agreement.hpp"
#include "mpi/discovery.hpp"
#include "mpi/mailbox.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

/// A strategy whose lanes do not scale cuts by size, so that each of these classes has a route of its own.
struct ClassOfSizes {
  std::int64_t planned_bytes;
  std::int64_t largest_bytes;
};
constexpr std::array<ClassOfSizes, 3> classes_of_sizes = {
    {{512, 2048}, {8192, 32768}, {131072, std::numeric_limits<std::int64_t>::max()}}};
constexpr std::array<Uniform, 2> operations = {Uniform::allgather, Uniform::alltoall};

std::vector<Rank> ranks_of(const std::vector<Neighbor>& neighbors) {
  std::vector<Rank> ranks;
  for (const Neighbor& neighbor : neighbors) ranks.push_back(neighbor.rank);
  return ranks;
}

}  // namespace

void carry_out(Planner& planner, Communicator& communicator, const PrivateComm& comm, const Hints& hints) {
  Mailbox mailbox(comm);
  const std::pair key(hints.grid.empty() ? hints.machine : hints.grid, hints.level);
  const auto known = communicator.peer_regions.find(key);
  Round round = planner.begin(known == communicator.peer_regions.end() ? nullptr : &known->second);
  while (round.kind != Round::Kind::done) round = planner.resume(mailbox.carry(round));
  if (!planner.peer_regions().empty()) communicator.peer_regions.try_emplace(key, planner.peer_regions());
}

std::shared_ptr<Routes> Routes::make(Communicator& communicator, const Hints& hints) {
  StrategySettings settings = hints.settings;
  settings.fabric = communicator.fabric(hints.machine);
  const std::unique_ptr<Strategy> strategy = hints.strategy.row->make(settings);
  if (!strategy->relays()) return nullptr;
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  const bool translate = agree(*priv, nullptr, hints, world_node_is_known());
  const Region& region = communicator.regions(hints, translate).front();
  const Topology& topology = communicator.topology();
  const PlanOptions options{hints.strategy.deduplicate, hints.lowering};
  auto routes = std::make_shared<Routes>();
  routes->lowering_ = hints.lowering;
  routes->strategy_ = hints.strategy.row->name;
  std::vector<std::int64_t> largest;
  for (const Uniform operation : operations) {
    std::shared_ptr<const Route> route;
    for (const ClassOfSizes& sizes : classes_of_sizes) {
      const RankPattern pattern = Route::unit_pattern(operation, ranks_of(topology.sources),
                                                      ranks_of(topology.destinations), sizes.planned_bytes);
      std::int64_t staging = 0;
      if (!route || !strategy->scales()) {
        Planner planner(communicator.rank(), pattern, region, *strategy, options);
        carry_out(planner, communicator, *priv, hints);
        route = std::make_shared<const Route>(planner.itinerary(), sizes.planned_bytes);
        staging = planner.take_plan().staging_bytes;
      } else {
        staging = route->plan(pattern, sizes.planned_bytes, hints.lowering).staging_bytes;
      }
      routes->classes_[operation].push_back({0, route});
      const double fits = staging == 0 ? 0x1p62
                                       : static_cast<double>(hints.staging_limit) / static_cast<double>(staging) *
                                             static_cast<double>(sizes.planned_bytes);
      largest.push_back(std::min(sizes.largest_bytes, static_cast<std::int64_t>(std::min(fits, 0x1p62))));
    }
  }
  std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
  std::vector<std::int64_t> agreed(largest.size());
  check_mpi(MPI_Iallreduce(largest.data(), agreed.data(), static_cast<int>(largest.size()), MPI_INT64_T, MPI_MIN,
                           priv->get(), request.data()),
            "MPI_Iallreduce");
  wait_all_progressing(request);
  auto bound = agreed.begin();
  for (const Uniform operation : operations)
    for (SizeClass& sizes : routes->classes_[operation]) sizes.largest_bytes = *bound++;
  return routes;
}

std::shared_ptr<const Plan> Routes::plan(Uniform operation, const RankPattern& pattern, std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  for (std::size_t i = 0; i < classes_of_sizes.size(); ++i) {
    if (bytes > classes_of_sizes[i].largest_bytes) continue;
    const SizeClass& sizes = classes_[operation][i];
    if (bytes > sizes.largest_bytes) return nullptr;
    Recent& recent = recent_[operation];
    if (recent.bytes != bytes || !(recent.pattern == pattern))
      recent = {pattern, bytes, std::make_shared<const Plan>(sizes.route->plan(pattern, bytes, lowering_))};
    return recent.plan;
  }
  return nullptr;
}

}  // namespace laneway
