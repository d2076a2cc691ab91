#include "operations/neighborhood/graph.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes/sort_unique.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/background.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/check_edges.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/nodes/discovery.hpp"
#include "communicator/reorder.hpp"
#include "mpi/check.hpp"
#include "operations/neighborhood/routes.hpp"

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

void create(MPI_Comm comm, const GraphArguments& arguments, MPI_Info info, MPI_Comm* graph) {
  const GraphSide& in = arguments.sources;
  const GraphSide& out = arguments.destinations;
  if constexpr (simulated) {
    check_mpi(MPI_Comm_dup(comm, graph), "MPI_Comm_dup");
    return;
  }
  check_mpi(MPI_Dist_graph_create_adjacent(comm, in.degree, in.ranks, in.weights, out.degree, out.ranks, out.weights,
                                           info, 0, graph),
            "MPI_Dist_graph_create_adjacent");
}

/// The graph on ranks in the order of the vertices that they play.
void create_reordered(MPI_Comm comm_old, const GraphLists& lists, MPI_Info info, Rank vertex, MPI_Comm* graph) {
  const GraphArguments arguments = arguments_of(lists);
  MPI_Comm ordered = MPI_COMM_NULL;
  const int code = MPI_Comm_split(comm_old, 0, vertex, &ordered);
  // An error of one rank alone must not keep it from what all are in.
  std::exception_ptr failure;
  try {
    if (ordered != MPI_COMM_NULL) create(ordered, arguments, info, graph);
  } catch (...) {
    failure = std::current_exception();
  }
  if (ordered != MPI_COMM_NULL) MPI_Comm_free(&ordered);
  check_mpi(code, "MPI_Comm_split");
  if (failure) std::rethrow_exception(failure);
}

/// What all ranks have found in `info` and agree on.
struct AgreedHints {
  HintTexts texts;
  Hints hints;
  Agreement nodes;  ///< as from agree_on_nodes, with flags

  /// All ranks are single-threaded.
  [[nodiscard]] bool single() const { return nodes.flags[0]; }
};

/// Collective over `comm`. `look` looks at the other arguments and returns what else this rank says, three flags; what
/// it throws, all ranks throw. `texts` gives the hints after that. `edges`: what `look` has found, to compare their two
/// sides; on all ranks or on none.
template <class Texts, class Look>
AgreedHints agree_on_hints(Communicator& communicator, const PrivateComm& comm, Texts&& texts,
                           const std::string& adopter, Look&& look, const RankPattern* edges = nullptr) {
  AgreedHints agreed;
  agreed.hints.strategy.row = &strategies().front();
  Flags mine{single_threaded()};
  std::optional<Rank> region;
  std::exception_ptr failure;
  try {
    std::ranges::copy(look(), mine.begin() + 1);
    agreed.texts = texts();
    agreed.hints = resolve_hints(agreed.texts, {});
    agreed.hints.adopter = adopter;
    communicator.read_descriptions(agreed.hints);
    region = communicator.known_region(agreed.hints);
  } catch (...) {
    failure = std::current_exception();
  }
  std::optional<std::uint64_t> sum;
  if (edges != nullptr) sum = edge_sum(comm.rank(), *edges);
  agreed.nodes = agree(comm, failure, agreed.hints, mine, region, sum);
  return agreed;
}

/// The second flag of the result: whether all ranks want to reorder.
AgreedHints agree_on_graph(Communicator& communicator, const PrivateComm& priv, const GraphArguments& arguments,
                           MPI_Info info, int reorder, bool wanted, const char* wanted_name) {
  AgreedHints agreed = agree_on_hints(
      communicator, priv, [&] { return hints_in(info); }, {},
      [&] {
        require(wanted, ErrorKind::argument, std::string(wanted_name) + " is NULL");
        check_side(arguments.sources, priv.size());
        check_side(arguments.destinations, priv.size());
        return std::array{reorder != 0};
      });
  if (agreed.hints.check) check_edges(priv, edges_of(arguments));
  return agreed;
}

