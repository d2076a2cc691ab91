#include "operations/collective/settled.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "algorithms/collective/choice.hpp"
#include "algorithms/lowering/pack.hpp"
#include "algorithms/trials/autotuner.hpp"
#include "base/simulated.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"
#include "operations/choose/reasons.hpp"
#include "operations/collective/execution/mpi.hpp"
#include "operations/request/mpi_exchange.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 24;        // of a buffer: a trial has its own
constexpr std::int64_t most_named_bytes = std::int64_t{1} << 20;  // of a buffer: larger ones gain nothing in memory
constexpr double calls_of_hint = 2;                               // before that, node memory would not pay
constexpr std::size_t most_rules = 6;
constexpr std::size_t most_rules_of_long = 3;
constexpr double hopeless = 10;  // times the least that the model predicts, which does not know node memory
constexpr double seconds_of_turn = 2e-3;
constexpr double most_calls_of_turn = 50;
constexpr double most_calls_of_long_turn = 3;  // they are tried early, and the trial is not to cost much more
constexpr double out_after_one_call = 4;       // times the least, which also has what a first call costs
constexpr double out_after_turn = 1.5;

}  // namespace

/// Times rules and MPI's own on buffers of its own, or makes the plan of the one rule that a hint names.
class DenseTrial {
 public:
  using Result = TunedDense::Result;

  /// `kept`: bytes of a rank that other calls of the communicator keep.
  DenseTrial(const TunedDense& tuned, Communicator& communicator, const PrivateComm& comm, MPI_Comm users,
             std::int64_t kept)
      : tuned_(tuned),
        communicator_(communicator),
        known_(*tuned.key().known),
        comm_(comm),
        users_(users),
        kept_(kept),
        bytes_(tuned.key().alike.bytes(comm.rank(), comm.size())),
        send_(static_cast<std::size_t>(bytes_.send) + 1),
        receive_(static_cast<std::size_t>(bytes_.receive) + 1),
        call_(tuned.key().alike.call(buffers())),
        checked_(call_, comm.rank(), comm.size(), known_.hints.order != ReductionOrder::fixed) {}

  Result use_named(const DenseRule& rule) {
    add(rule);
    leave_out_what_does_not_fit();
    return ways_.size() > 1 ? use(ways_.back(), {}) : Result{};
  }

  /// `only`: the rule that a trial of another form has found; null: all are tried.
  Result choose(const DenseRule* only) {
    if (largest({tuned_.has_objection() ? 1.0 : 0.0}).front() != 0) return {};
    const DenseChoice choice =
        choose_dense_rule(checked_.facts, known_.layout, *known_.parameters, settings_of(known_.hints),
                          has_only_messages() ? OnNode::messages : OnNode::memory);
    const std::int64_t bytes = tuned_.key().alike.most_bytes(comm_.size());
    const bool is_long = choice.seconds >= seconds_of_turn || calls_before_trial(bytes) < calls_before_trial(0);
    const std::size_t most = is_long ? most_rules_of_long : most_rules;
    for (const DenseCandidate& candidate : choice.candidates)
      if (only != nullptr ? candidate.rule == only
                          : ways_.size() <= most && candidate.seconds <= hopeless * choice.seconds)
        add(*candidate.rule);
    leave_out_what_does_not_fit();
    Autotuner tuner(trial_of_rules, ways_.size());
    time(tuner, choice.seconds, is_long ? most_calls_of_long_turn : most_calls_of_turn);
    return decide(tuner);
  }

 private:
  /// A rule, or MPI's own operation.
  struct Timed {
    const DenseRule* rule = nullptr;
    std::unique_ptr<BoundPlan> bound = nullptr;  // of one that uses the memory of the node
    bool fits = true;
  };

  [[nodiscard]] bool has_only_messages() const { return tuned_.key().form == CallForm::nonblocking; }
  [[nodiscard]] Buffers buffers() {
    void* const received = receive_.data();
    return {tuned_.key().alike.in_place ? received : send_.data(), received};
  }

