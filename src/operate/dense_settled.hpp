#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operate/dense_alike.hpp"
#include "operate/dense_start.hpp"

namespace laneway {

/// How calls come. MPI's own operation is another one in each form; a nonblocking one has only messages.
enum class CallForm : std::uint8_t { blocking, persistent, nonblocking };

/// The calls that are alike on a communicator, and how they run once they have been repeated: by the rule that a trial
/// or a hint has chosen, in the memory of the node if they may wait, or as MPI's own. All ranks make such calls in the
/// same order, so that all count the same, and settle in the same call.
class SettledDense {
 public:
  struct Key {
    CallForm form = CallForm::blocking;
    std::shared_ptr<const DenseKnowledge> known;  ///< so that their hints are the same, too
    AlikeCalls alike;

    friend bool operator==(const Key&, const Key&) = default;
  };
  explicit SettledDense(Key key) : key_(std::move(key)) {}

  [[nodiscard]] const Key& key() const { return key_; }
  /// By hints; null: MPI's own. `is_final`: no trial may choose another.
  void decided(const DenseRule* rule, bool is_final) {
    named_ = is_final ? rule : named_;
    is_final_ = is_final_ || is_final;
  }
  void count(double calls) { calls_ += calls; }
  /// On this rank something speaks against a trial, of which the others may not know.
  void stays_as_decided(bool stays) { stays_as_decided_ = stays_as_decided_ || stays; }
  /// Whether it is time to settle.
  [[nodiscard]] bool is_due() const;

  enum class Way : std::uint8_t { as_decided, mpi, rule };
  [[nodiscard]] Way way() const { return way_; }
  /// What runs, and why: `decision`, unless a trial has come to another end.
  [[nodiscard]] DenseDecision instead_of(DenseDecision decision) const;
  /// What all ranks know of it, for lnw_check=decisions.
  [[nodiscard]] std::string text() const;
  /// A blocking call whose way is a rule.
  void run(const CollectiveCall& call, Rank rank, Rank ranks, const PrivateComm& comm);
  /// Of a rank, in the memory that is kept for the next call.
  [[nodiscard]] std::int64_t kept_bytes() const {
    return bound_ ? bound_->plan()->staging_bytes + bound_->plan()->window_bytes : 0;
  }

 private:
  friend class DenseTrial;
  friend class SettledDenseCalls;

  const Key key_;
  double calls_ = 0;
  const DenseRule* named_ = nullptr;
  bool is_final_ = false;
  bool is_settled_ = false;
  bool stays_as_decided_ = false;
  Way way_ = Way::as_decided;
  const DenseRule* best_ = nullptr;  // of a trial, also where MPI's own was faster
  Reasons reasons_;                  // of the way, after a trial
  std::unique_ptr<BoundPlan> bound_;
};

/// Those of a communicator, the first of them all: what is kept is never given up, which all ranks would have to agree
/// on.
class SettledDenseCalls final : public Attachment {
 public:
  /// Null: such a call stays with the decision.
  [[nodiscard]] std::shared_ptr<SettledDense> find(CallForm form, const CollectiveCall& call, const Looked& looked,
                                                   const std::shared_ptr<const DenseKnowledge>& known);
  /// The same of a call that does not count; null also if there was none before.
  [[nodiscard]] std::shared_ptr<const SettledDense> look_up(CallForm form, const CollectiveCall& call,
                                                            const Looked& looked,
                                                            const std::shared_ptr<const DenseKnowledge>& known) const;
  /// Counts so many more calls. Local.
  void count(SettledDense& entry, double calls) {
    entry.count(calls);
    are_due_ = are_due_ || entry.is_due();
  }
  /// Whether some are to be settled, in the next call that may wait for all ranks.
  [[nodiscard]] bool are_due() const { return are_due_; }
  /// Does so, on buffers of its own. Collective.
  void settle(Communicator& communicator, const PrivateComm& comm, MPI_Comm users);

  void on(Change) override {
    entries_.clear();
    are_due_ = false;
  }

 private:
  static constexpr std::size_t most_entries = 32;

  [[nodiscard]] std::shared_ptr<SettledDense> find(const SettledDense::Key& key) const;

  bool are_due_ = false;
  std::vector<std::shared_ptr<SettledDense>> entries_;
};

}  // namespace laneway
