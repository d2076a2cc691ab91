#include "sim.hpp"

#include <cstdlib>
#include <cstring>

namespace laneway::sim {

Sim::Sim() {
  const char* const text = std::getenv("LANEWAY_SIM_DEVICE");
  try {
    settings.read(text != nullptr ? text : "", false);
  } catch (const Failure& failure) {
    wrong_settings = failure.what();
    settings = {};
    settings.read("", false);
  }
  publish();
}

Sim& sim() {
  static Sim* const one = new Sim;
  return *one;
}

int& chosen_device() {
  thread_local int device = sim().settings.device;
  return device;
}

void check_device(int device) {
  if (device < 0 || device >= sim().settings.devices)
    throw Failure(LNW_DEVICE_ABSENT, "there is no sim device " + std::to_string(device) + ": there are " +
                                         std::to_string(sim().settings.devices));
}

std::shared_ptr<Stream> find_stream(int device, lnw_device_stream handle) {
  check_device(device);
  Sim& s = sim();
  const std::lock_guard lock(s.mutex);
  if (handle == nullptr) {
    auto& stream = s.default_streams[device];
    if (!stream) stream = Stream::create(device, s.pace);
    return stream;
  }
  const auto found = s.streams.find(handle);
  if (found == s.streams.end()) throw Failure(LNW_DEVICE_INVALID, "there is no such stream");
  if (found->second->device() != device)
    throw Failure(LNW_DEVICE_INVALID, "a stream of device " + std::to_string(found->second->device()) +
                                          " was given for device " + std::to_string(device));
  return found->second;
}

std::shared_ptr<Event> find_event(lnw_device_event handle) {
  Sim& s = sim();
  const std::lock_guard lock(s.mutex);
  const auto found = s.events.find(handle);
  if (found == s.events.end()) throw Failure(LNW_DEVICE_INVALID, "there is no such event");
  return found->second;
}

void check_records_no_graph(const Stream& stream) {
  if (stream.recorded != nullptr)
    throw Failure(LNW_DEVICE_UNSUPPORTED, "the stream records a graph, and graphs of the sim device have no events");
  if (stream.capturing)
    throw Failure(LNW_DEVICE_UNSUPPORTED, "the stream is being captured, and the sim device records no graphs");
}

/// As a driver does whose device has failed. What had been put before is done, and what comes later is taken again.
void refuse_or_not() {
  Sim& s = sim();
  const std::lock_guard lock(s.mutex);
  if (s.settings.refuse > 0 && --s.settings.refuse == 0)
    throw Failure(LNW_DEVICE_FAILED, "the work is refused, as the setting refuse says");
}

void put(int device, lnw_device_stream handle, Stream::Work work) {
  refuse_or_not();
  const auto stream = find_stream(device, handle);
  if (stream->recorded != nullptr) {
    stream->recorded->push_back(std::move(work));
    return;
  }
  check_records_no_graph(*stream);
  stream->put(std::move(work));
}

bool drops_dependency(const Event* event) {
  Sim& s = sim();
  const std::lock_guard lock(s.mutex);
  if (++s.counters.dependencies != s.settings.drop) return false;
  if (const auto stream = event != nullptr ? event->recorded_in.lock() : nullptr)
    stream->be_late(event->recorded_after);
  return true;
}

void put_kernel(int device, lnw_device_stream stream, std::size_t bytes, Stream::Work work) {
  put(device, stream, [=, work = std::move(work)](Stream& in) {
    work(in);
    take_time(rate_of(&Settings::kernel), device, "kernel", bytes);
  });
  const std::lock_guard lock(sim().mutex);
  ++sim().counters.kernels;
  sim().counters.kernel_bytes += bytes;
}

Rate rate_of(const Rate Settings::*rate) {
  const std::lock_guard lock(sim().mutex);
  return sim().settings.*rate;
}

void take_time(const Rate& rate, int device, const char* engine, std::size_t bytes) {
  if (rate.seconds <= 0 && rate.bytes_per_second <= 0) return;
  EngineShare(device, engine).move(rate, bytes);
}

void spoil(Stream& stream, std::byte* to, std::size_t bytes) {
  if (!stream.reorders() || stream.random()() % 2 == 0) return;
  std::memset(to, 0xDB, bytes);
  stream.hesitate();
}

}  // namespace laneway::sim
