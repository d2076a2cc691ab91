#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operations/choose/trial.hpp"
#include "operations/collective/call_class.hpp"
#include "operations/collective/plans.hpp"

namespace laneway {

/// How calls come. MPI's own operation is another one in each form; a nonblocking one has only messages.
enum class CallForm : std::uint8_t { blocking, persistent, nonblocking };

/// The calls of a class on a communicator, and how they run once they have been repeated: by the rule that a trial
/// or a hint has chosen, in the memory of the node if they may wait, or as MPI's own. All ranks make such calls in the
/// same order, so that all count the same, and try in the same call.
class TunedDense {
 public:
  struct Key {
    CallForm form = CallForm::blocking;
    std::shared_ptr<const DenseKnowledge> known;  ///< so that their hints are the same, too
    CallClass call_class;
    bool is_of_size = false;  ///< stands for sums of fewer than twice as many elements

    friend bool operator==(const Key&, const Key&) = default;
  };
  enum class State : std::uint8_t {
    counted,     ///< until there are enough calls
    as_decided,  ///< for ever
    mpi,         ///< as MPI's own
    rule
  };
  /// What a trial, or the rule that a hint names, comes to.
  struct Result {
    State state = State::as_decided;
    const DenseRule* best = nullptr;        ///< of a trial, also where MPI's own was faster
    std::optional<TrialResult> found = {};  ///< of a trial
    std::shared_ptr<BoundPlan> bound = {};  ///< of blocking calls by a rule
  };
  explicit TunedDense(Key key) : key_(std::move(key)) {}

  [[nodiscard]] const Key& key() const { return key_; }
  /// By hints; null: MPI's own. `is_final`: no trial may choose another.
  void decided(const DenseRule* rule, bool is_final) {
    if (is_final) final_rule_ = rule;
  }
  [[nodiscard]] const std::optional<const DenseRule*>& final_rule() const { return final_rule_; }
  void count(double calls) { calls_ += calls; }
  /// For something on this rank, of which the others may not know.
  void forbid_trial(bool forbids) { is_forbidden_ = is_forbidden_ || forbids; }
  [[nodiscard]] bool is_forbidden() const { return is_forbidden_; }
  /// Whether it is time for a trial, or for the rule that a hint names.
  [[nodiscard]] bool is_due() const;

  void end(Result result) { result_ = std::move(result); }
  [[nodiscard]] State state() const { return result_.state; }
  [[nodiscard]] const DenseRule* best() const { return result_.best; }
  /// Of a trial; null: there was none, or no result.
  [[nodiscard]] const TrialResult* found() const { return result_.found ? &*result_.found : nullptr; }
  /// What all ranks know of it, for lnw_check=decisions.
  [[nodiscard]] std::string text() const;
  /// A blocking call by a rule. `needs_copies`: what ContiguousBuffers says, which takes as long as a short call.
  void run(const CollectiveCall& call, const PrivateComm& comm, bool needs_copies);
  /// Of a rank, in the memory that is kept for the next call.
  [[nodiscard]] std::int64_t kept_bytes() const { return result_.bound ? result_.bound->kept_bytes() : 0; }

 private:
  const Key key_;
  double calls_ = 0;
  std::optional<const DenseRule*> final_rule_;
  bool is_forbidden_ = false;
  Result result_{State::counted};
};

/// Those of a communicator, the first of them all: what is kept is never given up, which all ranks would have to agree
/// on.
class DenseAutotuner final : public Attachment {
 public:
  /// Null: such a call stays with the decision.
  [[nodiscard]] std::shared_ptr<TunedDense> find(CallForm form, const CheckedCollective& checked,
                                                 const std::shared_ptr<const DenseKnowledge>& known);
  /// Of a call that does not count; null: there was no trial.
  [[nodiscard]] const TrialResult* look_up(CallForm form, const CheckedCollective& checked,
                                           const std::shared_ptr<const DenseKnowledge>& known) const;
  /// Counts so many more calls. Local.
  void count(TunedDense& entry, double calls) {
    entry.count(calls);
    are_due_ = are_due_ || entry.is_due();
  }
  /// Of sums of floating-point numbers, before their first result, under lnw_order=tried; null: the model decides.
  /// Collective.
  [[nodiscard]] const TrialResult* try_sums(CallForm form, const CheckedCollective& checked,
                                            const std::shared_ptr<const DenseKnowledge>& known,
                                            Communicator& communicator, const PrivateComm& comm, MPI_Comm users);
  /// Whether some are to be tried, in the next call that may wait for all ranks.
  [[nodiscard]] bool are_due() const { return are_due_; }
  /// Another number after each time that some have been tried.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// What else takes all ranks, and is due in the same order on all of them. It is done in that call, too.
  void do_when_due(std::function<void(Communicator&)> step) {
    steps_.push_back(std::move(step));
    are_due_ = true;
  }
  /// Does so, on buffers of its own. Collective.
  void tune(Communicator& communicator, const PrivateComm& comm, MPI_Comm users);

  void on(Change) override {
    entries_.clear();
    steps_.clear();
    are_due_ = false;
  }

 private:
  static constexpr std::size_t most_entries = 32;

  [[nodiscard]] std::shared_ptr<TunedDense> find(const TunedDense::Key& key) const;
  [[nodiscard]] std::shared_ptr<TunedDense> find_or_add(std::optional<TunedDense::Key> key);

  bool are_due_ = false;
  std::uint64_t version_ = 0;
  std::vector<std::function<void(Communicator&)>> steps_;
  std::vector<std::shared_ptr<TunedDense>> entries_;
};

}  // namespace laneway
