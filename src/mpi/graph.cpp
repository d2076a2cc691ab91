#include "mpi/graph.hpp"

#include <exception>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check_edges.hpp"
#include "mpi/communicator.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

void check_side(const GraphSide& side, Rank size) {
  const std::string ranks = side.ranks_name;
  require(side.degree >= 0, ErrorKind::argument, std::string(side.degree_name) + " is " + std::to_string(side.degree));
  require(side.ranks != nullptr || side.degree == 0, ErrorKind::argument,
          ranks + " is NULL with " + std::to_string(side.degree) + " neighbors");
  const bool weighted = side.weights != MPI_UNWEIGHTED && side.weights != MPI_WEIGHTS_EMPTY;
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

/// The hints in `info`, once all ranks have found their arguments good.
HintTexts agree_on_graph(Communicator& communicator, const PrivateComm& priv, const GraphArguments& arguments,
                         MPI_Info info, bool wanted, const char* wanted_name) {
  HintTexts texts;
  Hints hints;
  hints.strategy.row = &strategies().front();
  std::exception_ptr failure;
  try {
    require(wanted, ErrorKind::argument, std::string(wanted_name) + " is NULL");
    check_side(arguments.sources, priv.size());
    check_side(arguments.destinations, priv.size());
    texts = hints_in(info);
    hints = resolve_hints(texts, {});
    if (!hints.machine.empty()) (void)communicator.node(hints.machine);
  } catch (...) {
    failure = std::current_exception();
  }
  agree(priv, failure, hints, true);
  if (hints.check) check_edges(priv, edges_of(arguments));
  return texts;
}

}  // namespace

void create_graph(MPI_Comm comm_old, const GraphArguments& arguments, MPI_Info info, int reorder, MPI_Comm* comm_new) {
  Communicator& old = Communicator::of(comm_old);
  const std::shared_ptr<PrivateComm> priv = old.private_comm();
  HintTexts texts = agree_on_graph(old, *priv, arguments, info, comm_new != nullptr, "comm_dist_graph");
  const GraphSide& in = arguments.sources;
  const GraphSide& out = arguments.destinations;
  check_mpi(MPI_Dist_graph_create_adjacent(comm_old, in.degree, in.ranks, in.weights, out.degree, out.ranks,
                                           out.weights, info, reorder, comm_new),
            "MPI_Dist_graph_create_adjacent");
  Communicator& fresh = reorder ? Communicator::of(*comm_new) : Communicator::derive(*comm_new, priv);
  fresh.hints = std::move(texts);
}

std::unique_ptr<Communicator> create_topology(MPI_Comm comm, const GraphArguments& arguments, MPI_Info info,
                                              bool wanted) {
  Communicator& communicator = Communicator::of(comm);
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  HintTexts texts = agree_on_graph(communicator, *priv, arguments, info, wanted, "topology");
  const auto ranks = [](const GraphSide& side) { return std::vector<int>(side.ranks, side.ranks + side.degree); };
  auto made =
      Communicator::with_topology(comm, graph_topology(ranks(arguments.sources), ranks(arguments.destinations)));
  made->hints = std::move(texts);
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
  agree(*priv, failure, none, true);
  auto made = Communicator::with_topology(comm, communicator.topology());
  made->hints = communicator.hints;
  return made;
}

}  // namespace laneway
