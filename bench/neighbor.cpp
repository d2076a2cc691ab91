#include <cstdlib>
#include <memory>

#include "commands.hpp"
#include "compare.hpp"
#include "workloads.hpp"

namespace laneway::bench {

namespace {

struct Options {
  WorkloadOptions workloads{.patterns = {"rsg:density=0.3,seed=1"}, .bytes = {1024}};
  CompareOptions compare;
  std::string memory = "host";
  std::string path;
};

int neighbor(const Run& run, const Options& options) {
  static_cast<void>(options.compare.candidates());
  const std::optional<double> goodput = find_goodput(run, options.compare);
  const bool good = for_each_workload(run, options.workloads, [&](Workload workload, Task task) {
    task.memory = workload.memory = options.memory;
    task.path = workload.path = options.path;
    return publish(run, compare(run, "neighbor", workload, task, options.compare, goodput), options.compare);
  });
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

void add_neighbor(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("neighbor", "Neighborhood collectives: this library against others");
  add_options(*command, options->workloads);
  add_options(*command, options->compare);
  command
      ->add_option("--memory", options->memory,
                   "Where buffers are. Baselines then copy each edge's block by itself, before and after")
      ->check(CLI::IsMember({"host", "device", "managed"}))
      ->capture_default_str();
  command->add_option("--path", options->path, "The hint lnw_memory_path, for buffers on devices");
  command->callback([options, &action] {
    action = [options] {
      return with_mpi(options->compare.machine, [&](const Run& run) { return neighbor(run, *options); });
    };
  });
}

}  // namespace laneway::bench
