#include "algorithms/cost/memory_paths.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "algorithms/cost/seconds.hpp"
#include "algorithms/lowering/pack.hpp"
#include "base/error.hpp"

namespace laneway {

namespace {

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

/// A kernel takes processors from the program: it has to be faster by this fraction of what the bus takes.
constexpr double worth_a_kernel = 0.01;

/// Rows of some bytes by a copy engine, or by a kernel if it is known what that takes.
struct RowCost {
  LinearCost engine;
  std::optional<LinearCost> kernel;
  double gap = 0;
  KernelRows rows = {};

  [[nodiscard]] double seconds(std::span<const CopyRun> runs) const {
    std::int64_t all_rows = 0;
    for (const CopyRun& run : runs) all_rows += run.count;
    std::int64_t rest_rows = 0;
    std::int64_t rest_bytes = 0;
    std::int64_t moved_bytes = 0;
    for (const CopyRun& run : runs) {
      const bool is_moved = kernel && rows.contain(run, all_rows);
      (is_moved ? moved_bytes : rest_bytes) += run.bytes * run.count;
      if (!is_moved) rest_rows += run.count;
    }
    double seconds = moved_bytes > 0 ? kernel->seconds(static_cast<double>(moved_bytes)) : 0;
    if (rest_rows > 0)
      seconds += engine.seconds(static_cast<double>(rest_bytes)) + gap * static_cast<double>(rest_rows - 1);
    return seconds;
  }
};

/// From where both take as long: so many rows if these are short, and rows so short if there are many.
KernelRows rows_of_kernel(const LinearCost& engine, const LinearCost& kernel, double gap) {
  constexpr double most = 1e18;
  const double loss = std::max(kernel.beta - engine.beta, worth_a_kernel * engine.beta);
  const double first = 1 + std::max(0.0, kernel.alpha - engine.alpha) / gap;
  return {static_cast<std::int64_t>(std::min(first, most)),
          static_cast<std::int64_t>(gap < most * loss ? std::ceil(gap / loss) : most)};
}

/// Between the device and the host.
RowCost over_bus(const LinearCost& engine, const std::optional<LinearCost>& kernel, const DeviceCopy& copy) {
  RowCost cost{engine, kernel ? kernel : copy.pack, copy.gap.value_or(0)};
  if (!cost.kernel) return cost;
  if (kernel && cost.gap > 0) cost.rows = rows_of_kernel(engine, *kernel, cost.gap);
  cost.kernel->beta = std::max(cost.kernel->beta, engine.beta);
  if (copy.pack) cost.kernel->beta = std::max(cost.kernel->beta, copy.pack->beta);
  return cost;
}

/// By where a copy leads.
struct RowCosts {
  explicit RowCosts(const DeviceCopy& copy)
      : to_host(over_bus(copy.to_host, copy.rows_to_host, copy)),
        to_device(over_bus(copy.to_device, copy.rows_to_device, copy)),
        // The time of larger rows is negligible beside that of starting their copies.
        inside{{copy.to_host.alpha, 0}, copy.pack, copy.gap.value_or(0)} {}

  RowCost to_host;
  RowCost to_device;
  RowCost inside;
};

class PathLoad {
 public:
  PathLoad(MemoryPath path, const PathConditions& conditions, const Parameters& parameters)
      : conditions_(conditions),
        parameters_(parameters),
        from_device_(path == MemoryPath::device_aware && conditions.buffers.any()),
        shares_(path != MemoryPath::device_aware),
        copy_(parameters.device_copy(conditions.processes)),
        row_costs_(copy_) {}

  /// Adds the messages that are copied from the sender's device, and takes them out of the plan, with the copies that
  /// pack or unpack nothing else.
  void add_lent(Plan& plan) {
    const std::size_t count = plan.steps.size();
    std::vector<bool> is_out(count);
    std::vector<bool> needed(count);
    for (std::size_t s = 0; s < count; ++s) {
      const Step& step = plan.steps[s];
      is_out[s] = is_lent(step);
      if (is_out[s])
        (step.kind == StepKind::send ? sent_ : received_) += lent_seconds(step);
      else
        for (const int before : step.after) needed[static_cast<std::size_t>(before)] = true;
    }
    for (std::size_t s = 0; s < count; ++s) {
      const Step& step = plan.steps[s];
      if (step.kind != StepKind::move) continue;
      const bool packs = step.from == Buffer::send && step.to == Buffer::staging;
      const bool unpacks =
          step.from == Buffer::staging && !step.after.empty() &&
          std::ranges::all_of(step.after, [&](int before) { return is_out[static_cast<std::size_t>(before)]; });
      is_out[s] = unpacks || (packs && !needed[s]);
    }
    for (std::size_t s = 0; s < count; ++s) {
      if (!is_out[s]) continue;
      plan.steps[s].kind = StepKind::event;
      plan.steps[s].runs.clear();
    }
  }

