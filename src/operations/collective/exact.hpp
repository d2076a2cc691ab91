#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes/binned_sum.hpp"
#include "base/process/attachments.hpp"
#include "communicator/arguments/collective.hpp"
#include "communicator/datatypes/operators.hpp"
#include "mpi/made_type.hpp"
#include "operations/request/work.hpp"

namespace laneway {

class Communicator;

/// Under lnw_order=exact, a sum of floating-point numbers becomes an operation on accumulators (BinnedSum), which any
/// rule may combine in any order: results depend on the numbers alone.

/// The operator that adds accumulators, and the datatypes of those of a real and of a complex number.
class ExactSum {
 public:
  ExactSum();
  ~ExactSum();
  ExactSum(const ExactSum&) = delete;
  ExactSum& operator=(const ExactSum&) = delete;

  [[nodiscard]] MPI_Op op() const { return op_; }
  [[nodiscard]] MPI_Datatype type(int numbers) const { return numbers == 1 ? real_.get() : complex_.get(); }

 private:
  MPI_Op op_ = MPI_OP_NULL;
  MadeType real_;
  MadeType complex_;
};

/// That of a communicator's calls, so that equal calls have an equal operator.
struct ExactSums final : Attachment {
  std::shared_ptr<const ExactSum> sum;
};

/// Whether lnw_order=exact has a bearing on a call: it adds floating-point numbers, or complex ones, of 4 or 8 bytes.
[[nodiscard]] bool adds_floats(const CollectiveCall& call);

/// A call that adds floating-point numbers, on accumulators.
class ExactCall {
 public:
  /// `given` has been found good. Local. Throws Error(unsupported) if a buffer is on a device.
  ExactCall(Communicator& communicator, const CollectiveCall& given, Rank rank, Rank ranks);

  [[nodiscard]] const CollectiveCall& call() const { return call_; }
  /// Before the operation starts, and when it is complete.
  void fetch();
  void put_back() const;

 private:
  CollectiveCall given_;
  Floats floats_;
  std::shared_ptr<const ExactSum> sum_;
  std::vector<BinnedSum> sent_;
  std::vector<BinnedSum> received_;
  std::size_t results_ = 0;  // of those that are received; the others are undefined, and stay what they are
  CollectiveCall call_;
};

/// What runs such a call. The buffers stay what they are.
class ExactWork final : public Work {
 public:
  ExactWork(std::unique_ptr<ExactCall> call, std::unique_ptr<Work> work)
      : call_(std::move(call)), work_(std::move(work)) {}

  [[nodiscard]] bool start() override;
  [[nodiscard]] bool test() override;
  [[nodiscard]] bool done() override;
  void wait() override;
  [[nodiscard]] bool active() const override { return work_->active(); }
  [[nodiscard]] WorkState state() const override { return work_->state(); }
  [[nodiscard]] bool claim() override { return work_->claim(); }
  void unclaim() override { work_->unclaim(); }
  [[nodiscard]] const Plan& plan() const override { return work_->plan(); }
  [[nodiscard]] Statistics statistics() const override { return work_->statistics(); }
  void fill(MPI_Status& status) const override { work_->fill(status); }
  [[nodiscard]] MPI_Comm users() const override { return work_->users(); }
  [[nodiscard]] const StagingArena* shared_staging() const override { return work_->shared_staging(); }
  [[nodiscard]] Progress advanced_by() const override { return work_->advanced_by(); }

 private:
  void finish();

  std::unique_ptr<ExactCall> call_;
  std::unique_ptr<Work> work_;
  bool is_finished_ = false;  // the buffer has the results, and is the program's
};

}  // namespace laneway
