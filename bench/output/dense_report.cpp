#include "output/dense_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include "base/bytes/block_memory.hpp"
#include "base/json.hpp"
#include "base/readable.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

using Record = Json;

template <class T>
Record known(const std::optional<T>& value) {
  return value ? Record(*value) : Record(nullptr);
}

std::optional<double> fraction_of_limit(const DenseReport& report, const DenseResult& result) {
  const std::optional<double> limit = report.limit();
  if (!limit || !result.times) return std::nullopt;
  return *limit / result.times->median;
}

Record record(const DenseReport& report, const DenseResult& result) {
  const auto time = [&](double Result::Times::*field) {
    return result.times ? Record((*result.times).*field) : Record(nullptr);
  };
  const DenseResult* const best = report.best_of_mpi();
  return {{"benchmark", "dense"},
          {"op", name(report.dense.kind) + std::string(report.in_a_row ? " in a row" : "")},
          {"bytes", report.dense.bytes},
          {"ranks", report.dense.ranks},
          {"machine", report.nodes.description},
          {"candidate", result.candidate},
          {"chosen", result.choice.empty() ? Record(nullptr) : Record(result.choice)},
          {"median_s", time(&Result::Times::median)},
          {"min_s", time(&Result::Times::min)},
          {"p90_s", time(&Result::Times::p90)},
          {"samples_s", result.samples},
          {"setup_s", result.setup_seconds},
          {"best_of_mpi", best != nullptr ? Record(best->candidate) : Record(nullptr)},
          {"ratio_vs_best_of_mpi", result.ratio ? Record(result.ratio->median) : Record(nullptr)},
          {"ratio_vs_best_of_mpi_ci95",
           result.ratio ? Record({result.ratio->interval.low, result.ratio->interval.high}) : Record(nullptr)},
          {"limit_s", known(report.limit())},
          {"limit_fraction", known(fraction_of_limit(report, result))},
          {"goodput_bytes_per_second", known(report.goodput)},
          {"verified", moves_data() ? Record(result.verified) : Record(nullptr)},
          {"iterations", report.iterations},
          {"batch", report.batch}};
}

std::string heading(const DenseReport& report) {
  const DenseCase& dense = report.dense;
  std::string text = std::string("\ndense: ") + name(dense.kind) + (report.in_a_row ? " in a row" : "");
  if (dense.kind != DenseKind::barrier) text += " of " + readable_bytes(dense.bytes);
  text += "; " + std::to_string(dense.ranks) + " ranks, " + report.nodes.description + "\n";
  if (const std::optional<double> limit = report.limit())
    text += "limit: " + format_seconds(*limit) + " at " + format_number(*report.goodput * 1e-6, 1) + " MB/s\n";
  return text + std::to_string(report.iterations) + " samples of " + std::to_string(report.batch) +
         (report.batch == 1 ? " run each\n" : " runs each\n");
}

std::string ratio_text(const std::optional<Result::Ratio>& ratio) {
  if (!ratio) return "-";
  return format_number(ratio->median, 3) + " (" + format_number(ratio->interval.low, 3) + "-" +
         format_number(ratio->interval.high, 3) + ")";
}

Table table_of(const DenseReport& report) {
  Table table({"candidate", "median", "min", "p90", "setup", "vs best of MPI", "of limit", "wrong"});
  const DenseResult* const best = report.best_of_mpi();
  for (const DenseResult& result : report.results) {
    const auto time = [&](double Result::Times::*field) {
      return result.times ? format_seconds((*result.times).*field) : std::string("-");
    };
    const std::string name = result.candidate + (result.choice.empty() ? "" : " (" + result.choice + ")");
    table.add({name + (&result == best ? " *" : ""), time(&Result::Times::median), time(&Result::Times::min),
               time(&Result::Times::p90), format_seconds(result.setup_seconds), ratio_text(result.ratio),
               format_number(fraction_of_limit(report, result), 2), result.verified || !moves_data() ? "-" : "WRONG"});
  }
  return table;
}

