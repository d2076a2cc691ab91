#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "communicator/arguments/collective.hpp"
#include "communicator/arguments/kept.hpp"
#include "operations/request/origin.hpp"

namespace laneway {

/// Of a dense operation: blocks of ranks that are left stay where they are in the buffers.
class DenseOrigin final : public Origin {
 public:
  /// Of a call that has been found good.
  DenseOrigin(const Communicator& communicator, MPI_Info info, const CollectiveCall& call);

  [[nodiscard]] std::string text() const override;
  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(sizeof *this) + send_.bytes() + receive_.bytes();
  }
  void set_buffers(Buffers) override {}  // which it keeps
  [[nodiscard]] Remake among(const RankTranslation& ranks, const EdgePartitions* partitions) const override;
  void check_fits(Communicator& topology) const override;
  [[nodiscard]] std::unique_ptr<Request> on(Communicator& topology, const EdgePartitions* partitions) const override;

 private:
  CollectiveCall call_;  // but for its sides
  bool sends_;
  bool receives_;
  KeptSide send_;
  KeptSide receive_;
  HeldOperator op_;
  HintTexts hints_;
};

}  // namespace laneway
