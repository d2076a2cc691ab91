#include "output/report.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/block_memory.hpp"
#include "core/readable.hpp"
#include "output/format.hpp"

namespace laneway::bench {

namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::optional<double> CaseReport::limit() const {
  if (!goodput || demand.busiest_bytes() == 0) return std::nullopt;
  return static_cast<double>(demand.busiest_bytes()) / *goodput;
}

void print_tables(const CaseReport& report) {
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
    const auto time = [&](double Result::Times::*field) {
      return or_dash(member(result.times, [&](auto& t) { return format_seconds(t.*field); }));
    };
    std::vector<std::string> row = {
        result.choice ? result.candidate + " (" + result.choice->strategy + ")" : result.candidate,
        time(&Result::Times::median),
        time(&Result::Times::min),
        time(&Result::Times::p90),
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
        !moves_data()     ? "-"
        : result.verified ? "verified"
                          : "WRONG",
    };
    if (report.theory_net_bytes)
      row.push_back(or_dash(member(result.product_seconds, [](double s) { return format_seconds(s); })));
    table.add(std::move(row));
  }
  std::cout << heading(report) << table.text();
  for (const Result& result : report.results)
    if (!result.by_rank.empty()) print_by_rank(result, report.nodes);
  std::cout << std::flush;
}

void append_json(const CaseReport& report, const std::string& path) {
  for (const Result& result : report.results) append_line(path, to_json(report, result).dump());
}

void append_matrix_json(const CaseReport& report, const std::string& path) {
  for (const Result& result : report.results) {
    if (result.node_matrix.empty()) continue;
    const Json json = {{"benchmark", "matrix"},
                       {"case", case_name(report)},
                       {"candidate", result.candidate},
                       {"node_matrix", result.node_matrix}};
    append_line(path, json.dump());
  }
}

}  // namespace laneway::bench