  void add(const Step& step) {
    if (step.kind == StepKind::send) sent_ += message(step);
    if (step.kind == StepKind::receive) received_ += message(step);
    if (step.kind == StepKind::move && !step.runs.empty()) copied_ += copy(step);
  }
  [[nodiscard]] double seconds() const { return overlapped({copied_, sent_, received_}, {.sharpness = 0}); }

 private:
  [[nodiscard]] bool on_node(const Step& step) const {
    return std::binary_search(conditions_.sharing.begin(), conditions_.sharing.end(), step.peer);
  }

  /// What is relayed is not in a send buffer any more.
  [[nodiscard]] bool is_lent(const Step& step) const {
    const bool from_send_buffer = step.stage == Stage::direct || step.stage == Stage::gather;
    return (step.kind == StepKind::send || step.kind == StepKind::receive) && from_send_buffer && on_node(step) &&
           step.span.bytes > conditions_.lend_bytes;
  }
  /// What is gathered goes to the host's memory.
  [[nodiscard]] double lent_seconds(const Step& step) const {
    if (step.stage == Stage::direct) return *peer_seconds(parameters_, copy_, step.span.bytes);
    return 2 * parameters_.flag + copy_.to_host.seconds(static_cast<double>(step.span.bytes));
  }

  [[nodiscard]] double message(const Step& step) const {
    const bool inside = on_node(step);
    if (inside && shares_)
      return message_cost(parameters_, Medium::memory, step.span.bytes)->seconds(static_cast<double>(step.span.bytes));
    const LinkCost* const link = known_link(from_device_ ? parameters_.device_links : parameters_.links,
                                            inside ? LinkClass::node : LinkClass::network);
    return link == nullptr ? 0 : link->seconds(step.span.bytes);
  }

  [[nodiscard]] double copy(const Step& step) const {
    const bool reads = from_device_ || (conditions_.buffers.send && step.from == Buffer::send);
    const bool writes = from_device_ || (conditions_.buffers.receive && step.to == Buffer::receive);
    if (reads) return (writes ? row_costs_.inside : row_costs_.to_host).seconds(step.runs);
    if (writes) return row_costs_.to_device.seconds(step.runs);
    double bytes = 0;
    for (const CopyRun& run : step.runs) bytes += static_cast<double>(run.bytes * run.count);
    return parameters_.copy_beta(1) * bytes;
  }

  const PathConditions& conditions_;
  const Parameters& parameters_;
  const bool from_device_;
  const bool shares_;
  const DeviceCopy copy_;
  const RowCosts row_costs_;
  double sent_ = 0;
  double received_ = 0;
  double copied_ = 0;
};

}  // namespace

CopyRule copy_rule(const Parameters& parameters, int processes) {
  const RowCosts costs(parameters.device_copy(processes));
  return {costs.to_host.rows, costs.to_device.rows, costs.inside.rows};
}

bool is_known(MemoryPath path, const Parameters& parameters) {
  if (path == MemoryPath::device_aware) return known_link(parameters.device_links, LinkClass::network) != nullptr;
  const bool copies = !parameters.device_copies.empty();
  if (path == MemoryPath::borrowed) return copies && peer_seconds(parameters, parameters.device_copy(1), 0);
  return path == MemoryPath::staged && copies;
}

namespace {

/// Whatever is faster for messages of this size is taken to be so for all larger ones.
constexpr std::int64_t very_large = std::int64_t{1} << 40;

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
  LANEWAY_ASSERT(path != MemoryPath::automatic);
  PathLoad load(path, conditions, parameters);
  Plan as_run = pack(plan);
  if (path == MemoryPath::borrowed) load.add_lent(as_run);
  if (path != MemoryPath::device_aware) as_run = through_host(std::move(as_run), conditions.buffers);
  for (const Step& step : as_run.steps) load.add(step);
  return load.seconds();
}

}  // namespace laneway
