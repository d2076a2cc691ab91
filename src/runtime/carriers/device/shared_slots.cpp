#include "runtime/carriers/device/shared_slots.hpp"

#include "base/error.hpp"

namespace laneway {

namespace {

/// What the first rank of a node tells the others.
struct SlotsRecord {
  SharedDeviceMemory memory;
  bool is_there = false;
};

}  // namespace

SharedSlots::SharedSlots(Bootstrap& bootstrap, const Region& node, const Device& device, std::int64_t slot_bytes)
    : slot_bytes_(slot_bytes) {
  const std::size_t ranks = node.members.size();
  const bool leads = bootstrap.rank() == node.members.front();
  SlotsRecord mine;
  try {
    if (leads) {
      memory_ = DeviceMemory(device, ranks * static_cast<std::size_t>(slot_bytes));
      if (ranks > 1) mine.memory = share_device_memory(memory_.data());
      first_ = memory_.data();
    }
    mine.is_there = leads;
  } catch (const Error&) {  // the others are told
  }
  if (ranks == 1) return;
  const SlotsRecord leaders = gather(bootstrap, node, mine).front();
  if (leads || !leaders.is_there) return;
  try {
    mapping_ = IpcMapping(device, leaders.memory);
    first_ = mapping_.data();
  } catch (const Error&) {  // whoever has made this tells the others
  }
}

}  // namespace laneway
