#include "operations/pipeline/pipeline.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "communicator/background.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "communicator/decisions.hpp"
#include "operations/choose/chooser.hpp"
#include "operations/request/nonblocking.hpp"
#include "operations/request/persistent_exchange.hpp"

namespace laneway {

namespace {

std::unique_ptr<Work> bind_to_constant(ExchangeParts parts, Buffers buffers, Reasons& reasons) {
  auto work = std::make_unique<ConstantExchange>(std::move(parts));
  reasons.progress_by = work->bind(buffers);
  return work;
}

bool touches(const std::vector<Edge>& edges) {
  return std::ranges::any_of(edges, [](const Edge& edge) { return !edge.ranges.empty(); });
}

/// Whether a request that has no buffers yet is bound all the same, since it touches none.
bool binds_at_once(const AlgorithmFamily& family, const Chosen& chosen) {
  const bool has_any = family.buffers().send != nullptr || family.buffers().receive != nullptr;
  const RankPattern* const pattern = family.pattern();
  if (pattern != nullptr && !touches(pattern->out) && !touches(pattern->in)) return true;
  return family.has_buffers() && (has_any || !needs_buffers(*chosen.ready.plan));
}

std::unique_ptr<Work> bind(AlgorithmFamily& family, PrivateComm& comm, int tag, Chosen& chosen) {
  const bool binds = binds_at_once(family, chosen);
  const Hints& hints = family.hints();
  ExchangeParts parts{.comm = comm.shared_from_this(), .tag = tag, .ready = std::move(chosen.ready)};
  parts.helper = find_helper(hints.progress);
  if (parts.helper == Helper::thread_for_all) employ(parts.helper);
  parts.node = std::move(chosen.node);
  parts.partitions = std::move(chosen.partitions);
  if (parts.ready.is_constant) return bind_to_constant(std::move(parts), family.buffers(), chosen.reasons);
  parts.stream = hints.stream;
  std::unique_ptr<PersistentExchange> work;
  if (parts.ready.memory && parts.ready.memory->arena)
    work = std::make_unique<SharedStagingExchange>(std::move(parts));
  else
    work = std::make_unique<PersistentExchange>(std::move(parts));
  std::exception_ptr failure;
  try {
    if (binds) chosen.reasons.progress_by = work->bind(family.buffers());
  } catch (...) {
    failure = std::current_exception();
  }
  if (!chosen.lending.members.empty()) {
    MpiBootstrap bootstrap(comm);
    (void)largest(bootstrap, chosen.lending, 0);  // all these ranks have bound their buffers
    work->prepare();
  }
  if (failure) std::rethrow_exception(failure);
  return work;
}

}  // namespace

std::unique_ptr<Work> AlgorithmFamily::work_without_plan(Chosen&) {
  internal_error("a candidate without a plan", __FILE__, __LINE__);
}

Prepared prepare(AlgorithmFamily& family, Communicator& communicator, PrivateComm& comm, MPI_Info info, Use use,
                 const char* form) {
  compare_decisions(communicator, comm);
  const int tag = family.agreed(
      agree_on_hints(communicator, comm, info, family.hints(), [&](Proposal& proposal) { family.propose(proposal); }));
  Chosen chosen = choose(family, use);
  const Reasons& reasons = chosen.reasons;
  note_decision(communicator, [&] {
    return std::string(form) + family.name() + ": " + reasons.strategy +
           (reasons.progress_reason.empty() ? "" : ", relays nothing") + ", tag " + std::to_string(tag);
  });
  log_reasons(reasons, comm.rank());
  return {std::move(chosen), tag};
}

std::unique_ptr<Request> make_request(AlgorithmFamily& family, Communicator& communicator, PrivateComm& comm,
                                      MPI_Info info) {
  auto [chosen, tag] = prepare(family, communicator, comm, info, Use::request, "persistent ");
  const bool has_plan = chosen.ready.plan != nullptr;
  std::unique_ptr<Work> work = has_plan ? bind(family, comm, tag, chosen) : family.work_without_plan(chosen);
  if (has_plan && family.hints().check_plan) family.prove(work->plan(), chosen.reasons.strategy);
  return std::make_unique<Request>(comm.shared_from_this(), communicator.error_handler(), std::move(work),
                                   std::move(chosen.reasons));
}

}  // namespace laneway
