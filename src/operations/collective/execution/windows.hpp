#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/collective/call.hpp"
#include "algorithms/collective/rules.hpp"
#include "communicator/private_comm.hpp"
#include "operations/plans/host_images.hpp"
#include "operations/request/work.hpp"
#include "runtime/device/buffers.hpp"

namespace laneway {

/// An all-to-all in which every rank puts its blocks into the receive buffers of the others, after E. Namugwanya,
/// A. Bienz, M. Dosanjh, A. Skjellum: RMA-based alltoallv: performance analysis, 2025. Where blocks go is exchanged
/// once, and the window is kept. Blocks with gaps, and those in place, are packed beside the buffers.
///
/// Ranks wait for each other: each puts when all have started, and is through when all have put. So one that blocks
/// between start and wait for what another sends after its own wait waits for ever.
class WindowExchange final : public Work {
 public:
  /// Collective. `blocks` and `plan`: this rank's. Null, on all ranks, where the MPI library has no windows here. With
  /// buffers on devices, each exchange begins and ends with copies of their images.
  static std::unique_ptr<WindowExchange> make(std::shared_ptr<PrivateComm> comm, const DenseCall& blocks,
                                              Buffers buffers, Windows way, std::shared_ptr<const Plan> plan);
  /// The window is freed when all ranks have done so, which need not be in one order.
  ~WindowExchange() override;
  /// Frees the window at once. Collective.
  void close() { window_.reset(); }

  [[nodiscard]] bool active() const override { return state_ != State::inactive; }
  [[nodiscard]] bool start() override;
  [[nodiscard]] bool test() override;
  [[nodiscard]] bool done() override;
  [[nodiscard]] const Plan& plan() const override { return *plan_; }

 private:
  enum class State : std::uint8_t { inactive, entering, leaving, complete };
  /// One side of the call. `packed`: where blocks lie one after the other; empty: they are in the buffer as they are.
  struct Side {
    std::vector<RangeList> blocks;
    std::vector<std::byte> packed;
    std::byte* base = nullptr;
    std::vector<std::int64_t> offsets;  // of each block, from the base

    void look_at(const Blocks& given, Rank ranks, void* buffer, bool must_pack);
  };

  WindowExchange(std::shared_ptr<PrivateComm> comm, const DenseCall& blocks, Buffers buffers, Windows way,
                 std::shared_ptr<const Plan> plan, std::unique_ptr<HostImages> images);
  [[nodiscard]] bool open();
  void put();
  void move();
  void finish();

  std::shared_ptr<PrivateComm> comm_;
  Windows way_;
  Buffers buffers_;
  bool in_place_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<HostImages> images_;  // or null
  Side send_;
  Side receive_;
  std::vector<std::int64_t> places_;  // of this rank's blocks in the others' windows
  /// With the memory that it is of, unless that is the caller's.
  struct Window {
    Windows way;
    std::vector<std::byte> packed;
    MPI_Win handle = MPI_WIN_NULL;
    ~Window();
  };
  std::shared_ptr<Window> window_;
  std::int64_t number_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;  // of the barrier in which the ranks are
  State state_ = State::inactive;
};

}  // namespace laneway
