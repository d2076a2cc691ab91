#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "base/bytes/block_memory.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "candidates/dense.hpp"
#include "candidates/sizes.hpp"
#include "commands.hpp"
#include "commands/link.hpp"
#include "measure/timing.hpp"
#include "output/dense_report.hpp"

namespace laneway::bench {

namespace {

struct DenseOptions {
  std::vector<std::string> ops{"alltoall"};
  std::vector<std::int64_t> bytes{8, 1024};
  std::vector<std::string> candidates{"mpi", "mpi-again", "mpi:*", "auto"};
  Rank root = 0;
  Iterations iterations;
  bool only_checked = false;
  bool in_a_row = false;
  std::string json;
  std::string machine;
  std::string goodput{"auto"};
  Format format = Format::table;
};

struct DenseEntrant {
  DenseResult result;
  std::unique_ptr<DenseCandidate> candidate;
};

bool is_right(DenseCandidate& candidate, const DenseTask& task, std::uint64_t salt) {
  if (!moves_data()) {
    candidate.run();
    return true;
  }
  task.dense.fill(task.run.rank, task.send, task.receive, salt);
  MPI_Barrier(task.run.comm);
  candidate.run();
  int right = task.dense.arrived(task.run.rank, task.receive, salt) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, task.run.comm);
  return right != 0;
}

/// Makes it and runs it on data never sent before. False if it cannot be run here, which rank 0 says.
bool prepare(DenseEntrant& entrant, const DenseTask& task) {
  MPI_Barrier(task.run.comm);
  const double begin = MPI_Wtime();
  entrant.candidate = make_dense_candidate(entrant.result.candidate, task);
  if (const std::string obstacle = entrant.candidate->obstacle(); !obstacle.empty()) {
    if (task.run.is_root()) std::cerr << entrant.result.candidate + ": left out, since " + obstacle + "\n";
    return false;
  }
  entrant.candidate->run();
  entrant.result.setup_seconds = longest_of_ranks(MPI_Wtime() - begin, task.run.comm);
  entrant.result.is_of_mpi = is_of_mpi(entrant.result.candidate);
  entrant.result.verified =
      is_right(*entrant.candidate, task, 1) && (simulated || is_right(*entrant.candidate, task, 2));
  return true;
}

/// Where one rank is the root, others could be many runs behind it: a barrier follows each run, as OSU's benchmarks
/// have it, and its time does not count.
double seconds_in_barriers = 0;
double seconds_without_barriers() {
  return wall_seconds() - seconds_in_barriers;
}

void run_apart(DenseCandidate& candidate, MPI_Comm comm) {
  candidate.run();
  const double begin = wall_seconds();
  MPI_Barrier(comm);
  seconds_in_barriers += wall_seconds() - begin;
}

/// Interleaved; by candidate.
Samples measure_dense(const DenseTask& task, std::span<DenseEntrant* const> timed, const DenseOptions& options) {
  Iterations iterations = options.iterations;
  std::vector<std::function<void()>> runs;
  const bool apart = has_root(task.dense.kind) && !simulated && !options.in_a_row;
  if (apart) iterations.clock = seconds_without_barriers;
  for (DenseEntrant* entrant : timed)
    runs.emplace_back([candidate = entrant->candidate.get(), apart, comm = task.run.comm] {
      apart ? run_apart(*candidate, comm) : candidate->run();
    });
  return measure(task.run.comm, runs, iterations);
}

DenseReport compare_dense(const Run& run, DenseCommunicators& communicators, const DenseCase& dense,
                          const DenseOptions& options, std::optional<double> goodput) {
  const BlockMemory send(static_cast<std::size_t>(dense.send_bytes(run.rank)));
  const BlockMemory receive(static_cast<std::size_t>(dense.receive_bytes(run.rank)));
  const DenseTask task{run, communicators, dense, send.all(), receive.all(), blocks_of(dense, run.rank)};
  DenseReport report;
  report.dense = dense;
  report.nodes = run.nodes;
  report.goodput = goodput;
  report.iterations = options.iterations.timed;
  report.in_a_row = options.in_a_row && has_root(dense.kind);
  if (moves_data()) dense.fill(run.rank, task.send, task.receive, 0);
  connect_all(run);
  std::vector<DenseEntrant> entrants;
  for (const std::string& name : dense_names(options.candidates, dense.kind))
    entrants.emplace_back().result.candidate = name;
  std::erase_if(entrants, [&](DenseEntrant& entrant) { return !prepare(entrant, task); });
  std::vector<DenseEntrant*> timed;
  for (DenseEntrant& entrant : entrants)
    if (entrant.result.verified) timed.push_back(&entrant);
  if (!options.only_checked) {
    Samples samples = measure_dense(task, timed, options);
    report.batch = samples.batch;
    for (std::size_t i = 0; i < timed.size(); ++i) timed[i]->result.samples = std::move(samples.seconds[i]);
    for (DenseEntrant* entrant : timed) entrant->result.verified = simulated || is_right(*entrant->candidate, task, 3);
  }
  for (DenseEntrant& entrant : entrants) {
    entrant.result.choice = entrant.candidate->choice();
    report.results.push_back(std::move(entrant.result));
  }
  evaluate(report);
  return report;
}

/// Prints it on rank 0. Whether all candidates are right.
bool publish(const Run& run, const DenseReport& report, const DenseOptions& options) {
  if (!run.is_root()) return true;
  print(report, options.format);
  if (!options.json.empty()) append_json(report, options.json);
  bool right = true;
  for (const DenseResult& result : report.results) {
    if (result.verified) continue;
    right = false;
    std::cerr << "WRONG RESULT: " + result.candidate + "\n" << std::flush;
  }
  return right;
}

std::optional<double> goodput_of(const Run& run, const std::string& wanted) {
  if (run.nodes.count < 2) return std::nullopt;
  if (wanted == "auto") return measure_goodput(run);
  double value = 0;
  const auto [stop, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), value);
  require(error == std::errc() && stop == wanted.data() + wanted.size() && value > 0, ErrorKind::argument,
          "--goodput " + wanted + ": neither auto nor a positive number of bytes per second");
  return value;
}

