#include "algorithms/cost/seconds.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace laneway {

const Overhead& overhead(const Parameters& parameters, Medium medium) {
  if (medium == Medium::memory) return parameters.shared_overhead;
  return medium == Medium::network ? parameters.network_overhead : parameters.node_overhead;
}

std::optional<LinearCost> message_cost(const Parameters& parameters, Medium medium, std::int64_t bytes) {
  if (medium == Medium::memory) return LinearCost{parameters.flag, parameters.copy_beta(1)};
  const LinkClass link = medium == Medium::network ? LinkClass::network : LinkClass::node;
  const LinkCost* const known = known_link(parameters.links, link);
  if (known == nullptr) return std::nullopt;
  const Protocol& protocol = known->protocol(bytes);
  return LinearCost{protocol.alpha, protocol.beta};
}

double latency(double alpha, const Overhead& work, const Parameters& parameters) {
  return parameters.cores > 0 ? alpha : std::max(0.0, alpha - work.message);
}

double combining_seconds(const Parameters& parameters) {
  return parameters.copy_beta(1);
}

double work_seconds(const Flow& flow, const Overhead& work) {
  return flow.messages * work.message + flow.bytes * work.byte + flow.waits * work.wait;
}

double work_seconds(const Flows& work, const Parameters& parameters) {
  return work_seconds(work.node, parameters.node_overhead) + work_seconds(work.network, parameters.network_overhead) +
         work_seconds(work.memory, parameters.shared_overhead) +
         work.combined_bytes * parameters.copy_beta(parameters.cores);
}

double work_seconds(const Overhead& work, int ends, double alpha) {
  return work.message > 0 ? ends * work.message / 2 : alpha;
}

double injection_seconds(const Flow& flow, const Parameters& parameters) {
  const double seconds = parameters.injection_beta.value_or(0) * flow.bytes;
  if (!parameters.injection_short || flow.messages <= 0) return seconds;
  return std::max(seconds, flow.messages * parameters.injection_short->seconds(flow.bytes / flow.messages));
}

double nodes_of_host(const Parameters& parameters, double nodes) {
  return parameters.host_nodes > 0 ? std::min<double>(parameters.host_nodes, nodes) : nodes;
}

Load on_shared_cores(Load load, const HostLoad& host, const Parameters& parameters, const Overlap& overlap) {
  if (parameters.cores <= 0) return load;
  if (host.waiting > parameters.cores && host.turns > 0)
    (overlap.turns ? load.link : load.latency) += host.turns * host.turn * host.waiting / parameters.cores;
  load.processor = std::max(load.processor, host.work / parameters.cores);
  return load;
}

double overlapped(const Load& load, const Overlap& overlap) {
  const std::array busy{load.injection + load.fill, load.link + load.fill, load.processor};
  if (overlap.sharpness == 0) return load.latency + std::ranges::max(busy);
  const bool is_sharp = overlap.sharpness == 6;
  double sum = 0;
  for (const double bound : busy) {
    const double cube = bound * bound * bound;
    sum += is_sharp ? cube * cube : cube;
  }
  const double root = std::cbrt(sum);
  return load.latency + (is_sharp ? std::sqrt(root) : root);
}

double seconds(const Load& load, const HostLoad& host, const Parameters& parameters, const Overlap& overlap) {
  return overlapped(on_shared_cores(load, host, parameters, overlap), overlap);
}

}  // namespace laneway
