#include "operations/request/work.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace laneway {

Statistics statistics_of(const Plan& plan, const Region& node, const PlanMemory* memory) {
  Statistics total{};
  total.staging_bytes = plan.staging_bytes + plan.shadow_bytes;
  total.window_bytes = plan.window_bytes;
  total.metadata_bytes = metadata_bytes(plan);
  if (memory != nullptr) total.metadata_bytes += memory->metadata_bytes();
  for (const Step& step : plan.steps) {
    for (const CopyRun& run : step.runs) total.copied_bytes += run.bytes * run.count;
    if (!sends(step) || step.span.bytes == 0) continue;
    ++total.messages;
    total.bytes += step.span.bytes;
    if (std::binary_search(node.members.begin(), node.members.end(), step.peer)) continue;
    ++total.net_messages;
    total.net_bytes += step.span.bytes;
  }
  return total;
}

const char* text_of(WorkState state) {
  switch (state) {
    case WorkState::inactive:
      return "is inactive";
    case WorkState::active:
      return "is active";
    case WorkState::blocked:
      return "shares its staging memory (lnw_shared_staging) with a request that is active";
    case WorkState::in_queue:
      return "is in a queue, to which it belongs until LNW_Queue_wait has returned";
    case WorkState::unbound:
      return "has no buffers yet: call LNW_Request_set_buffers first";
    case WorkState::calling:
      return "is the one whose function this is: it can be started, completed and freed once that has returned";
    case WorkState::failed:
      break;
  }
  return "has failed before and can only be freed";
}

const Plan& Work::plan() const {
  static const Plan none;
  return none;
}

void Work::wait() {
  progress_until([&] { return test(); });
}

std::string_view Work::set_buffers(Buffers) {
  throw Error(ErrorKind::request, has_partitions() ? "request is partitioned between two ranks, which keeps its buffers"
                                                   : "request is of a dense operation, which keeps its buffers");
}

void Work::set_stream(std::optional<lnw_device_stream>) {
  require(!has_partitions(), ErrorKind::unsupported,
          "request is partitioned between two ranks, which follows no stream");
  throw Error(ErrorKind::request,
              "request is of a dense operation, which takes no stream: call LNW_Stream_synchronize before LNW_Start");
}

}  // namespace laneway
