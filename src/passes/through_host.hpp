#pragma once

#include <array>
#include <cstdint>
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
/// place_combining. Copies, puts and takes between a device's buffer and memory of the
/// plan, or between two buffers on the device, are left as they are, unless that would move a byte from the device
/// twice.
///
/// Messages keep their sizes and channels. Changes nothing in a plan that it has changed for the same buffers.
[[nodiscard]] Plan through_host(Plan plan, const OnDevice& buffers);

/// The part of it for the send buffer, with staging memory, which peers may read, or the shadow as `image`.
[[nodiscard]] Plan fetch_sent(Plan plan, const OnDevice& buffers, Buffer image);

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

 private:
  std::array<std::shared_ptr<const Plan>, 8> plans_;
};

}  // namespace laneway
