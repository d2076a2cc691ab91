#pragma once

#include <memory>

#include "commands.hpp"
#include "measure/run.hpp"

namespace laneway::bench {

/// The last options of a command, `machine` and `json`, and what it does: `report` on the ranks of the nodes.
template <class Options>
void report_on_nodes(CLI::App& command, const std::shared_ptr<Options>& options, Action& action,
                     int (*report)(const Run&, const Options&)) {
  command.add_option("--machine", options->machine, "Nodes to assume, e.g. \"node:4 rank:4\"");
  command.add_option("--json", options->json, "Append one object a line to this file");
  command.callback([options, report, &action] {
    action = [options, report] {
      return with_mpi(options->machine, [&](const Run& run) { return report(run, *options); });
    };
  });
}

}  // namespace laneway::bench