  void add(const DenseRule& rule) {
    Plan plan = plan_dense(known_, rule, comm_, checked_);
    Timed timed{&rule};
    if (has_only_messages()) {
      timed.fits = packed_staging_bytes(plan) <= known_.hints.staging_limit;
    } else {
      Planned planned = plan_on_node(communicator_, comm_, known_, std::move(plan));
      timed.bound = std::make_unique<BoundPlan>(
          ready_plan(checked_, std::move(planned.plan), std::move(planned.memory)), bindings_of_blocking);
      timed.fits = kept_ + timed.bound->kept_bytes() <= known_.hints.staging_limit;
    }
    ways_.push_back(std::move(timed));
  }

  /// The largest of what all ranks give.
  [[nodiscard]] std::vector<double> largest(const std::vector<double>& mine) const {
    return reduce_progressing(mine, MPI_DOUBLE, MPI_MAX, comm_);
  }

  /// Into the staging memory that a hint allows, on some rank.
  void leave_out_what_does_not_fit() {
    std::vector<double> exceed;
    for (const Timed& rule : std::span(ways_).subspan(1)) exceed.push_back(rule.fits ? 0 : 1);
    if (!exceed.empty()) exceed = largest(exceed);
    for (std::size_t way = ways_.size(); way-- > 1;)
      if (exceed[way - 1] != 0) ways_.erase(ways_.begin() + static_cast<std::ptrdiff_t>(way));
  }

  void run(const Timed& timed) {
    if (timed.bound) return timed.bound->run(buffers_of(call_), comm_);
    if (timed.rule != nullptr) return start_by_rule(communicator_, known_, *timed.rule, checked_, {})->wait();
    run_own();
  }

  void run_own() {
    const bool is_root = !has_root(call_.kind) || call_.root == comm_.rank();
    if (tuned_.key().form == CallForm::blocking && known_.hints.progress != ProgressHint::wait) {
      MpiCall own(call_, comm_.size(), comm_.size(), is_root, MpiCall::Borrows::all);
      return check_mpi(own.run(users_), "MPI's own operation");
    }
    if (!own_)
      own_.emplace(std::make_unique<MpiCall>(call_, comm_.size(), comm_.size(), is_root, MpiCall::Borrows::nothing),
                   comm_.rank(), users_);
    (void)own_->start();
    own_->wait();
  }

  double seconds_in_row(const Timed& timed, int calls) {
    const double begin = MPI_Wtime();
    for (int n = 0; n < calls; ++n) run(timed);
    return MPI_Wtime() - begin;
  }
  /// Ranks that hear nothing of the others could be many calls ahead of them, which they seldom are in a program. A
  /// barrier follows each call, and does not count.
  double seconds_apart(const Timed& timed, int calls) {
    double seconds = 0;
    for (int n = 0; n < calls; ++n) {
      seconds += seconds_in_row(timed, 1);
      check_mpi(MPI_Barrier(comm_.get()), "MPI_Barrier");
    }
    return seconds;
  }

  /// A round of turns, so that what else the machine does is in all of them.
  void time_round(Autotuner& tuner, int calls, double most) {
    std::vector<double> seconds(ways_.size());
    for (std::size_t way = 0; way < ways_.size(); ++way) {
      if (!tuner.is_in(way)) continue;
      check_mpi(MPI_Barrier(comm_.get()), "MPI_Barrier");
      seconds[way] =
          (has_root(tuned_.key().alike.kind) ? seconds_apart(ways_[way], calls) : seconds_in_row(ways_[way], calls)) /
          calls;
    }
    tuner.add_round(largest(seconds), most);
  }

