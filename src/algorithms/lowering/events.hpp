#pragma once

#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace laneway {

/// What an event is about: bytes of the operation's buffers, or of the plan's staging memory, each part in one of them.
struct PlanEvent {
  int number = 0;  ///< among those that come in, or those that go out
  bool goes_out = false;
  std::vector<Segment> parts;
};

/// Lets every step that touches what an event that comes in is about come after that, and an event that goes out after
/// all steps that touch what it is about. Finds them by their ranges; several events may be about one byte. Messages of
/// one channel keep their order, so that one may wait for the event of another.
///
/// For plans that no carrier has rewritten yet, or whose messages and moves of this rank alone the events are about.
/// All passes after this one keep what it says.
[[nodiscard]] Plan add_events(Plan plan, std::span<const PlanEvent> events);

}  // namespace laneway
