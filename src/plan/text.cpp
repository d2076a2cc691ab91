#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "plan/plan.hpp"

namespace laneway {

namespace {

template <class Enum, std::size_t N>
Enum named(const std::string& text, const std::array<Enum, N>& values) {
  for (Enum value : values)
    if (text == name(value)) return value;
  throw Error(ErrorKind::argument, "plan: unknown name '" + text + "'");
}

constexpr std::array all_buffers = {Buffer::send, Buffer::receive, Buffer::staging, Buffer::window, Buffer::shadow};
constexpr std::array kinds = {StepKind::move,  StepKind::send,  StepKind::receive,
                              StepKind::await, StepKind::raise, StepKind::event};
constexpr std::array signs = {Sign::flag, Sign::started, Sign::completed, Sign::ready};
constexpr std::array stages = {Stage::direct, Stage::gather, Stage::network, Stage::scatter};

/// A whole number that fits. The JSON library would convert any number, and be undefined for those that do not fit.
template <class Integer>
Integer whole(const Json& j) {
  if (j.is_natural()) {
    const auto number = j.get<std::uint64_t>();
    if (std::in_range<Integer>(number)) return static_cast<Integer>(number);
  } else if (j.is_integer()) {
    const auto number = j.get<std::int64_t>();
    if (std::in_range<Integer>(number)) return static_cast<Integer>(number);
  }
  constexpr std::size_t most = 40;
  const std::string text = j.dump();
  throw Error(ErrorKind::argument, "plan: expected a whole number that fits into " +
                                       std::to_string(8 * sizeof(Integer)) + " bits, found " +
                                       (text.size() > most ? text.substr(0, most) + "..." : text));
}

std::int64_t number(const Json& j) {
  return whole<std::int64_t>(j);
}

std::int64_t number_or(const Json& j, const char* key, std::int64_t fallback) {
  return j.contains(key) ? number(j.at(key)) : fallback;
}

/// `[[offset, bytes, stride, count], …]`, with `{"runs": […], "stride": s, "count": n}` for what is repeated.
Json to_json(const RangeList& list) {
  Json all = Json::array();
  list.for_each_repeat([&](const Repeat& repeat) {
    Json runs = Json::array();
    for (const Run& run : repeat.runs) runs.push_back({run.offset, run.bytes, run.stride, run.count});
    if (repeat.count == 1)
      for (const Json& run : runs) all.push_back(run);
    else
      all.push_back({{"runs", std::move(runs)}, {"stride", repeat.stride}, {"count", repeat.count}});
  });
  return all;
}

Json end_to_json(const End& end) {
  Json parts = Json::array();
  for (const Segment& part : end.parts()) parts.push_back({name(part.buffer), to_json(part.ranges)});
  return {{"bytes", end.bytes}, {"parts", std::move(parts)}, {"stream", to_json(end.stream())}};
}

/// Sums of a few such numbers are numbers, too.
bool is_near(std::int64_t number) {
  constexpr std::int64_t farthest = std::int64_t{1} << 60;
  return -farthest < number && number < farthest;
}

/// Throws where `count` times so many bytes, so far apart, are more than any memory.
void require_near(std::int64_t before, std::int64_t bytes, std::int64_t stride, std::int64_t count) {
  std::int64_t length = 0;
  std::int64_t all = 0;
  const bool near = bytes >= 0 && count >= 0 && !__builtin_mul_overflow(count, stride, &length) &&
                    !__builtin_mul_overflow(count, bytes, &all) && is_near(length) && is_near(all) && is_near(bytes) &&
                    is_near(before + all);
  require(near, ErrorKind::argument, "plan: a message has ranges that no memory has");
}

void append_run(RangeList& list, const Json& j) {
  const Run run{number(j.at(0)), number(j.at(1)), number(j.at(2)), number(j.at(3))};
  require_near(list.bytes(), run.bytes, run.stride, run.count);
  require(is_near(run.offset), ErrorKind::argument, "plan: a message is too far away");
  list.append(run);
}

RangeList ranges_from_json(const Json& j) {
  RangeList list;
  for (const Json& item : j) {
    if (item.is_array()) {
      append_run(list, item);
      continue;
    }
    RangeList once;
    for (const Json& run : item.at("runs")) append_run(once, run);
    const std::int64_t stride = number(item.at("stride"));
    const std::int64_t count = number(item.at("count"));
    require_near(list.bytes(), once.bytes(), stride, count);
    list.append_repeated(once, count, stride, 0);
  }
  return list;
}

End end_from_json(const Json& j) {
  std::vector<Segment> parts;
  for (const Json& part : j.at("parts"))
    parts.push_back({named(part.at(0).get<std::string>(), all_buffers), ranges_from_json(part.at(1))});
  const RangeList stream = ranges_from_json(j.at("stream"));
  const std::int64_t bytes = number(j.at("bytes"));
  std::int64_t places = 0;
  for (const Segment& part : parts) {
    require_near(places, part.ranges.bytes(), 0, 1);
    places += part.ranges.bytes();
  }
  require(is_near(bytes) && bytes >= 0 && places == stream.bytes(), ErrorKind::argument,
          "plan: a message has places for other bytes than its own");
  return {std::move(parts), stream, bytes};
}

Json span_to_json(const End& end) {
  return {name(end.buffer), end.offset, end.bytes};
}

/// Whose memory it is, and the ring, as far as they are not this rank's and one place.
void add_home(Json& j, bool of_peer, const Ring& ring) {
  if (of_peer) j["of"] = "peer";
  if (ring != Ring{}) j["ring"] = {ring.distance, ring.places, ring.crosses};
}

bool is_of_peer(const Json& j) {
  const std::string of = j.value<std::string>("of", "self");
  require(of == "self" || of == "peer", ErrorKind::argument, "plan: unknown name '" + of + "'");
  return of == "peer";
}

Ring ring_from_json(const Json& j) {
  if (!j.contains("ring")) return {};
  const Json& ring = j.at("ring");
  return {number(ring.at(0)), whole<std::int16_t>(ring.at(1)), ring.at(2).get<bool>()};
}

Json operand_to_json(const Operand& operand) {
  if (operand == operand.buffer) return name(operand.buffer);
  Json j = {{"buffer", name(operand.buffer)}};
  add_home(j, operand.of_peer, operand.ring);
  return j;
}

Operand operand_from_json(const Json& j) {
  if (j.is_string()) return named(j.get<std::string>(), all_buffers);
  return {named(j.at("buffer").get<std::string>(), all_buffers), is_of_peer(j), ring_from_json(j)};
}

Json word_to_json(const Word& word) {
  Json j = {{"word", name(word.sign)}};
  if (word.sign == Sign::flag) j["offset"] = word.offset;
  if (word.lag != 0) j["lag"] = word.lag;
  add_home(j, word.of_peer, word.ring);
  return j;
}

Word word_from_json(const Json& j) {
  const Sign sign = named(j.at("word").get<std::string>(), signs);
  return {sign, is_of_peer(j), j.contains("lag") ? whole<std::int32_t>(j.at("lag")) : 0,
          sign == Sign::flag ? number(j.at("offset")) : 0, ring_from_json(j)};
}

bool has_peer(const Step& step) {
  return !is_copy(step) && step.kind != StepKind::event;
}

/// What a step of this rank alone has is neither written nor read.
bool has_channel(const Step& step) {
  return step.peer != Step().peer || has_peer(step);
}

Json step_to_json(const Step& step) {
  Json j = {{"kind", name(step.kind)}, {"stage", name(step.stage)}};
  if (step.kind == StepKind::move || step.kind == StepKind::raise) j["from"] = operand_to_json(step.from);
  if (step.kind == StepKind::move) {
    j["to"] = operand_to_json(step.to);
    Json& runs = j["runs"];
    runs = Json::array();
    for (const CopyRun& r : step.runs) runs.push_back({r.from, r.to, r.bytes, r.from_stride, r.to_stride, r.count});
    if (combines(step)) j["combines"] = step.combination;
  }
  if (step.kind == StepKind::event) j[step.goes_out ? "out" : "in"] = step.event;
  if (has_channel(step)) {
    j["peer"] = step.peer;
    j["channel"] = step.channel;
  }
  if (!is_copy(step))
    j[step.span.is_scattered() ? "end" : "span"] =
        step.span.is_scattered() ? end_to_json(step.span) : span_to_json(step.span);
  if (step.await) j["await"] = word_to_json(*step.await);
  if (step.raise) j["raise"] = word_to_json(*step.raise);
  if (!step.after.empty()) j["after"] = std::span<const int>(step.after);
  return j;
}

Step step_from_json(const Json& j) {
  Step step;
  step.kind = named(j.at("kind").get<std::string>(), kinds);
  step.stage = named(j.at("stage").get<std::string>(), stages);
  const bool moves = step.kind == StepKind::move;
  if (moves || step.kind == StepKind::raise) step.from = operand_from_json(j.at("from"));
  if (moves) {
    step.to = operand_from_json(j.at("to"));
    for (const Json& r : j.at("runs"))
      step.runs.push_back(
          {number(r.at(0)), number(r.at(1)), number(r.at(2)), number(r.at(3)), number(r.at(4)), number(r.at(5))});
    if (j.contains("combines")) step.combination = whole<std::int8_t>(j.at("combines"));
  }
  if (step.kind == StepKind::await || (moves && j.contains("await"))) step.await = word_from_json(j.at("await"));
  if (step.kind == StepKind::raise || (moves && j.contains("raise"))) step.raise = word_from_json(j.at("raise"));
  if (step.kind == StepKind::event) {
    step.goes_out = j.contains("out");
    step.event = whole<int>(j.at(step.goes_out ? "out" : "in"));
  } else if (j.contains("peer") || has_peer(step)) {
    step.peer = whole<Rank>(j.at("peer"));
    if (has_channel(step)) step.channel = whole<int>(j.at("channel"));
  }
  if (!is_copy(step)) {
    if (j.contains("end")) {
      step.span = end_from_json(j.at("end"));
    } else {
      const Json& span = j.at("span");
      step.span = {named(span.at(0).get<std::string>(), all_buffers), number(span.at(1)), number(span.at(2))};
    }
  }
  if (j.contains("after"))
    for (const Json& before : j.at("after")) step.after.push_back(whole<int>(before));
  return step;
}

std::string to_text(std::span<const Combination> combinations) {
  if (combinations.empty()) return "";
  Json all = Json::array();
  for (const Combination& how : combinations) {
    all.push_back({{"operation", how.operation}, {"datatype", how.datatype}, {"bytes", how.element_bytes}});
    if (how.in_order) all.back()["in_order"] = true;
  }
  return ", \"combinations\": " + all.dump();
}

Combination combination_from_json(const Json& j) {
  return {j.at("operation").get<std::string>(), j.at("datatype").get<std::string>(), number(j.at("bytes")),
          j.value("in_order", false)};
}

}  // namespace

std::string to_json(const Plan& plan) {
  std::string text =
      "{\"rank\": " + std::to_string(plan.rank) + ", \"staging_bytes\": " + std::to_string(plan.staging_bytes) +
      (plan.window_bytes > 0 ? ", \"window_bytes\": " + std::to_string(plan.window_bytes) : "") +
      (plan.staging_alternate > 0 ? ", \"staging_alternate\": " + std::to_string(plan.staging_alternate) : "") +
      (plan.shadow_bytes > 0 ? ", \"shadow_bytes\": " + std::to_string(plan.shadow_bytes) : "") +
      (plan.lent_bytes > 0
           ? ", \"lent\": [" + std::to_string(plan.lent_offset) + ", " + std::to_string(plan.lent_bytes) + "]"
           : "") +
      to_text(plan.combinations) + ", \"steps\": [";
  const char* separator = "\n  ";
  for (const Step& step : plan.steps) {
    text += separator + step_to_json(step).dump();
    separator = ",\n  ";
  }
  return text + "\n]}\n";
}

Plan plan_from_json(const std::string& text) {
  try {
    const Json j = Json::parse(text);
    const Json lent = j.contains("lent") ? j.at("lent") : Json{0, 0};
    Plan plan{whole<Rank>(j.at("rank")),
              number(j.at("staging_bytes")),
              {},
              number_or(j, "window_bytes", 0),
              number_or(j, "shadow_bytes", 0),
              number(lent.at(0)),
              number(lent.at(1)),
              number_or(j, "staging_alternate", 0),
              {}};
    if (j.contains("combinations"))
      for (const Json& how : j.at("combinations")) plan.combinations.push_back(combination_from_json(how));
    for (const Json& step : j.at("steps")) plan.steps.push_back(step_from_json(step));
    return plan;
  } catch (const JsonError& error) {
    throw Error(ErrorKind::argument, std::string("plan: ") + error.what());
  }
}

}  // namespace laneway
