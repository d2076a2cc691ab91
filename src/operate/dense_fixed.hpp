#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "arguments/signature.hpp"
#include "operate/dense_start.hpp"

namespace laneway {

/// Blocking v and w operations of a communicator with the hint lnw_fixed_dense_counts, or nonblocking ones, which have
/// their own: the arguments of the first call of an operation, with its root and its operator, are those of all later
/// ones, but for the buffers. So its plan is made as that of a persistent operation is, with the sizes of others'
/// blocks and memory of the node, and no later call asks anybody for anything. Nonblocking calls share it, one after
/// another.
class FixedDense {
 public:
  FixedDense(CallSignature signature, DenseDecision decision)
      : signature_(std::move(signature)), decision_(std::move(decision)) {}

  /// Whether later calls run here: by a rule that needs no window.
  [[nodiscard]] bool runs() const { return bound_ != nullptr; }
  [[nodiscard]] const DenseDecision& decision() const { return decision_; }
  /// `order`: of nonblocking calls, whose messages have tags of their own.
  void bind(std::shared_ptr<BoundPlan> bound, std::shared_ptr<StartOrder> order) {
    bound_ = std::move(bound);
    order_ = std::move(order);
  }
  void run(Buffers buffers, const PrivateComm& comm) { run_by_plan(*bound_, buffers, comm); }
  [[nodiscard]] std::unique_ptr<Request> start(Communicator& communicator, const DenseKnowledge& known,
                                               Buffers buffers) const;

  /// Under lnw_check, in blocking calls, all ranks throw Error(argument) with the first rank whose arguments have
  /// changed, and with what has. Otherwise such a rank ends the job: the others could only wait for ever.
  void keep_promise(const CollectiveCall& call, const DenseKnowledge& known, const PrivateComm& comm) const;

 private:
  CallSignature signature_;
  DenseDecision decision_;
  std::shared_ptr<BoundPlan> bound_;
  std::shared_ptr<StartOrder> order_;  // null: they block
};

/// Whether the hint has a bearing on such calls, which all ranks know. Local.
[[nodiscard]] bool may_be_promised(const CollectiveCall& call);
/// Whether the communicator has the hint. Local.
[[nodiscard]] bool promises_counts(Communicator& communicator);

/// That of a call, made in the first one, which is collective; null where it is not promised. `phases`: whether calls
/// block.
[[nodiscard]] FixedDense* fixed_dense(Communicator& communicator, const DenseKnowledge& known,
                                      const CollectiveCall& call, Phases phases);

/// Bytes of a block of the call in the mean of all ranks, where no rank knows the sizes of all. Collective.
[[nodiscard]] std::int64_t mean_block_bytes(const CollectiveCall& call, const DenseCall& blocks,
                                            const PrivateComm& comm);

}  // namespace laneway
