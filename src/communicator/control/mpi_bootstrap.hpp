#pragma once

#include "communicator/control/control_comm.hpp"
#include "runtime/carriers/bootstrap.hpp"

namespace laneway {

/// On a private communicator. Advances active exchanges while it waits.
class MpiBootstrap final : public Bootstrap {
 public:
  explicit MpiBootstrap(const ControlComm& comm) : comm_(comm), handle_(comm.get()) {}

  [[nodiscard]] Rank rank() const override { return comm_.rank(); }
  [[nodiscard]] const void* communicator() const override { return &handle_; }
  [[nodiscard]] std::size_t ranks_of_machine() const override;
  [[nodiscard]] std::vector<Bytes> carry(Round round) override;
  [[nodiscard]] std::uint64_t common_bits(std::uint64_t bits) override;
  [[nodiscard]] std::optional<Rank> find_failure(const Region& node, bool failed,
                                                 const std::function<bool()>& none_failed) override;

 private:
  [[nodiscard]] bool none_fails(const std::function<bool()>& none_failed) const;

  const ControlComm& comm_;
  MPI_Comm handle_;
};

}  // namespace laneway
