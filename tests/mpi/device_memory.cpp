#include "device_memory.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <laneway/device.h>
#include <laneway/sim_device.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace laneway::test {

namespace {

const lnw_device_table* load_table() {
  const char* const plugins = std::getenv("LANEWAY_DEVICE_PLUGINS");
  if (plugins == nullptr || *plugins == '\0') return nullptr;
  const std::string path(plugins, std::string(plugins).find(':') == std::string::npos ? std::string(plugins).size()
                                                                                      : std::string(plugins).find(':'));
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) ADD_FAILURE() << dlerror();
  if (library == nullptr) return nullptr;
  const auto get = reinterpret_cast<lnw_device_table_function>(dlsym(library, LNW_DEVICE_TABLE_SYMBOL));
  return get(LNW_DEVICE_TABLE_VERSION);
}

const lnw_device_table* table() {
  static const lnw_device_table* const loaded = load_table();
  return loaded;
}

void check(int status) {
  EXPECT_EQ(status, LNW_DEVICE_OK) << table()->message(status);
}

int device() {
  int number = 0;
  check(table()->current_device(&number));
  return number;
}

void copy_now(void* to, const void* from, std::size_t bytes) {
  check(table()->copy(device(), device_stream(), to, from, bytes));
  check(table()->stream_synchronize(device(), device_stream()));
}

}  // namespace

bool uses_devices() {
  return std::getenv("LANEWAY_TEST_MEMORY") != nullptr && table() != nullptr;
}

void* device_stream() {
  static void* const stream = [] {
    void* made = nullptr;
    if (uses_devices()) check(table()->stream_create(device(), 0, &made));
    return made;
  }();
  return stream;
}

void synchronize_stream() {
  check(table()->stream_synchronize(device(), device_stream()));
}

void* stream_of_other_device() {
  static void* const stream = [] {
    int count = 0;
    check(table()->device_count(&count));
    void* made = nullptr;
    if (count > 1) check(table()->stream_create((device() + 1) % count, 0, &made));
    return made;
  }();
  return stream;
}

bool host_may_touch_devices() {
  lnw_device_info info{};
  check(table()->device_info(device(), &info));
  return (info.features & LNW_DEVICE_HAS_DIRECT_HOST) != 0;
}

const lnw_device_table* device_table() {
  return table();
}

const lnw_sim_device* sim_device() {
  if (table() == nullptr) return nullptr;
  return static_cast<const lnw_sim_device*>(table()->extension(LNW_SIM_DEVICE_EXTENSION));
}

bool counts_moves() {
  return sim_device() != nullptr;
}

std::uint64_t moves_through_host() {
  if (!counts_moves()) return 0;
  lnw_sim_counters counters{};
  check(sim_device()->counters(&counters));
  return counters.host_to_device + counters.device_to_host + counters.kernels;
}

Mirror::Kind Mirror::kind_of(std::uint64_t number) {
  if (!uses_devices()) return Kind::none;
  if (std::getenv("LANEWAY_TEST_MEMORY") == std::string("device")) return Kind::device;
  static constexpr Kind kinds[] = {Kind::device, Kind::device, Kind::device, Kind::managed, Kind::pinned, Kind::none};
  return kinds[number % 6];
}

Mirror::Mirror(Kind kind, std::size_t bytes) : kind_(kind) {
  if (kind == Kind::none) return;
  const auto allocate = kind == Kind::device    ? table()->device_malloc
                        : kind == Kind::managed ? table()->managed_malloc
                                                : table()->host_malloc;
  void* data = nullptr;
  check(allocate(device(), bytes, &data));
  data_ = static_cast<unsigned char*>(data);
}

Mirror::~Mirror() {
  if (data_ != nullptr) check((kind_ == Kind::pinned ? table()->host_free : table()->device_free)(device(), data_));
}

void Mirror::swap(Mirror& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(data_, other.data_);
}

void Mirror::write(const std::vector<unsigned char>& bytes) const {
  copy_now(data_, bytes.data(), bytes.size());
}

void Mirror::read(std::vector<unsigned char>& bytes) const {
  copy_now(bytes.data(), data_, bytes.size());
}

void Mirror::write_in_stream(const std::vector<unsigned char>& bytes) const {
  check(table()->copy(device(), device_stream(), data_, bytes.data(), bytes.size()));
}

void Mirror::read_in_stream(std::vector<unsigned char>& bytes) const {
  check(table()->copy(device(), device_stream(), bytes.data(), data_, bytes.size()));
}

}  // namespace laneway::test