  /// Ranks are through when the slowest is: what counts is the longest of all.
  void time(Autotuner& tuner, double expected, double most_calls) {
    Autotuner first(trial_of_rules, ways_.size());
    time_round(first, 1, out_after_one_call);
    const double once = std::max({expected, std::ranges::min(first.typical()), 1e-7});
    const int calls = static_cast<int>(std::clamp(seconds_of_turn / once, 1.0, most_calls));
    if (calls == 1) tuner = first;
    for (std::int64_t round = 0; round < trial_of_rules.samples; ++round) time_round(tuner, calls, out_after_turn);
  }

  Result decide(Autotuner& tuner) {
    const std::vector<double> seconds = tuner.typical();
    const bool has_rules = ways_.size() > 1;
    const auto best =
        has_rules ? static_cast<std::size_t>(std::min_element(seconds.begin() + 1, seconds.end()) - seconds.begin())
                  : 0;
    const bool is_rule = tuner.decide(seconds) != std::size_t{0};
    Result result{TunedDense::State::mpi, ways_[best].rule};
    for (std::size_t way = 1; way <= ways_.size(); ++way)
      result.reasons.measured.push_back({name(ways_[way % ways_.size()]), seconds[way % ways_.size()]});
    result.reasons.strategy = name(ways_[is_rule ? best : 0]);
    result.reasons.rule_reason =
        why(is_rule, seconds[0], has_rules ? seconds[best] : std::optional<double>(), name(ways_[best]));
    // Of a request it is told with the request.
    if (tuned_.key().form != CallForm::persistent) tell_reasons(result.reasons, comm_.rank());
    return is_rule ? use(ways_[best], std::move(result)) : std::move(result);
  }

  [[nodiscard]] static std::string name(const Timed& timed) {
    return timed.rule != nullptr ? std::string(timed.rule->name) : "mpi";
  }

  /// `rule`: seconds of the fastest; none if there was none.
  [[nodiscard]] static std::string why(bool is_rule, double own, std::optional<double> rule, const std::string& name) {
    char text[160];
    if (is_rule)
      std::snprintf(text, sizeof text, "in a trial it took %.3g us, MPI's own operation %.3g us", *rule * 1e6,
                    own * 1e6);
    else if (rule)
      std::snprintf(text, sizeof text, "in a trial it took %.3g us, and the fastest rule, %s, %.3g us", own * 1e6,
                    name.c_str(), *rule * 1e6);
    else
      std::snprintf(text, sizeof text, "no rule fits into lnw_staging_limit");
    return text;
  }

  Result use(Timed& timed, Result result) {
    result.best = timed.rule;
    result.state = TunedDense::State::rule;
    // A request has memory of its own, for others of the kind may be active at the same time.
    if (tuned_.key().form != CallForm::blocking) return result;
    result.bound = std::move(timed.bound);
    result.bound->forget();
    return result;
  }

  const TunedDense& tuned_;
  Communicator& communicator_;
  const DenseKnowledge& known_;
  const PrivateComm& comm_;
  MPI_Comm users_;
  const std::int64_t kept_;
  const AlikeCalls::Bytes bytes_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  const CollectiveCall call_;
  const CheckedCollective checked_;
  std::vector<Timed> ways_ = std::vector<Timed>(1);  // the first one is MPI's own
  std::optional<MpiExchange> own_;
};

bool TunedDense::is_due() const {
  if (state() != State::counted) return false;
  const std::int64_t bytes = key_.alike.most_bytes(key_.known->layout.ranks());
  if (final_rule_) return *final_rule_ != nullptr && bytes <= most_named_bytes && calls_ >= calls_of_hint;
  return calls_ >= calls_before_trial(bytes);
}

DenseDecision TunedDense::instead_of(DenseDecision decision) const {
  if (state() <= State::as_decided || final_rule_ || !decision.may_be_tried) return decision;
  Reasons reasons = result_.reasons;
  reasons.parameters = std::move(decision.reasons.parameters);
  reasons.rule_seconds = std::move(decision.reasons.rule_seconds);
  return {state() == State::rule ? best() : nullptr, std::move(reasons), true};
}

