#pragma once

#include <mpi.h>

#include <memory>

#include "communicator/communicator.hpp"
#include "operations/pipeline/family.hpp"
#include "operations/request/request.hpp"

namespace laneway {

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