int dense(const Run& run, const DenseOptions& options) {
  require(options.root >= 0 && options.root < run.ranks, ErrorKind::argument,
          "--root " + std::to_string(options.root) + ": no rank of " + std::to_string(run.ranks));
  std::vector<DenseKind> kinds;
  for (const std::string& op : options.ops) kinds.push_back(parse_dense_kind(op));
  const std::optional<double> goodput = goodput_of(run, options.goodput);
  const ForcedAlgorithms forced;
  DenseCommunicators communicators;
  bool good = true;
  for (const DenseKind kind : kinds) {
    std::vector<DenseReport> reports;
    for (const std::int64_t bytes : kind == DenseKind::barrier ? std::vector<std::int64_t>{0} : options.bytes) {
      const DenseCase dense{.kind = kind, .bytes = bytes, .ranks = run.ranks, .root = options.root};
      reports.push_back(compare_dense(run, communicators, dense, options, goodput));
      good = publish(run, reports.back(), options) && good;
    }
    if (run.is_root()) print_summary(reports, options.format);
  }
  if (run.is_root() && good && options.format != Format::csv && options.format != Format::json)
    std::cout << (moves_data() ? "verified\n" : "not verified: no data was moved\n") << std::flush;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

void add_dense(CLI::App& command, Action& action) {
  auto options = std::make_shared<DenseOptions>();
  std::string ops;
  for (const DenseKind kind : dense_kinds()) ops += (ops.empty() ? "" : ", ") + std::string(name(kind));
  command.add_option("--op", options->ops, ops)->delimiter(',')->capture_default_str();
  add_sizes(command, "--bytes", options->bytes,
            "Sizes of a rank's block for another one, or of the vector; 8..1MiB doubles from 8 on");
  command
      .add_option("--candidate", options->candidates,
                  "mpi, mpi-again, mpi-nonblocking, mpi:ALGORITHM, messages, rma:WAY, auto, canonical, exact, or a "
                  "rule; with :persistent or :nonblocking; "
                  "all by mpi:*, rma:*, laneway:*")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--root", options->root, "Of gather, scatter, bcast and reduce")->capture_default_str();
  command.add_option("--iterations", options->iterations.timed, "Samples of each candidate")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--warmup", options->iterations.warmup, "Runs before the first sample")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command.add_flag("--in-a-row", options->in_a_row, "No barrier after each run of an operation with a root");
  command.add_flag("--check", options->only_checked, "Check what candidates move, and time nothing");
  command.add_option("--json", options->json, "Append one object a line for each candidate to this file");
  command.add_option("--machine", options->machine, "Nodes to assume, e.g. \"node:4 rank:4\"");
  command.add_option("--goodput", options->goodput, "Bytes per second between nodes, or auto to measure them")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--format", [options](const std::string& text) { options->format = formats().at(text); },
          "table, csv, json (an object a line) or md")
      ->check(CLI::IsMember(formats()))
      ->default_str("table");
  command.callback([options, &action] {
    action = [options] {
      allow_forced_algorithms();
      return with_mpi(options->machine, [&](const Run& run) { return dense(run, *options); });
    };
  });
}

}  // namespace

std::vector<Command> dense_commands() {
  return {{"dense", Topic::exchanges, "Dense collectives: this library against the MPI library's", add_dense}};
}

}  // namespace laneway::bench
