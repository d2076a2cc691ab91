#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "runtime/device/plugin.hpp"

namespace laneway {

/// The functions of NCCL, or of RCCL, which has the same, that the carrier calls (nccl.h of NCCL 2.7 and later).
/// Results and types of data are enumerations there.
struct NcclLibrary {
  struct CommState;
  using Comm = CommState*;
  /// Passed by value.
  struct UniqueId {
    std::array<char, 128> bytes{};
  };
  static constexpr int success = 0;
  static constexpr int in_progress = 7;
  static constexpr int uint8 = 1;

  int (*get_unique_id)(UniqueId* id);
  int (*comm_init_rank)(Comm* comm, int ranks, UniqueId id, int rank);
  int (*comm_destroy)(Comm comm);
  int (*comm_abort)(Comm comm);
  int (*comm_get_async_error)(Comm comm, int* error);
  int (*group_start)();
  int (*group_end)();
  int (*send)(const void* from, std::size_t count, int type, int peer, Comm comm, lnw_device_stream stream);
  int (*receive)(void* to, std::size_t count, int type, int peer, Comm comm, lnw_device_stream stream);
  const char* (*get_error_string)(int result);

  /// Throws Error(device) with the call and NCCL's text unless `result` is ncclSuccess.
  void check(int result, const char* call) const {
    if (result != success) [[unlikely]]
      fail(result, call);
  }
  [[noreturn]] void fail(int result, const char* call) const;
};

/// That for the devices of the plugin: what LANEWAY_NCCL_LIBRARY names, else what the vendor's folder says. Null if it
/// cannot be loaded; then `why` says so, for people. Loaded once; it stays until the process ends.
[[nodiscard]] const NcclLibrary* find_nccl(const DevicePlugin& plugin, std::string& why);

}  // namespace laneway
