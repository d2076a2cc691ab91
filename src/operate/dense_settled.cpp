#include "operate/dense_settled.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

#include "carriers/messages/p2p.hpp"
#include "choose/reasons.hpp"
#include "collectives/choice.hpp"
#include "comm/agreement.hpp"
#include "comm/mailbox.hpp"
#include "core/simulated.hpp"
#include "operate/dense_mpi.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 20;  // of a buffer: memory of the node is kept for each entry
constexpr int calls_of_hint = 2;                            // before that, node memory would not pay
constexpr int calls_of_trial = 32;                          // which costs about as much as so many
constexpr std::size_t most_rules = 6;
constexpr double hopeless = 10;  // times the least that the model predicts, which does not know node memory
constexpr double margin = 0.97;  // a rule must be that much faster than MPI's own
constexpr int rounds = 3;
constexpr double seconds_of_round = 2e-3;

}  // namespace

/// Times rules and MPI's own on buffers of its own, or makes the plan of the one rule that a hint names.
class DenseTrial {
 public:
  DenseTrial(SettledDense& settled, Communicator& communicator, const DenseKnowledge& known, const PrivateComm& comm,
             MPI_Comm users)
      : settled_(settled),
        communicator_(communicator),
        known_(known),
        comm_(comm),
        users_(users),
        bytes_(settled.alike_.bytes(comm.rank(), comm.size())),
        send_(static_cast<std::size_t>(bytes_.send) + 1),
        receive_(static_cast<std::size_t>(bytes_.receive) + 1),
        call_(settled.alike_.call(buffers())),
        looked_(look_at(call_, comm.rank(), comm.size(), known.hints.order == ReductionOrder::canonical)) {}

  void settle(const DenseRule* named) {
    const DenseFacts facts = looked_.ask(call_, comm_.size(), Phases::one, 0).facts;
    if (named != nullptr) {
      add(*named);
      if (agree({})) return use(candidates_.front());
      return;
    }
    const DenseChoice choice =
        choose_dense_rule(facts, known_.layout, *known_.parameters, settings_of(known_.hints), OnNode::memory);
    for (const DenseCandidate& candidate : choice.candidates)
      if (candidates_.size() < most_rules && candidate.seconds <= hopeless * choice.seconds) add(*candidate.rule);
    const double once = std::max(choice.seconds, 1e-7);
    time(static_cast<int>(std::clamp(seconds_of_round / once, 1.0, 50.0)));
    choose();
  }

 private:
  struct Timed {
    const DenseRule* rule = nullptr;
    std::unique_ptr<BoundDense> bound;
    double seconds = std::numeric_limits<double>::infinity();
  };

  [[nodiscard]] Buffers buffers() {
    void* const received = receive_.data();
    return {settled_.alike_.in_place ? received : send_.data(), received};
  }

  void add(const DenseRule& rule) {
    Plan plan = plan_dense(known_, rule, comm_, call_, looked_.blocks(call_, comm_.rank(), comm_.size()),
                           settings_of(known_.hints));
    Planned planned = plan_on_node(communicator_, comm_, known_, known_.hints, std::move(plan));
    const std::int64_t staging = planned.plan->staging_bytes + planned.plan->window_bytes;
    fits_.push_back(staging <= known_.hints.staging_limit ? 1 : 0);
    Combiners combiners = looked_.combiners(*planned.plan);
    candidates_.push_back({&rule, std::make_unique<BoundDense>(std::move(planned.plan), std::move(planned.memory),
                                                               std::move(combiners))});
  }

  /// On the largest of each of these numbers, and on who fits into the staging memory that a hint allows.
  bool agree(std::vector<double> numbers) {
    for (const int fits : fits_) numbers.push_back(fits == 0 ? 1 : 0);
    largest_.resize(numbers.size());
    reduce_progressing(numbers.data(), largest_.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, MPI_MAX, comm_);
    return largest_.back() == 0;
  }

  void run(const Timed* timed) {
    if (timed != nullptr) return timed->bound->run(buffers_of(call_), comm_);
    const bool is_root = !has_root(call_.kind) || call_.root == comm_.rank();
    const MpiCall own(call_, comm_.size(), comm_.size(), is_root, MpiCall::Borrows::all);
    check_mpi(own.run(users_), "MPI's own operation");
  }

