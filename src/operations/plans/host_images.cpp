#include "operations/plans/host_images.hpp"

#include <cstdint>
#include <utility>

#include "base/bytes/address.hpp"
#include "communicator/arguments/dense_blocks.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "operations/choose/device_support.hpp"
#include "operations/collective/checked.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

namespace {

constexpr std::size_t image_alignment = 64;

Range hull_of_set(const RangeSet& set) {
  if (set.empty()) return {};
  const std::int64_t begin = set.ranges().front().offset;
  return {begin, set.ranges().back().end() - begin};
}

/// Ranges of one size and evenly apart are one row of rows.
std::vector<lnw_device_rows> rows_between(std::byte* to, std::byte* from, const RangeSet& set) {
  std::vector<lnw_device_rows> rows;
  std::int64_t last = 0;  // where the last row begins
  for (const Range& range : set.ranges()) {
    const auto bytes = static_cast<std::uint64_t>(range.bytes);
    if (!rows.empty() && rows.back().bytes == bytes) {
      lnw_device_rows& open = rows.back();
      const std::int64_t stride = range.offset - last;
      if (open.count == 1 || open.to_stride == stride) {
        open.to_stride = open.from_stride = stride;
        ++open.count;
        last = range.offset;
        continue;
      }
    }
    rows.push_back({at(to, range.offset), at(from, range.offset), bytes, range.bytes, range.bytes, 1});
    last = range.offset;
  }
  return rows;
}

void add_runs(std::vector<Range>& ranges, std::int64_t offset, std::int64_t stride, const CopyRun& run) {
  for (std::int64_t i = 0; i < run.count; ++i) ranges.push_back({offset + i * stride, run.bytes});
}

RangeSet set_of(const Blocks& blocks, Rank ranks) {
  std::vector<Range> all;
  for (Rank peer = 0; peer < ranks; ++peer) blocks.of(peer).for_each([&](Range range) { all.push_back(range); });
  return RangeSet(std::move(all));
}

}  // namespace

Extents TouchedBytes::extents() const {
  return {hull_of_set(sent), hull_of_set(unite(read, written))};
}

TouchedBytes touched_by(const Plan& plan) {
  std::vector<Range> sent;
  std::vector<Range> read;
  std::vector<Range> written;
  if (plan.lent_bytes > 0) sent.push_back({plan.lent_offset, plan.lent_bytes});
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::send && step.span.buffer == Buffer::send)
      sent.push_back({step.span.offset, step.span.bytes});
    if (step.kind == StepKind::send && step.span.buffer == Buffer::receive)
      read.push_back({step.span.offset, step.span.bytes});
    if (step.kind == StepKind::receive && step.span.buffer == Buffer::receive)
      written.push_back({step.span.offset, step.span.bytes});
    if (step.kind != StepKind::move) continue;
    for (const CopyRun& run : step.runs) {
      if (step.from == Buffer::send) add_runs(sent, run.from, run.from_stride, run);
      if (step.from == Buffer::receive) add_runs(read, run.from, run.from_stride, run);
      if (step.to != Buffer::receive) continue;
      add_runs(written, run.to, run.to_stride, run);
      if (combines(step)) add_runs(read, run.to, run.to_stride, run);
    }
  }
  return {RangeSet(std::move(sent)), RangeSet(std::move(read)), RangeSet(std::move(written))};
}

namespace {

TouchedBytes touched_by_reduction(const CollectiveCall& call, Rank rank, Rank ranks) {
  const std::shared_ptr<const TypeMap> map = type_map(call.receive.type);
  std::int64_t count = call.receive.count;
  std::int64_t own = count;
  if (call.kind == DenseKind::reduce_scatter) {
    count = 0;
    for (Rank i = 0; i < ranks; ++i) count += call.receive.counts[i];
    own = call.receive.counts[rank];
  } else if (call.kind == DenseKind::reduce_scatter_block) {
    count *= ranks;
  }
  const bool is_written =
      call.kind == DenseKind::reduce ? call.root == rank : call.kind != DenseKind::exscan || rank > 0;
  TouchedBytes touched;
  (is_in_place(call) ? touched.read : touched.sent) = RangeSet(map->elements(count, 0));
  if (is_written) touched.written = RangeSet(map->elements(own, 0));
  return touched;
}

}  // namespace

