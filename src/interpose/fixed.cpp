#include "interpose/fixed.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "arguments/hints.hpp"
#include "comm/mailbox.hpp"
#include "core/tell.hpp"
#include "core/trial.hpp"
#include "operate/fixed_operation.hpp"

namespace laneway::interpose {

namespace {

constexpr std::int64_t default_after = 20;
constexpr const char* too_early = "among the first of their kind, for which nothing is planned (LANEWAY_PRELOAD_AFTER)";
constexpr const char* nothing_relayed = "direct messages are expected to be as fast as any relays";
constexpr const char* compared = "to compare the MPI library's own with the plan (LANEWAY_PRELOAD_TRIAL)";
constexpr const char* slower = "the plan was tried and saves nothing (LANEWAY_PRELOAD_TRIAL)";

/// What is known of the calls of one kind on one communicator.
class CallsOfKind {
 public:
  CallsOfKind(const Communicator& adopted, std::shared_ptr<Row> row) : row_(std::move(row)) {
    // Whoever names a strategy has chosen.
    const bool open = resolve_hints({}, adopted.hints).strategy.is_automatic();
    after_ = calls_of("LANEWAY_PRELOAD_AFTER", open ? default_after : 0);
    trial_calls_ = calls_of("LANEWAY_PRELOAD_TRIAL", open ? trial_of_calls.samples : 0);
  }

  const char* decide(Communicator& adopted, const FixedKey& key, const Call& call) {
    if (after_ > 0) return --after_, too_early;
    if (!planned_) make_plan(adopted, key, call);
    if (is_tried_) take_time(*adopted.private_comm());
    if (is_tried_) return row_->samples->trial.way() == Way::plan ? nullptr : compared;
    if (against_ != nullptr || !sampling_) return against_;
    return sampling_->next(*row_->samples) == Way::plan ? nullptr : kept_alive_by_samples;
  }

 private:
  void make_plan(Communicator& adopted, const FixedKey& key, const Call& call) {
    const FixedOperation& made = fixed_operation(adopted, key, call, trial_calls_ > 0 ? Use::trial : Use::calls);
    planned_ = true;
    note_plan(*row_, made.reasons());
    if (made.is_direct()) {
      against_ = nothing_relayed;
    } else if (trial_calls_ > 0) {
      is_tried_ = true;
      row_->samples.emplace(rules(), static_cast<std::uint64_t>(made.order()->tag()));
    }
  }

  [[nodiscard]] TrialRules rules() const {
    TrialRules rules = trial_of_calls;
    rules.samples = trial_calls_;
    rules.keep = std::max(trial_calls_, samples_of_calls.keep);
    return rules;
  }

  /// From the call before to this one: work for others, or on a core that ranks share, costs time outside the
  /// operation, too.
  void take_time(const PrivateComm& comm) {
    const double now = PMPI_Wtime();
    if (begin_) row_->samples->trial.add(now - *begin_);
    begin_ = now;
    if (row_->samples->trial.is_due()) compare(comm);
  }

  /// Ends the trial if it has told enough.
  void compare(const PrivateComm& comm) {
    Trial& trial = row_->samples->trial;
    const std::vector<double> all = reduce_progressing(trial.typical(), MPI_DOUBLE, MPI_SUM, comm);
    const std::optional<std::size_t> best = trial.decide(all);
    if (!best) return;
    is_tried_ = false;
    if (*best == Way::mpi)
      against_ = slower;
    else if (report_wanted().form != ReportForm::none)
      sampling_.emplace(seed_of(*row_));
    if (comm.rank() == 0 && is_verbose("interpose"))
      tell("preload: a call took " + std::to_string(all[Way::mpi] / comm.size()) +
           " s with the MPI library's own and " + std::to_string(all[Way::plan] / comm.size()) +
           " s with the plan (means of all ranks, from call to call)");
  }

  std::shared_ptr<Row> row_;  // of the first call
  std::int64_t after_ = 0;
  std::int64_t trial_calls_ = 0;
  bool planned_ = false;
  bool is_tried_ = false;
  std::optional<double> begin_;  // of the call before
  std::optional<Sampling> sampling_;
  const char* against_ = nullptr;
};

struct FixedCalls final : Attachment {
  std::map<FixedKey, CallsOfKind> known;
};

}  // namespace

const char* reason_against_plan(Communicator& adopted, const Call& call, const std::shared_ptr<Row>& row) noexcept {
  try {
    const FixedKey key = key_of(call);
    auto& known = adopted.attachment<FixedCalls>().known;
    return known.try_emplace(key, adopted, row).first->second.decide(adopted, key, call);
  } catch (...) {
    return nullptr;  // the call itself says what is wrong
  }
}

}  // namespace laneway::interpose
