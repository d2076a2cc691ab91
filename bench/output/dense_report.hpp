#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dense_case.hpp"
#include "data/statistics.hpp"
#include "data/traffic.hpp"
#include "output/report.hpp"

namespace laneway::bench {

/// What was found out about one candidate; times only if it is verified.
struct DenseResult {
  std::string candidate;
  std::string choice;  ///< of one that chooses by itself; empty: not known
  bool is_of_mpi = false;
  bool verified = false;
  double setup_seconds = 0;     ///< of making it and of its first run, of the slowest rank
  std::vector<double> samples;  ///< seconds of one run
  std::optional<Result::Times> times;
  std::optional<Result::Ratio> ratio;  ///< of its times to those of the MPI library's fastest, sample by sample
};

/// One operation at one size with all its candidates.
struct DenseReport {
  DenseCase dense;
  Nodes nodes;
  std::optional<double> goodput;
  int iterations = 0;
  int batch = 1;
  bool in_a_row = false;
  std::vector<DenseResult> results;

  /// The least time that the busiest node's link allows.
  [[nodiscard]] std::optional<double> limit() const;
  /// The fastest of the MPI library; null if none was timed.
  [[nodiscard]] const DenseResult* best_of_mpi() const;
};

/// Fills in what follows from the samples.
void evaluate(DenseReport& report);

void print(const DenseReport& report, Format format);
/// One JSON object a line for each candidate.
void append_json(const DenseReport& report, const std::string& path);

/// Of all sizes of an operation: the geometric mean of the ratios of each candidate that all of them have, and the
/// largest of them.
void print_summary(std::span<const DenseReport> reports, Format format);

}  // namespace laneway::bench