/// Whether ranks whose neighbors are these are one piece of a graph.
bool are_connected(const std::vector<Bytes>& neighbors) {
  std::vector<Rank> heads(neighbors.size());
  std::iota(heads.begin(), heads.end(), 0);
  const auto head_of = [&](Rank rank) {
    while (heads[static_cast<std::size_t>(rank)] != rank)
      rank = heads[static_cast<std::size_t>(rank)] =
          heads[static_cast<std::size_t>(heads[static_cast<std::size_t>(rank)])];
    return rank;
  };
  std::size_t pieces = neighbors.size();
  for (std::size_t rank = 0; rank < neighbors.size(); ++rank)
    for (Reader reader(neighbors[rank]); !reader.done();) {
      const Rank one = head_of(static_cast<Rank>(rank));
      const Rank other = head_of(reader.get<int>());
      if (one == other) continue;
      heads[static_cast<std::size_t>(std::max(one, other))] = std::min(one, other);
      --pieces;
    }
  return pieces == 1;
}

/// Whether the ranks of `comm` are one piece of the graph that has their edges. The first one looks at all of them.
/// Collective.
bool is_connected(const PrivateComm& comm, const Topology& topology) {
  std::vector<int> mine;
  for (const std::vector<Neighbor>* neighbors : {&topology.sources, &topology.destinations})
    for (const Neighbor& neighbor : *neighbors) mine.push_back(neighbor.rank);
  sort_unique(mine);
  Writer writer;
  for (const int rank : mine) writer.put(rank);
  const Bytes answer = ControlRounds(comm).ask_first_rank(
      writer.take(), [](const std::vector<Bytes>& neighbors) { return are_connected(neighbors) ? Bytes(1) : Bytes(); });
  return !answer.empty();
}

/// MPI libraries compare sizes only between ranks that communicate: what has nothing to do with each other may differ
/// in size, and cannot be relayed together in calls that agree on nothing. Collective.
void relay_in_one_piece_only(Communicator& communicator, const Hints& hints) {
  std::shared_ptr<Routes>& routes = plans_of_calls(communicator).routes;
  if (!routes || is_connected(*communicator.private_comm(), communicator.topology())) return;
  if (hints.strategy.is_automatic())
    routes = nullptr;
  else
    routes->relay_nothing();
}

/// For operations that cannot plan in their calls. Collective. Operations whose plans or trials need a private
/// duplicate find one that is ready.
void prepare_plans(Communicator& communicator, const Hints& hints, const Agreement& nodes) {
  PlansOfCalls& has = plans_of_calls(communicator);
  has.routes = Routes::make(communicator, hints, nodes);
  if (hints.fixed_counts || has.routes) (void)communicator.private_comm();
  has.fixed_counts = hints.fixed_counts;
  has.split_phases_relay = may_relay(hints.progress, nodes.have_helpers);
}

/// The ranks of `comm` on which `flag` is set, in their order. Collective.
std::vector<Rank> find_ranks(const PrivateComm& comm, bool flag) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(comm.size()));
  flags[static_cast<std::size_t>(comm.rank())] = flag ? 1 : 0;
  flags = reduce_progressing(flags, MPI_UINT8_T, MPI_MAX, comm);
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < comm.size(); ++rank)
    if (flags[static_cast<std::size_t>(rank)] != 0) ranks.push_back(rank);
  return ranks;
}

