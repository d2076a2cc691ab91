#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "candidates/programs/block_exchanges.hpp"
#include "candidates/programs/block_product.hpp"
#include "candidates/sizes.hpp"
#include "commands.hpp"
#include "commands/compare.hpp"
#include "data/specs.hpp"
#include "data/statistics.hpp"
#include "measure/timing.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

// A sparse matrix times a block of vectors, by threads: they pack what neighbours need, and say what is ready; data
// moves; and they multiply, at the end or what has come (early).

namespace laneway::bench {

namespace {

struct SpmbvOptions {
  std::vector<std::string> matrices;
  std::vector<int> columns = {1, 8, 64};
  std::vector<std::string> exchanges;
  int threads = 2;
  int partitions = 4;
  double kernel = 0;
  std::string progress;
  int iterations = 20;
  std::string machine;
  std::string json;

  /// Those that this MPI library has.
  [[nodiscard]] std::vector<std::string> names() const {
    if (!exchanges.empty()) return split_strategies(exchanges);
    std::vector<std::string> all = {"mpi", "mpi-persistent", "direct", "partitioned:direct"};
    if (has_mpi_partitioned()) all.insert(all.begin() + 2, "mpi-partitioned");
    return all;
  }
};

/// One way to do a product.
class Way {
 public:
  Way(BlockExchange& exchange, BlockProduct& product, Team& team, const TimedKernel& kernel, bool is_early)
      : exchange_(exchange), product_(product), team_(team), kernel_(kernel), is_early_(is_early) {}

  void run() {
    if (exchange_.is_partitioned()) exchange_.start();
    team_.run([this](int thread) {
      TimedKernel::Clock clock = kernel_.clock(team_.size());
      pack(thread, clock);
      if (!exchange_.is_partitioned()) {
        team_.meet();
        if (thread == 0) exchange_.start();
      }
      if (!is_early_) wait(thread, clock);
      if (!kernel_.stands()) product_.multiply_owned(thread);
      clock.spend(product_.share_owned(thread));
      if (is_early_ && exchange_.is_partitioned()) return multiply_what_comes(thread, clock);
      if (is_early_) wait(thread, clock);
      for (std::size_t part = 0; part < product_.received().size(); ++part) multiply(thread, part, clock);
    });
    if (is_early_ && exchange_.is_partitioned()) exchange_.wait();
  }

 private:
  static constexpr std::chrono::microseconds look{50};

  /// Threads take turns, so that the first parts are packed first.
  void pack(int thread, TimedKernel::Clock& clock) {
    const std::vector<BlockPart>& parts = product_.sent();
    for (auto part = static_cast<std::size_t>(thread); part < parts.size();
         part += static_cast<std::size_t>(team_.size())) {
      clock.spend(product_.share_packed(parts[part]));
      product_.pack(parts[part], exchange_.send_place(part));
      if (exchange_.is_partitioned()) exchange_.ready(part);
    }
  }
  void wait(int thread, TimedKernel::Clock& clock) {
    if (exchange_.is_partitioned()) team_.meet();  // all is ready
    if (thread == 0) exchange_.wait();
    team_.meet();
    clock.restart();
  }
  void multiply(int thread, std::size_t part, TimedKernel::Clock& clock) {
    if (!kernel_.stands()) product_.multiply_part(thread, part, exchange_.receive_place(part));
    clock.spend(product_.share_part(thread, part));
  }
  void multiply_what_comes(int thread, TimedKernel::Clock& clock) {
    std::vector<std::size_t> open(product_.received().size());
    for (std::size_t part = 0; part < open.size(); ++part) open[part] = part;
    while (!open.empty()) {
      const auto before = open.size();
      std::erase_if(open, [&](std::size_t part) {
        if (!exchange_.arrived(part)) return false;
        multiply(thread, part, clock);
        return true;
      });
      if (open.size() != before) continue;
      // Where a sleep stands for arithmetic, ranks share cores: who looks all the time keeps them from the others.
      kernel_.stands() ? std::this_thread::sleep_for(look) : std::this_thread::yield();
      clock.restart();
    }
  }

  BlockExchange& exchange_;
  BlockProduct& product_;
  Team& team_;
  const TimedKernel& kernel_;
  bool is_early_;
};

struct Named {
  std::string name;
  bool is_early = false;
  bool is_partitioned = false;
  Way way;
  bool verified = false;
};

/// What is computed, not what a kernel stands for.
bool verify(const Run& run, Named& named, BlockProduct& product, const matrix::Csr& matrix, TimedKernel& kernel,
            std::uint64_t salt) {
  const double seconds = kernel.seconds();
  kernel.set(0);
  product.fill(salt);
  MPI_Barrier(run.comm);
  named.way.run();
  kernel.set(seconds);
  int good = product.check(matrix, salt) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, run.comm);
  return good != 0;
}

Json to_json(const Run& run, const std::string& spec, int columns, const SpmbvOptions& options,
             const TimedKernel& kernel, const Named& named, const std::vector<double>& seconds, double reference) {
  return {{"benchmark", "spmbv"},
          {"matrix", spec},
          {"columns", columns},
          {"ranks", run.ranks},
          {"nodes", run.nodes.count},
          {"machine", run.nodes.description},
          {"threads", options.threads},
          {"partitions", options.partitions},
          {"kernel", options.kernel},
          {"kernel_s", 2 * kernel.seconds()},
          {"progress", options.progress},
          {"exchange", named.name},
          {"early", named.is_early},
          {"partitioned", named.is_partitioned},
          {"median_s", median(seconds)},
          {"p10_s", quantile(seconds, 0.1)},
          {"p90_s", quantile(seconds, 0.9)},
          {"of_whole", reference / median(seconds)},
          {"iterations", options.iterations},
          {"verified", named.verified}};
}

/// What partitions are to be compared with: the same strategy, whole and with the multiplication at the end.
std::size_t find_whole(const std::vector<Named>& all) {
  for (const Named& named : all) {
    const std::size_t colon = named.name.find(':');
    if (colon == std::string::npos) continue;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].name == named.name.substr(colon + 1) && !all[i].is_early) return i;
  }
  return 0;
}

