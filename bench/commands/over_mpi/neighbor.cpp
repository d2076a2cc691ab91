#include <cstdlib>
#include <memory>

#include "candidates/devices/device_buffers.hpp"
#include "candidates/workloads.hpp"
#include "commands.hpp"
#include "commands/compare.hpp"

namespace laneway::bench {

namespace {

struct NeighborOptions {
  WorkloadOptions workloads{.patterns = {"stencil"}, .bytes = {1024}};
  CompareOptions compare;
  MemoryOptions memory;
};

int neighbor(const Run& run, const NeighborOptions& options) {
  static_cast<void>(options.compare.candidates());
  const std::optional<double> goodput = find_goodput(run, options.compare);
  const bool good = for_each_workload(run, options.workloads, [&](Workload workload, Task task) {
    const std::unique_ptr<DeviceBuffers> on_device = make_device_buffers(run, task.buffers, options.memory);
    task.on_device = on_device.get();
    workload.memory = options.memory.memory;
    task.path = workload.path = options.memory.path;
    return publish(run, compare(run, "neighbor", workload, task, options.compare, goodput), options.compare);
  });
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

void add_neighbor(CLI::App& command, Action& action) {
  auto options = std::make_shared<NeighborOptions>();
  add_options(command, options->workloads);
  add_options(command, options->compare);
  add_options(command, options->memory);
  command.callback([options, &action] {
    action = [options] {
      return with_mpi(options->compare.machine, [&](const Run& run) { return neighbor(run, *options); });
    };
  });
}

}  // namespace

std::vector<Command> neighbor_commands() {
  return {{"neighbor", Topic::exchanges, "Neighborhood collectives: this library against others", add_neighbor}};
}

}  // namespace laneway::bench
