#pragma once

#include <exception>
#include <optional>
#include <utility>

#include "communicator/communicator.hpp"
#include "communicator/control/agreement.hpp"
#include "operations/pipeline/family.hpp"

namespace laneway {

/// Hints are those in `info`, then the communicator's; `look` says what else this rank proposes. If either fails on any
/// rank, all ranks throw. Collective.
template <class Look>
Agreement agree_on_hints(Communicator& communicator, const PrivateComm& comm, MPI_Info info, Hints& hints,
                         Look&& look) {
  Proposal proposal;
  std::optional<Rank> region;
  std::exception_ptr failure;
  hints.strategy.row = &strategies().front();
  try {
    hints = resolve_hints(hints_in(info), communicator.hints);
    communicator.read_descriptions(hints);
    region = communicator.known_region(hints);
    look(proposal);
  } catch (...) {
    failure = std::current_exception();
  }
  Agreement agreement =
      agree(comm, failure, hints, proposal.flags, region, proposal.edges, proposal.planner, proposal.control_messages);
  communicator.learn_regions(hints, agreement.regions);
  communicator.knows_nodes = agreement.knows_nodes;
  return agreement;
}

}  // namespace laneway
