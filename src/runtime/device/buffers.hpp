#pragma once

#include <cstdint>

#include "algorithms/lowering/through_host.hpp"
#include "base/bytes/ranges.hpp"
#include "plan/kernel_rows.hpp"
#include "plan/pattern.hpp"
#include "plan/plan.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/memory.hpp"

namespace laneway {

/// The two buffer arguments of an operation. Plans address them by offsets, which may be negative.
struct Buffers {
  const void* send = nullptr;
  void* receive = nullptr;

  friend bool operator==(const Buffers&, const Buffers&) = default;
};

/// The memory that an operation's buffers are in.
struct BufferMemory {
  MemoryInfo send;
  MemoryInfo receive;

  bool host_touches = false;     ///< some of what the operation touches is in memory that the host may touch
  bool device_aware = false;     ///< the transport takes addresses on these devices
  CopyRule rule = {};            ///< of copies from and to these devices
  bool device_combines = false;  ///< that of the receive buffer has kernels for what the plan combines

  [[nodiscard]] OnDevice on_device() const {
    return {!send.host_may_touch(), !receive.host_may_touch(), device_combines};
  }
  /// Those that messages reach only through the host's memory.
  [[nodiscard]] OnDevice behind_host() const { return device_aware ? OnDevice{} : on_device(); }
};

/// Of the buffers, the send buffer's first; none if no plugin knows them.
[[nodiscard]] Device device_of(const BufferMemory& memory);

/// The stream that a user gives for buffers on `device`, or for buffers on none. Throws Error(argument) where it cannot
/// order an exchange.
[[nodiscard]] Stream user_stream(Device device, lnw_device_stream stream);

/// The bytes of the buffers that an operation touches.
struct Extents {
  Range send;
  Range receive;
};
[[nodiscard]] Extents extents_of(const Plan& plan);
[[nodiscard]] Extents extents_of(const RankPattern& pattern);

/// Looks at both ends of what is touched. Throws Error(buffer) that names the argument: memory of a device whose plugin
/// is not loaded, that was freed or is too small, or buffers on devices of different vendors.
[[nodiscard]] BufferMemory look_at(const Buffers& buffers, const Extents& extents);

/// The same for buffers that are probably not on a device: where no plugin is loaded it costs nothing, and finds
/// nothing wrong.
[[nodiscard]] BufferMemory glance_at(const Buffers& buffers, const Plan& plan);

}  // namespace laneway
