#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

#include "candidates/candidates.hpp"
#include "measure/run.hpp"

namespace laneway::bench {

/// What `neighbor` and `overlap` exchange, on the command line.
struct WorkloadOptions {
  std::string op = "allgather";
  std::vector<std::string> patterns;
  std::vector<std::int64_t> bytes;
  Heavy heavy = {};
  Devices devices = {};
};

void add_options(CLI::App& command, WorkloadOptions& options);

/// Calls `body` for each pattern and size. Whether it has returned true every time. Collective.
bool for_each_workload(const Run& run, const WorkloadOptions& options,
                       const std::function<bool(const Workload&, const Task&)>& body);

}  // namespace laneway::bench
