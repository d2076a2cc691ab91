#include "operations/collective/tuned.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/simulated.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"
#include "operations/choose/trial.hpp"
#include "operations/collective/execution/mpi.hpp"
#include "operations/request/mpi_exchange.hpp"
#include "operations/request/nonblocking.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 24;        // of a buffer: a trial has its own
constexpr std::int64_t most_named_bytes = std::int64_t{1} << 20;  // of a buffer: larger ones gain nothing in memory
constexpr double calls_of_hint = 2;                               // before that, node memory would not pay

}  // namespace

/// Rules beside MPI's own on buffers of the library's, or the plan of the one rule that a hint names.
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
        bytes_(tuned.key().call_class.bytes(comm.rank(), comm.size())),
        send_(static_cast<std::size_t>(bytes_.send) + 1),
        receive_(static_cast<std::size_t>(bytes_.receive) + 1),
        call_(tuned.key().call_class.call(buffers())),
        checked_(call_, comm.rank(), comm.size(), is_by_rank(known_.hints.order)) {}

  Result use_named(const DenseRule& rule) {
    add(rule);
    return ways_.size() > 1 ? use(ways_.back(), {}) : Result{};
  }

  /// `only`: the rule that a trial of another form has found; null: all are tried.
  Result choose(const DenseRule* only) {
    if (is_so_on_some_rank(tuned_.is_forbidden())) return {};
    const std::vector<Candidate> candidates =
        weighed(known_, checked_.facts, has_only_messages() ? OnNode::messages : OnNode::memory).reasons.candidates;
    const std::int64_t bytes = tuned_.key().call_class.most_bytes(comm_.size());
    const bool is_long =
        candidates[1].seconds >= trial_of_rules.first_turn_seconds || calls_before_trial(bytes) < calls_before_trial(0);
    TrialRules rules = is_long ? trial_of_long_rules : trial_of_rules;
    if (has_root(call_.kind)) rules = with_a_root(rules);
    for (const Candidate& one : most_promising(candidates, "mpi", rules))
      if (only == nullptr && one.name != "mpi") add(*find_rule(checked_.facts.kind, one.name));
    if (only != nullptr) add(*only);
    return decide(rules);
  }

 private:
  /// A rule, or MPI's own operation.
  struct Way {
    std::string name = "mpi";
    const DenseRule* rule = nullptr;
    std::shared_ptr<BoundPlan> bound = {};  // of a rule
  };

  [[nodiscard]] bool has_only_messages() const { return tuned_.key().form == CallForm::nonblocking; }
  [[nodiscard]] Buffers buffers() {
    void* const received = receive_.data();
    return {tuned_.key().call_class.in_place ? received : send_.data(), received};
  }

  /// Unless it does not fit into the staging memory that a hint allows.
  void add(const DenseRule& rule) {
    Plan plan = plan_dense(known_, rule, comm_, checked_);
    const bool on_node = !has_only_messages();
    Planned planned = on_node ? plan_on_node(communicator_, comm_, known_, std::move(plan))
                              : Planned{.plan = packed(std::move(plan))};
    Way way{std::string(rule.name), &rule,
            std::make_shared<BoundPlan>(ready_plan(checked_, std::move(planned.plan), std::move(planned.memory)),
                                        on_node ? bindings_of_blocking : 0)};
    if (!is_so_on_some_rank(kept_ + way.bound->kept_bytes() > known_.hints.staging_limit))
      ways_.push_back(std::move(way));
  }

  [[nodiscard]] bool is_so_on_some_rank(bool mine) const {
    return reduce_progressing(std::vector<int>{mine ? 1 : 0}, MPI_INT, MPI_MAX, comm_).front() != 0;
  }

  void run(const Way& way) {
    if (!way.bound) return run_own();
    if (!has_only_messages()) return way.bound->run(buffers_of(call_), comm_);
    NonblockingExchange(start_order(communicator_), way.bound, buffers_of(call_), find_helper(known_.hints.progress))
        .wait();
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

  Result decide(const TrialRules& rules) {
    std::vector<TrialCandidate> candidates;
    for (const Way& way : ways_) candidates.push_back({way.name, [this, run_by = &way] { run(*run_by); }});
    TrialResult found = try_candidates(comm_, candidates, rules);
    const auto& measured = found.measured;
    const bool has_rules = ways_.size() > 1;
    const auto fastest = std::ranges::min_element(measured.begin() + (has_rules ? 1 : 0), measured.end(), {},
                                                  &Reasons::Measured::seconds);
    Way& best = ways_[static_cast<std::size_t>(fastest - measured.begin())];
    const bool is_rule = found.best != "mpi";
    found.why = why(is_rule, measured.front().seconds, has_rules ? &*fastest : nullptr);
    // Of a request it is told with the request.
    if (tuned_.key().form != CallForm::persistent)
      log_reasons({.strategy = found.best, .rule_reason = found.why}, comm_.rank());
    Result result{.state = TunedDense::State::mpi, .best = best.rule, .found = std::move(found)};
    return is_rule ? use(best, std::move(result)) : std::move(result);
  }

  /// `rule`: the fastest; null if there was none.
  [[nodiscard]] static std::string why(bool is_rule, double own, const Reasons::Measured* rule) {
    char text[160];
    if (rule == nullptr)
      std::snprintf(text, sizeof text, "no rule fits into lnw_staging_limit");
    else if (is_rule)
      std::snprintf(text, sizeof text, "in a trial it took %.3g us, MPI's own operation %.3g us", rule->seconds * 1e6,
                    own * 1e6);
    else
      std::snprintf(text, sizeof text, "in a trial it took %.3g us, and the fastest rule, %s, %.3g us", own * 1e6,
                    rule->strategy.c_str(), rule->seconds * 1e6);
    return text;
  }

  Result use(Way& way, Result result) {
    result.best = way.rule;
    result.state = TunedDense::State::rule;
    // A request has memory of its own, for others of the kind may be active at the same time; sums have one a length.
    if (tuned_.key().form != CallForm::blocking || tuned_.key().is_of_size) return result;
    result.bound = std::move(way.bound);
    result.bound->forget();
    return result;
  }

  const TunedDense& tuned_;
  Communicator& communicator_;
  const DenseKnowledge& known_;
  const PrivateComm& comm_;
  MPI_Comm users_;
  const std::int64_t kept_;
  const CallClass::Bytes bytes_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  const CollectiveCall call_;
  const CheckedCollective checked_;
  std::vector<Way> ways_ = std::vector<Way>(1);  // the first one is MPI's own
  std::optional<MpiExchange> own_;
};

