#include "runtime/carriers/side.hpp"

#include <algorithm>

namespace laneway::local {

RangeList at_positions(const RangeList& list, const RangeList& positions) {
  if (positions == RangeList{{0, list.bytes()}}) return list;
  const Slicer slicer(list);
  RangeList bytes;
  positions.for_each([&](Range wanted) { bytes.append(slicer.slice(wanted.offset, wanted.bytes)); });
  return bytes;
}

bool is_in_one_buffer(const End& end) {
  return !end.is_scattered() || std::ranges::all_of(end.parts(), [&](const Segment& part) {
    return part.buffer == end.parts().front().buffer;
  });
}

Side side_of(const Step& step, int index) {
  Side side;
  side.step = index;
  side.peer = step.peer;
  side.channel = step.channel;
  side.bytes = step.span.bytes;
  side.buffer = step.span.buffer;
  if (step.span.is_scattered())
    side.positions = step.span.stream();
  else
    side.positions = {{0, side.bytes}};
  step.span.for_each_part([&](Buffer buffer, const RangeList& ranges) {
    side.buffer = buffer;
    side.ranges.append(ranges);
  });
  return side;
}

void Offer::put(Writer& control_message) const {
  control_message.put(channel);
  control_message.put(bytes);
  control_message.put(by);
  if (by == 0) return;
  control_message.put(lent);
  control_message.put(reply);
  control_message.put(ranges);
  control_message.put(ring);
}

Offer Offer::get(Reader& control_message) {
  Offer offer;
  offer.channel = control_message.get<int>();
  offer.bytes = control_message.get<std::int64_t>();
  offer.by = control_message.get<std::uint32_t>();
  if (offer.by == 0) return offer;
  offer.lent = control_message.get<std::uint64_t>();
  offer.reply = control_message.get<std::int64_t>();
  offer.ranges = control_message.get_ranges();
  offer.ring = control_message.get<Ring>();
  return offer;
}

void Answer::put(Writer& control_message) const {
  control_message.put(mode);
  if (mode == Mode::message) return;
  control_message.put(carrier);
  control_message.put(flag);
  control_message.put(slot);
  control_message.put(ring);
  if (mode != Mode::push) return;
  control_message.put(positions);
  control_message.put(ranges);
}

Answer Answer::get(Reader& control_message) {
  Answer answer;
  answer.mode = control_message.get<Mode>();
  if (answer.mode == Mode::message) return answer;
  answer.carrier = control_message.get<std::uint8_t>();
  answer.flag = control_message.get<std::int64_t>();
  answer.slot = control_message.get<std::int64_t>();
  answer.ring = control_message.get<Ring>();
  if (answer.mode != Mode::push) return answer;
  answer.positions = control_message.get_ranges();
  answer.ranges = control_message.get_ranges();
  return answer;
}

}  // namespace laneway::local