  /// Seconds of a call, by turns, so that what else the machine does is in all of them.
  void time(int calls) {
    const std::size_t each = candidates_.size() + 1;
    std::vector<double> seconds(rounds * each);
    for (int round = -1; round < rounds; ++round)
      for (std::size_t i = 0; i < each; ++i) {
        const Timed* const timed = i < candidates_.size() ? &candidates_[i] : nullptr;
        if (round >= 0) check_mpi(MPI_Barrier(comm_.get()), "MPI_Barrier");
        const double begin = MPI_Wtime();
        for (int n = 0; n < (round < 0 ? 1 : calls); ++n) run(timed);
        if (round >= 0) seconds[static_cast<std::size_t>(round) * each + i] = (MPI_Wtime() - begin) / calls;
      }
    (void)agree(seconds);
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < each; ++i) {
        double& least = i < candidates_.size() ? candidates_[i].seconds : own_seconds_;
        least = std::min(least, largest_[static_cast<std::size_t>(round) * each + i]);
      }
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (largest_[seconds.size() + i] != 0) candidates_[i].seconds = std::numeric_limits<double>::infinity();
  }

  void choose() {
    const auto best = std::ranges::min_element(candidates_, {}, &Timed::seconds);
    char text[96];
    if (best == candidates_.end() || best->seconds > margin * own_seconds_) {
      settled_.way_ = SettledDense::Way::mpi;
      std::snprintf(text, sizeof text, "in a trial it took %.3g us, no rule less", own_seconds_ * 1e6);
      return say("mpi", text);
    }
    std::snprintf(text, sizeof text, "in a trial it took %.3g us, MPI's own operation %.3g us", best->seconds * 1e6,
                  own_seconds_ * 1e6);
    say(best->rule->name, text);
    use(*best);
  }

  void say(std::string_view strategy, std::string why) const {
    Reasons reasons;
    reasons.strategy = strategy;
    reasons.rule_reason = std::move(why);
    tell_reasons(reasons, comm_.rank());
  }

  void use(Timed& timed) {
    settled_.bound_ = std::move(timed.bound);
    settled_.bound_->forget();
    settled_.way_ = SettledDense::Way::plan;
  }

  SettledDense& settled_;
  Communicator& communicator_;
  const DenseKnowledge& known_;
  const PrivateComm& comm_;
  MPI_Comm users_;
  const AlikeCalls::Bytes bytes_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  const CollectiveCall call_;
  const Looked looked_;
  std::vector<Timed> candidates_;
  std::vector<int> fits_;
  std::vector<double> largest_;
  double own_seconds_ = std::numeric_limits<double>::infinity();
};

void SettledDense::count(Communicator& communicator, const DenseKnowledge& known, const PrivateComm& comm,
                         MPI_Comm users) {
  if (calls_ == calls_of_trial) return;
  ++calls_;
  if (calls_ != (is_final_ ? calls_of_hint : calls_of_trial) || (is_final_ && named_ == nullptr)) return;
  together(comm, [&] { DenseTrial(*this, communicator, known, comm, users).settle(named_); });
}

void SettledDense::run(const CollectiveCall& call, Rank rank, Rank ranks, const PrivateComm& comm) {
  if (call.kind == DenseKind::barrier || !AlikeBuffers::needs_copies(alike_, call, rank, ranks))
    return bound_->run(buffers_of(call), comm);
  AlikeBuffers copies(alike_, call, rank, ranks);
  bound_->run(copies.buffers(), comm);
  copies.finish();
}

std::shared_ptr<SettledDense> SettledDenseCalls::find(const CollectiveCall& call, const Looked& looked,
                                                      const DenseKnowledge& known) {
  const Rank ranks = known.layout.ranks();
  if (simulated || known.layout.largest() == 1 || known.hints.sharing == Sharing::none) return nullptr;
  if (looked.reduction && looked.reduction->combiner == nullptr) return nullptr;
  const CollectiveHint hint = read_collective(known.hints.collective, call.kind);
  if (hint.is_mpi) return nullptr;
  const DenseFacts facts = looked.ask(call, ranks, Phases::one, 0).facts;
  if (hint.rule != nullptr && !applies(*hint.rule, facts)) return nullptr;
  const std::optional<AlikeCalls> alike = alike_to(call, looked.checked, ranks);
  if (!alike || alike->most_bytes(ranks) > most_bytes) return nullptr;
  for (const std::shared_ptr<SettledDense>& entry : entries_)
    if (entry->alike() == *alike) return entry;
  if (entries_.size() == most_entries) return nullptr;
  return entries_.emplace_back(std::make_shared<SettledDense>(*alike));
}

}  // namespace laneway
