// What the table's functions run in: the driver, a current device, the kernels that it has been given.
#pragma once

#include <laneway/device.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "api.hpp"
#include "failure.hpp"
#include "tiles.hpp"

/// The kernels for all processors, as the vendor's compiler wrote them.
extern "C" const unsigned char laneway_kernels[];

struct lnw_device_moves_s {
  int device = 0;
  laneway::gpu::Tile* tiles = nullptr;  // one allocation of the device, with the indices behind
  std::uint32_t* index = nullptr;
  std::uint32_t tile_count = 0;
  std::uint32_t bases = 0;
  int operation = -1;  // that combines; -1: rows are copied
  int number = 0;
};

namespace laneway::gpu {

using plugin::attempt;
using plugin::Failure;

inline void check(api::Error error, const char* call) {
  if (const int status = api::status_of(error); status != LNW_DEVICE_OK)
    throw Failure(status, std::string(call) + ": " + api::text_of(error));
}

inline void start() {
  if (const char* const why = api::missing()) throw Failure(LNW_DEVICE_ABSENT, why);
  check(api::start(), "starting the driver");
}

/// Makes a device current, in the driver that is started if need be.
class On {
 public:
  explicit On(int device) : current_((start(), device)) { check(current_.error(), "choosing the device"); }

 private:
  api::Current current_;
};

/// Runs the body with the device current.
template <class Body>
int on(int device, Body&& body) {
  return attempt([&] {
    const On current(device);
    return body();
  });
}

/// The same for what is one call of the driver that may say "not ready".
template <class Body>
int call_on(int device, const char* call, Body&& body) {
  return on(device, [&]() -> int {
    const api::Error error = body();
    if (api::status_of(error) == LNW_DEVICE_NOT_READY) return LNW_DEVICE_NOT_READY;
    check(error, call);
    return LNW_DEVICE_OK;
  });
}

inline api::Stream as_stream(lnw_device_stream stream) {
  return static_cast<api::Stream>(stream);
}
inline api::Event as_event(lnw_device_event event) {
  return static_cast<api::Event>(event);
}

/// What a device has been given of ours.
struct Kernels {
  api::Function moves{}, combine{}, write{}, wait{}, multiply{}, move_elements{};
  api::Stream upload{};
  std::size_t warps = 1;
  unsigned warp_threads = 32;
  bool has_stream_values = false;
};

/// What this process has loaded and opened. Never destroyed: the driver may end first.
struct State {
  std::mutex mutex;
  std::array<std::atomic<const Kernels*>, api::most_devices> kernels{};
  std::set<void*> imported;
};

inline State& state() {
  static State* const one = new State;
  return *one;
}

inline Kernels load_kernels(int device) {
  Kernels loaded;
  api::Module module{};
  check(api::load_module(&module, laneway_kernels), "loading the kernels");
  const auto find = [&](api::Function& function, const char* name) {
    check(api::find_function(&function, module, name), name);
  };
  find(loaded.moves, "laneway_moves");
  find(loaded.combine, "laneway_combine");
  find(loaded.write, "laneway_write");
  find(loaded.wait, "laneway_wait");
  find(loaded.multiply, "laneway_multiply");
  find(loaded.move_elements, "laneway_move_elements");
  check(api::stream_create(&loaded.upload, false), "creating a stream");
  lnw_device_info info{};
  check(api::describe(device, &info), "describing a device");
  loaded.warps = static_cast<std::size_t>(api::warps(device));
  loaded.warp_threads = static_cast<unsigned>(api::warp_threads(device));
  loaded.has_stream_values = api::has_stream_values && (info.features & LNW_DEVICE_HAS_STREAM_VALUES) != 0;
  return loaded;
}

/// Of the current device. Takes a lock in the first call only.
inline const Kernels& kernels(int device) {
  std::atomic<const Kernels*>& known = state().kernels[static_cast<std::size_t>(device)];
  if (const Kernels* const loaded = known.load(std::memory_order_acquire)) return *loaded;
  const std::lock_guard lock(state().mutex);
  if (known.load() == nullptr) known.store(new Kernels(load_kernels(device)), std::memory_order_release);
  return *known.load();
}

}  // namespace laneway::gpu
