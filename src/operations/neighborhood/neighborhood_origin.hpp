#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "communicator/arguments/call.hpp"
#include "communicator/arguments/kept.hpp"
#include "operations/request/origin.hpp"

namespace laneway {

/// Of a neighborhood operation: its neighborhoods are made smaller, and the arguments stay as they are.
class NeighborhoodOrigin final : public Origin {
 public:
  /// Of a call that has been found good.
  NeighborhoodOrigin(Communicator& communicator, MPI_Info info, const Call& call);

  [[nodiscard]] std::string text() const override { return laneway::name(kind_); }
  [[nodiscard]] std::int64_t bytes() const override;
  void set_buffers(Buffers buffers) override { buffers_ = buffers; }
  [[nodiscard]] Remake among(const RankTranslation& ranks, const EdgePartitions* partitions) const override;
  void check_fits(Communicator& topology) const override;
  [[nodiscard]] std::unique_ptr<Request> on(Communicator& topology, const EdgePartitions* partitions) const override;

 private:
  Kind kind_;
  Buffers buffers_;
  KeptSide send_;
  KeptSide receive_;
  HeldOperator op_;
  const char* sendbuf_name_;
  const char* recvbuf_name_;
  Topology topology_;
  HintTexts hints_;  // of the call
  HintTexts hints_of_topology_;
};

}  // namespace laneway
