#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "choice.hpp"
#include "data/exchange.hpp"
#include "data/statistics.hpp"
#include "data/traffic.hpp"

namespace laneway::bench {

/// What was found out about one candidate; times only if it is verified.
struct Result {
  struct Times {
    double median = 0;
    double min = 0;
    double p90 = 0;
  };
  struct Ratio {
    double median = 0;
    Interval interval;
  };

  std::string candidate;
  bool verified = false;
  double setup_seconds = 0;
  double first_setup_seconds = 0;
  std::optional<double> init_seconds;  ///< without creating a communicator, of the slowest rank
  std::vector<double> samples;         ///< seconds of one exchange, by iteration
  std::optional<Times> times;
  std::optional<double> speedup;  ///< over `mpi`
  std::optional<Ratio> ratio;     ///< to `p2p`
  std::optional<double> payback;  ///< exchanges until the longer setup than `mpi`'s is earned
  std::optional<TotalTraffic> traffic;
  std::optional<MemoryUse> memory;
  std::optional<Choice> choice;      ///< of the strategy, where it was not given
  std::vector<RankTraffic> by_rank;  ///< empty if not known or not wanted
  std::optional<double> product_seconds;
  std::vector<std::vector<std::int64_t>> node_matrix;  ///< bytes from node to node; empty if not known
};

/// A level of a multigrid hierarchy, or all of them one after another.
struct Level {
  std::optional<int> number;  ///< 0 is the finest; nothing: all
  std::int64_t rows = 0;

  [[nodiscard]] std::string name() const { return number ? std::to_string(*number) : "sum"; }
};

/// One pattern at one size with all its candidates.
struct CaseReport {
  std::string benchmark;
  Workload workload;
  Rank ranks = 0;
  Nodes nodes;
  Demand demand;
  std::optional<double> goodput;
  std::optional<std::int64_t> theory_net_bytes;
  int iterations = 0;
  int batch = 1;
  std::vector<Result> results;
  std::optional<Level> level;

  /// The least time that the busiest node's link allows.
  [[nodiscard]] std::optional<double> limit() const;
};

/// How a report is printed. `csv` and `json` are for programs: nothing else is printed then.
enum class Format { table, csv, json, markdown };

/// Of `table`, `csv`, `json`, `md`.
[[nodiscard]] const std::map<std::string, Format>& formats();

/// The table of the candidates, of 79 columns unless it is `wide`, then one for each of them whose ranks are told
/// apart.
void print_tables(const CaseReport& report, Format format = Format::table, bool wide = false);
/// A line for each candidate, before the first report of the program one with the columns' names; seconds and bytes.
void print_csv(const CaseReport& report);
/// What append_json() writes, to standard output.
void print_json(const CaseReport& report);
/// One JSON object a line for each candidate.
void append_json(const CaseReport& report, const std::string& path);
void append_matrix_json(const CaseReport& report, const std::string& path);

}  // namespace laneway::bench
