#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "candidates/reductions.hpp"
#include "candidates/workloads.hpp"
#include "commands.hpp"
#include "commands/compare.hpp"
#include "data/specs.hpp"

namespace laneway::bench {

namespace {

struct ReduceOptions {
  WorkloadOptions workloads{.op = "allgather", .patterns = {"stencil"}, .bytes = {1024}};
  CompareOptions compare;
};

constexpr const char* forward = "forward:";

/// By hand, each strategy backwards, and the exchanges whose ways back these are.
std::vector<OwnCandidate> both_ways(const std::vector<std::string>& strategies) {
  std::vector<OwnCandidate> all = {{"p2p", make_reduction_by_hand}};
  for (const std::string& strategy : strategies)
    all.push_back({strategy, [strategy](const Task& task) { return make_reduction(strategy, task); }});
  for (const std::string& strategy : strategies)
    all.push_back({forward + strategy, [strategy](const Task& task) { return make_strategy(strategy, task); }});
  return all;
}

const Result* find_result(const CaseReport& report, const std::string& name) {
  for (const Result& result : report.results)
    if (result.candidate == name) return &result;
  return nullptr;
}

/// Says on rank 0 which strategy moves other numbers of bytes between nodes on the way back. What costs choose may
/// differ on the two ways.
bool same_bytes(const Run& run, const CaseReport& report, const std::vector<std::string>& strategies) {
  bool same = true;
  for (const std::string& strategy : strategies) {
    const Result* const there = find_result(report, forward + strategy);
    const Result* const back = find_result(report, strategy);
    if (!run.is_root() || strategy == "auto" || !there->traffic || !back->traffic) continue;
    const std::int64_t sent = there->traffic->net_bytes_total;
    if (back->traffic->net_bytes_total == sent) continue;
    same = false;
    std::cout << "WRONG TRAFFIC: " << strategy << " moves " << back->traffic->net_bytes_total
              << " bytes between nodes, and " << sent << " forward\n"
              << std::flush;
  }
  return same;
}

int reduce(const Run& run, const ReduceOptions& options) {
  const std::vector<std::string> strategies = split_strategies(options.compare.strategies);
  for (const std::string& strategy : strategies) check_strategy(strategy);
  const std::optional<double> goodput = find_goodput(run, options.compare);
  CompareOptions compared = options.compare;
  compared.strategies.clear();
  const bool good = for_each_workload(run, options.workloads, [&](const Workload& workload, Task task) {
    require(task.exchange.element_bytes % static_cast<std::int64_t>(sizeof(double)) == 0, ErrorKind::argument,
            "--bytes: what is added are numbers of 8 bytes");
    task.own = both_ways(strategies);
    const CaseReport report = compare(run, "reduce", workload, task, compared, goodput);
    const bool right = publish(run, report, options.compare);
    return same_bytes(run, report, strategies) && right;
  });
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

void add_reduce(CLI::App& command, Action& action) {
  auto options = std::make_shared<ReduceOptions>();
  options->compare.strategies = {"direct", "three_step", "auto"};
  options->compare.baselines = {"mpi"};  // the way there
  add_options(command, options->workloads);
  add_options(command, options->compare);
  command.callback([options, &action] {
    action = [options] {
      return with_mpi(options->compare.machine, [&](const Run& run) { return reduce(run, *options); });
    };
  });
}

}  // namespace

std::vector<Command> reduce_commands() {
  return {{"reduce", Topic::exchanges,
           "Exchanges backwards: sums into what was sent, against messages and a loop, beside the way there",
           add_reduce}};
}

}  // namespace laneway::bench
