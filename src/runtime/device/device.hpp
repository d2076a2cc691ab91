#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <laneway/device_combine.h>

#include "runtime/device/memory.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

class Event;
class Stream;

/// One device of one plugin. A plain value. All functions throw Error(device) or Error(unsupported) with the plugin's
/// text.
class Device {
 public:
  Device() = default;
  Device(const DevicePlugin* plugin, int number) : plugin_(plugin), number_(number) {}
  /// The one that holds the memory, or that it was pinned for. `memory` is not of MemoryKind::host.
  explicit Device(const MemoryInfo& memory) : Device(memory.plugin, memory.device) {}

  [[nodiscard]] explicit operator bool() const { return plugin_ != nullptr; }
  [[nodiscard]] const DevicePlugin& plugin() const { return *plugin_; }
  [[nodiscard]] const lnw_device_table& table() const { return plugin_->table(); }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] lnw_device_info info() const;
  [[nodiscard]] bool has(std::uint32_t feature) const { return (info().features & feature) != 0; }
  /// Null if the vendor's management library is missing.
  [[nodiscard]] std::unique_ptr<lnw_device_link> link(const Device& other) const;
  void check(int status, const char* call) const { plugin_->check(status, call); }

  friend bool operator==(const Device&, const Device&) = default;

 private:
  const DevicePlugin* plugin_ = nullptr;
  int number_ = -1;
};

/// All devices of all plugins, or of one.
[[nodiscard]] std::vector<Device> all_devices();
[[nodiscard]] std::vector<Device> all_devices(const DevicePlugin& plugin);

/// Memory that is freed with the object: `kind` is device, managed or pinned. Work on it must be complete by then.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(Device device, std::size_t bytes, MemoryKind kind = MemoryKind::device);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    DeviceMemory(std::move(other)).swap(*this);
    return *this;
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] MemoryKind kind() const { return kind_; }
  [[nodiscard]] Device device() const { return device_; }
  void swap(DeviceMemory& other) noexcept;

 private:
  Device device_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  MemoryKind kind_ = MemoryKind::host;
};

/// Memory of the host that is pinned as long as the object lives, for all devices of a plugin.
class HostRegistration {
 public:
  HostRegistration() = default;
  HostRegistration(Device device, void* pointer, std::size_t bytes);
  ~HostRegistration();
  HostRegistration(HostRegistration&& other) noexcept
      : device_(other.device_), pointer_(std::exchange(other.pointer_, nullptr)) {}
  HostRegistration& operator=(HostRegistration&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(pointer_, other.pointer_);
    return *this;
  }

 private:
  Device device_;
  void* pointer_ = nullptr;
};

/// An operator and the numbers that it combines, as kernels know them; see lnw_device_combine.
struct DeviceOperation {
  int operation = LNW_DEVICE_SUM;
  int number = LNW_DEVICE_FLOAT64;
  std::int64_t number_bytes = 8;
};
/// Whether the device's plugin has kernels that combine.
[[nodiscard]] bool can_combine(const Device& device);

/// Runs that one kernel moves; see lnw_device_run. The object must outlive its launches.
class Moves {
 public:
  Moves() = default;
  Moves(Device device, std::span<const lnw_device_run> runs);
  /// That combine; the device must be able to, see can_combine.
  Moves(Device device, const DeviceOperation& operation, std::span<const lnw_device_run> runs);
  ~Moves();
  Moves(Moves&& other) noexcept : device_(other.device_), moves_(std::exchange(other.moves_, nullptr)) {}
  Moves& operator=(Moves&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(moves_, other.moves_);
    return *this;
  }

  [[nodiscard]] explicit operator bool() const { return moves_ != nullptr; }
  void launch(const Stream& stream, std::span<void* const> bases) const;

 private:
  Device device_;
  lnw_device_moves moves_ = nullptr;
};

/// A stream: its own, destroyed with the object, or a user's. Whatever is put into it must stay until it has been done.
class Stream {
 public:
  Stream() = default;
  /// A new one, of its own.
  explicit Stream(Device device, bool urgent = false);
  /// A user's. Throws Error(argument) if it is of another device than `device`, naming both.
  static Stream of_user(Device device, lnw_device_stream handle);
  ~Stream();
  Stream(Stream&& other) noexcept
      : device_(other.device_),
        handle_(std::exchange(other.handle_, nullptr)),
        owned_(std::exchange(other.owned_, false)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(owned_, other.owned_);
    return *this;
  }

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(device_); }
  [[nodiscard]] Device device() const { return device_; }
  [[nodiscard]] lnw_device_stream handle() const { return handle_; }

  void synchronize() const;
  /// Whether all work in it is complete.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] bool is_capturing() const;
  void wait(const Event& event) const;
  void wait(lnw_device_event event) const;
  void copy(void* to, const void* from, std::size_t bytes) const {
    device_.check(device_.table().copy(device_.number(), handle_, to, from, bytes), "copy");
  }
  void copy(std::span<const lnw_device_rows> rows) const {
    device_.check(device_.table().copy_rows(device_.number(), handle_, rows.data(), rows.size()), "copy rows");
  }
  void fill(void* to, unsigned char value, std::size_t bytes) const {
    device_.check(device_.table().fill(device_.number(), handle_, to, value, bytes), "fill");
  }
  void write(std::uint64_t* word, std::uint64_t value) const {
    device_.check(device_.table().write_value(device_.number(), handle_, word, value), "write a flag");
  }
  /// Holds the stream until *word >= value.
  void wait(std::uint64_t* word, std::uint64_t value) const {
    device_.check(device_.table().wait_value(device_.number(), handle_, word, value), "wait for a flag");
  }
  /// The function must not call the device, nor throw.
  void call(void (*function)(void*), void* argument) const {
    device_.check(device_.table().host_call(device_.number(), handle_, function, argument), "call the host");
  }

 private:
  Device device_;
  lnw_device_stream handle_ = nullptr;
  bool owned_ = false;
};

/// An event of this process, or one of another that was opened here.
class Event {
 public:
  enum class Use : std::uint8_t { order, timing, between_processes };

  Event() = default;
  explicit Event(Device device, Use use = Use::order);
  Event(Device device, const lnw_ipc_event& shared);
  ~Event();
  Event(Event&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }
  [[nodiscard]] Device device() const { return device_; }
  [[nodiscard]] lnw_device_event handle() const { return handle_; }
  void record(const Stream& stream) const;
  [[nodiscard]] bool complete() const;
  void synchronize() const;
  /// Of an event for use between processes.
  [[nodiscard]] lnw_ipc_event share() const;
  [[nodiscard]] static double seconds_between(const Event& begin, const Event& end);

 private:
  Device device_;
  lnw_device_event handle_ = nullptr;
};

/// Words that streams write and wait for; see lnw_device_table.flag_malloc.
class DeviceFlags {
 public:
  DeviceFlags() = default;
  DeviceFlags(Device device, std::size_t count);
  ~DeviceFlags();
  DeviceFlags(DeviceFlags&& other) noexcept : device_(other.device_), words_(std::exchange(other.words_, nullptr)) {}
  DeviceFlags& operator=(DeviceFlags&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(words_, other.words_);
    return *this;
  }

  [[nodiscard]] std::uint64_t* word(std::size_t index) const { return words_ + index * words_apart; }

 private:
  static constexpr std::size_t words_apart = 64 / sizeof(std::uint64_t);

  Device device_;
  std::uint64_t* words_ = nullptr;
};

}  // namespace laneway
