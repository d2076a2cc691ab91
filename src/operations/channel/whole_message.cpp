#include "operations/channel/whole_message.hpp"

#include <mutex>

namespace laneway {

std::optional<Message> WholeMessage::only_message(const Plan& plan, void* buffer) {
  const Step* found = nullptr;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::event) continue;
    if (found != nullptr || (step.kind != StepKind::send && step.kind != StepKind::receive)) return std::nullopt;
    found = &step;
  }
  if (found == nullptr || found->span.is_scattered() || found->span.buffer == Buffer::staging) return std::nullopt;
  std::byte* const data = buffer == nullptr ? nullptr : static_cast<std::byte*>(buffer) + found->span.offset;
  return Message{found->kind == StepKind::send, found->peer, found->channel, data, found->span.bytes, true};
}

WholeMessage::~WholeMessage() {
  if (!is_complete_.load(std::memory_order_acquire) && has_left_.load(std::memory_order_acquire))
    (void)endpoint_->abandon();
}

bool WholeMessage::test() {
  if (is_complete_.load(std::memory_order_acquire)) return true;
  if (!has_left_.load(std::memory_order_acquire)) return false;
  const std::unique_lock lock(looking_, std::try_to_lock);
  if (!lock) return false;
  if (!is_complete_.load(std::memory_order_relaxed) && endpoint_->test_all())
    is_complete_.store(true, std::memory_order_release);
  return is_complete_.load(std::memory_order_relaxed);
}

}  // namespace laneway
