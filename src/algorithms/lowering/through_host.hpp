#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "plan/plan.hpp"

namespace laneway {

/// Which of the operation's buffers are in memory of a device. Only that rank's: its peers need not know.
struct OnDevice {
  bool send = false;
  bool receive = false;
  bool combines = false;  ///< the receive buffer's device combines by itself, as the plan does

  [[nodiscard]] bool any() const { return send || receive; }
  friend bool operator==(const OnDevice&, const OnDevice&) = default;
};

/// Copies of up to this size wait for each other only if one message needs both: below it, starting a copy takes as
/// long as the copy itself.
inline constexpr std::int64_t device_copy_bytes = 262144;

/// Lets messages, which only the host can send and receive, go through its memory. What they need of the send buffer
/// is copied into the plan's shadow, each byte once and in chunks for which sends wait one by one; what they bring is
/// copied from the shadow to the receive buffer. What the host combines, it combines in its memory: see
/// place_combining. What a plan reads of the receive buffer it reads in the host's memory: see with_receive_image.
/// Copies, puts and takes between a device's buffer and memory of the plan, or between two buffers on the device, are
/// left as they are, unless that would move a byte from the device twice.
///
/// Messages keep their sizes and channels. Changes nothing in a plan that it has changed for the same buffers.
[[nodiscard]] Plan through_host(Plan plan, const OnDevice& buffers);

/// The part of it for the send buffer, with staging memory, which peers may read, or the shadow as `image`.
[[nodiscard]] Plan fetch_sent(Plan plan, const OnDevice& buffers, Buffer image);

/// Where a plan meets a user's stream.
struct InStream {
  OnDevice buffers;
  bool device_aware = false;   ///< messages begin and end on devices
  bool shares_memory = false;  ///< peers reach this rank's staging memory

  friend auto operator<=>(const InStream& a, const InStream& b) { return a.key() <=> b.key(); }

 private:
  [[nodiscard]] int key() const {
    return (buffers.send ? 1 : 0) + (buffers.receive ? 2 : 0) + (device_aware ? 4 : 0) + (shares_memory ? 8 : 0) +
           (buffers.combines ? 16 : 0);
  }
};

/// Gives a plan that through_host has been at, or that is device-aware, the two events of a user's stream, as far as it
/// needs them (stream_event). Before the one that comes in nothing touches the buffers, nor memory that copies of the
/// exchange before may still read. Only messages that begin and end on devices need it: copies of a device come after
/// the stream in a stream. Before the one that goes out the last copies to the device have been put into their stream;
/// nobody waits for their end.
[[nodiscard]] Plan in_stream(Plan plan, const InStream& where);

/// Whether no message begins or ends in one of these buffers.
[[nodiscard]] bool goes_through_host(const Plan& plan, const OnDevice& buffers);

/// A plan, and what through_host makes of it, once for each choice of buffers that turns up. Which buffers are on
/// devices is known for sure only when they are given, and the next ones may be elsewhere; the plan that all ranks have
/// agreed on stays the same.
class PlansByBuffers {
 public:
  PlansByBuffers() = default;
  explicit PlansByBuffers(std::shared_ptr<const Plan> plan) : plans_{std::move(plan)} {}

  /// For buffers in the host's memory.
  [[nodiscard]] const std::shared_ptr<const Plan>& plan() const { return plans_[0]; }
  [[nodiscard]] const std::shared_ptr<const Plan>& on(const OnDevice& buffers);
  /// The same for a user's stream; the plan without one where that makes no difference.
  [[nodiscard]] const std::shared_ptr<const Plan>& on(const InStream& where);

 private:
  std::array<std::shared_ptr<const Plan>, 8> plans_;
  std::map<InStream, std::shared_ptr<const Plan>> in_stream_;
};

}  // namespace laneway
