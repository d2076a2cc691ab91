#include "operations/halo/one_side.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <exception>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "communicator/background.hpp"
#include "operations/neighborhood/routes.hpp"

namespace laneway {

namespace {

bool is_weighted(const int* weights) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

/// What must be the same on all ranks, so that they learn it with the edges: whether these have weights.
MPI_Datatype type_of_edge(bool unweighted) {
  return unweighted ? MPI_CHAR : MPI_INT;
}

std::span<const int> integers_of(const Arrivals& arrivals) {
  return {reinterpret_cast<const int*>(arrivals.data.data()), arrivals.data.size() / sizeof(int)};
}

void check_known(const GraphSide& side, Rank ranks, bool wanted) {
  require(wanted, ErrorKind::argument, "topology is NULL");
  check_destinations(side.degree, side.ranks, ranks, side.degree_name, side.ranks_name);
  for (int i = 0; i < side.degree; ++i)
    require(side.ranks[i] != MPI_PROC_NULL, ErrorKind::rank,
            std::string(side.ranks_name) + "[" + std::to_string(i) + "] is MPI_PROC_NULL");
  if (!is_weighted(side.weights)) return;
  require(side.weights != nullptr || side.degree == 0, ErrorKind::argument,
          std::string(side.weights_name) + " is NULL");
}

}  // namespace

std::unique_ptr<Communicator> topology_of(const Arrivals& arrivals, MPI_Info info, bool reversed) {
  HintTexts texts = hints_in(info);
  (void)resolve_hints(texts, {});
  auto made = Communicator::with_known_topology(arrivals.comm,
                                                reversed ? graph_topology(arrivals.destinations, arrivals.sources)
                                                         : graph_topology(arrivals.sources, arrivals.destinations),
                                                arrivals.error_handler, arrivals.single);
  made->hints = std::move(texts);
  plans_of_calls(*made).split_phases_relay = may_relay(made->call_hints().progress, arrivals.have_helpers);
  return made;
}

std::unique_ptr<Communicator> create_topology_from(MPI_Comm comm, const KnownSide& known, MPI_Info info, bool wanted,
                                                   std::unique_ptr<Arrivals>* weights) {
  Communicator& communicator = Communicator::of(comm);
  const GraphSide& side = known.side;
  SparseCall call;
  call.failure = failure_of([&] { check_known(side, communicator.ranks(), wanted); });
  const bool unweighted = side.weights == MPI_UNWEIGHTED;
  const std::vector<char> nothing(call.failure || !unweighted ? 0 : static_cast<std::size_t>(side.degree));
  call.fixed_count = true;
  call.sets.push_back({.degree = call.failure ? 0 : side.degree,
                       .destinations = side.ranks,
                       .count = 1,
                       .type = type_of_edge(unweighted),
                       .buffer = unweighted ? static_cast<const void*>(nothing.data()) : side.weights});
  std::unique_ptr<Arrivals> found = std::move(exchange_sparsely(communicator, std::move(call)).front());
  const GraphSide other{static_cast<int>(found->sources.size()),
                        found->sources.data(),
                        MPI_UNWEIGHTED,
                        known.are_destinations ? "indegree" : "outdegree",
                        known.are_destinations ? "sources" : "destinations",
                        ""};
  GraphSide given = side;
  given.weights = MPI_UNWEIGHTED;
  auto made = known.are_destinations ? create_topology(comm, {other, given}, info, true)
                                     : create_topology(comm, {given, other}, info, true);
  if (weights != nullptr) *weights = std::move(found);
  return made;
}

namespace {

/// All edges that a rank names, as what it says to their ends: both learn the other end, and the weight.
struct Edges {
  std::vector<int> sources;
  std::vector<int> destinations;
  std::vector<std::array<int, 2>> to_sources;       // destination and weight
  std::vector<std::array<int, 2>> to_destinations;  // source and weight
};

Edges edges_of(const GraphEdges& given, Rank ranks) {
  check_destinations(given.n, given.sources, ranks, "n", "sources");
  require(given.degrees != nullptr || given.n == 0, ErrorKind::argument, "degrees is NULL");
  Edges edges;
  int next = 0;
  for (int i = 0; i < given.n; ++i) {
    const int degree = given.degrees[i];
    require(given.sources[i] != MPI_PROC_NULL, ErrorKind::rank, "sources[" + std::to_string(i) + "] is MPI_PROC_NULL");
    require(degree >= 0, ErrorKind::argument, "degrees[" + std::to_string(i) + "] is " + std::to_string(degree));
    require(degree <= INT_MAX - next, ErrorKind::count, "degrees: more than 2^31 edges");
    for (int k = 0; k < degree; ++k) edges.sources.push_back(given.sources[i]);
    next += degree;
  }
  check_destinations(next, given.destinations, ranks, "degrees", "destinations");
  require(!is_weighted(given.weights) || given.weights != nullptr || next == 0, ErrorKind::argument, "weights is NULL");
  for (int edge = 0; edge < next; ++edge) {
    const auto at = static_cast<std::size_t>(edge);
    require(given.destinations[edge] != MPI_PROC_NULL, ErrorKind::rank,
            "destinations[" + std::to_string(edge) + "] is MPI_PROC_NULL");
    const int weight = is_weighted(given.weights) ? given.weights[edge] : 1;
    require(weight >= 0, ErrorKind::argument, "weights[" + std::to_string(edge) + "] is negative");
    edges.destinations.push_back(given.destinations[edge]);
    edges.to_sources.push_back({given.destinations[edge], weight});
    edges.to_destinations.push_back({edges.sources[at], weight});
  }
  return edges;
}

/// Neighbours on one side with their weights, ascending; parallel edges in the order of who has named them, which both
/// their ends know.
struct FoundSide {
  std::vector<int> ranks;
  std::vector<int> weights;

