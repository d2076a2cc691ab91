#pragma once

#include <laneway/device.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laneway {

/// A device plugin that is loaded and has found its vendor's driver. It stays until the process ends.
class DevicePlugin {
 public:
  DevicePlugin(const lnw_device_table* table, std::string path) : table_(table), path_(std::move(path)) {}

  [[nodiscard]] const lnw_device_table& table() const { return *table_; }
  [[nodiscard]] const lnw_device_table* operator->() const { return table_; }
  [[nodiscard]] const char* vendor() const { return table_->vendor; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Throws Error unless `status` is LNW_DEVICE_OK: of kind unsupported, or device, with the plugin's text. `call` says
  /// what was tried: "copy 64 KiB to device 1".
  void check(int status, const char* call) const {
    if (status != LNW_DEVICE_OK) [[unlikely]]
      fail(status, call);
  }
  [[noreturn]] void fail(int status, const char* call) const;

 private:
  const lnw_device_table* table_;
  std::string path_;
};

/// What is known of a vendor whether its plugin is loaded or not: its plugin's folder says it, in vendor.cmake.
struct DeviceVendor {
  std::string_view plugin;  ///< liblaneway_PLUGIN.so
  bool by_default;          ///< it is loaded where nobody names plugins
  const char* name;         ///< lnw_device_table.vendor
  std::string_view people;  ///< as people write it
  std::string_view driver;  ///< how the name of the file of its driver begins
  std::string_view queue;   ///< its streams are of kind LNW_QUEUE_...
  int queue_kind;
  std::string_view memory_kind;  ///< of MPI's mpi_memory_alloc_kinds; empty: no MPI library takes its memory
  std::string_view nccl;         ///< the library that has NCCL's functions for its devices; empty: there is none
};
[[nodiscard]] std::span<const DeviceVendor> device_vendors();

/// The plugins of this process, which the first call loads: those that LANEWAY_DEVICE_PLUGINS names (paths, or names
/// such as `cuda`, between colons; empty: none), or else those of all vendors but the sim device. A name stands for
/// liblaneway_NAME.so beside the library, else where the loader finds it. What is not there, or finds no driver, is
/// left out silently, unless the variable names it: then a missing file is told on stderr. A plugin of another version
/// is refused with one line on stderr.
[[nodiscard]] std::span<const DevicePlugin> device_plugins();

/// Why each plugin that was looked for is not in device_plugins(), for error messages and `LANEWAY_VERBOSE=2`.
[[nodiscard]] const std::vector<std::string>& absent_device_plugins();

/// Whether there may be device memory in this process: some plugin is loaded, or a vendor's driver is, by whomever.
[[nodiscard]] bool may_have_devices();

}  // namespace laneway
