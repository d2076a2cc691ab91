#include "model/memory_paths.hpp"

#include <algorithm>
#include <cstddef>

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

  /// By a copy engine, by a kernel that packs or unpacks, or by both, one after another.
  [[nodiscard]] double copy(const Step& step) const {
    std::int64_t row_count = 0;
    for (const CopyRun& run : step.runs) row_count += run.count;
    double packed = 0;
    double rest = 0;
    for (const CopyRun& run : step.runs)
      (copy_.pack && moved_by_kernel(run, row_count) ? packed : rest) += static_cast<double>(run.bytes * run.count);
    const bool reads = conditions_.buffers.send && step.from == Buffer::send;
    const bool writes = conditions_.buffers.receive && step.to == Buffer::receive;
    // Inside a device, the time of larger rows is negligible beside that of starting the copy.
    if (from_device_ || (reads && writes)) return kernel(packed, 0) + engine({copy_.to_host.alpha, 0}, rest, packed);
    if (reads) return kernel(packed, copy_.to_host.beta) + engine(copy_.to_host, rest, packed);
    if (writes) return kernel(packed, copy_.to_device.beta) + engine(copy_.to_device, rest, packed);
    return parameters_.copy_beta(1) * (packed + rest);
  }
  /// `way`: seconds that each byte takes between the device and the host, which the kernel cannot beat.
  [[nodiscard]] double kernel(double bytes, double way) const {
    return bytes > 0 ? copy_.pack->alpha + std::max(copy_.pack->beta, way) * bytes : 0;
  }
  [[nodiscard]] static double engine(const LinearCost& cost, double bytes, double packed) {
    return bytes > 0 || packed == 0 ? cost.seconds(bytes) : 0;
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

namespace {

/// Whatever is faster for messages of this size is taken to be so for all larger ones.
constexpr std::int64_t very_large = std::int64_t{1} << 40;

/// What a peer's device gives; nothing if the parameters do not say. The MPI library's own messages between devices of
/// a node stand for it where it was not measured by itself.
std::optional<double> peer_seconds(const Parameters& parameters, const DeviceCopy& copy, std::int64_t bytes) {
  // One word says that the bytes may be taken, another that they have been.
  if (copy.from_peer) return 2 * parameters.flag + copy.from_peer->seconds(static_cast<double>(bytes));
  for (const LinkClass link : {LinkClass::core, LinkClass::socket, LinkClass::node})
    if (const LinkCost& cost = parameters.device_links[static_cast<std::size_t>(link)]; !cost.protocols.empty())
      return cost.seconds(bytes);
  return std::nullopt;
}

/// What is not taken from the peer's device goes to the host and back: through a mailbox, or by a message.
double through_host_seconds(const Parameters& parameters, const DeviceCopy& copy, std::int64_t bytes,
                            std::int64_t mailbox_bytes) {
  const LinkCost* const link = known_link(parameters.links, LinkClass::node);
  const double handed_over = bytes <= mailbox_bytes || link == nullptr ? parameters.flag : link->seconds(bytes);
  return copy.to_host.seconds(static_cast<double>(bytes)) + handed_over +
         copy.to_device.seconds(static_cast<double>(bytes));
}

}  // namespace

std::optional<std::int64_t> largest_not_lent(const Parameters& parameters, int processes, std::int64_t mailbox_bytes) {
  const DeviceCopy copy = parameters.device_copy(processes);
  if (parameters.device_copies.empty() || !peer_seconds(parameters, copy, 0)) return std::nullopt;
  const auto is_slower = [&](std::int64_t bytes) {
    return *peer_seconds(parameters, copy, bytes) >= through_host_seconds(parameters, copy, bytes, mailbox_bytes);
  };
  if (is_slower(very_large)) return never_lent;
  std::int64_t slower = very_large / 2;
  while (slower > 0 && !is_slower(slower)) slower /= 2;
  for (std::int64_t step = slower / 2; step > 0; step /= 2)
    if (is_slower(slower + step)) slower += step;
  return slower;
}

std::string described_lending(std::int64_t largest_not_lent) {
  const std::string what = "messages inside a node";
  if (largest_not_lent == never_lent) return "no " + what + " are taken from the peer's device";
  const std::string of = largest_not_lent == 0 ? "" : " of more than " + std::to_string(largest_not_lent) + " bytes";
  return (of.empty() ? "all " : "") + what + of + " are taken from the peer's device";
}

double path_seconds(MemoryPath path, const Plan& plan, const PathConditions& conditions, const Parameters& parameters) {
  LANEWAY_ASSERT(1, path == MemoryPath::staged || path == MemoryPath::device_aware);
  PathLoad load(path, conditions, parameters);
  const Plan as_run = path == MemoryPath::staged ? through_host(plan, conditions.buffers) : plan;
  for (const Step& step : as_run.steps) load.add(step);
  return load.seconds();
}

}  // namespace laneway
