#include "operate/dense_settled.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "choose/reasons.hpp"
#include "collectives/choice.hpp"
#include "comm/agreement.hpp"
#include "comm/mailbox.hpp"
#include "core/elimination.hpp"
#include "core/simulated.hpp"
#include "mpi/check.hpp"
#include "operate/dense_mpi.hpp"
#include "operate/mpi_exchange.hpp"
#include "passes/pack.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 24;        // of a buffer: a trial has its own
constexpr std::int64_t most_named_bytes = std::int64_t{1} << 20;  // of a buffer: larger ones gain nothing in memory
constexpr double calls_of_hint = 2;                               // before that, node memory would not pay
constexpr std::size_t most_rules = 6;
constexpr std::size_t most_rules_of_long = 3;
constexpr double hopeless = 10;  // times the least that the model predicts, which does not know node memory
constexpr double margin = 0.97;  // a rule must be that much faster than MPI's own
constexpr int rounds = 3;
constexpr double seconds_of_turn = 2e-3;
constexpr double most_calls_of_turn = 50;
constexpr double most_calls_of_long_turn = 3;  // they are tried early, and the trial is not to cost much more
constexpr double out_after_one_call = 4;       // times the least, which also has what a first call costs
constexpr double out_after_turn = 1.5;

}  // namespace

/// Times rules and MPI's own on buffers of its own, or makes the plan of the one rule that a hint names.
class DenseTrial {
 public:
  /// `kept`: bytes of a rank that other calls of the communicator keep.
  DenseTrial(SettledDense& settled, Communicator& communicator, const PrivateComm& comm, MPI_Comm users,
             std::int64_t kept)
      : settled_(settled),
        communicator_(communicator),
        known_(*settled.key_.known),
        comm_(comm),
        users_(users),
        kept_(kept),
        bytes_(settled.key_.alike.bytes(comm.rank(), comm.size())),
        send_(static_cast<std::size_t>(bytes_.send) + 1),
        receive_(static_cast<std::size_t>(bytes_.receive) + 1),
        call_(settled.key_.alike.call(buffers())),
        looked_(look_at(call_, comm.rank(), comm.size(), known_.hints.order == ReductionOrder::canonical)) {}

  void use_named(const DenseRule& rule) {
    add(rule);
    leave_out_what_does_not_fit();
    if (!ways_.empty()) use(ways_.front());
  }

  /// `only`: the rule that a trial of another form has found; null: all are tried.
  void choose(const DenseRule* only) {
    if (largest({settled_.stays_as_decided_ ? 1.0 : 0.0}).front() != 0) return;
    const DenseFacts facts = looked_.ask(call_, comm_.size(), Phases::one, 0).facts;
    const DenseChoice choice = choose_dense_rule(facts, known_.layout, *known_.parameters, settings_of(known_.hints),
                                                 has_only_messages() ? OnNode::messages : OnNode::memory);
    const std::int64_t bytes = settled_.key_.alike.most_bytes(comm_.size());
    const bool is_long = choice.seconds >= seconds_of_turn || calls_before_trial(bytes) < calls_before_trial(0);
    const std::size_t most = is_long ? most_rules_of_long : most_rules;
    for (const DenseCandidate& candidate : choice.candidates)
      if (only != nullptr ? candidate.rule == only
                          : ways_.size() < most && candidate.seconds <= hopeless * choice.seconds)
        add(*candidate.rule);
    leave_out_what_does_not_fit();
    ways_.push_back({});
    Elimination found(ways_.size());
    time(found, choice.seconds, is_long ? most_calls_of_long_turn : most_calls_of_turn);
    decide(found);
  }

 private:
  /// A rule, or MPI's own operation.
  struct Timed {
    const DenseRule* rule = nullptr;
    std::unique_ptr<BoundPlan> bound = nullptr;  // of one that uses the memory of the node
    bool fits = true;
  };

  [[nodiscard]] bool has_only_messages() const { return settled_.key_.form == CallForm::nonblocking; }
  [[nodiscard]] Buffers buffers() {
    void* const received = receive_.data();
    return {settled_.key_.alike.in_place ? received : send_.data(), received};
  }

