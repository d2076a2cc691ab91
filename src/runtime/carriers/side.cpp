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

void Offer::put(Writer& letter) const {
  letter.put(channel);
  letter.put(bytes);
  letter.put(by);
  if (by == 0) return;
  letter.put(lent);
  letter.put(reply);
  letter.put(ranges);
  letter.put(ring);
}

Offer Offer::get(Reader& letter) {
  Offer offer;
  offer.channel = letter.get<int>();
  offer.bytes = letter.get<std::int64_t>();
  offer.by = letter.get<std::uint32_t>();
  if (offer.by == 0) return offer;
  offer.lent = letter.get<std::uint64_t>();
  offer.reply = letter.get<std::int64_t>();
  offer.ranges = letter.get_ranges();
  offer.ring = letter.get<Ring>();
  return offer;
}

void Answer::put(Writer& letter) const {
  letter.put(mode);
  if (mode == Mode::message) return;
  letter.put(carrier);
  letter.put(flag);
  letter.put(slot);
  letter.put(ring);
  if (mode != Mode::push) return;
  letter.put(positions);
  letter.put(ranges);
}

Answer Answer::get(Reader& letter) {
  Answer answer;
  answer.mode = letter.get<Mode>();
  if (answer.mode == Mode::message) return answer;
  answer.carrier = letter.get<std::uint8_t>();
  answer.flag = letter.get<std::int64_t>();
  answer.slot = letter.get<std::int64_t>();
  answer.ring = letter.get<Ring>();
  if (answer.mode != Mode::push) return answer;
  answer.positions = letter.get_ranges();
  answer.ranges = letter.get_ranges();
  return answer;
}

}  // namespace laneway::local
