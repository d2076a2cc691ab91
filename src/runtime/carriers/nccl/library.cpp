#include "runtime/carriers/nccl/library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/error.hpp"

namespace laneway {

namespace {

struct Loaded {
  NcclLibrary functions{};
  std::string why;  ///< it cannot be used; empty: it can
};

std::string name_of_library(const DevicePlugin& plugin) {
  if (const char* const given = std::getenv("LANEWAY_NCCL_LIBRARY"); given != nullptr && *given != '\0') return given;
  for (const DeviceVendor& vendor : device_vendors())
    if (vendor.name == std::string_view(plugin.vendor())) return std::string(vendor.nccl);
  return {};
}

std::string last_error(const std::string& otherwise) {
  const char* const error = dlerror();
  return error != nullptr ? error : otherwise;
}

/// Its directory entry stays: vendors' libraries start threads.
Loaded load(const std::string& name) {
  Loaded loaded;
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.why = last_error(name + " cannot be loaded");
    return loaded;
  }
  const auto find = [&]<class Function>(const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    if (function == nullptr) loaded.why = last_error(name + " has no " + symbol);
  };
  NcclLibrary& nccl = loaded.functions;
  find("ncclGetUniqueId", nccl.get_unique_id);
  find("ncclCommInitRank", nccl.comm_init_rank);
  find("ncclCommDestroy", nccl.comm_destroy);
  find("ncclCommAbort", nccl.comm_abort);
  find("ncclCommGetAsyncError", nccl.comm_get_async_error);
  find("ncclGroupStart", nccl.group_start);
  find("ncclGroupEnd", nccl.group_end);
  find("ncclSend", nccl.send);
  find("ncclRecv", nccl.receive);
  find("ncclGetErrorString", nccl.get_error_string);
  return loaded;
}

}  // namespace

void NcclLibrary::fail(int result, const char* call) const {
  throw Error(ErrorKind::device, std::string(call) + ": " + get_error_string(result));
}

const NcclLibrary* find_nccl(const DevicePlugin& plugin, std::string& why) {
  static std::mutex mutex;
  static std::map<std::string, Loaded> known;
  const std::string name = name_of_library(plugin);
  if (name.empty()) {
    why = std::string("no library is known that has NCCL's functions for devices of '") + plugin.vendor() +
          "'; LANEWAY_NCCL_LIBRARY names one";
    return nullptr;
  }
  const std::lock_guard lock(mutex);
  const auto found = known.find(name);
  const Loaded& loaded = found != known.end() ? found->second : known.emplace(name, load(name)).first->second;
  why = loaded.why;
  return why.empty() ? &loaded.functions : nullptr;
}

}  // namespace laneway
