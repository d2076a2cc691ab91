#pragma once

#include "communicator/arguments/call.hpp"
#include "communicator/communicator.hpp"
#include "preload/report/rows.hpp"

namespace laneway::interpose {

/// A call of an operation under the promise of fixed counts, on a communicator that was adopted: null if its plan is to
/// be used, otherwise why it is left to the MPI library. The first LANEWAY_PRELOAD_AFTER calls of a kind are; then it
/// is planned, and so are all calls if nothing is relayed. If something is, up to LANEWAY_PRELOAD_TRIAL calls each are
/// timed with the plan and without, and the faster way is kept. All ranks find the same; in the call that plans, and in
/// those that compare, after eight calls each and after the trial, they wait for each other. A plan that is kept is
/// compared with the MPI library's own now and then (Sampling). `row` is that of the call.
const char* reason_against_plan(Communicator& adopted, const Call& call, const std::shared_ptr<Row>& row) noexcept;

}  // namespace laneway::interpose
