#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "candidates/candidates.hpp"
#include "runtime/device/device.hpp"

namespace laneway::bench {

/// Where buffers are, on the command line.
struct MemoryOptions {
  std::string memory = "host";  ///< host, device or managed
  std::string path;             ///< the hint lnw_memory_path; empty: not given
};

void add_options(CLI::App& command, MemoryOptions& options);

/// Twins of a program's buffers in memory of a device, next to each other if those are.
class DeviceBuffers {
 public:
  DeviceBuffers(Device device, const Buffers& host, MemoryKind kind);

  [[nodiscard]] Buffers get() const { return twins_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }
  /// All bytes of both buffers go to the device; what has been received comes back. Complete on return, as the others.
  void bring() const;
  void fetch() const;
  /// A part of the send buffer goes to the host's; a part of the host's receive buffer comes from there.
  void stage_out(std::size_t offset, std::size_t bytes) const;
  void stage_in(std::size_t offset, std::size_t bytes) const;

 private:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const;

  Buffers host_;
  DeviceMemory memory_;
  Buffers twins_;
  Stream stream_;
};

/// Ranks have the devices of a node in turn. Nothing if there is no device.
[[nodiscard]] std::optional<Device> device_of_rank(Rank rank);

/// On the devices of a node in turn. Null if the options say that buffers are in the host's memory. Throws
/// Error(unsupported) if there is no device.
[[nodiscard]] std::unique_ptr<DeviceBuffers> make_device_buffers(const Run& run, const Buffers& host,
                                                                 const MemoryOptions& options);

}  // namespace laneway::bench
