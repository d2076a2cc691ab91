#include "mpi/graph.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/simulated.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check_edges.hpp"
#include "mpi/discovery.hpp"
#include "mpi/mailbox.hpp"
#include "mpi/reorder.hpp"
#include "mpi/routes.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

bool has_weights(const GraphSide& side) {
  return side.weights != MPI_UNWEIGHTED && side.weights != MPI_WEIGHTS_EMPTY;
}

void check_side(const GraphSide& side, Rank size) {
  const std::string ranks = side.ranks_name;
  require(side.degree >= 0, ErrorKind::argument, std::string(side.degree_name) + " is " + std::to_string(side.degree));
  require(side.ranks != nullptr || side.degree == 0, ErrorKind::argument,
          ranks + " is NULL with " + std::to_string(side.degree) + " neighbors");
  const bool weighted = has_weights(side);
  require(!weighted || side.weights != nullptr || side.degree == 0, ErrorKind::argument,
          std::string(side.weights_name) + " is NULL");
  for (int i = 0; i < side.degree; ++i) {
    require(side.ranks[i] >= 0 && side.ranks[i] < size, ErrorKind::rank,
            ranks + "[" + std::to_string(i) + "] is " + std::to_string(side.ranks[i]) + " in a communicator of " +
                std::to_string(size) + " ranks");
    require(!weighted || side.weights[i] >= 0, ErrorKind::argument,
            std::string(side.weights_name) + "[" + std::to_string(i) + "] is negative");
  }
}

/// The edges, one byte each, to compare their two sides.
RankPattern edges_of(const GraphArguments& arguments) {
  RankPattern pattern;
  for (int i = 0; i < arguments.destinations.degree; ++i)
    pattern.out.push_back({arguments.destinations.ranks[i], {{0, 1}}});
  for (int i = 0; i < arguments.sources.degree; ++i) pattern.in.push_back({arguments.sources.ranks[i], {{i, 1}}});
  return pattern;
}

GraphLists lists_of(const GraphArguments& arguments) {
  const auto ranks = [](const GraphSide& side) { return std::vector<int>(side.ranks, side.ranks + side.degree); };
  const auto weights = [](const GraphSide& side) {
    return has_weights(side) ? std::vector<int>(side.weights, side.weights + side.degree) : std::vector<int>{};
  };
  const GraphSide& in = arguments.sources;
  const GraphSide& out = arguments.destinations;
  return {in.weights != MPI_UNWEIGHTED && out.weights != MPI_UNWEIGHTED, ranks(in), weights(in), ranks(out),
          weights(out)};
}

GraphArguments arguments_of(const GraphLists& lists) {
  const auto side = [&](const std::vector<int>& ranks, const std::vector<int>& weights) {
    const int* const given = weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
    return GraphSide{static_cast<int>(ranks.size()), ranks.data(), lists.weighted ? given : MPI_UNWEIGHTED, "", "", ""};
  };
  return {side(lists.sources, lists.source_weights), side(lists.destinations, lists.destination_weights)};
}

MPI_Comm create(MPI_Comm comm, const GraphArguments& arguments, MPI_Info info) {
  const GraphSide& in = arguments.sources;
  const GraphSide& out = arguments.destinations;
  MPI_Comm graph = MPI_COMM_NULL;
  if constexpr (simulated) {
    check_mpi(MPI_Comm_dup(comm, &graph), "MPI_Comm_dup");
    return graph;
  }
  check_mpi(MPI_Dist_graph_create_adjacent(comm, in.degree, in.ranks, in.weights, out.degree, out.ranks, out.weights,
                                           info, 0, &graph),
            "MPI_Dist_graph_create_adjacent");
  return graph;
}

/// The graph on ranks in the order of the vertices that they play.
MPI_Comm create_reordered(MPI_Comm comm_old, const GraphLists& lists, MPI_Info info, Rank vertex) {
  MPI_Comm ordered = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm_old, 0, vertex, &ordered), "MPI_Comm_split");
  try {
    const MPI_Comm graph = create(ordered, arguments_of(lists), info);
    MPI_Comm_free(&ordered);
    return graph;
  } catch (...) {
    MPI_Comm_free(&ordered);
    throw;
  }
}

/// What all ranks have found in `info` and agree on.
struct AgreedGraph {
  HintTexts texts;
  Hints hints;
  Agreement nodes;       ///< as from agree_on_nodes
  bool reorder = false;  ///< wanted on all ranks
};

