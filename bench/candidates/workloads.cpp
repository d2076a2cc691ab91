#include "candidates/workloads.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>

#include "core/block_memory.hpp"
#include "core/error.hpp"
#include "data/specs.hpp"

namespace laneway::bench {

namespace {

std::int64_t parse_size(const std::string& text) {
  std::string number = text;
  const std::string complaint = CLI::AsSizeValue(false)(number);
  std::int64_t bytes = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, bytes);
  if (!complaint.empty() || error != std::errc() || stop != end || bytes < 1 || bytes > std::numeric_limits<int>::max())
    throw CLI::ValidationError("--bytes", text + ": expected 1 to 2147483647, as 4096 or 4KiB");
  return bytes;
}

/// Sizes, and scans as 8..1MiB.
std::vector<std::int64_t> parse_sizes(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> sizes;
  for (const std::string& text : texts) {
    const std::size_t dots = text.find("..");
    const std::int64_t first = parse_size(text.substr(0, dots));
    const std::int64_t last = dots == std::string::npos ? first : parse_size(text.substr(dots + 2));
    if (last < first) throw CLI::ValidationError("--bytes", text + ": ends before it begins");
    for (std::int64_t bytes = first; bytes <= last; bytes *= 2) sizes.push_back(bytes);
  }
  return sizes;
}

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
  std::string sizes;
  for (const std::int64_t bytes : options.bytes) sizes += (sizes.empty() ? "" : ",") + std::to_string(bytes);
  command
      .add_option_function<std::vector<std::string>>(
          "--bytes", [&options](const std::vector<std::string>& texts) { options.bytes = parse_sizes(texts); },
          "Sizes of the block for an edge, or of a matrix halo's element; 8..1MiB doubles from 8 on")
      ->delimiter(',')
      ->default_str(sizes);
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
