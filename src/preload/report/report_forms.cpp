#include "preload/report/report_forms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/readable.hpp"

namespace laneway::interpose {

namespace {

using Numbered = std::pair<const SummaryKey*, const SummaryRow*>;
constexpr std::size_t columns = 79;
constexpr const char* times_mean =
    "Times are medians, from each call to the next, with what the program does between; means of the ranks.";

/// Those with the most calls first.
std::vector<Numbered> sorted(const Summary& summary) {
  std::vector<Numbered> rows;
  for (const auto& [key, row] : summary.rows) rows.emplace_back(&key, &row);
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [](const Numbered& one) { return one.second->taken + one.second->all_left(); });
  return rows;
}

/// Which communicator, by its name or the order in which it was made.
std::string communicator(const Numbered& one) {
  if (!one.second->label.empty()) return one.second->label;
  const auto& [rank, number, call, sizes] = *one.first;
  if (rank < 0) return "other";
  return (rank > 0 ? "rank " + std::to_string(rank) + "'s " : "") + "#" + std::to_string(number + 1);
}

std::string operation(const Numbered& one) {
  const std::string& call = std::get<2>(*one.first);
  return call.substr(call.find('_') + 1);
}

std::string mean(std::int64_t sum, std::int64_t count) {
  if (count == 0) return "-";
  std::ostringstream text;
  text.precision(3);
  text << static_cast<double>(sum) / static_cast<double>(count);
  return text.str();
}

std::string bytes_of_message(const SummaryRow& row) {
  return row.messages == 0 ? "-" : readable_bytes(row.bytes / row.messages);
}

std::string time(const std::optional<double>& seconds) {
  return seconds ? readable_seconds(*seconds) : "-";
}

std::string signed_time(double seconds) {
  return (seconds < 0 ? "-" : "") + readable_seconds(std::fabs(seconds));
}

std::string what_was_saved(const SummaryRow& row, std::int64_t world) {
  if (row.taken == 0) return "";
  const std::optional<Estimate> saved = saving(row, world);
  if (saved)
    return signed_time(saved->value) + " (" + signed_time(saved->low) + " to " + signed_time(saved->high) + ")";
  if (row.seconds[0].empty() || row.sampled == 0) return "not measured: no call was timed by MPI's own";
  if (row.seconds[1].empty()) return "not measured: no call was timed with the plan";
  return "not measured: fewer than six calls of a way were timed";
}

/// `text` in lines that begin with `indent`.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string result;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > columns) {
      result += indent + line + "\n";
      line = "  ";
      line += word;
      continue;
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? result : result + indent + line + "\n";
}

std::string section_of(const std::optional<PointToPoint>& found) {
  if (!found) return "";
  std::string text = "\n" + wrapped("point-to-point: " + sentence(*found), "");
  const std::pair<const char*, std::string> lines[] = {
      {"streams taken over", std::to_string(found->streams)},
      {"messages between nodes by the program", std::to_string(found->between)},
      {"  of these taken over", std::to_string(found->taken)},
      {"    of which long, by MPI", std::to_string(found->by_mpi)},
      {"bundles", std::to_string(found->bundles)},
      {"messages between nodes instead", std::to_string(found->sent())},
      {"bytes through the memory of nodes", readable_bytes(found->bytes_in_memory)}};
  for (const auto& [what, value] : lines) {
    char line[100];
    std::snprintf(line, sizeof line, "  %-42s %12s\n", what, value.c_str());
    text += line;
  }
  return text;
}

Json json_of(const std::optional<PointToPoint>& found) {
  if (!found) return nullptr;
  return {{"streams", found->streams},
          {"messages_of_program", found->between},
          {"taken_over", found->taken},
          {"long_by_mpi", found->by_mpi},
          {"bundles", found->bundles},
          {"messages_between_nodes", found->sent()},
          {"bytes_in_node_memory", found->bytes_in_memory}};
}

std::string table_line(const std::vector<std::string>& cells) {
  char text[160];
  std::snprintf(text, sizeof text, "%-10.10s %-24.24s %8s %8s %5s %8s %8s\n", cells[0].c_str(), cells[1].c_str(),
                cells[2].c_str(), cells[3].c_str(), cells[4].c_str(), cells[5].c_str(), cells[6].c_str());
  return text;
}

