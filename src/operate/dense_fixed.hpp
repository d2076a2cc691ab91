#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "operate/dense_kept.hpp"
#include "operate/dense_looked.hpp"

namespace laneway {

/// Blocking v and w operations of a communicator with the hint lnw_fixed_counts: the arguments of the first call of an
/// operation, with its root and its operator, are those of all later ones, but for the buffers. So its plan is made as
/// that of a persistent operation is, with the sizes of others' blocks and memory of the node, and no later call asks
/// anybody for anything.
class FixedDense {
 public:
  FixedDense(KnownCollective arguments, DenseDecision decision)
      : arguments_(std::move(arguments)), decision_(std::move(decision)) {}

  /// Whether later calls run here: by a rule that needs no window.
  [[nodiscard]] bool runs() const { return bound_ != nullptr; }
  [[nodiscard]] const DenseDecision& decision() const { return decision_; }
  void bind(std::unique_ptr<BoundDense> bound) { bound_ = std::move(bound); }
  void run(Buffers buffers, const PrivateComm& comm) { bound_->run(buffers, comm); }

  /// Under lnw_check, all ranks throw Error(argument) with the first rank whose arguments have changed, and with what
  /// has. Otherwise such a rank ends the job: the others could only wait for ever.
  void keep_promise(const CollectiveCall& call, const DenseKnowledge& known, const PrivateComm& comm) const;

 private:
  KnownCollective arguments_;
  DenseDecision decision_;
  std::unique_ptr<BoundDense> bound_;
};

/// That of a call, made in the first one, which is collective; null: the hint has no bearing on such calls, which all
/// ranks know.
[[nodiscard]] FixedDense* fixed_dense(Communicator& communicator, const DenseKnowledge& known,
                                      const CollectiveCall& call);

/// Bytes of a block of the call in the mean of all ranks, where no rank knows the sizes of all. Collective.
[[nodiscard]] std::int64_t mean_block_bytes(const CollectiveCall& call, const DenseCall& blocks,
                                            const PrivateComm& comm);

}  // namespace laneway
