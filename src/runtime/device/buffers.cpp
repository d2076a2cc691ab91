#include "runtime/device/buffers.hpp"

#include <algorithm>
#include <limits>

#include "base/bytes/address.hpp"
#include "base/bytes/disjoint.hpp"
#include "base/error.hpp"

namespace laneway {

namespace {

class Extent {
 public:
  void add(std::int64_t offset, std::int64_t bytes) {
    begin_ = std::min(begin_, offset);
    end_ = std::max(end_, offset + bytes);
  }
  void add(std::int64_t offset, std::int64_t bytes, std::int64_t stride, std::int64_t count) {
    add(offset, bytes);
    add(offset + (count - 1) * stride, bytes);
  }
  [[nodiscard]] Range get() const { return begin_ < end_ ? Range{begin_, end_ - begin_} : Range{}; }

 private:
  std::int64_t begin_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ = std::numeric_limits<std::int64_t>::min();
};

MemoryInfo look_at(const void* buffer, const Range& extent, const char* what) {
  auto* const base = static_cast<std::byte*>(const_cast<void*>(buffer));
  return checked_memory_at(at(base, extent.offset), at(base, extent.end()), what);
}

}  // namespace

Extents extents_of(const Plan& plan) {
  Extent send;
  Extent receive;
  if (plan.lent_bytes > 0) send.add(plan.lent_offset, plan.lent_bytes);
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::event) continue;
    if (step.kind != StepKind::move) {
      if (step.span.buffer == Buffer::send) send.add(step.span.offset, step.span.bytes);
      if (step.span.buffer == Buffer::receive) receive.add(step.span.offset, step.span.bytes);
      continue;
    }
    for (const CopyRun& run : step.runs) {
      if (step.from == Buffer::send) send.add(run.from, run.bytes, run.from_stride, run.count);
      if (step.from == Buffer::receive) receive.add(run.from, run.bytes, run.from_stride, run.count);
      if (step.to == Buffer::receive) receive.add(run.to, run.bytes, run.to_stride, run.count);
    }
  }
  return {send.get(), receive.get()};
}

Extents extents_of(const RankPattern& pattern) {
  const auto extent_of = [](const std::vector<Edge>& edges) {
    Extent extent;
    for (const Edge& edge : edges)
      if (const Range all = hull(edge.ranges); all.bytes > 0) extent.add(all.offset, all.bytes);
    return extent.get();
  };
  return {extent_of(pattern.out), extent_of(pattern.in)};
}

BufferMemory look_at(const Buffers& buffers, const Extents& extents) {
  BufferMemory memory{look_at(buffers.send, extents.send, "the send buffer"),
                      look_at(buffers.receive, extents.receive, "the receive buffer")};
  memory.host_touches = (extents.send.bytes > 0 && memory.send.host_may_touch()) ||
                        (extents.receive.bytes > 0 && memory.receive.host_may_touch());
  if (memory.on_device().send && memory.on_device().receive)
    require_same_vendor(memory.send, "the send buffer", memory.receive, "the receive buffer");
  return memory;
}

BufferMemory glance_at(const Buffers& buffers, const Plan& plan) {
  return has_plugins() ? look_at(buffers, extents_of(plan)) : BufferMemory{};
}

Device device_of(const BufferMemory& memory) {
  const OnDevice buffers = memory.on_device();
  if (buffers.send) return Device(memory.send);
  if (buffers.receive) return Device(memory.receive);
  for (const MemoryInfo* known : {&memory.send, &memory.receive})
    if (known->plugin != nullptr) return Device(*known);
  return {};
}

Stream user_stream(Device device, lnw_device_stream stream) {
  if (!device) {
    const std::vector<Device> all = all_devices();
    require(!all.empty(), ErrorKind::argument, "a stream is given, but no device plugin is loaded that knows a device");
    int number = 0;
    all.front().check(all.front().table().stream_device(stream, &number), "find the device of a stream");
    device = Device(&all.front().plugin(), number);
  }
  Stream user = Stream::of_user(device, stream);
  require(!user.is_capturing(), ErrorKind::argument,
          "the stream is recording a graph, which cannot hold what the host does in an exchange");
  return user;
}

}  // namespace laneway
