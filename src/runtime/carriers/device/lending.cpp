#include "runtime/carriers/device/lending.hpp"

#include <unistd.h>

#include <cstring>

#include "base/bytes/address.hpp"

namespace laneway {

namespace {

/// Where a rank's send buffer is, in its window.
struct LentRecord {
  std::uint64_t generation = 0;  ///< counts bindings
  std::int64_t offset = 0;       ///< of the memory in the send buffer
  SharedDeviceMemory memory;
  lnw_ipc_event ready{};           ///< comes before what may be read, if `has_event`
  lnw_device_event own = nullptr;  ///< the same in its own process
  bool has_event = false;
};
static_assert(sizeof(LentRecord) <= lent_record_bytes);

/// How often the send buffer that a plan lends has been another.
struct Bindings final : CarrierMemory {
  std::uint64_t count = 0;
};

}  // namespace

Lent lend(const Plan& plan, PlanMemory& memory, const Device& device, std::byte* begin, bool mirrors) {
  Lent lent;
  if (mirrors) lent.mirror = DeviceMemory(device, static_cast<std::size_t>(plan.lent_bytes));
  LentRecord record{++memory.find_or_add<Bindings>().count, plan.lent_offset,
                    share_device_memory(mirrors ? lent.mirror.data() : begin)};
  if (device.has(LNW_DEVICE_HAS_IPC_EVENTS)) {
    lent.ready = Event(device, Event::Use::between_processes);
    record.ready = lent.ready.share();
    record.own = lent.ready.handle();
    record.has_event = true;
  }
  std::memcpy(memory.window + lent_record, &record, sizeof record);
  return lent;
}

BorrowedBuffers::BorrowedBuffers(const Plan& plan) {
  for (const Step& step : plan.steps)
    if (borrows(step)) buffers_.try_emplace(step.peer);
}

Borrowed& BorrowedBuffers::open(Rank peer, Buffer& buffer, const PlanMemory& memory, const Device& device) {
  LentRecord record;
  std::memcpy(&record, memory.reach({laneway::Buffer::window, true}, peer).value().here + lent_record, sizeof record);
  if (record.generation == buffer.generation) return buffer.where;
  buffer.mapping = IpcMapping(device, record.memory);
  buffer.where.base = at(buffer.mapping.data(), -record.offset);
  const bool in_this_process = record.ready.process == getpid();
  buffer.opened = record.has_event && !in_this_process ? Event(device, record.ready) : Event();
  buffer.where.ready = in_this_process ? record.own : buffer.opened.handle();
  buffer.generation = record.generation;
  return buffer.where;
}

}  // namespace laneway
