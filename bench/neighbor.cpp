#include <cstdlib>
#include <limits>
#include <memory>

#include "commands.hpp"
#include "compare.hpp"
#include "specs.hpp"

namespace laneway::bench {

namespace {

struct Options {
  std::string op = "allgather";
  std::vector<std::string> patterns{"rsg:density=0.3,seed=1"};
  std::vector<std::int64_t> bytes{1024};
  Heavy heavy;
  CompareOptions compare;
};

int neighbor(const Run& run, const Options& options) {
  const Op op = parse_op(options.op);
  static_cast<void>(options.compare.candidates());
  const std::optional<double> goodput = find_goodput(run, options.compare);
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
      const Task task{run, exchange, {send, receive}};
      good = publish(run, compare(run, "neighbor", workload, task, options.compare, goodput), options.compare) && good;
    }
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

void add_neighbor(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("neighbor", "Neighborhood collectives: this library against others");
  command->add_option("--op", options->op, "allgather, allgatherv or alltoallv")->capture_default_str();
  command->add_option("--pattern", options->patterns, "Graphs, or matrix:SPEC; separated by spaces or semicolons")
      ->capture_default_str();
  command->add_option("--bytes", options->bytes, "Sizes of the block for an edge, or of a matrix halo's element")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  add_heavy_options(*command, options->heavy);
  add_options(*command, options->compare);
  command->callback([options, &action] {
    action = [options] {
      return with_mpi(options->compare.machine, [&](const Run& run) { return neighbor(run, *options); });
    };
  });
}

}  // namespace laneway::bench
