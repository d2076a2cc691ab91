#include <CLI/App.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>

#include "base/error.hpp"
#include "base/readable.hpp"
#include "candidates/programs/hierarchy.hpp"
#include "commands.hpp"
#include "commands/compare.hpp"
#include "data/halo_file.hpp"
#include "measure/evaluation.hpp"
#include "output/format.hpp"

namespace laneway::bench {

namespace {

struct AmgOptions {
  AmgOptions() { compare.strategies = {"direct", "three_step_nodedup", "three_step"}; }

  Diffusion problem;
  std::vector<int> levels;
  std::string halos;
  std::vector<int> halo_ranks;
  CompareOptions compare;
};

std::vector<int> choose_levels(const std::vector<int>& wanted, int levels) {
  for (int level : wanted)
    require(level >= 0 && level < levels, ErrorKind::argument,
            "--levels " + std::to_string(level) + ": the levels are 0 to " + std::to_string(levels - 1));
  if (!wanted.empty()) return wanted;
  std::vector<int> all(static_cast<std::size_t>(levels));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

CaseReport run_level(const Run& run, const Hierarchy& hierarchy, int level, const AmgOptions& options,
                     std::optional<double> goodput) {
  const Exchange exchange = hierarchy.exchange(level);
  std::vector<std::byte> send(exchange.send_bytes());
  std::vector<std::byte> receive(exchange.receive_bytes());
  Workload workload;
  workload.pattern = "amg:" + options.problem.description() + ",level=" + std::to_string(level);
  workload.op = exchange.op;
  workload.bytes = exchange.element_bytes;
  workload.ranks = run.ranks;
  workload.distributed = true;
  const Task task{run, exchange, {send, receive}, {}, {hierarchy.candidate(level)}};
  CaseReport report = compare(run, "amg", workload, task, options.compare, goodput);
  report.theory_net_bytes = report.demand.total.unique_bytes;
  report.level = Level{level, hierarchy.rows(level)};
  return report;
}

CaseReport sum_of_levels(std::span<const CaseReport> levels, const AmgOptions& options) {
  CaseReport sum = total(levels);
  sum.workload.pattern = "amg:" + options.problem.description();
  sum.level = Level{std::nullopt, 0};
  for (const CaseReport& report : levels) sum.level->rows += report.level->rows;
  return sum;
}

/// Times of all candidates beside what each level has between nodes; the last report is the sum.
void print_overview(std::span<const CaseReport> reports) {
  std::vector<std::string> heading = {"level", "rows", "net msgs node/all", "net bytes node/all", "unique", "saved"};
  for (const Result& result : reports.front().results) heading.push_back(result.candidate);
  Table table(heading);
  for (const CaseReport& report : reports) {
    const Crossing& all = report.demand.total;
    const Crossing& most = report.demand.out_max;
    const double saved = all.bytes > 0 ? 1 - static_cast<double>(all.unique_bytes) / static_cast<double>(all.bytes) : 0;
    std::vector<std::string> row = {report.level->name(),
                                    std::to_string(report.level->rows),
                                    std::to_string(most.messages) + " / " + std::to_string(all.messages),
                                    readable_bytes(most.bytes) + " / " + readable_bytes(all.bytes),
                                    readable_bytes(all.unique_bytes),
                                    format_number(100 * saved, 1) + "%"};
    for (const Result& result : report.results)
      row.push_back(result.times ? format_seconds(result.times->median) : "-");
    table.add(std::move(row));
  }
  std::cout
      << "\nmedians by level; between nodes, edge by edge: messages and bytes of the node that sends most and of all\n"
      << table.text() << std::flush;
}

/// A folder for each number of ranks, a file for each level.
int write_halos(const Run& run, const AmgOptions& options) {
  require(run.ranks == 1, ErrorKind::argument,
          "--write-halos wants one rank, which has the whole hierarchy; there are " + std::to_string(run.ranks));
  const Hierarchy hierarchy(run.comm, options.problem);
  Table table({"level", "rows", "ranks", "file"});
  for (int level : choose_levels(options.levels, hierarchy.levels()))
    for (int ranks : options.halo_ranks) {
      const std::filesystem::path folder = std::filesystem::path(options.halos) / std::to_string(ranks);
      std::filesystem::create_directories(folder);
      const std::string file = folder / ("level-" + std::to_string(level) + ".halo");
      write_halos(file, hierarchy.exchanges(level, ranks));
      table.add({std::to_string(level), std::to_string(hierarchy.rows(level)), std::to_string(ranks), file});
    }
  std::cout << table.text() << std::flush;
  return EXIT_SUCCESS;
}

int amg(const Run& run, const AmgOptions& options) {
  if (!options.halos.empty()) return write_halos(run, options);
  static_cast<void>(options.compare.candidates());
  const Hierarchy hierarchy(run.comm, options.problem);
  const std::vector<int> levels = choose_levels(options.levels, hierarchy.levels());
  const std::optional<double> goodput = find_goodput(run, options.compare);
  std::vector<CaseReport> reports;
  bool good = true;
  for (int level : levels) {
    reports.push_back(run_level(run, hierarchy, level, options, goodput));
    good = publish(run, reports.back(), options.compare) && good;
  }
  reports.push_back(sum_of_levels(reports, options));
  good = publish(run, reports.back(), options.compare) && good;
  if (run.is_root()) print_overview(reports);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

void add_amg(CLI::App& command, Action& action) {
  auto options = std::make_shared<AmgOptions>();
  Diffusion& problem = options->problem;
  command.add_option("--nx", problem.nx, "Grid points along x")->check(CLI::PositiveNumber)->capture_default_str();
  command.add_option("--ny", problem.ny, "Grid points along y")->check(CLI::PositiveNumber)->capture_default_str();
  command.add_option("--angle", problem.angle, "Direction of strong diffusion, in degrees")->capture_default_str();
  command.add_option("--epsilon", problem.epsilon, "Diffusion across it")->capture_default_str();
  command.add_option("--points", problem.points, "Of the stencil")->check(CLI::IsMember({7, 9}))->capture_default_str();
  command.add_option("--levels", options->levels, "Levels to take, 0 is the finest; all if not given")->delimiter(',');
  CLI::Option* halos = command.add_option("--write-halos", options->halos,
                                          "Measure nothing, but write what --for-ranks would exchange to this folder");
  CLI::Option* ranks = command.add_option("--for-ranks", options->halo_ranks, "Numbers of ranks")
                           ->delimiter(',')
                           ->check(CLI::PositiveNumber);
  halos->needs(ranks);
  ranks->needs(halos);
  add_options(command, options->compare);
  command.callback([options, &action] {
    action = [options] {
      return with_mpi(options->compare.machine, [&](const Run& run) { return amg(run, *options); });
    };
  });
}

}  // namespace

std::vector<Command> amg_commands() {
  return {{"amg", Topic::programs, "Halo exchanges on all levels of an algebraic multigrid hierarchy", add_amg}};
}

}  // namespace laneway::bench