  explicit FoundSide(const Arrivals& arrivals) {
    const std::span<const int> values = integers_of(arrivals);
    std::vector<std::array<int, 2>> pairs(values.size() / 2);
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {values[2 * i], values[2 * i + 1]};
    std::ranges::stable_sort(pairs, {}, [](const std::array<int, 2>& pair) { return pair[0]; });
    for (const auto& [rank, weight] : pairs) {
      ranks.push_back(rank);
      weights.push_back(weight);
    }
  }

  [[nodiscard]] GraphSide side(bool weighted, const char* degree_name, const char* name) const {
    const int* const given = weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
    return {static_cast<int>(ranks.size()), ranks.data(), weighted ? given : MPI_UNWEIGHTED, degree_name, name, ""};
  }
};

}  // namespace

void create_graph_from_edges(MPI_Comm comm_old, const GraphEdges& given, MPI_Info info, int reorder,
                             MPI_Comm* comm_new) {
  Communicator& communicator = Communicator::of(comm_old);
  SparseCall call;
  Edges edges;
  call.failure = failure_of([&] {
    require(comm_new != nullptr, ErrorKind::argument, "comm_dist_graph is NULL");
    edges = edges_of(given, communicator.ranks());
  });
  const bool weighted = given.weights != MPI_UNWEIGHTED;
  const auto set_of = [](const std::vector<int>& to, const std::vector<std::array<int, 2>>& pairs) {
    return SparseSet{.degree = static_cast<int>(to.size()),
                     .destinations = to.data(),
                     .count = 2,
                     .type = MPI_INT,
                     .buffer = pairs.data()};
  };
  const int no_ranks = 0;
  call.fixed_count = true;
  call.sets = {set_of(edges.sources, edges.to_sources), set_of(edges.destinations, edges.to_destinations),
               // Its datatype is what the ranks compare.
               SparseSet{.destinations = &no_ranks, .type = type_of_edge(!weighted)}};
  const auto found = exchange_sparsely(communicator, std::move(call));
  const FoundSide out(*found[0]), in(*found[1]);
  create_graph(comm_old, {in.side(weighted, "indegree", "sources"), out.side(weighted, "outdegree", "destinations")},
               info, reorder, comm_new);
}

}  // namespace laneway