bool TunedDense::is_due() const {
  if (state() != State::counted) return false;
  const std::int64_t bytes = key_.call_class.most_bytes(key_.known->layout.ranks());
  if (final_rule_) return *final_rule_ != nullptr && bytes <= most_named_bytes && calls_ >= calls_of_hint;
  return calls_ >= calls_before_trial(bytes);
}

std::string TunedDense::text() const {
  const char* const states[] = {"as decided", "as decided", "mpi", "a rule"};
  return "call " + std::to_string(calls_) + " of " + std::to_string(key_.call_class.count) + " (" +
         states[static_cast<std::size_t>(state())] + (best() != nullptr ? ", " + std::string(best()->name) : "") + ")";
}

void TunedDense::run(const CollectiveCall& call, const PrivateComm& comm, bool needs_copies) {
  if (!needs_copies) return result_.bound->run(buffers_of(call), comm);
  ContiguousBuffers copies(key_.call_class, call, comm.rank(), comm.size());
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
  std::optional<CallClass> call_class = class_of(checked);
  if (!call_class || call_class->most_bytes(checked.ranks) > most_bytes) return std::nullopt;
  return TunedDense::Key{form, known, *call_class};
}

/// Of the trial of sums whose result holds for this one.
std::optional<TunedDense::Key> key_of_size(CallForm form, const CheckedCollective& checked,
                                           const std::shared_ptr<const DenseKnowledge>& known) {
  if (known->hints.order != ReductionOrder::tried || !checked.is_of_one_rule()) return std::nullopt;
  if (read_collective(known->hints.collective, checked.call.kind).rule != nullptr) return std::nullopt;
  std::optional<TunedDense::Key> key = key_of(form, checked, known);
  if (!key) return std::nullopt;
  key->is_of_size = true;
  key->call_class.count = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(key->call_class.count)));
  return key;
}

/// Whether the rule that is best for one is so for the other: both have the memory of the node, or both have not.
bool have_same_rules(const TunedDense::Key& one, const TunedDense::Key& other) {
  return (one.form == CallForm::nonblocking) == (other.form == CallForm::nonblocking) && one.known == other.known &&
         one.call_class == other.call_class && one.is_of_size == other.is_of_size;
}

}  // namespace

std::shared_ptr<TunedDense> DenseAutotuner::find(const TunedDense::Key& key) const {
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry->key() == key; });
  return found == entries_.end() ? nullptr : *found;
}

std::shared_ptr<TunedDense> DenseAutotuner::find_or_add(std::optional<TunedDense::Key> key) {
  if (!key) return nullptr;
  if (std::shared_ptr<TunedDense> entry = find(*key)) return entry;
  if (entries_.size() == most_entries) return nullptr;
  return entries_.emplace_back(std::make_shared<TunedDense>(*std::move(key)));
}

const TrialResult* DenseAutotuner::look_up(CallForm form, const CheckedCollective& checked,
                                           const std::shared_ptr<const DenseKnowledge>& known) const {
  std::optional<TunedDense::Key> key = key_of_size(form, checked, known);
  if (!key) key = key_of(form, checked, known);
  const std::shared_ptr<const TunedDense> entry = key ? find(*key) : nullptr;
  return entry ? entry->found() : nullptr;
}

std::shared_ptr<TunedDense> DenseAutotuner::find(CallForm form, const CheckedCollective& checked,
                                                 const std::shared_ptr<const DenseKnowledge>& known) {
  return find_or_add(key_of(form, checked, known));
}

const TrialResult* DenseAutotuner::try_sums(CallForm form, const CheckedCollective& checked,
                                            const std::shared_ptr<const DenseKnowledge>& known,
                                            Communicator& communicator, const PrivateComm& comm, MPI_Comm users) {
  const std::shared_ptr<TunedDense> entry = find_or_add(key_of_size(form, checked, known));
  if (!entry) return nullptr;
  count(*entry, std::numeric_limits<double>::infinity());
  if (are_due()) tune(communicator, comm, users);
  return entry->found();
}

void DenseAutotuner::tune(Communicator& communicator, const PrivateComm& comm, MPI_Comm users) {
  are_due_ = false;
  ++version_;
  together(comm, [&] {
    for (const auto& step : std::exchange(steps_, {})) step(communicator);
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
