#include "operations/collective/family.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "communicator/control/control_rounds.hpp"
#include "operations/collective/execution/own.hpp"
#include "operations/collective/execution/shared_device.hpp"
#include "operations/collective/execution/windows.hpp"
#include "operations/plans/proof.hpp"

namespace laneway {

namespace {

constexpr const char* no_windows = "the MPI library has no windows on these ranks";

/// Of blocks whose sizes their two ends know: the mean, and of all-to-alls what the busiest rank and node exchange with
/// other nodes. Collective: one sum, in which each rank has a place of its own for what is no sum.
void agree_on_sizes(CheckedCollective& checked, const Layout& layout, const PrivateComm& comm) {
  const bool is_exchange = checked.facts.kind == Dense::alltoall;
  const auto rank = static_cast<std::size_t>(comm.rank());
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto nodes = 2 * static_cast<std::size_t>(layout.regions());  // sent, received
  std::vector<std::int64_t> sums(is_exchange ? 1 + ranks + nodes : 1);
  sums[0] = checked.bytes_of_blocks();
  if (is_exchange) {
    const Rank home = layout.region(comm.rank());
    const DenseCall blocks = checked.blocks();
    std::int64_t* const of_node = &sums[1 + ranks + 2 * static_cast<std::size_t>(home)];
    for (Rank peer = 0; peer < comm.size(); ++peer) {
      if (layout.region(peer) == home) continue;
      of_node[0] += blocks.bytes(comm.rank(), peer);
      of_node[1] += blocks.bytes(peer, comm.rank());
    }
    sums[1 + rank] = std::max(of_node[0], of_node[1]);
  }
  sums = reduce_progressing(sums, MPI_INT64_T, MPI_SUM, comm);
  checked.facts.bytes = sums[0] / static_cast<std::int64_t>(has_root(checked.call.kind) ? ranks : ranks * ranks);
  if (!is_exchange) return;
  const auto after_ranks = sums.begin() + 1 + comm.size();
  checked.facts.of_busiest_rank = *std::ranges::max_element(sums.begin() + 1, after_ranks);
  checked.facts.of_busiest_node = *std::ranges::max_element(after_ranks, sums.end());
}

}  // namespace

void CollectiveFamily::propose(Proposal& proposal) {
  (void)read_collective(hints_.collective, call_.kind);
  checked_.emplace(call_, comm_.rank(), comm_.size(), is_by_rank(hints_.order));
  proposal.flags = {is_on_host(call_)};
}

int CollectiveFamily::agreed(Agreement agreement) {
  are_on_hosts_ = agreement.flags[0];
  const int tag = comm_.take_tags();
  known_ = learn_dense(communicator_, comm_, hints_, agreement.knows_nodes, agreement.have_helpers);
  if (hints_.check) compare_collective(comm_, call_, checked_->block_bytes);
  if (!knows_all_sizes(call_.kind)) agree_on_sizes(*checked_, known_->layout, comm_);
  return tag;
}

Candidates CollectiveFamily::candidates(Use use) {
  const bool is_request = use == Use::request;
  if (is_request && !are_on_hosts_) {
    Reasons reasons;
    on_device_ = make_on_shared_device(communicator_, known_, comm_, *checked_, info_, reasons);
    if (on_device_) return {.reasons = reasons, .only = reasons.strategy};
  }
  Candidates candidates = candidates_of(
      *known_, *checked_, {.phases = phases_, .know_mean = true, .use_memory = true, .exceed_limit = is_request});
  if (!is_request) return candidates;
  DenseAutotuner& calls = communicator_.attachment<DenseAutotuner>();
  if (are_on_hosts_ && candidates.only.empty()) {
    if (checked_->is_of_one_rule())
      found_ = calls.try_sums(CallForm::persistent, *checked_, known_, communicator_, comm_, users_);
    else
      tuned_ = calls.find(CallForm::persistent, *checked_, known_);
  }
  const bool measures = hints_.tuning == Tuning::measure;
  if (tuned_) calls.count(*tuned_, measures ? std::numeric_limits<double>::infinity() : hints_.exchanges);
  if (calls.are_due()) calls.tune(communicator_, comm_, users_);
  return candidates;
}

std::optional<TrialResult> CollectiveFamily::tuned(Candidates&) {
  const TrialResult* const found = tuned_ ? tuned_->found() : found_;
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

void CollectiveFamily::plan(const std::string& candidate, Chosen& chosen) {
  rule_ = on_device_ ? nullptr : find_rule(checked_->facts.kind, candidate);
  if (rule_ == nullptr || rule_->traits.windows != Windows::none) return;
  Planned planned = plan_on_node(communicator_, comm_, *known_, plan_dense(*known_, *rule_, comm_, *checked_));
  chosen.reasons.transport_reason = std::move(planned.reasons.transport_reason);
  chosen.ready = ready_plan(*checked_, std::move(planned.plan), std::move(planned.memory));
  chosen.node = known_->node;
  if (phases_ == Phases::one) chosen.bindings = bindings_of_blocking;
}

void CollectiveFamily::prove(const Plan& plan, std::string_view what) const {
  prove_dense_plans(comm_, plan, checked_->blocks(), what);
}

std::unique_ptr<Work> CollectiveFamily::work_without_plan(Chosen& chosen) {
  if (on_device_) return std::move(on_device_);
  if (rule_ != nullptr) {
    auto plan = std::make_shared<const Plan>(plan_dense(*known_, *rule_, comm_, *checked_));
    if (auto exchange = make_in_windows(comm_.shared_from_this(), checked_->blocks(), buffers(), rule_->traits.windows,
                                        std::move(plan), WindowUse::again))
      return exchange;
    chosen.reasons = mpi_reasons(no_windows);
  }
  return Place(comm_.get()).make(call_);
}

}  // namespace laneway
