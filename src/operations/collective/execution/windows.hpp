#pragma once

#include <memory>

#include "algorithms/collective/call.hpp"
#include "algorithms/collective/rules.hpp"
#include "communicator/private_comm.hpp"
#include "operations/request/work.hpp"
#include "runtime/device/buffers.hpp"

namespace laneway {

enum class WindowUse : std::uint8_t {
  once,  ///< the window is freed at the end of the only exchange
  again  ///< when all ranks have freed the work, which need not be in one order
};

/// An all-to-all in which every rank puts its blocks into the receive buffers of the others, after E. Namugwanya,
/// A. Bienz, M. Dosanjh, A. Skjellum: RMA-based alltoallv: performance analysis, 2025. Where blocks go is exchanged
/// once, and the window is kept. Blocks with gaps, and those in place, are packed beside the buffers. With buffers on
/// devices, each exchange begins and ends with copies of their images.
///
/// Ranks wait for each other: each puts when all have started, and is through when all have put. So one that blocks
/// between start and wait for what another sends after its own wait waits for ever.
///
/// Collective. `blocks` and `plan`: this rank's. Null, on all ranks, where the MPI library has no windows here.
[[nodiscard]] std::unique_ptr<Work> make_in_windows(std::shared_ptr<PrivateComm> comm, const DenseCall& blocks,
                                                    Buffers buffers, Windows way, std::shared_ptr<const Plan> plan,
                                                    WindowUse use);

}  // namespace laneway