std::string TunedDense::text() const {
  const char* const states[] = {"as decided", "as decided", "mpi", "a rule"};
  return "call " + std::to_string(calls_) + " of " + std::to_string(key_.alike.count) + " (" +
         states[static_cast<std::size_t>(state())] + (best() != nullptr ? ", " + std::string(best()->name) : "") + ")";
}

void TunedDense::run(const CollectiveCall& call, Rank rank, Rank ranks, const PrivateComm& comm) {
  if (call.kind == DenseKind::barrier || !AlikeBuffers::needs_copies(key_.alike, call, rank, ranks))
    return result_.bound->run(buffers_of(call), comm);
  AlikeBuffers copies(key_.alike, call, rank, ranks);
  result_.bound->run(copies.buffers(), comm);
  copies.finish();
}

namespace {

/// Nothing: such a call stays with the decision.
std::optional<TunedDense::Key> key_of(CallForm form, const CheckedCollective& checked,
                                      const std::shared_ptr<const DenseKnowledge>& known) {
  if (simulated || known->layout.largest() == 1 || known->hints.sharing == Sharing::none) return std::nullopt;
  if (checked.uncombinable() != nullptr) return std::nullopt;
  const CollectiveHint hint = read_collective(known->hints.collective, checked.call.kind);
  if (hint.is_mpi || known->hints.progress == ProgressHint::strict) return std::nullopt;
  if (hint.rule != nullptr && !applies(*hint.rule, checked.facts)) return std::nullopt;
  std::optional<AlikeCalls> alike = alike_to(checked);
  if (!alike || alike->most_bytes(checked.ranks) > most_bytes) return std::nullopt;
  return TunedDense::Key{form, known, *alike};
}

/// Whether the rule that is best for one is so for the other: both have the memory of the node, or both have not.
bool have_same_rules(const TunedDense::Key& one, const TunedDense::Key& other) {
  return (one.form == CallForm::nonblocking) == (other.form == CallForm::nonblocking) && one.known == other.known &&
         one.alike == other.alike;
}

}  // namespace

std::shared_ptr<TunedDense> DenseAutotuner::find(const TunedDense::Key& key) const {
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry->key() == key; });
  return found == entries_.end() ? nullptr : *found;
}

std::shared_ptr<const TunedDense> DenseAutotuner::look_up(CallForm form, const CheckedCollective& checked,
                                                          const std::shared_ptr<const DenseKnowledge>& known) const {
  const std::optional<TunedDense::Key> key = key_of(form, checked, known);
  return key ? find(*key) : nullptr;
}

std::shared_ptr<TunedDense> DenseAutotuner::find(CallForm form, const CheckedCollective& checked,
                                                 const std::shared_ptr<const DenseKnowledge>& known) {
  std::optional<TunedDense::Key> key = key_of(form, checked, known);
  if (!key) return nullptr;
  if (std::shared_ptr<TunedDense> entry = find(*key)) return entry;
  if (entries_.size() == most_entries) return nullptr;
  return entries_.emplace_back(std::make_shared<TunedDense>(*std::move(key)));
}

void DenseAutotuner::tune(Communicator& communicator, const PrivateComm& comm, MPI_Comm users) {
  are_due_ = false;
  together(comm, [&] {
    for (const std::shared_ptr<TunedDense>& entry : entries_) {
      if (!entry->is_due()) continue;
      entry->end({});  // also if the trial fails
      std::int64_t kept = 0;
      const DenseRule* found = nullptr;
      for (const std::shared_ptr<TunedDense>& other : entries_) {
        kept += entry->key().form == CallForm::blocking ? other->kept_bytes() : 0;
        if (other->best() != nullptr && have_same_rules(entry->key(), other->key())) found = other->best();
      }
      DenseTrial trial(*entry, communicator, comm, users, kept);
      entry->end(entry->final_rule() ? trial.use_named(**entry->final_rule()) : trial.choose(found));
    }
  });
}

}  // namespace laneway