void print_csv(const DenseReport& report) {
  constexpr std::array columns = {"op",       "bytes",   "ranks", "machine", "candidate",   "chosen",
                                  "median_s", "min_s",   "p90_s", "setup_s", "best_of_mpi", "ratio_vs_best_of_mpi",
                                  "limit_s",  "verified"};
  static bool has_heading = false;
  std::string text;
  if (!has_heading) {
    for (const char* column : columns) text += std::string(text.empty() ? "" : ",") + column;
    text += "\n";
  }
  has_heading = true;
  for (const DenseResult& result : report.results) {
    const Record json = record(report, result);
    std::string line;
    for (const char* column : columns) {
      if (column != columns.front()) line += ",";
      const Record& value = json.at(column);
      if (!value.is_null()) line += value.is_string() ? "\"" + value.get<std::string>() + "\"" : value.dump();
    }
    text += line + "\n";
  }
  std::cout << text << std::flush;
}

/// Ratios to the best of MPI, one a report; empty where one has none.
std::vector<double> ratios_of(std::span<const DenseReport> reports, const std::string& candidate) {
  std::vector<double> ratios;
  for (const DenseReport& report : reports) {
    const auto found = std::ranges::find(report.results, candidate, &DenseResult::candidate);
    if (found == report.results.end() || !found->ratio) return {};
    ratios.push_back(found->ratio->median);
  }
  return ratios;
}

}  // namespace

std::optional<double> DenseReport::limit() const {
  const std::optional<std::int64_t> busiest = dense.busiest_bytes(nodes);
  if (!busiest || !goodput) return std::nullopt;
  return static_cast<double>(*busiest) / *goodput;
}

const DenseResult* DenseReport::best_of_mpi() const {
  const DenseResult* best = nullptr;
  for (const DenseResult& result : results)
    if (result.is_of_mpi && result.times && (best == nullptr || result.times->median < best->times->median))
      best = &result;
  return best;
}

void evaluate(DenseReport& report) {
  for (DenseResult& result : report.results)
    if (!result.samples.empty())
      result.times = {median(result.samples), quantile(result.samples, 0), quantile(result.samples, 0.9)};
  const DenseResult* const best = report.best_of_mpi();
  if (best == nullptr) return;
  for (DenseResult& result : report.results) {
    if (result.samples.empty()) continue;
    const std::vector<double> ratios = paired_ratios(result.samples, best->samples);
    result.ratio = {median(ratios), bootstrap_median(ratios)};
  }
}

void print(const DenseReport& report, Format format) {
  if (format == Format::csv) {
    print_csv(report);
  } else if (format == Format::json) {
    for (const DenseResult& result : report.results)
      std::cout << with_provenance(record(report, result)).dump() << "\n";
  } else {
    const Table table = table_of(report);
    std::cout << heading(report) << (format == Format::markdown ? "\n" + table.markdown() : table.text());
  }
  std::cout << std::flush;
}

void append_json(const DenseReport& report, const std::string& path) {
  for (const DenseResult& result : report.results) append_record(path, record(report, result));
}

void print_summary(std::span<const DenseReport> reports, Format format) {
  if (reports.size() < 2 || format == Format::csv || format == Format::json) return;
  Table table({"candidate", "ratio to the best of MPI, geometric mean", "largest"});
  for (const DenseResult& result : reports.front().results) {
    const std::vector<double> ratios = ratios_of(reports, result.candidate);
    if (ratios.empty()) continue;
    double logarithms = 0;
    for (const double ratio : ratios) logarithms += std::log(ratio);
    table.add({result.candidate, format_number(std::exp(logarithms / static_cast<double>(ratios.size())), 3),
               format_number(*std::ranges::max_element(ratios), 3)});
  }
  std::cout << "\n"
            << name(reports.front().dense.kind) << ", all " << reports.size() << " sizes\n"
            << (format == Format::markdown ? "\n" + table.markdown() : table.text()) << std::flush;
}

}  // namespace laneway::bench
