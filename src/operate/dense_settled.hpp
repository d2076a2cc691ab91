#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "operate/dense_alike.hpp"
#include "operate/dense_kept.hpp"
#include "operate/dense_looked.hpp"

namespace laneway {

/// The calls that are alike on a communicator, and how they run once they have been repeated: in the memory of the
/// node, by the rule that a trial or a hint has chosen, or as MPI's own. All ranks make such calls in the same order,
/// so that all count the same, and settle in the same call.
class SettledDense {
 public:
  explicit SettledDense(const AlikeCalls& alike) : alike_(alike) {}

  [[nodiscard]] const AlikeCalls& alike() const { return alike_; }
  /// By the communicator's hints; null: MPI's own. `is_final`: no trial may choose another.
  void decided(const DenseRule* rule, bool is_final) {
    named_ = is_final ? rule : named_;
    is_final_ = is_final_ || is_final;
  }
  /// Counts one more call. Collective where that is the one in which they settle.
  void count(Communicator& communicator, const DenseKnowledge& known, const PrivateComm& comm, MPI_Comm users);
  enum class Way : std::uint8_t { as_decided, mpi, plan };
  [[nodiscard]] Way way() const { return way_; }
  /// Where the way is a plan.
  void run(const CollectiveCall& call, Rank rank, Rank ranks, const PrivateComm& comm);

 private:
  friend class DenseTrial;

  const AlikeCalls alike_;
  int calls_ = 0;
  const DenseRule* named_ = nullptr;
  bool is_final_ = false;
  Way way_ = Way::as_decided;
  std::unique_ptr<BoundDense> bound_;
};

/// Those of a communicator, the first of them all: what is kept is never given up, which all ranks would have to agree
/// on.
class SettledDenseCalls final : public Attachment {
 public:
  /// Null: such a call stays with the decision.
  [[nodiscard]] std::shared_ptr<SettledDense> find(const CollectiveCall& call, const Looked& looked,
                                                   const DenseKnowledge& known);
  void on(Change) override { entries_.clear(); }

 private:
  static constexpr std::size_t most_entries = 32;
  std::vector<std::shared_ptr<SettledDense>> entries_;
};

}  // namespace laneway
