#include "runtime/device/plugin.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/log_line.hpp"
#include "base/simulated.hpp"

namespace laneway {

namespace {

struct Loaded {
  std::vector<DevicePlugin> plugins;
  std::vector<std::string> absent;
};

std::string directory_of_this_library() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&device_plugins), &found) == 0 || found.dli_fname == nullptr) return {};
  return std::filesystem::path(found.dli_fname).parent_path().string();
}

/// A shared library and where it was found, or null and why not.
std::pair<void*, std::string> open_plugin(const std::string& name) {
  std::vector<std::string> places;
  if (name.find('/') != std::string::npos) {
    places = {name};
  } else {
    const std::string file = "liblaneway_" + name + ".so";
    const std::string here = directory_of_this_library();
    for (const std::string& beside : {here + "/laneway/plugins/" + file, here + "/" + file,
                                      here + "/../" LANEWAY_LIBDIR "/laneway/plugins/" + file})
      if (std::filesystem::exists(beside)) places.push_back(beside);
    places.push_back(file);
  }
  std::string why;
  for (const std::string& place : places) {
    if (void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return {library, place};
    const char* const error = dlerror();
    why = error != nullptr ? error : place + " cannot be loaded";
  }
  return {nullptr, why};
}

void load(const std::string& name, bool named_by_user, Loaded& loaded) {
  const auto [library, path] = open_plugin(name);
  if (library == nullptr) {
    loaded.absent.push_back(name + ": " + path);
    if (named_by_user) log_line("LANEWAY_DEVICE_PLUGINS: " + path);
    return;
  }
  const auto refuse = [&, library = library](const std::string& why, bool aloud) {
    loaded.absent.push_back(name + ": " + why);
    if (aloud) log_line("the device plugin " + why + ", so it is not used");
    dlclose(library);
  };
  const auto get = reinterpret_cast<lnw_device_table_function>(dlsym(library, LNW_DEVICE_TABLE_SYMBOL));
  if (get == nullptr) return refuse(path + " has no symbol " LNW_DEVICE_TABLE_SYMBOL, true);
  const lnw_device_table* const table = get(LNW_DEVICE_TABLE_VERSION);
  const std::string wanted = std::to_string(LNW_DEVICE_TABLE_VERSION);
  if (table == nullptr) return refuse(path + " does not have version " + wanted + " of the table of functions", true);
  if (table->version != LNW_DEVICE_TABLE_VERSION)
    return refuse(path + " has version " + std::to_string(table->version) + " of the table of functions, and version " +
                      wanted + " is needed",
                  true);
  if (table->bytes < sizeof(lnw_device_table))
    return refuse(path + " is older than the library: its table has " + std::to_string(table->bytes) + " bytes, and " +
                      std::to_string(sizeof(lnw_device_table)) + " are needed",
                  true);
  if (const int status = table->probe(); status != LNW_DEVICE_OK)
    return refuse(path + " does not work: " + table->message(status), status != LNW_DEVICE_ABSENT);
  loaded.plugins.emplace_back(table, path);
}

Loaded load_all() {
  Loaded loaded;
  if constexpr (simulated) return loaded;
  const char* const variable = std::getenv("LANEWAY_DEVICE_PLUGINS");
  std::string by_default;
  for (const DeviceVendor& vendor : device_vendors())
    if (vendor.by_default) by_default += std::string(vendor.plugin) + ':';
  std::string_view names = variable != nullptr ? std::string_view(variable) : by_default;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(':'), names.size());
    if (end > 0) load(std::string(names.substr(0, end)), variable != nullptr, loaded);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  if (is_debugging("device") && is_first_process())
    for (const std::string& why : loaded.absent) log_line("no device plugin " + why);
  return loaded;
}

const Loaded& loaded_plugins() {
  static const Loaded loaded = load_all();
  return loaded;
}

}  // namespace

std::span<const DevicePlugin> device_plugins() {
  return loaded_plugins().plugins;
}

const std::vector<std::string>& absent_device_plugins() {
  return loaded_plugins().absent;
}

namespace {

bool driver_is_loaded() {
  const auto is_driver = [](dl_phdr_info* library, std::size_t, void*) -> int {
    const std::string_view path = library->dlpi_name;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    return std::ranges::any_of(device_vendors(),
                               [&](const DeviceVendor& vendor) { return file.starts_with(vendor.driver); });
  };
  return dl_iterate_phdr(is_driver, nullptr) != 0;
}

/// How many libraries have been loaded since the process began.
unsigned long long loaded_libraries() {
  unsigned long long count = 0;
  const auto first = [](dl_phdr_info* library, std::size_t, void* result) -> int {
    *static_cast<unsigned long long*>(result) = library->dlpi_adds;
    return 1;
  };
  dl_iterate_phdr(first, &count);
  return count;
}

}  // namespace

bool may_have_devices() {
  if constexpr (simulated) return false;
  if (!device_plugins().empty()) return true;
  static std::mutex mutex;
  static unsigned long long libraries = 0;
  static bool found = false;
  const std::lock_guard lock(mutex);
  if (const unsigned long long now = loaded_libraries(); now != libraries) {
    found = driver_is_loaded();
    libraries = now;
  }
  return found;
}

void DevicePlugin::fail(int status, const char* call) const {
  throw Error(status == LNW_DEVICE_UNSUPPORTED ? ErrorKind::unsupported : ErrorKind::device,
              std::string("device plugin for ") + vendor() + ": " + call + ": " + table_->message(status));
}

}  // namespace laneway