AgreedGraph agree_on_graph(Communicator& communicator, const PrivateComm& priv, const GraphArguments& arguments,
                           MPI_Info info, int reorder, bool wanted, const char* wanted_name) {
  HintTexts texts;
  Hints hints;
  hints.strategy.row = &strategies().front();
  std::optional<Rank> region;
  std::exception_ptr failure;
  try {
    require(wanted, ErrorKind::argument, std::string(wanted_name) + " is NULL");
    check_side(arguments.sources, priv.size());
    check_side(arguments.destinations, priv.size());
    texts = hints_in(info);
    hints = resolve_hints(texts, {});
    communicator.read_descriptions(hints);
    region = communicator.known_region(hints);
  } catch (...) {
    failure = std::current_exception();
  }
  Agreement agreement = agree(priv, failure, hints, {reorder != 0}, region);
  if (hints.check) check_edges(priv, edges_of(arguments));
  const bool all_reorder = agreement.flags[0];
  return {std::move(texts), std::move(hints), std::move(agreement), all_reorder};
}

/// For operations that cannot plan in their calls. Collective.
void prepare_plans(Communicator& communicator, const Hints& hints, const Agreement& nodes) {
  communicator.routes = Routes::make(communicator, hints, nodes);
  communicator.fixed_counts = hints.fixed_counts;
}

/// The ranks that have neighbours, in their old order. Collective over all ranks.
class Members {
 public:
  Members(const PrivateComm& all, bool member) : all_(all.get()) {
    check_mpi(MPI_Comm_split(all_, member ? 0 : MPI_UNDEFINED, all.rank(), &comm_), "MPI_Comm_split");
  }
  ~Members() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  /// To ranks of this communicator.
  void translate(Topology& topology) const {
    MPI_Group from = MPI_GROUP_NULL;
    MPI_Group to = MPI_GROUP_NULL;
    check_mpi(MPI_Comm_group(all_, &from), "MPI_Comm_group");
    check_mpi(MPI_Comm_group(comm_, &to), "MPI_Comm_group");
    for (std::vector<Neighbor>* neighbors : {&topology.sources, &topology.destinations})
      for (Neighbor& neighbor : *neighbors) {
        const int rank = neighbor.rank;
        check_mpi(MPI_Group_translate_ranks(from, 1, &rank, to, &neighbor.rank), "MPI_Group_translate_ranks");
      }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
  }

 private:
  MPI_Comm all_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

bool has_repeated_edges(const Topology& topology) {
  const auto repeats = [](const std::vector<Neighbor>& neighbors) {
    std::vector<Rank> ranks;
    for (const Neighbor& neighbor : neighbors) ranks.push_back(neighbor.rank);
    std::sort(ranks.begin(), ranks.end());
    return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
  };
  return repeats(topology.sources) || repeats(topology.destinations);
}

}  // namespace

void create_graph(MPI_Comm comm_old, const GraphArguments& arguments, MPI_Info info, int reorder, MPI_Comm* comm_new) {
  Communicator& old = Communicator::of(comm_old);
  const std::shared_ptr<PrivateComm> priv = old.private_comm();
  AgreedGraph agreed = agree_on_graph(old, *priv, arguments, info, reorder, comm_new != nullptr, "comm_dist_graph");
  std::optional<Reordering> reordering;
  GraphLists lists = lists_of(arguments);
  if (agreed.reorder) {
    const Region& node = old.node(agreed.hints.machine);
    const Role role = find_role(*priv, node, lists, agreed.hints);
    reordering = role.reordering;
    if (role.reordering.moved > 0) {
      lists = take_over(*priv, role, lists);
      *comm_new = create_reordered(comm_old, lists, info, role.vertex);
    }
  }
  const bool same_order = !reordering || reordering->moved == 0;
  if (same_order) *comm_new = create(comm_old, arguments, info);
  Communicator& fresh = same_order ? Communicator::derive(*comm_new, priv) : Communicator::of(*comm_new);
  if constexpr (simulated) fresh.set_topology(graph_topology(lists.sources, lists.destinations));
  fresh.hints = std::move(agreed.texts);
  fresh.reordering = reordering;
  prepare_plans(fresh, agreed.hints, same_order ? agreed.nodes : agree_on_nodes(fresh, agreed.hints));
}

