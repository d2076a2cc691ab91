#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments/signature.hpp"
#include "core/recent.hpp"
#include "exec/progress.hpp"
#include "operate/dense_plans.hpp"

namespace laneway {

/// A plan of blocking calls, and its bindings to the last buffers.
class BoundDense {
 public:
  /// `memory`: null if the plan uses none.
  BoundDense(std::shared_ptr<const Plan> plan, std::shared_ptr<NodeMemory> memory, Combiners combiners)
      : plan_(std::move(plan)), memory_(std::move(memory)), combiners_(std::move(combiners)) {}

  /// Runs it once. What is on a device goes through HostImages, which each call makes.
  void run(Buffers buffers, const PrivateComm& comm);
  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  /// What it is bound to.
  void forget() { bindings_.clear(); }

 private:
  struct Binding {
    Buffers buffers;
    std::unique_ptr<Exchange> exchange;
  };
  static constexpr std::size_t most_bindings = 4;

  [[nodiscard]] std::unique_ptr<Exchange> bind(Buffers buffers, const BufferMemory& where, const PrivateComm& comm);
  void run_through_host(Buffers buffers, const BufferMemory& where, const PrivateComm& comm);

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<NodeMemory> memory_;
  Combiners combiners_;
  Recent<Binding> bindings_{most_bindings};
};

class SettledDense;

/// What a blocking call comes to.
struct KeptDense {
  CallSignature signature;
  DenseDecision decision;
  std::shared_ptr<const PrivateComm> comm;
  std::unique_ptr<BoundDense> bound;      ///< null: MPI's own operation
  std::shared_ptr<SettledDense> settled;  ///< null: it stays with the decision
  bool is_plain = false;                  ///< nothing but the decision concerns such calls

  [[nodiscard]] bool is_for(const CollectiveCall& call) const { return signature.equal(call); }
};

}  // namespace laneway
