#include "preload/report/tried.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/log_line.hpp"
#include "communicator/control/control_rounds.hpp"

namespace laneway::interpose {

namespace {

constexpr std::int64_t default_after = 20;
constexpr const char* compared = "to compare the MPI library's own with the plan (LANEWAY_PRELOAD_TRIAL)";
constexpr const char* slower = "the plan was tried and saves nothing (LANEWAY_PRELOAD_TRIAL)";

TrialRules rules_of(std::int64_t calls) {
  TrialRules rules = trial_of_calls;
  rules.samples = calls;
  rules.keep = std::max(calls, samples_of_calls.keep);
  return rules;
}

}  // namespace

std::int64_t TriedCalls::first_calls(bool open) {
  return calls_of("LANEWAY_PRELOAD_AFTER", open ? default_after : 0);
}

TriedCalls::TriedCalls(bool open, std::int64_t after, std::shared_ptr<Row> row)
    : row_(std::move(row)),
      after_(after),
      trial_calls_(calls_of("LANEWAY_PRELOAD_TRIAL", open ? trial_of_calls.samples : 0)) {}

void TriedCalls::begin(const PlanMade& made) {
  against_ = made.against;
  state_ = against_ != nullptr || trial_calls_ == 0 ? State::decided : State::tried;
  if (state_ == State::tried) row_->samples.emplace(rules_of(trial_calls_), made.seed);
}

const char* TriedCalls::way() {
  if (state_ == State::tried) return row_->samples->trial.way() == Way::plan ? nullptr : compared;
  if (against_ != nullptr || !sampling_) return against_;
  return sampling_->next(*row_->samples) == Way::plan ? nullptr : kept_alive_by_samples;
}

void TriedCalls::take_time(const PrivateComm& comm) {
  const double now = PMPI_Wtime();
  if (begin_) row_->samples->trial.add(now - *begin_);
  begin_ = now;
  if (row_->samples->trial.is_due()) compare(comm);
}

void TriedCalls::compare(const PrivateComm& comm) {
  Autotuner& trial = row_->samples->trial;
  const std::vector<double> all = reduce_progressing(trial.typical(), MPI_DOUBLE, MPI_SUM, comm);
  const std::optional<std::size_t> best = trial.decide(all);
  if (!best) return;
  state_ = State::decided;
  if (*best == Way::mpi)
    against_ = slower;
  else if (report_wanted().form != ReportForm::none)
    sampling_.emplace(seed_of(*row_));
  if (comm.rank() == 0 && is_verbose("interpose"))
    log_line("preload: a call took " + std::to_string(all[Way::mpi] / comm.size()) +
             " s with the MPI library's own and " + std::to_string(all[Way::plan] / comm.size()) +
             " s with the plan (means of all ranks, from call to call)");
}

}  // namespace laneway::interpose