bool publish(const Run& run, const std::string& spec, int columns, const SpmbvOptions& options,
             const TimedKernel& kernel, const std::vector<Named>& all, const Samples& samples) {
  const bool good = std::ranges::all_of(all, &Named::verified);
  if (!run.is_root()) return good;
  const double reference = median(samples.seconds[find_whole(all)]);
  Table table({"exchange", "multiplies", "median", "p10", "p90", "whole / this", "verified"});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<double>& seconds = samples.seconds[i];
    table.add({all[i].name, all[i].is_early ? "early" : "at the end", format_seconds(median(seconds)),
               format_seconds(quantile(seconds, 0.1)), format_seconds(quantile(seconds, 0.9)),
               format_number(reference / median(seconds), 2), all[i].verified ? "verified" : "WRONG"});
    if (!options.json.empty())
      append_record(options.json, to_json(run, spec, columns, options, kernel, all[i], seconds, reference));
  }
  std::cout << "\nspmbv: " << spec << ", " << columns << (columns == 1 ? " column; " : " columns; ") << run.ranks
            << " ranks of " << options.threads << " threads, " << run.nodes.description << "\n"
            << options.partitions << " partitions a neighbour; timed kernel " << format_seconds(2 * kernel.seconds())
            << "; " << options.iterations << " samples\n"
            << table.text() << (good ? "verified\n" : "WRONG RESULT\n") << std::flush;
  return good;
}

bool multiply(const Run& run, const std::string& spec, const matrix::Csr& matrix, int columns,
              const SpmbvOptions& options) {
  BlockProduct product(matrix, run.rank, run.ranks, columns, options.partitions, options.threads);
  Team team(options.threads);
  TimedKernel kernel;
  std::vector<std::unique_ptr<BlockExchange>> exchanges;
  std::vector<Named> all;
  for (const std::string& name : options.names()) {
    exchanges.push_back(make_block_exchange(name, run, product, options.progress));
    BlockExchange& made = *exchanges.back();
    for (const bool is_early : {false, true})
      all.push_back({name, is_early, made.is_partitioned(), Way(made, product, team, kernel, is_early), false});
  }
  connect_all(run);
  for (Named& named : all) named.verified = verify(run, named, product, matrix, kernel, 1);
  if (options.kernel > 0) {
    // What the whole exchange takes alone: a kernel of as long is 1.
    BlockExchange& whole = *exchanges[find_whole(all) / 2];
    const std::vector<std::function<void()>> actions = {[&] {
      whole.start();
      if (whole.is_partitioned())
        for (std::size_t part = 0; part < product.sent().size(); ++part) whole.ready(part);
      whole.wait();
    }};
    const Samples alone = bench::measure(run.comm, actions, {.warmup = 2, .timed = 10});
    kernel.set(options.kernel * median(alone.seconds[0]) / 2);
  }
  std::vector<std::function<void()>> actions;
  for (Named& named : all) actions.emplace_back([&named] { named.way.run(); });
  const Samples samples = bench::measure(run.comm, actions, {.warmup = 2, .timed = options.iterations});
  for (Named& named : all) named.verified = verify(run, named, product, matrix, kernel, 2) && named.verified;
  return publish(run, spec, columns, options, kernel, all, samples);
}

int multiply_all(const Run& run, const SpmbvOptions& options) {
  bool good = true;
  for (const std::string& spec : split_specs(options.matrices)) {
    const std::shared_ptr<const matrix::Csr> matrix = load_matrix(run, spec);
    for (const int columns : options.columns) good = multiply(run, spec, *matrix, columns, options) && good;
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

void add_spmbv(CLI::App& command, Action& action) {
  auto options = std::make_shared<SpmbvOptions>();
  command
      .add_option("--matrix", options->matrices,
                  "Files (.mtx, .graph) or generators; separated by spaces or semicolons")
      ->required();
  command.add_option("--columns", options->columns, "Of the block of vectors")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command.add_option("--exchange", options->exchanges,
                     "Baselines and strategies, partitioned:STRATEGY, mpi-partitioned; all, unless given");
  command.add_option("--threads", options->threads, "Of each rank")->check(CLI::Range(1, 256))->capture_default_str();
  command.add_option("--partitions", options->partitions, "Of what a neighbour gets")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command
      .add_option("--kernel", options->kernel,
                  "A timed sleep for arithmetic: so many times as long as the whole exchange, half before data is "
                  "packed and half with the multiplication")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--progress", options->progress, "The hint lnw_progress of strategies of this library");
  command.add_option("--iterations", options->iterations, "Samples of each")->capture_default_str();
  command.add_option("--machine", options->machine, "Nodes, in place of those that MPI finds");
  command.add_option("--json", options->json, "Append an object for each to this file");
  command.callback([options, &action] {
    action = [options] {
      return with_mpi(
          options->machine, [&](const Run& run) { return multiply_all(run, *options); }, MPI_THREAD_MULTIPLE);
    };
  });
}

}  // namespace

std::vector<Command> spmbv_commands() {
  return {{"spmbv", Topic::programs, "Sparse matrix times a block of vectors, by threads, in partitions", add_spmbv}};
}

}  // namespace laneway::bench
