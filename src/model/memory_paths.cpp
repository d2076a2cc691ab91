#include "model/memory_paths.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace laneway {

namespace {

class PathLoad {
 public:
  PathLoad(MemoryPath path, const PathConditions& conditions, const Parameters& parameters)
      : conditions_(conditions),
        parameters_(parameters),
        from_device_(path == MemoryPath::device_aware && conditions.buffers.any()),
        shares_(path != MemoryPath::device_aware),
        copy_(parameters.device_copy(conditions.processes)) {}

  void add(const Step& step) {
    if (step.kind == StepKind::send) sent_ += message(step);
    if (step.kind == StepKind::receive) received_ += message(step);
    if (step.kind == StepKind::copy && !step.runs.empty()) copied_ += copy(step);
  }
  [[nodiscard]] double seconds() const { return std::max(sent_, received_) + copied_; }

 private:
  [[nodiscard]] double message(const Step& step) const {
    const bool on_node = std::binary_search(conditions_.sharing.begin(), conditions_.sharing.end(), step.peer);
    if (on_node && shares_) return parameters_.flag + parameters_.copy_beta(1) * static_cast<double>(step.span.bytes);
    const LinkCost* const link = known_link(from_device_ ? parameters_.device_links : parameters_.links,
                                            on_node ? LinkClass::node : LinkClass::network);
    return link == nullptr ? 0 : link->seconds(step.span.bytes);
  }

  /// Inside a device, the time of the bytes is negligible beside that of starting the copy.
  [[nodiscard]] double copy(const Step& step) const {
    double bytes = 0;
    for (const CopyRun& run : step.runs) bytes += static_cast<double>(run.bytes * run.count);
    const bool reads = conditions_.buffers.send && step.from == Buffer::send;
    const bool writes = conditions_.buffers.receive && step.to == Buffer::receive;
    if (from_device_ || (reads && writes)) return copy_.to_host_alpha;
    if (reads) return copy_.to_host_alpha + copy_.to_host_beta * bytes;
    if (writes) return copy_.to_device_alpha + copy_.to_device_beta * bytes;
    return parameters_.copy_beta(1) * bytes;
  }

  const PathConditions& conditions_;
  const Parameters& parameters_;
  const bool from_device_;
  const bool shares_;
  const DeviceCopy copy_;
  double sent_ = 0;
  double received_ = 0;
  double copied_ = 0;
};

}  // namespace

bool is_known(MemoryPath path, const Parameters& parameters) {
  if (path == MemoryPath::staged) return !parameters.device_copies.empty();
  return path == MemoryPath::device_aware && known_link(parameters.device_links, LinkClass::network) != nullptr;
}

double path_seconds(MemoryPath path, const Plan& plan, const PathConditions& conditions, const Parameters& parameters) {
  LANEWAY_ASSERT(1, path == MemoryPath::staged || path == MemoryPath::device_aware);
  PathLoad load(path, conditions, parameters);
  const Plan as_run = path == MemoryPath::staged ? through_host(plan, conditions.buffers) : plan;
  for (const Step& step : as_run.steps) load.add(step);
  return load.seconds();
}

}  // namespace laneway