  void add(const DenseRule& rule) {
    Plan plan = plan_dense(known_, rule, comm_, call_, looked_.blocks(call_, comm_.rank(), comm_.size()),
                           settings_of(known_.hints));
    Timed timed{&rule};
    if (has_only_messages()) {
      timed.fits = packed_staging_bytes(plan) <= known_.hints.staging_limit;
    } else {
      Planned planned = plan_on_node(communicator_, comm_, known_, known_.hints, std::move(plan));
      const std::int64_t staging = planned.plan->staging_bytes + planned.plan->window_bytes;
      timed.fits = kept_ + staging <= known_.hints.staging_limit;
      timed.bound = std::make_unique<BoundPlan>(planned.plan, looked_.combiners(*planned.plan), bindings_of_blocking,
                                                planned.memory);
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
    for (const Timed& timed : ways_) exceed.push_back(timed.fits ? 0 : 1);
    if (!exceed.empty()) exceed = largest(exceed);
    for (std::size_t way = exceed.size(); way-- > 0;)
      if (exceed[way] != 0) ways_.erase(ways_.begin() + static_cast<std::ptrdiff_t>(way));
  }

  void run(const Timed& timed) {
    if (timed.bound) return run_by_plan(*timed.bound, buffers_of(call_), comm_);
    if (timed.rule != nullptr)
      return start_by_rule(communicator_, known_, *timed.rule, call_, looked_, comm_.rank(), {})->wait();
    run_own();
  }

  void run_own() {
    const bool is_root = !has_root(call_.kind) || call_.root == comm_.rank();
    if (settled_.key_.form == CallForm::blocking && known_.hints.progress != ProgressHint::wait) {
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
  void time_round(Elimination& found, int calls, double most) {
    std::vector<double> seconds(ways_.size());
    for (std::size_t way = 0; way < ways_.size(); ++way) {
      if (!found.is_in(way)) continue;
      check_mpi(MPI_Barrier(comm_.get()), "MPI_Barrier");
      seconds[way] =
          (has_root(settled_.key_.alike.kind) ? seconds_apart(ways_[way], calls) : seconds_in_row(ways_[way], calls)) /
          calls;
    }
    found.end_round(largest(seconds), most);
  }

  /// Ranks are through when the slowest is: what counts is the longest of all.
  void time(Elimination& found, double expected, double most_calls) {
    Elimination first(ways_.size());
    time_round(first, 1, out_after_one_call);
    const double once = std::max({expected, first.least(), 1e-7});
    const int calls = static_cast<int>(std::clamp(seconds_of_turn / once, 1.0, most_calls));
    if (calls == 1) found = first;
    for (int round = 0; round < rounds; ++round) time_round(found, calls, out_after_turn);
  }

  void decide(const Elimination& found) {
    const std::size_t own = ways_.size() - 1;
    std::size_t best = own;
    for (std::size_t way = own; way-- > 0;)
      if (best == own || found.seconds(way) <= found.seconds(best)) best = way;
    settled_.best_ = ways_[best].rule;
    for (std::size_t way = 0; way <= own; ++way)
      settled_.reasons_.measured.push_back({name(ways_[way]), found.seconds(way)});
    const bool is_rule = best != own && found.seconds(best) <= margin * found.seconds(own);
    settled_.reasons_.strategy = name(ways_[is_rule ? best : own]);
    settled_.reasons_.rule_reason = why(is_rule, found.seconds(own),
                                        best == own ? std::optional<double>() : found.seconds(best), name(ways_[best]));
    // Of a request it is told with the request.
    if (settled_.key_.form != CallForm::persistent) tell_reasons(settled_.reasons_, comm_.rank());
    settled_.way_ = SettledDense::Way::mpi;
    if (is_rule) use(ways_[best]);
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

  void use(Timed& timed) {
    settled_.best_ = timed.rule;
    settled_.way_ = SettledDense::Way::rule;
    // A request has memory of its own, for others of the kind may be active at the same time.
    if (settled_.key_.form != CallForm::blocking) return;
    settled_.bound_ = std::move(timed.bound);
    settled_.bound_->forget();
  }

  SettledDense& settled_;
  Communicator& communicator_;
  const DenseKnowledge& known_;
  const PrivateComm& comm_;
  MPI_Comm users_;
  const std::int64_t kept_;
  const AlikeCalls::Bytes bytes_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  const CollectiveCall call_;
  const Looked looked_;
  std::vector<Timed> ways_;  // the last one is MPI's own
  std::optional<MpiExchange> own_;
};

bool SettledDense::is_due() const {
  if (is_settled_) return false;
  const std::int64_t bytes = key_.alike.most_bytes(key_.known->layout.ranks());
  if (is_final_) return named_ != nullptr && bytes <= most_named_bytes && calls_ >= calls_of_hint;
  return calls_ >= calls_before_trial(bytes);
}

DenseDecision SettledDense::instead_of(DenseDecision decision) const {
  if (way_ == Way::as_decided || is_final_ || !decision.may_be_tried) return decision;
  Reasons reasons = reasons_;
  reasons.parameters = std::move(decision.reasons.parameters);
  reasons.rule_seconds = std::move(decision.reasons.rule_seconds);
  return {way_ == Way::rule ? best_ : nullptr, std::move(reasons), true};
}

std::string SettledDense::text() const {
  const char* const ways[] = {"as decided", "mpi", "a rule"};
  return "call " + std::to_string(calls_) + " of " + std::to_string(key_.alike.count) + " (" +
         ways[static_cast<std::size_t>(way_)] + (best_ != nullptr ? ", " + std::string(best_->name) : "") + ")";
}

void SettledDense::run(const CollectiveCall& call, Rank rank, Rank ranks, const PrivateComm& comm) {
  if (call.kind == DenseKind::barrier || !AlikeBuffers::needs_copies(key_.alike, call, rank, ranks))
    return run_by_plan(*bound_, buffers_of(call), comm);
  AlikeBuffers copies(key_.alike, call, rank, ranks);
  run_by_plan(*bound_, copies.buffers(), comm);
  copies.finish();
}

namespace {

/// Nothing: such a call stays with the decision.
std::optional<SettledDense::Key> key_of(CallForm form, const CollectiveCall& call, const Looked& looked,
                                        const std::shared_ptr<const DenseKnowledge>& known) {
  const Rank ranks = known->layout.ranks();
  if (simulated || known->layout.largest() == 1 || known->hints.sharing == Sharing::none) return std::nullopt;
  if (looked.reduction && looked.reduction->combiner == nullptr) return std::nullopt;
  const CollectiveHint hint = read_collective(known->hints.collective, call.kind);
  if (hint.is_mpi || known->hints.progress == ProgressHint::strict) return std::nullopt;
  const DenseFacts facts = looked.ask(call, ranks, Phases::one, 0).facts;
  if (hint.rule != nullptr && !applies(*hint.rule, facts)) return std::nullopt;
  std::optional<AlikeCalls> alike = alike_to(call, looked.checked, ranks);
  if (!alike || alike->most_bytes(ranks) > most_bytes) return std::nullopt;
  return SettledDense::Key{form, known, *alike};
}

/// Whether the rule that is best for one is so for the other: both have the memory of the node, or both have not.
bool have_same_rules(const SettledDense::Key& one, const SettledDense::Key& other) {
  return (one.form == CallForm::nonblocking) == (other.form == CallForm::nonblocking) && one.known == other.known &&
         one.alike == other.alike;
}

}  // namespace

std::shared_ptr<SettledDense> SettledDenseCalls::find(const SettledDense::Key& key) const {
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry->key() == key; });
  return found == entries_.end() ? nullptr : *found;
}

std::shared_ptr<const SettledDense> SettledDenseCalls::look_up(
    CallForm form, const CollectiveCall& call, const Looked& looked,
    const std::shared_ptr<const DenseKnowledge>& known) const {
  const std::optional<SettledDense::Key> key = key_of(form, call, looked, known);
  return key ? find(*key) : nullptr;
}

std::shared_ptr<SettledDense> SettledDenseCalls::find(CallForm form, const CollectiveCall& call, const Looked& looked,
                                                      const std::shared_ptr<const DenseKnowledge>& known) {
  std::optional<SettledDense::Key> key = key_of(form, call, looked, known);
  if (!key) return nullptr;
  if (std::shared_ptr<SettledDense> entry = find(*key)) return entry;
  if (entries_.size() == most_entries) return nullptr;
  return entries_.emplace_back(std::make_shared<SettledDense>(*std::move(key)));
}

void SettledDenseCalls::settle(Communicator& communicator, const PrivateComm& comm, MPI_Comm users) {
  are_due_ = false;
  together(comm, [&] {
    for (const std::shared_ptr<SettledDense>& entry : entries_) {
      if (!entry->is_due()) continue;
      entry->is_settled_ = true;
      std::int64_t kept = 0;
      const DenseRule* found = nullptr;
      for (const std::shared_ptr<SettledDense>& other : entries_) {
        kept += entry->key().form == CallForm::blocking ? other->kept_bytes() : 0;
        if (other->best_ != nullptr && have_same_rules(entry->key(), other->key())) found = other->best_;
      }
      DenseTrial trial(*entry, communicator, comm, users, kept);
      if (entry->is_final_)
        trial.use_named(*entry->named_);
      else
        trial.choose(found);
    }
  });
}

}  // namespace laneway
