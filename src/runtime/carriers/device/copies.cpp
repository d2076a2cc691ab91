#include "runtime/carriers/device/copies.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/bytes/address.hpp"
#include "base/error.hpp"
#include "plan/writer/append_run.hpp"

namespace laneway {

namespace {

/// The runs of a step that combines, in parts of which none names a place twice: kernels do all of one part at a time.
/// A place gets its operands in the order of the runs.
std::vector<std::vector<lnw_device_run>> in_waves(const std::vector<CopyRun>& runs) {
  std::vector<std::vector<CopyRun>> waves;
  std::map<std::int64_t, std::pair<std::int64_t, std::size_t>> used;  // offset -> (end, waves so far); disjoint
  for (const CopyRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t begin = run.to + i * run.to_stride;
      const std::int64_t end = begin + run.bytes;
      std::int64_t first = begin;
      std::int64_t last = end;
      std::size_t wave = 0;
      auto at = used.upper_bound(begin);
      if (at != used.begin() && std::prev(at)->second.first > begin) --at;
      while (at != used.end() && at->first < end) {
        first = std::min(first, at->first);
        last = std::max(last, at->second.first);
        wave = std::max(wave, at->second.second);
        at = used.erase(at);
      }
      used[first] = {last, wave + 1};
      if (wave == waves.size()) waves.emplace_back();
      append_run(waves[wave], {run.from + i * run.from_stride, begin, run.bytes, 0, 0, 1});
    }
  std::vector<std::vector<lnw_device_run>> result(waves.size());
  for (std::size_t w = 0; w < waves.size(); ++w)
    for (const CopyRun& run : waves[w])
      result[w].push_back({run.from, run.to, run.bytes, run.from_stride, run.to_stride, run.count, 0, 1});
  return result;
}

}  // namespace

DeviceCopies::DeviceCopies(const BufferMemory& memory, std::span<std::byte* const, buffer_kinds> bases,
                           std::size_t steps)
    : unit_of_(steps, -1) {
  std::copy(bases.begin(), bases.end(), bases_.begin());
  buffers_ = memory.on_device();
  rule_ = memory.rule;
  device_aware_ = memory.device_aware && buffers_.any();
  host_waits_ = memory.host_touches;
  send_is_pageable_ = memory.send.kind == MemoryKind::host;
  receive_is_pageable_ = memory.receive.kind == MemoryKind::host;
  if (buffers_.send) queues_[reading].device = Device(memory.send);
  if (buffers_.receive) queues_[writing].device = Device(memory.receive);
  device_ = device_of(memory);
  for (Queue& queue : queues_)
    if (queue.device) queue.stream = Stream(queue.device);
}

void DeviceCopies::use(const Device& reader) {
  if (queues_[reading].device) return;
  if (!device_) device_ = reader;
  queues_[reading].device = reader;
  queues_[reading].stream = Stream(reader);
}

DeviceCopies::~DeviceCopies() {
  for (const Queue& queue : queues_)
    if (queue.stream && !units_.empty())
      queue.device.table().stream_synchronize(queue.device.number(), queue.stream.handle());
}

const KernelRows& DeviceCopies::rows_of_kernel(const Step& step) const {
  const bool reads = borrows(step) || (step.from == Buffer::send      ? buffers_.send
                                       : step.from == Buffer::receive ? buffers_.receive
                                                                      : device_aware_);
  const bool writes = step.to == Buffer::receive ? buffers_.receive : device_aware_;
  return rule_.of(reads, writes);
}

void DeviceCopies::add(const Plan& plan, std::vector<int> steps, bool trailing) {
  Unit unit;
  const bool together = steps.size() > 1;
  const bool writes =
      queues_[writing].device && uses_receive_buffer(plan.steps[static_cast<std::size_t>(steps.front())]);
  unit.queue = writes ? writing : reading;
  unit.by_buffer = together;
  unit.trailing = trailing;
  std::int64_t rows = 0;
  for (int s : steps) {
    unit_of_[static_cast<std::size_t>(s)] = static_cast<int>(units_.size());
    for (const CopyRun& run : plan.steps[static_cast<std::size_t>(s)].runs) rows += run.count;
  }
  const Device device = queues_[unit.queue].device;
  std::vector<lnw_device_run> moved;
  for (int s : steps) {
    const Step& step = plan.steps[static_cast<std::size_t>(s)];
    if (combines(step)) {
      for (const std::vector<lnw_device_run>& wave : in_waves(step.runs))
        unit.waves.emplace_back(device, combining_, wave);
      continue;
    }
    const std::uint32_t from = together ? static_cast<std::uint32_t>(step.from.buffer) : 0;
    const std::uint32_t to = together ? static_cast<std::uint32_t>(step.to.buffer) : 1;
    const KernelRows& of_kernel = rows_of_kernel(step);
    for (const CopyRun& run : step.runs) {
      const bool reaches =
          (step.from != Buffer::send || !send_is_pageable_) && (step.to != Buffer::receive || !receive_is_pageable_);
      if (reaches && of_kernel.contain(run, rows)) {
        moved.push_back({run.from, run.to, run.bytes, run.from_stride, run.to_stride, run.count, from, to});
        continue;
      }
      for (std::int64_t i = 0; i < run.count; ++i)
        unit.rows.push_back({from, to, run.from + i * run.from_stride, run.to + i * run.to_stride, run.bytes});
    }
  }
  if (!moved.empty()) unit.moves = Moves(device, moved);
  unit.event = Event(device);
  unit.steps = std::move(steps);
  units_.push_back(std::move(unit));
}

void DeviceCopies::add_lending(std::vector<int> steps, const Event* ready) {
  Unit unit;
  unit.shared = ready;
  unit.queue = reading;
  unit.lends = true;
  for (int s : steps) unit_of_[static_cast<std::size_t>(s)] = static_cast<int>(units_.size());
  unit.event = Event(queues_[reading].device);
  unit.steps = std::move(steps);
  units_.push_back(std::move(unit));
}

void DeviceCopies::prepare() {
  for (Queue& queue : queues_) queue.units.resize(units_.size());
}

void DeviceCopies::set_stream(std::optional<lnw_device_stream> stream) {
  finish_trailing();
  user_ = Stream();
  if (!stream) return;
  user_ = user_stream(device_, *stream);
  started_ = Event(user_.device());
  if (queues_[writing].device) ended_ = Event(queues_[writing].device);
}

/// The last copies of the exchange before may still read staging memory.
void DeviceCopies::finish_trailing() {
  if (std::exchange(trails_, false)) ended_.synchronize();
}

void DeviceCopies::begin_exchange(std::byte* staging) {
  bases_[static_cast<std::size_t>(Buffer::staging)] = staging;
  // Otherwise nothing begins before the user's stream has got here, which comes after them.
  if (!stream_is_event_) finish_trailing();
  trails_ = false;
  for (Queue& queue : queues_) queue.first = queue.last = 0;
  for (Unit& unit : units_) unit.ready = 0;
  if (user_) {
    started_.record(user_);
    for (const Queue& queue : queues_)
      if (queue.stream && !stream_is_event_) queue.stream.wait(started_);
    if (host_waits_ && !stream_is_event_) started_.synchronize();
  }
  if (mirror_.bytes > 0)
    queues_[reading].stream.copy(mirror_.to, mirror_.from, static_cast<std::size_t>(mirror_.bytes));
}

std::span<const int> DeviceCopies::begin(int step, std::byte* from, std::byte* to, lnw_device_event after) {
  Unit& unit = units_[static_cast<std::size_t>(unit_of_[static_cast<std::size_t>(step)])];
  if (++unit.ready < unit.steps.size()) return {};
  unit.ready = 0;
  const bool has_to_wait = !unit.lends || user_ || mirror_.bytes > 0;
  const bool others_wait = unit.lends && unit.shared != nullptr;
  if (has_to_wait && others_wait) {
    unit.shared->record(queues_[unit.queue].stream);
  } else if (has_to_wait) {
    if (after != nullptr) queues_[unit.queue].stream.wait(after);
    if (!unit.by_buffer)
      launch(unit, std::array<void*, 2>{from, to});
    else
      launch(unit, bases_);
  }
  if (has_to_wait && !others_wait && !unit.trailing) return {};
  return unit.steps;
}

void DeviceCopies::poll(std::vector<int>& done) {
  for (Queue& queue : queues_)
    while (queue.first != queue.last) {
      const Unit& unit = units_[queue.units[queue.first % queue.units.size()]];
      if (!unit.event.complete()) break;
      ++queue.first;
      done.insert(done.end(), unit.steps.begin(), unit.steps.end());
    }
}

/// Only what writes a device may still be under way.
void DeviceCopies::hand_over() {
  LANEWAY_ASSERT(user_);
  trails_ = true;
  ended_.record(queues_[writing].stream);
  user_.wait(ended_);
}

void DeviceCopies::launch(Unit& unit, std::span<void* const> bases) {
  Queue& queue = queues_[unit.queue];
  for (const Row& row : unit.rows)
    queue.stream.copy(at(static_cast<std::byte*>(bases[row.to_base]), row.to),
                      at(static_cast<std::byte*>(bases[row.from_base]), row.from), static_cast<std::size_t>(row.bytes));
  if (unit.moves) unit.moves.launch(queue.stream, bases);
  for (const Moves& wave : unit.waves) wave.launch(queue.stream, bases);
  if (unit.trailing) return;
  unit.event.record(queue.stream);
  queue.units[queue.last++ % queue.units.size()] = static_cast<std::size_t>(&unit - units_.data());
}

std::int64_t DeviceCopies::metadata_bytes() const {
  std::size_t bytes = sizeof *this + units_.capacity() * sizeof(Unit) + unit_of_.capacity() * sizeof(int);
  for (const Queue& queue : queues_) bytes += queue.units.capacity() * sizeof(std::size_t);
  for (const Unit& unit : units_) bytes += unit.steps.capacity() * sizeof(int) + unit.rows.capacity() * sizeof(Row);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace laneway
