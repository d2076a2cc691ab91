#include "preload/report/summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <utility>

#include "base/statistics.hpp"

namespace laneway::interpose {

namespace {

constexpr std::size_t draws = 400;
/// Of each way: with fewer an interval leaves out zero by chance in more than one of 20 cases (of three, in one of
/// ten).
constexpr std::size_t least_samples = 6;

void put(Writer& writer, const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  writer.put(Bytes(begin, begin + text.size()));
}

std::string get_text(Reader& reader) {
  const Bytes bytes = reader.get_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_measured(const SummaryRow& row) {
  return row.taken > 0 && row.sampled > 0 && row.seconds[0].size() >= least_samples &&
         row.seconds[1].size() >= least_samples;
}

/// Of a row: what a call saves, times those that were taken over.
double factor(const SummaryRow& row, std::int64_t world) {
  return static_cast<double>(row.taken) / static_cast<double>(row.sampled) * static_cast<double>(row.ranks) /
         static_cast<double>(std::max<std::int64_t>(world, 1));
}

/// Values that the saving might as well have had (bootstrap), the same each time.
std::vector<double> possible_savings(const SummaryRow& row, std::int64_t world) {
  std::mt19937_64 random(20261126);
  std::vector<double> savings = resampled_medians(row.seconds[0], draws, random);
  const std::vector<double> plan = resampled_medians(row.seconds[1], draws, random);
  for (std::size_t i = 0; i < draws; ++i) savings[i] = (savings[i] - plan[i]) * factor(row, world);
  return savings;
}

Estimate estimate(double value, const std::vector<double>& possible) {
  return {value, std::min(value, quantile(possible, 0.025)), std::max(value, quantile(possible, 0.975))};
}

double value_of_saving(const SummaryRow& row, std::int64_t world) {
  return (median(row.seconds[0]) - median(row.seconds[1])) * factor(row, world);
}

void add_samples(SummaryRow& to, const SummaryRow& from) {
  if (from.sampled == 0) return;
  for (std::size_t way = 0; way < 2; ++way) {
    std::vector<double>& sum = to.seconds[way];
    const std::vector<double>& more = from.seconds[way];
    if (to.sampled == 0) {
      sum = more;
      continue;
    }
    // All ranks sample the same calls; one that has freed its communicator sooner may have fewer.
    sum.resize(std::min(sum.size(), more.size()));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  to.sampled += from.sampled;
}

void add(SummaryRow& to, const SummaryRow& from) {
  if (to.label.empty()) to.label = from.label;
  if (to.strategy.empty()) {
    to.strategy = from.strategy;
    to.why = from.why;
  }
  to.ranks += from.ranks;
  to.taken = std::max(to.taken, from.taken);
  to.bytes += from.bytes;
  to.messages += from.messages;
  to.neighbors += from.neighbors;
  to.ranks_with_neighbors += from.ranks_with_neighbors;
  for (const auto& [reason, calls] : from.left) to.left[reason] = std::max(to.left[reason], calls);
  add_samples(to, from);
}

std::string number(double value) {
  std::array<char, 32> text{};
  const double size = std::fabs(value);
  std::snprintf(text.data(), text.size(),
                size >= 99.5     ? "%.0f"
                : size >= 9.95   ? "%.1f"
                : size >= 0.0995 ? "%.2f"
                                 : "%.2g",
                value);
  return text.data();
}

std::string calls(std::int64_t count, const char* what = "") {
  return std::to_string(count) + what + (count == 1 ? " call" : " calls");
}

}  // namespace

std::int64_t SummaryRow::all_left() const {
  std::int64_t all = 0;
  for (const auto& [reason, calls] : left) all += calls;
  return all;
}

void Summary::add(const Summary& other) {
  ranks += other.ranks;
  world = std::max(world, other.world);
  elapsed = std::max(elapsed, other.elapsed);
  for (const auto& [key, row] : other.rows) interpose::add(rows[key], row);
}

Bytes Summary::packed() const {
  Writer writer;
  writer.put(ranks);
  writer.put(static_cast<std::int64_t>(rows.size()));
  for (const auto& [key, row] : rows) {
    const auto& [rank, communicator, call, sizes] = key;
    writer.put(std::array<std::int64_t, 11>{rank, communicator, sizes, row.ranks, row.taken, row.bytes, row.messages,
                                            row.neighbors, row.ranks_with_neighbors, row.sampled,
                                            static_cast<std::int64_t>(row.left.size())});
    for (const std::string* text : {&call, &row.label, &row.strategy, &row.why}) put(writer, *text);
    for (const auto& [reason, calls] : row.left) {
      put(writer, reason);
      writer.put(calls);
    }
    for (const std::vector<double>& seconds : row.seconds) {
      const auto* const begin = reinterpret_cast<const std::byte*>(seconds.data());
      writer.put(Bytes(begin, begin + seconds.size() * sizeof(double)));
    }
  }
  return writer.take();
}

Summary Summary::unpacked(const Bytes& data) {
  Reader reader(data);
  Summary summary;
  summary.ranks = reader.get<std::int64_t>();
  for (std::int64_t left = reader.get<std::int64_t>(); left > 0; --left) {
    const auto numbers = reader.get<std::array<std::int64_t, 11>>();
    const std::string call = get_text(reader);
    SummaryRow row;
    row.label = get_text(reader);
    row.strategy = get_text(reader);
    row.why = get_text(reader);
    std::tie(row.ranks, row.taken, row.bytes, row.messages) = std::tie(numbers[3], numbers[4], numbers[5], numbers[6]);
    std::tie(row.neighbors, row.ranks_with_neighbors, row.sampled) = std::tie(numbers[7], numbers[8], numbers[9]);
    for (std::int64_t reasons = numbers[10]; reasons > 0; --reasons) {
      const std::string reason = get_text(reader);
      row.left[reason] = reader.get<std::int64_t>();
    }
    for (std::vector<double>& seconds : row.seconds) {
      const Bytes bytes = reader.get_bytes();
      seconds.resize(bytes.size() / sizeof(double));
      std::copy_n(bytes.begin(), seconds.size() * sizeof(double), reinterpret_cast<std::byte*>(seconds.data()));
    }
    summary.rows.emplace(SummaryKey{static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), call, numbers[2]},
                         std::move(row));
  }
  return summary;
}

std::string sentence(const PointToPoint& found) {
  return std::to_string(found.taken) + " messages of " + std::to_string(found.streams) +
         " streams between nodes went in " + std::to_string(found.bundles) + " bundles" +
         (found.by_mpi > 0 ? ", " + std::to_string(found.by_mpi) + " of them by MPI besides" : "") +
         " (LANEWAY_P2P): " + std::to_string(found.sent()) + " messages between nodes instead of " +
         std::to_string(found.between) + ".";
}

std::array<std::optional<double>, 2> medians(const SummaryRow& row) {
  std::array<std::optional<double>, 2> found;
  for (std::size_t way = 0; way < 2; ++way)
    if (row.sampled > 0 && !row.seconds[way].empty())
      found[way] = median(row.seconds[way]) / static_cast<double>(row.sampled);
  return found;
}

std::optional<Estimate> saving(const SummaryRow& row, std::int64_t world) {
  if (!is_measured(row)) return std::nullopt;
  return estimate(value_of_saving(row, world), possible_savings(row, world));
}

Verdict verdict(const Summary& summary) {
  Verdict verdict;
  double value = 0;
  std::vector<double> possible(draws, 0);
  for (const auto& [key, row] : summary.rows) {
    verdict.left += row.all_left();
    (is_measured(row) ? verdict.measured : verdict.unmeasured) += row.taken;
    if (!is_measured(row)) continue;
    value += value_of_saving(row, summary.world);
    const std::vector<double> more = possible_savings(row, summary.world);
    for (std::size_t i = 0; i < draws; ++i) possible[i] += more[i];
  }
  if (verdict.measured > 0) verdict.saved = estimate(value, possible);
  return verdict;
}

std::string sentence(const Summary& summary) {
  const Verdict found = verdict(summary);
  std::string text;
  if (found.saved) {
    const auto& [value, low, high] = *found.saved;
    const bool costs = high < 0;
    const double sign = costs ? -1 : 1;
    const std::string interval = " (" + number(costs ? -high : low) + " to " + number(costs ? -low : high) + ")";
    text = costs ? "Laneway cost " : low > 0 ? "Laneway saved " : "Whether Laneway saved anything cannot be told: ";
    text += number(sign * value) + " s" + interval + " of " + number(summary.elapsed + value) + " s in " +
            calls(found.measured);
    if (found.unmeasured > 0) text += "; what " + calls(found.unmeasured, " more") + " saved was not measured";
  } else if (found.unmeasured > 0) {
    text = "Laneway took over " + calls(found.unmeasured) + "; what that saved was not measured";
  } else {
    text = "Laneway took over no call";
  }
  if (found.left > 0) text += "; " + calls(found.left) + (found.left == 1 ? " was left to MPI" : " were left to MPI");
  text += ".";
  if (!summary.asks_others && summary.world > 1)
    text += " Other ranks were not asked, since no call of all ranks could be taken over.";
  else if (summary.ranks < summary.world)
    text += " Only " + std::to_string(summary.ranks) + " of " + std::to_string(summary.world) + " ranks have told.";
  return text;
}

}  // namespace laneway::interpose
