#include "interpose/fixed.hpp"

#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "arguments/hints.hpp"
#include "comm/mailbox.hpp"
#include "core/tell.hpp"
#include "core/trial.hpp"
#include "interpose/report.hpp"
#include "operate/fixed_operation.hpp"

namespace laneway::interpose {

namespace {

constexpr std::int64_t default_after = 20;
/// Of a trial.
enum Way : std::size_t { mpi, plan };

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
    trial_calls_ = calls_of("LANEWAY_PRELOAD_TRIAL", open ? trial_of_calls.samples : 0);
  }

  const char* decide(Communicator& adopted, const FixedKey& key, const Call& call) {
    if (after_ > 0) return --after_, too_early;
    if (!planned_) make_plan(adopted, key, call);
    if (trial_) take_time(*adopted.private_comm());
    if (trial_) return trial_->way() == Way::plan ? count(std::nullopt) : compared;
    return against_ == nullptr ? count(saved_) : against_;
  }

 private:
  static const char* count(std::optional<double> saved) {
    count_exchanges(1, saved);
    return nullptr;
  }

  void make_plan(Communicator& adopted, const FixedKey& key, const Call& call) {
    const FixedOperation& made = fixed_operation(adopted, key, call, trial_calls_ > 0 ? Use::trial : Use::calls);
    planned_ = true;
    if (made.is_direct())
      against_ = nothing_relayed;
    else if (trial_calls_ > 0)
      trial_.emplace(rules(), 2, static_cast<std::uint64_t>(made.order()->tag()));
  }

  [[nodiscard]] TrialRules rules() const {
    TrialRules rules = trial_of_calls;
    rules.samples = trial_calls_;
    return rules;
  }

  /// From the call before to this one: work for others, or on a core that ranks share, costs time outside the
  /// operation, too.
  void take_time(const PrivateComm& comm) {
    const double now = PMPI_Wtime();
    if (begin_) trial_->add(now - *begin_);
    begin_ = now;
    if (trial_->is_due()) compare(comm);
  }

  /// Ends the trial if it has told enough.
  void compare(const PrivateComm& comm) {
    const std::vector<double> mine = trial_->typical();
    const std::vector<double> all = reduce_progressing(mine, MPI_DOUBLE, MPI_SUM, comm);
    const std::optional<std::size_t> best = trial_->decide(all);
    if (!best) return;
    saved_ = mine[Way::mpi] - mine[Way::plan];
    if (*best == Way::mpi) against_ = slower;
    if (comm.rank() == 0 && is_verbose())
      tell("preload: a call took " + std::to_string(all[Way::mpi] / comm.size()) +
           " s with the MPI library's own and " + std::to_string(all[Way::plan] / comm.size()) +
           " s with the plan (means of all ranks, from call to call)");
    trial_.reset();
  }

  std::int64_t after_ = 0;
  std::int64_t trial_calls_ = 0;
  bool planned_ = false;
  std::optional<Trial> trial_;
  std::optional<double> begin_;  // of the call before
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
