#pragma once

#include "plan/plan.hpp"

namespace laneway {

/// The number of the two events of a user's stream: the one that comes in when the stream has come as far as it was at
/// the start, and the one that goes out when what is put into the stream from then on finds the data in place.
inline constexpr int stream_event = -1;

[[nodiscard]] inline bool is_of_stream(const Step& step) {
  return step.kind == StepKind::event && step.event == stream_event;
}

}  // namespace laneway
