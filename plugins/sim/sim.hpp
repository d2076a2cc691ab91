#pragma once

#include <laneway/device.h>
#include <laneway/sim_device.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "memory.hpp"
#include "settings.hpp"
#include "stream.hpp"

namespace laneway::sim {

using Seconds = std::chrono::duration<double>;

/// One that processes share has its words in memory that they map.
struct Event {
  int device = 0;
  int flags = 0;
  EventWords own;
  EventWords* words = &own;
  int descriptor = -1;
  std::uint64_t token = 0;
  std::atomic<double> completed_at{0};
  std::weak_ptr<Stream> recorded_in;  // by this process
  std::uint64_t recorded_after = 0;   // the work before it

  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (descriptor < 0) return;
    munmap(words, sizeof *words);
    close(descriptor);
  }
};

/// Never destroyed: streams may still run when the process ends.
struct Sim {
  Settings settings;
  std::string wrong_settings;
  Memory memory{settings};
  Pace pace;
  std::mutex mutex;  // of what follows
  std::map<void*, std::shared_ptr<Stream>> streams;
  std::map<int, std::shared_ptr<Stream>> default_streams;
  std::map<void*, std::shared_ptr<Event>> events;
  lnw_sim_counters counters{};

  Sim();
  void publish() {
    pace.reorders = settings.reorders;
    pace.seed = settings.seed;
    pace.delay_seconds = settings.delay_seconds;
  }
};
[[nodiscard]] Sim& sim();

/// The current device of the calling thread.
[[nodiscard]] int& chosen_device();

/// For what works even once earlier work has failed.
template <class Body>
int try_anyway(Body&& body) noexcept {
  return plugin::attempt([&] {
    if (in_host_call()) throw Failure(LNW_DEVICE_INVALID, "a function of host_call must not call the device");
    return body();
  });
}

/// For all else.
template <class Body>
int attempt(Body&& body) noexcept {
  return try_anyway([&] {
    check_earlier_work();
    return body();
  });
}

/// These throw Failure for what there is not.
void check_device(int device);
[[nodiscard]] std::shared_ptr<Stream> find_stream(int device, lnw_device_stream handle);
[[nodiscard]] std::shared_ptr<Event> find_event(lnw_device_event handle);
void check_records_no_graph(const Stream& stream);

void put(int device, lnw_device_stream handle, Stream::Work work);
/// A kernel that moves so many bytes: counts it, and takes its time.
void put_kernel(int device, lnw_device_stream stream, std::size_t bytes, Stream::Work work);

/// Counts a dependency, on an event or a flag; whether it is the one to be dropped. Then what the event was recorded
/// after is late.
[[nodiscard]] bool drops_dependency(const Event* event);

[[nodiscard]] Rate rate_of(const Rate Settings::*rate);
void take_time(const Rate& rate, int device, const char* engine, std::size_t bytes);

/// Memory that is being written holds anything until that is complete.
void spoil(Stream& stream, std::byte* to, std::size_t bytes);

}  // namespace laneway::sim
