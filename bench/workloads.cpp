#include "workloads.hpp"

#include <limits>

#include "specs.hpp"

namespace laneway::bench {

void add_options(CLI::App& command, WorkloadOptions& options) {
  command.add_option("--op", options.op, "allgather, allgatherv or alltoallv")->capture_default_str();
  command.add_option("--pattern", options.patterns, "Graphs, or matrix:SPEC; separated by spaces or semicolons")
      ->capture_default_str();
  command.add_option("--bytes", options.bytes, "Sizes of the block for an edge, or of a matrix halo's element")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  add_heavy_options(command, options.heavy);
}

bool for_each_workload(const Run& run, const WorkloadOptions& options,
                       const std::function<bool(const Workload&, const Task&)>& body) {
  const Op op = parse_op(options.op);
  bool good = true;
  for (const std::string& pattern : split_specs(options.patterns)) {
    const std::optional<std::string> spec = matrix_spec(pattern);
    const std::shared_ptr<const matrix::Csr> matrix = spec ? load_matrix(run, *spec) : nullptr;
    for (std::int64_t bytes : options.bytes) {
      const Workload workload{pattern, op, bytes, run.ranks, matrix, options.heavy};
      workload.check();
      const Exchange exchange = workload.exchange(run.rank);
      std::vector<std::byte> send(exchange.send_bytes());
      std::vector<std::byte> receive(exchange.receive_bytes());
      good = body(workload, {run, exchange, {send, receive}, {}}) && good;
    }
  }
  return good;
}

}  // namespace laneway::bench