/// A graph communicator of the ranks of `comm`, with the lists of `topology` in their order. Collective.
void create_graph_among(PrivateComm& comm, const Topology& topology) {
  const auto list = [](const std::vector<Neighbor>& neighbors, int degree) {
    std::vector<int> ranks(static_cast<std::size_t>(degree), MPI_PROC_NULL);
    for (const Neighbor& neighbor : neighbors) ranks[static_cast<std::size_t>(neighbor.slot)] = neighbor.rank;
    ranks.push_back(MPI_PROC_NULL);  // some MPI libraries refuse null arrays
    return ranks;
  };
  const std::vector<int> sources = list(topology.sources, topology.indegree);
  const std::vector<int> destinations = list(topology.destinations, topology.outdegree);
  comm.meet();
  MPI_Comm graph = MPI_COMM_NULL;
  const int code =
      MPI_Dist_graph_create_adjacent(comm.get(), topology.indegree, sources.data(), MPI_UNWEIGHTED, topology.outdegree,
                                     destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  if (graph != MPI_COMM_NULL) comm.keep_graph(graph);
  check_mpi(code, "MPI_Dist_graph_create_adjacent");
}

/// Those in `region` that are `members`, too.
Region among(const Region& region, const std::vector<Rank>& members) {
  Region common{region.id, {}};
  std::ranges::set_intersection(region.members, members, std::back_inserter(common.members));
  return common;
}

/// The same for a communicator that has been restricted to some ranks. Collective over them.
void prepare_members(Communicator& communicator, const Hints& hints) {
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  together(*comm, [&] {
    if (hints.fixed_counts) create_graph_among(*comm, communicator.topology());
    prepare_plans(communicator, hints, agree_on_nodes(communicator, hints));
    relay_in_one_piece_only(communicator, hints);
  });
}

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
  MPI_Comm made = MPI_COMM_NULL;
  const auto make = [&] {
    AgreedHints agreed = agree_on_graph(old, *priv, arguments, info, reorder, comm_new != nullptr, "comm_dist_graph");
    std::optional<Role> role;
    GraphLists lists = lists_of(arguments);
    if (agreed.nodes.flags[1]) {
      const Region& node = old.node(agreed.hints.machine);
      role = find_role(*priv, node, lists, agreed.hints);
      if (role->reordering.moved > 0) lists = take_over(*priv, *role, lists);
    }
    const bool same_order = !role || role->reordering.moved == 0;
    if (!simulated) priv->meet();
    if (same_order)
      create(comm_old, arguments, info, &made);
    else
      create_reordered(comm_old, lists, info, role->vertex, &made);
    Communicator& fresh = same_order ? Communicator::derive(made, priv) : Communicator::of(made, priv.get());
    if (same_order && !agreed.single()) fresh.part_from_parent();
    // Otherwise a nonblocking call would have to wait for a duplicate that it has only begun, and nobody would go on.
    if (!agreed.nodes.have_helpers || !duplicates_apart()) (void)fresh.private_comm();
    // What MPI says of a graph may be wrong: it may have the topology of the communicator that the graph is made from.
    fresh.set_topology(graph_topology(lists.sources, lists.destinations));
    fresh.hints = std::move(agreed.texts);
    if (role) fresh.reordering = role->reordering;
    prepare_plans(fresh, agreed.hints, same_order ? agreed.nodes : agree_on_nodes(fresh, agreed.hints));
  };
  try {
    together(*priv, make);
  } catch (...) {
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
    throw;
  }
  *comm_new = made;
}

namespace {

/// The private duplicate of all ranks of `comm_old`, for `comm`, which was made from it; null if their ranks differ.
std::shared_ptr<PrivateComm> parent_of(MPI_Comm comm_old, MPI_Comm comm) {
  int same = MPI_UNEQUAL;
  check_mpi(MPI_Comm_compare(comm_old, comm, &same), "MPI_Comm_compare");
  return same == MPI_CONGRUENT ? Communicator::of(comm_old).private_comm_of_all() : nullptr;
}

/// Collective over `all`. `derived`: whether `fresh` shares it with another.
void adopt_on(Communicator& fresh, const PrivateComm& all, bool derived, MPI_Info info, const Adopter& adopter) {
  bool has_neighbors = false;
  AgreedHints agreed = agree_on_hints(
      fresh, all, [&] { return hints_in(info); }, adopter.settings,
      [&] {
        if (adopter.failure) std::rethrow_exception(adopter.failure);
        fresh.set_topology(read_distributed_graph(adopter.graph));
        const Topology& topology = fresh.topology();
        has_neighbors = !topology.sources.empty() || !topology.destinations.empty();
        if (has_neighbors) all.is_in_part();
        return std::array{!has_repeated_edges(topology), has_neighbors, adopter.progresses};
      });
  const Hints& hints = agreed.hints;
  const auto [single, repeats_nothing, all_have_neighbors, progresses] = agreed.nodes.flags;
  Adopted& adopted = fresh.attachment<Adopted>();
  adopted.repeated_edges = !repeats_nothing;
  adopted.progresses = progresses;
  fresh.hints = std::move(agreed.texts);
  if (all_have_neighbors) {
    if (derived && !single) fresh.part_from_parent();
    prepare_plans(fresh, hints, agreed.nodes);
    relay_in_one_piece_only(fresh, hints);
    return;
  }
  const std::vector<Rank> members = find_ranks(all, has_neighbors);
  const Region region_of_members = among(fresh.regions(hints, agreed.nodes.knows_nodes).front(), members);
  const bool routes = Routes::wanted(hints, region_of_members, static_cast<Rank>(members.size()));
  fresh.restrict_to(members, single);
  if (!fresh.idle && (routes || hints.fixed_counts)) prepare_members(fresh, hints);
  // Those without neighbours know what the others do with operations on this communicator.
  const std::vector<int> found = {plans_of_calls(fresh).routes ? 1 : 0};
  const bool any_routes = reduce_progressing(found, MPI_INT, MPI_MAX, all).front() != 0;
  if (!fresh.idle) return;
  plans_of_calls(fresh).fixed_counts = hints.fixed_counts;
  if (any_routes) plans_of_calls(fresh).routes = std::make_shared<Routes>();
}

}  // namespace

