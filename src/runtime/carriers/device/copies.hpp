#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.hpp"
#include "runtime/device/buffers.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// Whether a move is put into the stream of the device that has the receive buffer.
[[nodiscard]] inline bool uses_receive_buffer(const Step& step) {
  return step.to == Buffer::receive || step.from == Buffer::receive;
}

/// The steps of one plan that copy from or to memory of devices. They are put into streams of their own, one that reads
/// the devices and one that writes them, and are complete when the streams say so. A user's stream can be given: what
/// is in it at the start comes before all copies.
///
/// Allocates only in its constructor, in `add` and in `prepare`.
class DeviceCopies {
 public:
  /// `bases`: where the rank's own buffers begin, by Buffer.
  DeviceCopies(const BufferMemory& memory, std::span<std::byte* const, buffer_kinds> bases, std::size_t steps);
  /// For a rank whose own buffers are on no device: `reader` copies from those of others.
  void use(const Device& reader);
  ~DeviceCopies();
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  /// Steps that are always launched together. More than one must be copies between the rank's own buffers. Nobody waits
  /// for the end of those that are `trailing`: `hand_over` has what comes later in the user's stream come after them.
  void add(const Plan& plan, std::vector<int> steps, bool trailing);
  /// Steps that copy nothing, and are done when all that the user's stream held at the start is, and the mirror too;
  /// or at once, if `ready` tells those who borrow when that is. It must outlive the object.
  void add_lending(std::vector<int> steps, const Event* ready);
  /// How steps that combine do it, before any of them is added.
  void set_combining(const DeviceOperation& operation) { combining_ = operation; }
  /// From now on each exchange begins with a copy of `bytes` bytes to a device.
  void set_mirror(const std::byte* from, std::byte* to, std::int64_t bytes) { mirror_ = {from, to, bytes}; }
  void prepare();
  /// Steps wait for the user's stream by an event of the plan, where they have to.
  void has_event_of_stream() { stream_is_event_ = true; }

  /// Which of the two streams a step is put into.
  [[nodiscard]] std::size_t stream_of(int step) const {
    return units_[static_cast<std::size_t>(unit_of_[static_cast<std::size_t>(step)])].queue;
  }

  /// From now on; no copy must be under way. Throws Error(argument) if the stream is of another device.
  void set_stream(std::optional<lnw_device_stream> stream);
  void begin_exchange(std::byte* staging);
  /// Whether all that was in the user's stream at the start is done.
  [[nodiscard]] bool user_is_done() const { return !user_ || started_.complete(); }
  /// What is put into the user's stream from now on comes after all trailing steps, which have begun.
  void hand_over();

  /// The step may be done now. Launches it, unless that waits for others of its unit. Returns steps whose end nobody
  /// waits for, and lending ones that need not wait. The step comes after the event `after`, if there is one.
  std::span<const int> begin(int step, std::byte* from, std::byte* to, lnw_device_event after);

  /// Adds the steps that have been done since.
  void poll(std::vector<int>& done);

  [[nodiscard]] std::int64_t metadata_bytes() const;

 private:
  /// A row that a copy engine moves.
  struct Row {
    std::uint32_t from_base;
    std::uint32_t to_base;
    std::int64_t from;
    std::int64_t to;
    std::int64_t bytes;
  };
  struct Unit {
    std::vector<int> steps;
    std::vector<Row> rows;
    Moves moves;
    std::vector<Moves> waves;  // that combine, one after another
    Event event;
    std::size_t ready = 0;
    std::uint8_t queue = 0;
    bool lends = false;
    const Event* shared = nullptr;  // of those that lend: what borrowers wait for
    bool by_buffer = false;         // bases are the rank's own buffers; otherwise those of its one step
    bool trailing = false;
  };
  /// A stream, and what is under way in it, by unit.
  struct Queue {
    Device device;
    Stream stream;
    std::vector<std::size_t> units;
    std::size_t first = 0;
    std::size_t last = 0;
  };

  struct Mirror {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t bytes = 0;
  };

  [[nodiscard]] const KernelRows& rows_of_kernel(const Step& step) const;
  void launch(Unit& unit, std::span<void* const> bases);
  void finish_trailing();

  static constexpr std::uint8_t reading = 0;
  static constexpr std::uint8_t writing = 1;

  std::array<Queue, 2> queues_;
  std::array<void*, buffer_kinds> bases_{};
  Mirror mirror_;
  std::vector<Unit> units_;
  std::vector<int> unit_of_;  // by step; -1: the host's
  Device device_;             // of the buffers, or any
  OnDevice buffers_;
  CopyRule rule_;
  DeviceOperation combining_;
  bool device_aware_ = false;
  bool stream_is_event_ = false;      // nothing touches the buffers before the user's stream is done
  bool host_waits_ = false;           // for the user's stream at the start, because the host touches a buffer itself
  bool send_is_pageable_ = false;     // so that no kernel can read it
  bool receive_is_pageable_ = false;  // or write it
  bool trails_ = false;               // in the last exchange, the end of some units was not waited for
  Stream user_;                       // if given
  Event started_;
  Event ended_;
};

}  // namespace laneway