TouchedBytes touched_by(const CollectiveCall& call, Rank rank, Rank ranks) {
  if (call.kind == DenseKind::barrier) return {};
  if (reduces(call.kind)) return touched_by_reduction(call, rank, ranks);
  const DenseCall blocks = blocks_of(call, check_collective(call, rank, ranks), rank, ranks, Combination{});
  TouchedBytes touched{set_of(blocks.send, ranks), {}, set_of(blocks.receive, ranks)};
  const bool is_source = call.kind == DenseKind::bcast && call.root == rank;
  if (is_source || is_in_place(call)) touched.read = touched.written;
  if (is_source) touched.written = {};
  return touched;
}

HostImages::Image::Image(const MemoryInfo& where, void* buffer, const RangeSet& read, const RangeSet& written,
                         MemoryKind memory) {
  const Range touched = hull_of_set(unite(read, written));
  const Device device(where);
  auto* const base = static_cast<std::byte*>(buffer);
  const std::size_t room = static_cast<std::size_t>(touched.bytes) + 2 * image_alignment;
  std::byte* place = nullptr;
  if (memory == MemoryKind::pinned) {
    pinned_ = DeviceMemory(device, room, MemoryKind::pinned);
    place = pinned_.data();
  } else {
    pageable_.reset(new std::byte[room]);
    place = pageable_.get();
  }
  // Numbers are aligned in the image as they are in the buffer.
  const auto misalignment = [](const std::byte* address) {
    return reinterpret_cast<std::uintptr_t>(address) % image_alignment;
  };
  const std::byte* const begin = at(base, touched.offset);
  place += (misalignment(begin) + image_alignment - misalignment(place)) % image_alignment;
  first_ = at(place, -touched.offset);
  fetched_ = rows_between(first_, base, read);
  stored_ = rows_between(base, first_, written);
  stream_ = Stream(device);
}

/// Copies must not outlive the image, not even after a failure.
HostImages::Image::~Image() {
  if (!stream_) return;
  try {
    stream_.synchronize();
  } catch (...) {
    // Whoever waited for the copies has been told, and the device is of no use any more.
  }
}

HostImages::HostImages(Buffers buffers, const BufferMemory& where, const TouchedBytes& touched, MemoryKind memory)
    : images_(buffers) {
  const OnDevice on_device = where.on_device();
  const bool is_one_buffer = on_device.send && on_device.receive && buffers.send == buffers.receive;
  if (on_device.receive) {
    const RangeSet read = is_one_buffer ? unite(touched.sent, touched.read) : touched.read;
    receive_.emplace(where.receive, buffers.receive, read, touched.written, memory);
    images_.receive = receive_->first();
    if (is_one_buffer) images_.send = images_.receive;
  }
  if (on_device.send && !is_one_buffer) {
    send_.emplace(where.send, const_cast<void*>(buffers.send), touched.sent, RangeSet{}, memory);
    images_.send = send_->first();
  }
}

void HostImages::fetch() {
  if (send_) send_->fetch();
  if (receive_) receive_->fetch();
}

void HostImages::put_back() {
  if (receive_) receive_->put_back();
}

bool HostImages::complete() const {
  return (!send_ || send_->complete()) && (!receive_ || receive_->complete());
}

void HostImages::synchronize() const {
  if (send_) send_->synchronize();
  if (receive_) receive_->synchronize();
}

std::unique_ptr<HostImages> images_for_mpi(Buffers buffers, const std::function<TouchedBytes()>& touched,
                                           MemoryKind memory) {
  if (!has_plugins()) return nullptr;
  const TouchedBytes bytes = touched();
  const BufferMemory where = look_at(buffers, bytes.extents());
  if (!where.on_device().any() || device_support(where).takes) return nullptr;
  return std::make_unique<HostImages>(buffers, where, bytes, memory);
}

std::unique_ptr<HostImages> images_for_mpi(const CollectiveCall& call, Rank rank, Rank ranks, MemoryKind memory) {
  if (!has_plugins()) return nullptr;
  return images_for_mpi(
      buffers_of(call), [&] { return touched_by(call, rank, ranks); }, memory);
}

CollectiveCall on_images(CollectiveCall call, const HostImages& images) {
  if (call.sendbuf != MPI_IN_PLACE) call.sendbuf = images.images().send;
  if (call.recvbuf != MPI_IN_PLACE) call.recvbuf = images.images().receive;
  return call;
}

}  // namespace laneway
