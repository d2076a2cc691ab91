#include <array>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "plan/plan.hpp"

namespace laneway {

namespace {

using nlohmann::json;

template <class Enum, std::size_t N>
Enum named(const std::string& text, const std::array<Enum, N>& values) {
  for (Enum value : values)
    if (text == name(value)) return value;
  throw Error(ErrorKind::argument, "plan: unknown name '" + text + "'");
}

constexpr std::array all_buffers = {Buffer::send, Buffer::receive, Buffer::staging, Buffer::window, Buffer::shadow};
constexpr std::array kinds = {StepKind::copy, StepKind::send, StepKind::receive,
                              StepKind::put,  StepKind::take, StepKind::gate};
constexpr std::array stages = {Stage::direct, Stage::gather, Stage::network, Stage::scatter};

json step_to_json(const Step& step) {
  json j = {{"kind", name(step.kind)}, {"stage", name(step.stage)}};
  if (copies(step.kind)) {
    j["from"] = name(step.from);
    j["to"] = name(step.to);
    json& runs = j["runs"] = json::array();
    for (const CopyRun& r : step.runs) runs.push_back({r.from, r.to, r.bytes, r.from_stride, r.to_stride, r.count});
  }
  if (step.kind != StepKind::copy) {
    j["peer"] = step.peer;
    j["channel"] = step.channel;
    j["span"] = {name(step.span.buffer), step.span.offset, step.span.bytes};
  }
  if (signals(step.kind)) j["flag"] = {step.flag, step.alternate, step.lag};
  if (step.slots != 2) j["slots"] = step.slots;
  if (step.crosses) j["crosses"] = true;
  if (!step.after.empty()) j["after"] = step.after;
  return j;
}

Step step_from_json(const json& j) {
  Step step;
  step.kind = named(j.at("kind").get<std::string>(), kinds);
  step.stage = named(j.at("stage").get<std::string>(), stages);
  if (copies(step.kind)) {
    step.from = named(j.at("from").get<std::string>(), all_buffers);
    step.to = named(j.at("to").get<std::string>(), all_buffers);
    for (const json& r : j.at("runs")) step.runs.push_back({r.at(0), r.at(1), r.at(2), r.at(3), r.at(4), r.at(5)});
  }
  if (step.kind != StepKind::copy) {
    step.peer = j.at("peer");
    step.channel = j.at("channel");
    const json& span = j.at("span");
    step.span = {named(span.at(0).get<std::string>(), all_buffers), span.at(1), span.at(2)};
  }
  if (signals(step.kind)) {
    const json& flag = j.at("flag");
    step.flag = flag.at(0);
    step.alternate = flag.at(1);
    step.lag = flag.at(2);
  }
  step.slots = j.value("slots", std::int64_t{2});
  step.crosses = j.value("crosses", false);
  if (j.contains("after")) step.after = j.at("after").get<std::vector<int>>();
  return step;
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
      ", \"steps\": [";
  const char* separator = "\n  ";
  for (const Step& step : plan.steps) {
    text += separator + step_to_json(step).dump();
    separator = ",\n  ";
  }
  return text + "\n]}\n";
}

Plan plan_from_json(const std::string& text) {
  try {
    const json j = json::parse(text);
    const json lent = j.value("lent", json::array({0, 0}));
    Plan plan{j.at("rank"),
              j.at("staging_bytes"),
              {},
              j.value("window_bytes", std::int64_t{0}),
              j.value("shadow_bytes", std::int64_t{0}),
              lent.at(0),
              lent.at(1),
              j.value("staging_alternate", std::int64_t{0})};
    for (const json& step : j.at("steps")) plan.steps.push_back(step_from_json(step));
    return plan;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::argument, std::string("plan: ") + error.what());
  }
}

}  // namespace laneway
