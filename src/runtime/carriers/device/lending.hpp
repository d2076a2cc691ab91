#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "plan/plan.hpp"
#include "runtime/carriers/device/ipc.hpp"
#include "runtime/carriers/memory.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// What a rank lends, while it may be read.
struct Lent {
  DeviceMemory mirror;  ///< of what the plan lends, if that is not on a device
  Event ready;          ///< it may be read after this; none where devices share no events: then words say so
};

/// Says in the window where what the plan lends is, for peers who look there once they are told that they may take it.
/// `begin`: where it begins in the send buffer, on `device` or, if `mirrors`, in the host's memory.
[[nodiscard]] Lent lend(const Plan& plan, PlanMemory& memory, const Device& device, std::byte* begin, bool mirrors);

/// The send buffer of a peer.
struct Borrowed {
  std::byte* base = nullptr;
  lnw_device_event ready = nullptr;           ///< comes before what is borrowed; null: its flag says so
  std::array<std::uint64_t, 2> ordered_in{};  ///< by stream: the last exchange in which it has waited for that

  /// What a copy in one of the two streams has to wait for; null: nothing, or what has been waited for there, since
  /// what comes later in a stream comes after it, too.
  [[nodiscard]] lnw_device_event ready_in(std::size_t stream, std::uint64_t exchange) {
    return std::exchange(ordered_in[stream], exchange) != exchange ? ready : nullptr;
  }
};

/// The send buffers of the peers that a plan takes from.
class BorrowedBuffers {
 public:
  /// Of none.
  BorrowedBuffers() = default;
  explicit BorrowedBuffers(const Plan& plan);

  /// As the peer has said last. Opens it, which allocates, once for each binding of the peer.
  [[nodiscard]] Borrowed& of(Rank peer, const PlanMemory& memory, const Device& device) {
    return open(peer, buffers_.at(peer), memory, device);
  }
  /// All of them, as far as the peers have said where they are.
  void open_all(const PlanMemory& memory, const Device& device) {
    for (auto& [peer, buffer] : buffers_) (void)open(peer, buffer, memory, device);
  }

 private:
  struct Buffer {
    Borrowed where;
    std::uint64_t generation = 0;
    IpcMapping mapping;
    Event opened;
  };
  static Borrowed& open(Rank peer, Buffer& buffer, const PlanMemory& memory, const Device& device);

  std::map<Rank, Buffer> buffers_;
};

}  // namespace laneway
