#include "algorithms/cost/partition_cut.hpp"

#include <algorithm>

namespace laneway {

namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t least_together(std::int64_t partitions) {
  return std::max<std::int64_t>(1, divided_up(partitions, most_partition_messages));
}

}  // namespace

std::int64_t PartitionCut::partitions_in(std::int64_t message) const {
  return std::min(together, partitions - first_partition(message));
}

PartitionCut::Messages PartitionCut::messages_with(std::int64_t from, std::int64_t to) const {
  const std::int64_t each = partition_bytes() * together;
  if (from >= to || each == 0) return {0, messages()};
  return {from / each, divided_up(to, each)};
}

std::int64_t together_up_to(std::int64_t message_bytes, std::int64_t bytes, std::int64_t partitions) {
  const std::int64_t least = least_together(partitions);
  if (partitions == 0 || bytes < partitions) return least;
  return std::clamp(message_bytes / (bytes / partitions), least, std::max(least, partitions));
}

std::int64_t together_by_cost(const LinkCost& link, double message_seconds, std::int64_t bytes,
                              std::int64_t partitions) {
  std::int64_t best = std::max<std::int64_t>(1, partitions);
  if (partitions == 0 || bytes < partitions || link.protocols.empty()) return best;
  constexpr double gain = 0.9;
  const double all = link.seconds(bytes);
  const auto left = [&](std::int64_t together) {
    const PartitionCut cut{bytes, partitions, together};
    const auto messages = static_cast<double>(cut.messages());
    const double late = std::max(0.0, message_seconds - all / messages);
    return (messages - 1) * late + link.seconds(together * cut.partition_bytes());
  };
  const std::int64_t least = least_together(partitions);
  for (std::int64_t together = best; together >= least; together = together == 1 ? 0 : divided_up(together, 2))
    if (left(together) < gain * left(best)) best = together;
  return best;
}

}  // namespace laneway
