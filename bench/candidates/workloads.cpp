#include "candidates/workloads.hpp"

#include <CLI/CLI.hpp>

#include "base/bytes/block_memory.hpp"
#include "base/error.hpp"
#include "candidates/sizes.hpp"
#include "data/specs.hpp"

namespace laneway::bench {

namespace {

/// Of devices on nodes that all have the same number of consecutive ranks.
Devices devices_of(const Run& run, Devices devices) {
  if (!devices.any()) return devices;
  devices.node_ranks = run.ranks / run.nodes.count;
  for (Rank rank = 0; rank < run.ranks; ++rank)
    require(run.nodes.of[static_cast<std::size_t>(rank)] == rank / devices.node_ranks, ErrorKind::argument,
            "--devices needs nodes of as many ranks each, one after another");
  return devices;
}

}  // namespace

void add_options(CLI::App& command, WorkloadOptions& options) {
  command.add_option("--op", options.op, "allgather, allgatherv or alltoallv")->capture_default_str();
  command.add_option("--pattern", options.patterns, "Graphs, or matrix:SPEC; separated by spaces or semicolons")
      ->capture_default_str();
  add_sizes(command, "--bytes", options.bytes,
            "Sizes of the block for an edge, or of a matrix halo's element; 8..1MiB doubles from 8 on");
  add_heavy_options(command, options.heavy);
  CLI::Option* devices = command
                             .add_option("--devices", options.devices.of_node,
                                         "Devices of a node: patterns are of these, other ranks have no data")
                             ->check(CLI::Range(1, 65536));
  command.add_option("--host-processes", options.devices.processes, "Ranks that share the data of a device")
      ->needs(devices)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command
      .add_flag("--staged", options.devices.staged,
                "Count the copies between devices and hosts, at what LANEWAY_PARAMETERS says; in simulations only")
      ->needs(devices);
}

bool for_each_workload(const Run& run, const WorkloadOptions& options,
                       const std::function<bool(const Workload&, const Task&)>& body) {
  const Op op = parse_op(options.op);
  const Devices devices = devices_of(run, options.devices);
  bool good = true;
  for (const std::string& pattern : split_specs(options.patterns)) {
    const std::optional<std::string> spec = matrix_spec(pattern);
    const std::shared_ptr<const matrix::Csr> matrix = spec ? load_matrix(run, *spec) : nullptr;
    for (std::int64_t bytes : options.bytes) {
      const Workload workload{pattern, op, bytes, run.ranks, matrix, options.heavy, devices};
      workload.check();
      const Exchange exchange = workload.exchange(run.rank);
      require_edges(run, exchange, pattern);
      const BlockMemory send(exchange.send_bytes());
      const BlockMemory receive(exchange.receive_bytes());
      good = body(workload, {run, exchange, {send.all(), receive.all()}, {}, {}, devices}) && good;
    }
  }
  return good;
}

}  // namespace laneway::bench