std::vector<std::string> cells_of(const Numbered& one) {
  const SummaryRow& row = *one.second;
  const auto times = medians(row);
  return {communicator(one),
          operation(one),
          std::to_string(row.taken + row.all_left()),
          bytes_of_message(row),
          mean(row.neighbors, row.ranks_with_neighbors),
          time(times[0]),
          time(times[1])};
}

std::string plan_of(const SummaryRow& row) {
  return row.strategy.empty() ? "" : row.strategy + ": " + row.why;
}

std::string with_unit(std::int64_t calls) {
  return std::to_string(calls) + (calls == 1 ? " call" : " calls");
}

Json json_of(const std::optional<Estimate>& saved) {
  if (!saved) return nullptr;
  return {{"seconds", saved->value}, {"low", saved->low}, {"high", saved->high}};
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const Numbered& one, std::int64_t world) {
  const SummaryRow& row = *one.second;
  const auto times = medians(row);
  Json left = Json::array();
  for (const auto& [reason, calls] : row.left) left.push_back({{"calls", calls}, {"reason", reason}});
  return {{"communicator", communicator(one)},
          {"operation", std::get<2>(*one.first)},
          {"calls", row.taken + row.all_left()},
          {"taken_over", row.taken},
          {"left", std::move(left)},
          {"ranks", row.ranks},
          {"neighbors", row.ranks_with_neighbors == 0
                            ? Json(nullptr)
                            : Json(static_cast<double>(row.neighbors) / static_cast<double>(row.ranks_with_neighbors))},
          {"bytes", row.bytes},
          {"messages", row.messages},
          {"mpi_seconds", number(times[0])},
          {"laneway_seconds", number(times[1])},
          {"samples", {{"mpi", row.seconds[0].size()}, {"laneway", row.seconds[1].size()}}},
          {"saved", json_of(saving(row, world))},
          {"strategy", row.strategy},
          {"why", row.why}};
}

}  // namespace

std::string as_table(const Summary& summary, const std::string& note, std::size_t most_rows) {
  std::string text = wrapped(sentence(summary), "") + "\n";
  text += table_line({"comm", "operation", "calls", "bytes", "neigh", "MPI", "Laneway"});
  std::size_t shown = 0;
  const std::vector<Numbered> rows = sorted(summary);
  for (const Numbered& one : rows) {
    if (most_rows > 0 && shown++ == most_rows) break;
    const SummaryRow& row = *one.second;
    text += table_line(cells_of(one));
    if (row.taken > 0) {
      text += wrapped(with_unit(row.taken) + " taken over, saved " + what_was_saved(row, summary.world), "  ");
      text += wrapped(plan_of(row), "  ");
    }
    for (const auto& [reason, calls] : row.left) text += wrapped(with_unit(calls) + " left to MPI: " + reason, "  ");
  }
  if (most_rows > 0 && rows.size() > most_rows)
    text +=
        wrapped(std::to_string(rows.size() - most_rows) + " more rows; LANEWAY_REPORT=FILE.txt has all of them", "");
  text += "\n" + wrapped(times_mean, "") + section_of(summary.point_to_point);
  return text + wrapped(note, "");
}

std::string as_json(const Summary& summary, const std::string& note) {
  const Verdict found = verdict(summary);
  Json rows = Json::array();
  for (const Numbered& one : sorted(summary)) rows.push_back(json_of(one, summary.world));
  const Json report = {
      {"schema", 1},
      {"sentence", sentence(summary)},
      {"ranks", summary.world},
      {"ranks_that_told", summary.ranks},
      {"elapsed_seconds", summary.elapsed},
      {"saved", json_of(found.saved)},
      {"calls", {{"measured", found.measured}, {"unmeasured", found.unmeasured}, {"left", found.left}}},
      {"note", note},
      {"point_to_point", json_of(summary.point_to_point)},
      {"rows", std::move(rows)}};
  return report.dump(2) + "\n";
}

}  // namespace laneway::interpose
