#include "interpose/fixed.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "arguments/hints.hpp"
#include "comm/mailbox.hpp"
#include "core/tell.hpp"
#include "interpose/report.hpp"
#include "interpose/trial.hpp"
#include "operate/fixed_operation.hpp"

namespace laneway::interpose {

namespace {

constexpr std::int64_t default_after = 20;
constexpr std::int64_t default_trial = 20;
/// Trials are not exact. What a plan saves must be more than they err.
constexpr double least_gain = 0.03;
/// A difference by which a trial may end early.
constexpr double clear_difference = 0.15;

constexpr const char* too_early = "among the first of their kind, for which nothing is planned (LANEWAY_PRELOAD_AFTER)";
constexpr const char* nothing_relayed = "direct messages are expected to be as fast as any relays";
constexpr const char* compared = "to compare the MPI library's own with the plan (LANEWAY_PRELOAD_TRIAL)";
constexpr const char* slower = "the plan was tried and saves nothing (LANEWAY_PRELOAD_TRIAL)";

/// A number of calls; the fallback where there is none.
std::int64_t calls_of(const char* variable, std::int64_t fallback) {
  const char* const found = std::getenv(variable);
  if (found == nullptr || *found == '\0') return fallback;
  const std::string_view text = found;
  std::int64_t calls = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), calls);
  if (error == std::errc() && end == text.data() + text.size() && calls >= 0) return calls;
  throw Error(ErrorKind::argument, std::string(variable) + " is " + found + ", not a number of calls");
}

/// What is known of the calls of one kind on one communicator.
class CallsOfKind {
 public:
  explicit CallsOfKind(const Communicator& adopted) {
    // Whoever names a strategy has chosen.
    const bool open = resolve_hints({}, adopted.hints).strategy.is_automatic();
    after_ = calls_of("LANEWAY_PRELOAD_AFTER", open ? default_after : 0);
    trial_calls_ = calls_of("LANEWAY_PRELOAD_TRIAL", open ? default_trial : 0);
  }

  const char* decide(Communicator& adopted, const FixedKey& key, const Call& call) {
    if (after_ > 0) return --after_, too_early;
    if (!planned_) plan(adopted, key, call);
    if (trial_ && trial_->over(PMPI_Wtime())) compare(*adopted.private_comm());
    if (trial_) return trial_->take() == Trial::Way::plan ? count(std::nullopt) : compared;
    return against_ == nullptr ? count(saved_) : against_;
  }

 private:
  static const char* count(std::optional<double> saved) {
    count_exchanges(1, saved);
    return nullptr;
  }

  void plan(Communicator& adopted, const FixedKey& key, const Call& call) {
    const FixedOperation& made = fixed_operation(
        adopted, key, call, trial_calls_ > 0 ? FixedOperation::Choice::to_try : FixedOperation::Choice::by_hints);
    planned_ = true;
    if (made.is_direct())
      against_ = nothing_relayed;
    else if (trial_calls_ > 0)
      trial_.emplace(trial_calls_, static_cast<std::uint64_t>(made.order()->tag()));
  }

  /// Ends the trial if it has told enough.
  void compare(const PrivateComm& comm) {
    const std::vector<double> mine = {trial_->seconds(Trial::Way::mpi), trial_->seconds(Trial::Way::plan)};
    const std::vector<double> all = reduce_progressing(mine, MPI_DOUBLE, MPI_SUM, comm);
    const bool clear = std::abs(all[0] - all[1]) > clear_difference * all[0];
    if (!clear && trial_->go_on()) return;
    saved_ = mine[0] - mine[1];
    if (all[1] > (1 - least_gain) * all[0]) against_ = slower;
    if (comm.rank() == 0 && is_verbose())
      tell("preload: a call took " + std::to_string(all[0] / comm.size()) + " s with the MPI library's own and " +
           std::to_string(all[1] / comm.size()) + " s with the plan (means of all ranks, from call to call)");
    trial_.reset();
  }

  std::int64_t after_ = 0;
  std::int64_t trial_calls_ = 0;
  bool planned_ = false;
  std::optional<Trial> trial_;
  std::optional<double> saved_;  // seconds a call of this rank
  const char* against_ = nullptr;
};

struct FixedCalls final : Attachment {
  std::map<FixedKey, CallsOfKind> known;
};

}  // namespace

const char* reason_against_plan(Communicator& adopted, const Call& call) noexcept {
  try {
    const FixedKey key = key_of(call);
    auto& known = adopted.attachment<FixedCalls>().known;
    return known.try_emplace(key, adopted).first->second.decide(adopted, key, call);
  } catch (...) {
    return nullptr;  // the call itself says what is wrong
  }
}

}  // namespace laneway::interpose
