#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "operations/collective/plans.hpp"
#include "operations/collective/tuned.hpp"
#include "operations/pipeline/family.hpp"

namespace laneway {

/// A collective operation: all ranks know the edges in closed form, and have rules as candidates, MPI's own operation
/// among them.
class CollectiveFamily final : public AlgorithmFamily {
 public:
  /// `users`: the communicator of the call.
  CollectiveFamily(Communicator& communicator, PrivateComm& comm, MPI_Comm users, const CollectiveCall& call,
                   Phases phases = Phases::split, MPI_Info info = MPI_INFO_NULL)
      : communicator_(communicator), comm_(comm), users_(users), call_(call), phases_(phases), info_(info) {}

  [[nodiscard]] const char* name() const override { return laneway::name(call_.kind); }
  [[nodiscard]] Buffers buffers() const override { return buffers_of(call_); }
  [[nodiscard]] CallSignature signature() const override { return {call_, comm_.rank(), comm_.size(), true}; }
  [[nodiscard]] Hints& hints() override { return hints_; }

  void propose(Proposal& proposal) override;
  int agreed(Agreement agreement) override;
  /// For a request a trial is made here, if such requests are expected to start so often that it pays.
  [[nodiscard]] Candidates candidates(Use use) override;
  [[nodiscard]] std::optional<TrialResult> tuned(Candidates&) override;
  void plan(const std::string& candidate, Chosen& chosen) override;
  void prove(const Plan& plan, std::string_view what) const override;
  [[nodiscard]] std::unique_ptr<Work> work_without_plan(Chosen& chosen) override;

 private:
  Communicator& communicator_;
  PrivateComm& comm_;
  MPI_Comm users_;
  const CollectiveCall& call_;
  const Phases phases_;
  MPI_Info info_;
  Hints hints_;
  std::optional<CheckedCollective> checked_;
  std::shared_ptr<const DenseKnowledge> known_;
  bool are_on_hosts_ = false;           // the buffers of all ranks
  std::shared_ptr<TunedDense> tuned_;   // null: such calls are not tried
  const TrialResult* found_ = nullptr;  // of sums
  const DenseRule* rule_ = nullptr;
  std::unique_ptr<Work> on_device_;  // null: no device of all ranks is shared
};

}  // namespace laneway
