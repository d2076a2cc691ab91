#include "output/report.hpp"

#include <array>
#include <iostream>

#include "base/bytes/block_memory.hpp"
#include "base/json.hpp"
#include "base/readable.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

template <class T, class F>
auto member(const std::optional<T>& value, F&& get) {
  using Value = std::decay_t<decltype(get(*value))>;
  return value ? std::optional<Value>(get(*value)) : std::nullopt;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string or_dash(const std::optional<std::string>& text) {
  return text.value_or("-");
}

std::optional<double> limit_fraction(const CaseReport& report, const Result& result) {
  const std::optional<double> limit = report.limit();
  if (!limit || !result.times) return std::nullopt;
  return *limit / result.times->median;
}

/// An array for each number.
Json by_rank(std::span<const RankTraffic> ranks) {
  const auto array = [&](std::int64_t RankTraffic::*field) {
    Json values = Json::array();
    for (const RankTraffic& rank : ranks) values.push_back(rank.*field);
    return values;
  };
  return {{"net_messages", array(&RankTraffic::net_messages)},
          {"net_bytes", array(&RankTraffic::net_bytes)},
          {"node_messages", array(&RankTraffic::node_messages)},
          {"node_bytes", array(&RankTraffic::node_bytes)}};
}

void add_level(Json& json, const CaseReport& report) {
  const Demand& demand = report.demand;
  json["level"] = report.level->number ? Json(*report.level->number) : Json("sum");
  json["rows"] = report.level->rows;
  json["edge_net_messages_node_max"] = demand.out_max.messages;
  json["edge_net_messages_total"] = demand.total.messages;
  json["edge_net_bytes_node_max"] = demand.out_max.bytes;
  json["edge_net_bytes_total"] = demand.total.bytes;
}

Json to_json(const CaseReport& report, const Result& result) {
  const auto times = [&](double Result::Times::*field) {
    return or_null(member(result.times, [&](auto& t) { return t.*field; }));
  };
  const auto traffic = [&](std::int64_t TotalTraffic::*field) {
    return or_null(member(result.traffic, [&](auto& t) { return t.*field; }));
  };
  const auto memory = [&](std::int64_t MemoryUse::*field) {
    return or_null(member(result.memory, [&](auto& m) { return m.*field; }));
  };
  const Heavy& heavy = report.workload.heavy;
  const bool has_heavy = !heavy.ranks.empty();
  const Devices& devices = report.workload.devices;
  Json json = {
      {"benchmark", report.benchmark},
      {"op", name(report.workload.op)},
      {"pattern", report.workload.pattern},
      {"bytes", report.workload.bytes},
      {"heavy_ranks", has_heavy ? Json(heavy.ranks) : Json(nullptr)},
      {"heavy_bytes", has_heavy ? Json(heavy.bytes) : Json(nullptr)},
      {"devices", devices.any() ? Json(devices.of_node) : Json(nullptr)},
      {"host_processes", devices.any() ? Json(devices.processes) : Json(nullptr)},
      {"memory", report.workload.memory},
      {"path", report.workload.path.empty() ? Json(nullptr) : Json(report.workload.path)},
      {"staged", devices.any() ? Json(devices.staged) : Json(nullptr)},
      {"ranks", report.ranks},
      {"machine", report.nodes.description},
      {"candidate", result.candidate},
      {"median_s", times(&Result::Times::median)},
      {"min_s", times(&Result::Times::min)},
      {"p90_s", times(&Result::Times::p90)},
      {"samples_s", result.samples},
      {"setup_s", result.setup_seconds},
      {"speedup_vs_mpi", or_null(result.speedup)},
      {"limit_s", or_null(report.limit())},
      {"limit_fraction", or_null(limit_fraction(report, result))},
      {"net_messages_max", traffic(&TotalTraffic::net_messages_max)},
      {"net_messages_total", traffic(&TotalTraffic::net_messages_total)},
      {"net_bytes_max", traffic(&TotalTraffic::net_bytes_max)},
      {"net_bytes_total", traffic(&TotalTraffic::net_bytes_total)},
      {"node_messages_max", traffic(&TotalTraffic::node_messages_max)},
      {"node_bytes_total", traffic(&TotalTraffic::node_bytes_total)},
      {"staging_bytes", memory(&MemoryUse::staging_bytes)},
      {"window_bytes", memory(&MemoryUse::window_bytes)},
      {"metadata_bytes", memory(&MemoryUse::metadata_bytes)},
      {"verified", or_null(moves_data() ? std::optional(result.verified) : std::nullopt)},
      {"iterations", report.iterations},
      {"batch", report.batch},
      {"setup_first_s", result.first_setup_seconds},
      {"init_s", or_null(result.init_seconds)},
      {"goodput_bytes_per_second", or_null(report.goodput)},
      {"byte_ceiling", report.demand.byte_ceiling()},
      {"payback_iterations", or_null(result.payback)},
      {"ratio_vs_p2p_median", or_null(member(result.ratio, [](auto& r) { return r.median; }))},
      {"ratio_vs_p2p_ci95", or_null(member(result.ratio,
                                           [](auto& r) {
                                             return Json::array({r.interval.low, r.interval.high});
                                           }))},
  };
  if (report.theory_net_bytes) {
    json["spmv_s"] = or_null(result.product_seconds);
    json["theory_net_bytes"] = *report.theory_net_bytes;
  }
  if (result.choice) {
    json["chosen"] = result.choice->strategy;
    for (const auto& [strategy, seconds] : result.choice->predicted) {
      json["predicted_s"][strategy] = seconds.front();
      for (std::size_t part = 0; part < predicted_parts.size() && part + 1 < seconds.size(); ++part)
        json["predicted_parts"][strategy][predicted_parts[part]] = seconds[part + 1];
    }
  }
  if (report.level) add_level(json, report);
  if (!result.by_rank.empty()) json["by_rank"] = by_rank(result.by_rank);
  return json;
}

std::string case_name(const CaseReport& report) {
  const Workload& workload = report.workload;
  const std::string heavy = workload.heavy.ranks.empty() ? "" : workload.heavy.description() + ", else ";
  return workload.pattern + " " + name(workload.op) + " " + heavy + std::to_string(workload.bytes);
}

std::string heading(const CaseReport& report) {
  std::string text = "\n" + report.benchmark + ": " + report.workload.description() + "; " +
                     std::to_string(report.ranks) + " ranks, " + report.nodes.description + "\n";
  if (report.demand.busiest_bytes() > 0)
    text += "busiest node: " + readable_bytes(report.demand.busiest_bytes()) + " unique, byte ceiling " +
            format_number(report.demand.byte_ceiling(), 2) + "\n";
  if (const auto limit = report.limit())
    text += "limit: " + format_seconds(*limit) + " at " + format_number(*report.goodput * 1e-6, 1) + " MB/s\n";
  if (report.theory_net_bytes)
    text += "unique values between nodes: " + std::to_string(*report.theory_net_bytes) + " bytes\n";
  text += std::to_string(report.iterations);
  if (report.level && !report.level->number) return text + " samples, each the sum of those of all levels\n";
  return text + " samples of " + std::to_string(report.batch) +
         (report.batch > 1 ? " exchanges each\n" : " exchange each\n");
}

void print_by_rank(const Result& result, const Nodes& nodes) {
  Table table({"rank", "node", "net msgs", "net bytes", "node msgs", "node bytes"});
  for (std::size_t rank = 0; rank < result.by_rank.size(); ++rank) {
    const RankTraffic& sent = result.by_rank[rank];
    table.add({std::to_string(rank), std::to_string(nodes.of[rank]), std::to_string(sent.net_messages),
               readable_bytes(sent.net_bytes), std::to_string(sent.node_messages), readable_bytes(sent.node_bytes)});
  }
  std::cout << "\nsent by each rank, " << result.candidate << "\n" << table.text();
}

std::string name_of(const Result& result) {
  return result.choice ? result.candidate + " (" + result.choice->strategy + ")" : result.candidate;
}

std::string checked(const Result& result) {
  if (!moves_data()) return "-";
  return result.verified ? "verified" : "WRONG";
}

std::string time_of(const Result& result, double Result::Times::*field) {
  return or_dash(member(result.times, [&](auto& t) { return format_seconds(t.*field); }));
}

std::string product_of(const Result& result) {
  return or_dash(member(result.product_seconds, [](double s) { return format_seconds(s); }));
}

/// What is looked at first, in 79 columns. What is as it must be is not said.
Table narrow_table(const CaseReport& report) {
  std::vector<std::string> columns = {"candidate", "median", "setup", "vs mpi", "limit",
                                      "msgs",      "net",    "node",  "wrong"};
  if (report.theory_net_bytes) columns[7] = "product";  // the place of bytes inside nodes, which --wide has
  Table table(columns);
  for (const Result& result : report.results) {
    const auto& traffic = result.traffic;
    std::vector<std::string> row = {
        result.candidate,
        time_of(result, &Result::Times::median),
        format_seconds(result.setup_seconds),
        format_number(result.speedup, 2),
        format_number(limit_fraction(report, result), 2),
        or_dash(member(traffic, [](auto& t) { return std::to_string(t.net_messages_total); })),
        or_dash(member(traffic, [](auto& t) { return readable_bytes(t.net_bytes_total); })),
        or_dash(member(traffic, [](auto& t) { return readable_bytes(t.node_bytes_total); })),
        result.verified || !moves_data() ? "-" : "WRONG",
    };
    if (report.theory_net_bytes) row[7] = product_of(result);
    table.add(std::move(row));
  }
  return table;
}

/// Of what chooses by itself: a line for each.
std::string choices(const CaseReport& report) {
  std::string text;
  for (const Result& result : report.results)
    if (result.choice) text += result.candidate + " has chosen " + result.choice->strategy + "\n";
  return text;
}

Table wide_table(const CaseReport& report) {
  std::vector<std::string> columns = {"candidate",
                                      "median",
                                      "min",
                                      "p90",
                                      "setup",
                                      "vs mpi",
                                      "pays back",
                                      "vs p2p (95%)",
                                      "of limit",
                                      "net msgs max/all",
                                      "net bytes max/all",
                                      "node msgs max",
                                      "node bytes",
                                      "verified"};
  if (report.theory_net_bytes) columns.emplace_back("product");
  Table table(columns);
  for (const Result& result : report.results) {
    const auto& traffic = result.traffic;
    std::vector<std::string> row = {
        name_of(result),
        time_of(result, &Result::Times::median),
        time_of(result, &Result::Times::min),
        time_of(result, &Result::Times::p90),
        format_seconds(result.setup_seconds),
        format_number(result.speedup, 2),
        format_number(result.payback, 1),
        or_dash(member(result.ratio,
                       [](auto& r) {
                         return format_number(r.median, 3) + " (" + format_number(r.interval.low, 3) + "-" +
                                format_number(r.interval.high, 3) + ")";
                       })),
        format_number(limit_fraction(report, result), 2),
        or_dash(member(
            traffic,
            [](auto& t) { return std::to_string(t.net_messages_max) + " / " + std::to_string(t.net_messages_total); })),
        or_dash(member(
            traffic,
            [](auto& t) { return readable_bytes(t.net_bytes_max) + " / " + readable_bytes(t.net_bytes_total); })),
        or_dash(member(traffic, [](auto& t) { return std::to_string(t.node_messages_max); })),
        or_dash(member(traffic, [](auto& t) { return readable_bytes(t.node_bytes_total); })),
        checked(result),
    };
    if (report.theory_net_bytes) row.push_back(product_of(result));
    table.add(std::move(row));
  }
  return table;
}

/// A field of CSV.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string all = "\"";
  for (const char c : text) all += c == '"' ? std::string("\"\"") : std::string(1, c);
  return all + "\"";
}

}  // namespace