void adopt_graph(MPI_Comm comm_old, MPI_Comm comm, MPI_Info info, const Adopter& adopter) {
  const std::shared_ptr<PrivateComm> parent = parent_of(comm_old, comm);
  try {
    Communicator* const known = parent ? nullptr : &Communicator::of(comm);
    const std::shared_ptr<PrivateComm> all = parent ? parent : known->private_comm();
    together(*all, [&] {
      Communicator& fresh = parent ? Communicator::derive(comm, parent) : *known;
      adopt_on(fresh, *all, parent != nullptr, info, adopter);
    });
  } catch (...) {
    Communicator::forget(comm);
    throw;
  }
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
  return together(*priv, [&] {
    AgreedHints agreed = agree_on_graph(communicator, *priv, arguments, info, 0, wanted, "topology");
    const auto ranks = [](const GraphSide& side) { return std::vector<int>(side.ranks, side.ranks + side.degree); };
    auto made = Communicator::with_topology(
        comm, priv, graph_topology(ranks(arguments.sources), ranks(arguments.destinations)), agreed.single());
    made->hints = std::move(agreed.texts);
    prepare_plans(*made, agreed.hints, agreed.nodes);
    return made;
  });
}

Topology shrink(const Topology& topology, const RankTranslation& ranks) {
  Topology fewer{{}, {}, topology.indegree, topology.outdegree};
  const auto keep = [&](const std::vector<Neighbor>& neighbors, std::vector<Neighbor>& kept) {
    for (const Neighbor& neighbor : neighbors)
      if (const Rank rank = ranks(neighbor.rank); rank != MPI_PROC_NULL) kept.push_back({rank, neighbor.slot});
  };
  keep(topology.sources, fewer.sources);
  keep(topology.destinations, fewer.destinations);
  return fewer;
}

std::unique_ptr<Communicator> make_shrunken(MPI_Comm comm, Neighborhoods found, const std::exception_ptr& failure) {
  Communicator& communicator = Communicator::of(comm);
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  return together(*priv, [&] {
    RankPattern edges;
    AgreedHints agreed = agree_on_hints(
        communicator, *priv, [&] { return found.hints; }, {},
        [&] {
          if (failure) std::rethrow_exception(failure);
          for (const Neighbor& to : found.topology.destinations) edges.out.push_back({to.rank, {{0, 1}}});
          for (const Neighbor& from : found.topology.sources) edges.in.push_back({from.rank, {{from.slot, 1}}});
          return std::array{false};
        },
        &edges);
    if (!agreed.nodes.edges_match || agreed.hints.check) check_edges(*priv, edges);
    auto made = Communicator::with_topology(comm, priv, std::move(found.topology), agreed.single());
    made->hints = std::move(agreed.texts);
    prepare_plans(*made, agreed.hints, agreed.nodes);
    return made;
  });
}

std::unique_ptr<Communicator> copy_topology(MPI_Comm comm, bool wanted) {
  Communicator& communicator = Communicator::of(comm);
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  return together(*priv, [&] {
    Hints none;
    none.strategy.row = &strategies().front();
    std::exception_ptr failure;
    try {
      require(wanted, ErrorKind::argument, "topology is NULL");
      (void)communicator.topology();
    } catch (...) {
      failure = std::current_exception();
    }
    const bool single = agree(*priv, failure, none, {single_threaded()}).flags.front();
    auto made = Communicator::with_topology(comm, priv, communicator.topology(), single);
    made->hints = communicator.hints;
    // Of its own: what it plans from now on must not depend on the calls of the other, which have another order.
    const PlansOfCalls& has = plans_of_calls(communicator);
    PlansOfCalls& copy = plans_of_calls(*made);
    if (has.routes) copy.routes = std::make_shared<Routes>(*has.routes);
    copy.fixed_counts = has.fixed_counts;
    copy.split_phases_relay = has.split_phases_relay;
    return made;
  });
}

}  // namespace laneway