void adopt_graph(MPI_Comm comm_old, MPI_Comm comm, MPI_Info info) {
  int same = MPI_UNEQUAL;
  check_mpi(MPI_Comm_compare(comm_old, comm, &same), "MPI_Comm_compare");
  const Communicator* const known = Communicator::find(comm_old);
  // Otherwise the new communicator's own, of which the attribute is replaced below.
  const bool shares = same == MPI_CONGRUENT && !(known && known->partial);
  Communicator& all = Communicator::of(shares ? comm_old : comm);
  const std::shared_ptr<PrivateComm> priv = all.private_comm();
  Topology topology;
  bool has_neighbors = false;
  HintTexts texts;
  Hints hints;
  hints.strategy.row = &strategies().front();
  std::optional<Rank> region;
  std::exception_ptr failure;
  try {
    topology = read_topology(comm);
    has_neighbors = !topology.sources.empty() || !topology.destinations.empty();
    texts = hints_in(info);
    hints = resolve_hints(texts, {});
    all.read_descriptions(hints);
    region = all.known_region(hints);
  } catch (...) {
    failure = std::current_exception();
  }
  const Flags mine{!has_repeated_edges(topology), has_neighbors};
  const Agreement nodes = agree(*priv, failure, hints, mine, region);
  const bool repeats_nothing = nodes.flags[0];
  const bool all_have_neighbors = nodes.flags[1];
  const auto make = [&]() -> Communicator& {
    if (all_have_neighbors) return shares ? Communicator::derive(comm, priv) : all;
    const Members members(*priv, has_neighbors);
    if (!has_neighbors) return Communicator::without_neighbors(comm, priv);
    members.translate(topology);
    return Communicator::among(comm, members.get(), std::move(topology));
  };
  Communicator& fresh = make();
  fresh.repeated_edges = !repeats_nothing;
  fresh.hints = std::move(texts);
  if (!fresh.idle) prepare_plans(fresh, hints, all_have_neighbors ? nodes : agree_on_nodes(fresh, hints));
  if (all_have_neighbors) return;
  // Those without neighbours know what the others do with operations on this communicator.
  const int has_routes = fresh.routes != nullptr;
  int any_routes = 0;
  reduce_progressing(&has_routes, &any_routes, 1, MPI_INT, MPI_MAX, priv->get());
  if (!fresh.idle) return;
  fresh.fixed_counts = hints.fixed_counts;
  if (any_routes) fresh.routes = std::make_shared<Routes>();
}

const Reordering& reordering_of(MPI_Comm comm) {
  const Communicator* const known = Communicator::find(comm);
  require(known && known->reordering, ErrorKind::topology,
          "comm: not created by LNW_Dist_graph_create_adjacent with reorder");
  return *known->reordering;
}

std::unique_ptr<Communicator> create_topology(MPI_Comm comm, const GraphArguments& arguments, MPI_Info info,
                                              bool wanted) {
  Communicator& communicator = Communicator::of(comm);
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  AgreedGraph agreed = agree_on_graph(communicator, *priv, arguments, info, 0, wanted, "topology");
  const auto ranks = [](const GraphSide& side) { return std::vector<int>(side.ranks, side.ranks + side.degree); };
  auto made =
      Communicator::with_topology(comm, graph_topology(ranks(arguments.sources), ranks(arguments.destinations)));
  made->hints = std::move(agreed.texts);
  prepare_plans(*made, agreed.hints, agreed.nodes);
  return made;
}

std::unique_ptr<Communicator> copy_topology(MPI_Comm comm, bool wanted) {
  Communicator& communicator = Communicator::of(comm);
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  Hints none;
  none.strategy.row = &strategies().front();
  std::exception_ptr failure;
  try {
    require(wanted, ErrorKind::argument, "topology is NULL");
    (void)communicator.topology();
  } catch (...) {
    failure = std::current_exception();
  }
  agree(*priv, failure, none);
  auto made = Communicator::with_topology(comm, communicator.topology());
  made->hints = communicator.hints;
  // Of its own: what it plans from now on must not depend on the calls of the other, which have another order.
  if (communicator.routes) made->routes = std::make_shared<Routes>(*communicator.routes);
  made->fixed_counts = communicator.fixed_counts;
  return made;
}

}  // namespace laneway
