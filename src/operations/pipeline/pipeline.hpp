#pragma once

#include <mpi.h>

#include <exception>
#include <memory>
#include <optional>

#include "communicator/communicator.hpp"
#include "communicator/control/agreement.hpp"
#include "operations/pipeline/family.hpp"
#include "operations/request/request.hpp"

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

/// What all ranks have agreed to run, by which candidate, and why.
struct Prepared {
  Chosen chosen;
  int tag = 0;  ///< the first of those that no other plan on the communicator has
};
/// The stages up to the plan: agree, choose, plan. If the arguments of any rank are bad, all ranks throw. `form`: of
/// the call, for lnw_check=decisions. Collective, as a step that all ranks complete or none (`together`).
[[nodiscard]] Prepared prepare(AlgorithmFamily& family, Communicator& communicator, PrivateComm& comm, MPI_Info info,
                               Use use, const char* form);

/// A persistent operation: prepared, bound and proven. Collective as `prepare`.
[[nodiscard]] std::unique_ptr<Request> make_request(AlgorithmFamily& family, Communicator& communicator,
                                                    PrivateComm& comm, MPI_Info info);

}  // namespace laneway
