/// Buffers in memory of devices, where the environment asks for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <laneway/sim_device.h>

namespace laneway::test {

/// LANEWAY_TEST_MEMORY: `mixed` if buffers shall be in memory of any kind that the first plugin of
/// LANEWAY_DEVICE_PLUGINS has, `device` if all shall be on a device, unset if all shall be in the host's.
[[nodiscard]] bool uses_devices();

/// Of the first plugin that LANEWAY_DEVICE_PLUGINS names; null without one.
[[nodiscard]] const lnw_device_table* device_table();
/// Null if that is not the sim device.
[[nodiscard]] const lnw_sim_device* sim_device();

/// A stream of the device of this rank; null without devices.
[[nodiscard]] void* device_stream();
void synchronize_stream();
/// Null if there is one device only.
[[nodiscard]] void* stream_of_other_device();

/// Whether the host may read and write their memory.
[[nodiscard]] bool host_may_touch_devices();

/// Only the sim device counts what it does.
[[nodiscard]] bool counts_moves();
/// Copies and kernels between devices and the host so far; 0 where nobody counts them.
[[nodiscard]] std::uint64_t moves_through_host();

/// A copy of an array in some kind of memory.
class Mirror {
 public:
  enum class Kind { none, pinned, managed, device };

  Mirror() = default;
  Mirror(Kind kind, std::size_t bytes);
  ~Mirror();
  Mirror(Mirror&& other) noexcept { swap(other); }
  Mirror& operator=(Mirror&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Any kind, the same for the same number.
  [[nodiscard]] static Kind kind_of(std::uint64_t number);

  [[nodiscard]] explicit operator bool() const { return data_ != nullptr; }
  [[nodiscard]] unsigned char* data() const { return data_; }
  /// Both are complete when they return.
  void write(const std::vector<unsigned char>& bytes) const;
  void read(std::vector<unsigned char>& bytes) const;
  /// In the stream of this rank; the arrays must stay.
  void write_in_stream(const std::vector<unsigned char>& bytes) const;
  void read_in_stream(std::vector<unsigned char>& bytes) const;

 private:
  void swap(Mirror& other) noexcept;

  Kind kind_ = Kind::none;
  unsigned char* data_ = nullptr;
};

}  // namespace laneway::test
