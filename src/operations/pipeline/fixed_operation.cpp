#include "operations/pipeline/fixed_operation.hpp"

#include <optional>

#include "base/error.hpp"
#include "communicator/control/check_edges.hpp"
#include "mpi/end_job.hpp"

namespace laneway {

std::unique_ptr<const FixedOperation> make_fixed(AlgorithmFamily& family, Communicator& communicator, PrivateComm& comm,
                                                 Use use) {
  auto [chosen, tag] = prepare(family, communicator, comm, MPI_INFO_NULL, use, "fixed ");
  auto made = std::make_unique<FixedOperation>();
  made->signature = family.signature();
  if (const RankPattern* const pattern = family.pattern()) made->pattern = *pattern;
  made->reasons = std::move(chosen.reasons);
  made->order = std::make_shared<StartOrder>(comm.shared_from_this(), tag);
  if (chosen.ready.plan) {
    if (family.hints().check_plan) family.prove(*chosen.ready.plan, made->reasons.strategy);
    made->bound = std::make_shared<BoundPlan>(std::move(chosen.ready), chosen.bindings);
  }
  return made;
}

void keep_promise(const FixedOperation& fixed, const char* hint, const char* operation, const std::string& difference,
                  bool all_call) {
  const PrivateComm& comm = *fixed.order->comm();
  const auto broken_by = [&](Rank rank, const std::string& how) {
    return "rank " + std::to_string(rank) + ": " + operation + ": " + how + ", but " + hint +
           "=true promised the arguments of the first call";
  };
  if (!all_call) {
    if (difference.empty()) return;
    end_job(broken_by(comm.rank(), difference), comm.get(), MPI_ERR_ARG);
  }
  const std::optional<RankText> first = first_text(comm, difference);
  if (!first) return;
  comm.all_throw();
  throw Error(ErrorKind::argument, broken_by(first->rank, first->text));
}

}  // namespace laneway