std::optional<double> CaseReport::limit() const {
  if (!goodput || demand.busiest_bytes() == 0) return std::nullopt;
  return static_cast<double>(demand.busiest_bytes()) / *goodput;
}

const std::map<std::string, Format>& formats() {
  static const std::map<std::string, Format> all = {
      {"table", Format::table}, {"csv", Format::csv}, {"json", Format::json}, {"md", Format::markdown}};
  return all;
}

void print_tables(const CaseReport& report, Format format, bool wide) {
  const Table table = wide ? wide_table(report) : narrow_table(report);
  const bool is_markdown = format == Format::markdown;
  std::cout << heading(report) << (is_markdown ? "\n" + table.markdown() : table.text());
  if (!wide) std::cout << choices(report);
  for (const Result& result : report.results)
    if (!result.by_rank.empty()) print_by_rank(result, report.nodes);
  std::cout << std::flush;
}

void print_csv(const CaseReport& report) {
  constexpr std::array columns = {"benchmark",
                                  "op",
                                  "pattern",
                                  "bytes",
                                  "ranks",
                                  "machine",
                                  "candidate",
                                  "chosen",
                                  "median_s",
                                  "min_s",
                                  "p90_s",
                                  "setup_s",
                                  "speedup_vs_mpi",
                                  "limit_s",
                                  "net_messages_max",
                                  "net_messages_total",
                                  "net_bytes_max",
                                  "net_bytes_total",
                                  "node_bytes_total",
                                  "verified"};
  static bool has_heading = false;
  std::string text;
  if (!has_heading)
    for (const char* column : columns) text += std::string(text.empty() ? "" : ",") + column;
  if (!has_heading) text += "\n";
  has_heading = true;
  for (const Result& result : report.results) {
    const Json json = to_json(report, result);
    std::string line;
    for (const char* column : columns) {
      const Json* value = json.find(column);
      if (column != columns.front()) line += ",";
      if (value == nullptr || value->is_null()) continue;
      line += value->is_string() ? quoted(value->get<std::string>()) : value->dump();
    }
    text += line + "\n";
  }
  std::cout << text << std::flush;
}

void print_json(const CaseReport& report) {
  for (const Result& result : report.results) std::cout << with_provenance(to_json(report, result)).dump() << "\n";
  std::cout << std::flush;
}

void append_json(const CaseReport& report, const std::string& path) {
  for (const Result& result : report.results) append_record(path, to_json(report, result));
}

void append_matrix_json(const CaseReport& report, const std::string& path) {
  for (const Result& result : report.results) {
    if (result.node_matrix.empty()) continue;
    const Json json = {{"benchmark", "matrix"},
                       {"case", case_name(report)},
                       {"candidate", result.candidate},
                       {"node_matrix", result.node_matrix}};
    append_record(path, json);
  }
}

}  // namespace laneway::bench
