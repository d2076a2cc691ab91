#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "candidates/candidates.hpp"
#include "measure/run.hpp"
#include "measure/timing.hpp"
#include "output/report.hpp"

namespace laneway::bench {

/// What all that measure candidates have in common on the command line.
struct CandidateOptions {
  std::vector<std::string> strategies{"direct", "auto"};
  std::vector<std::string> baselines{"mpi"};
  Iterations iterations;
  bool by_rank = false;
  std::string json;
  std::string machine;

  /// Throws Error if a name is not known.
  [[nodiscard]] std::vector<std::string> candidates() const;
};

/// Of those that compare their times.
struct CompareOptions : CandidateOptions {
  std::string matrix_json;
  std::string goodput{"auto"};
  Format format = Format::table;
  bool wide = false;
};

void add_options(CLI::App& command, CandidateOptions& options);
void add_options(CLI::App& command, CompareOptions& options);

/// Bytes per second between nodes as the option says, measured for `auto`; nothing if there is one node. Collective.
[[nodiscard]] std::optional<double> find_goodput(const Run& run, const CompareOptions& options);

/// What a program does with the data of each exchange, to be timed with it.
struct Product {
  std::function<void()> multiply;
  std::function<bool(std::uint64_t salt)> check;
  std::int64_t theory_net_bytes = 0;  ///< on rank 0
};

/// Sets up, verifies and times all candidates. The report is complete on rank 0. Collective.
[[nodiscard]] CaseReport compare(const Run& run, const std::string& benchmark, const Workload& workload,
                                 const Task& task, const CompareOptions& options, std::optional<double> goodput,
                                 const Product* product = nullptr);

/// Prints and writes the report, on rank 0. Returns whether all results are as they must be, and says if not.
bool publish(const Run& run, const CaseReport& report, const CompareOptions& options);

}  // namespace laneway::bench
