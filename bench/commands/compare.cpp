#include "commands/compare.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iostream>
#include <iterator>

#include "algorithms/neighborhood/strategy.hpp"
#include "base/bytes/block_memory.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "commands/link.hpp"
#include "data/specs.hpp"
#include "measure/evaluation.hpp"

namespace laneway::bench {

namespace {

// Simulated times are exact: once is enough.
constexpr int setup_repeats = simulated ? 1 : 9;

struct Entrant {
  Result result;
  std::unique_ptr<Candidate> candidate;
};

/// In turns, so that what changes with time changes for all; keeps the last of each.
void set_up(std::span<Entrant> entrants, const Task& task) {
  std::vector<std::vector<double>> seconds(entrants.size());
  std::vector<std::vector<double>> init_seconds(entrants.size());
  for (int turn = 0; turn < setup_repeats; ++turn)
    for (std::size_t e = 0; e < entrants.size(); ++e) {
      Entrant& entrant = entrants[e];
      entrant.candidate.reset();
      MPI_Barrier(task.run.comm);
      const double begin = MPI_Wtime();
      entrant.candidate = make_candidate(entrant.result.candidate, task);
      seconds[e].push_back(longest_of_ranks(MPI_Wtime() - begin, task.run.comm));
      if (const auto init = entrant.candidate->init_seconds())
        init_seconds[e].push_back(longest_of_ranks(*init, task.run.comm));
    }
  for (std::size_t e = 0; e < entrants.size(); ++e) {
    Result& result = entrants[e].result;
    if (!init_seconds[e].empty()) result.init_seconds = median(init_seconds[e]);
    result.first_setup_seconds = seconds[e].front();
    result.setup_seconds = median(seconds[e]);
  }
}

/// One exchange of data never sent before, and then the product. Nothing is wrong with data that is not moved.
bool verify(Candidate& candidate, const Task& task, const Product* product, std::uint64_t salt) {
  if (!moves_data()) return true;
  if (const std::optional<bool> right = candidate.verify(task, salt)) return *right;
  const auto exchange = [&] { candidate.run(); };
  if (product == nullptr) return arrives(task, Content::bits, salt, exchange);
  if (!arrives(task, Content::numbers, salt, exchange)) return false;
  product->multiply();
  int right = product->check(salt) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, task.run.comm);
  return right != 0;
}

/// On rank 0; empty if not known.
std::vector<RankTraffic> traffic_by_rank(const Candidate& candidate, const Run& run) {
  const std::optional<RankTraffic> own = candidate.traffic();
  if (!own) return {};
  std::vector<RankTraffic> all(run.is_root() ? static_cast<std::size_t>(run.ranks) : 0);
  static_assert(sizeof(RankTraffic) == 4 * sizeof(std::int64_t));
  MPI_Gather(&*own, 4, MPI_INT64_T, all.data(), 4, MPI_INT64_T, 0, run.comm);
  return all;
}

std::optional<TotalTraffic> total_traffic(std::span<const RankTraffic> ranks) {
  if (ranks.empty()) return std::nullopt;
  TotalTraffic total;
  for (const RankTraffic& rank : ranks) total.add(rank);
  return total;
}

/// On rank 0; empty if not known.
std::optional<MemoryUse> most_memory(const Candidate& candidate, const Run& run) {
  std::optional<MemoryUse> most = candidate.memory();
  if (!most) return std::nullopt;
  static_assert(sizeof(MemoryUse) == 3 * sizeof(std::int64_t));
  MPI_Reduce(run.is_root() ? MPI_IN_PLACE : &*most, &*most, 3, MPI_INT64_T, MPI_MAX, 0, run.comm);
  return most;
}

/// A table by nodes, to which each rank adds a row: that of its node. On rank 0; empty elsewhere. Collective.
template <class T>
std::vector<T> add_rows(const Run& run, const std::vector<T>& row) {
  const std::size_t length = row.size();
  const auto bytes = static_cast<int>(length * sizeof(T));
  std::vector<T> rows(run.is_root() ? static_cast<std::size_t>(run.ranks) * length : 0);
  MPI_Gather(row.data(), bytes, MPI_BYTE, rows.data(), bytes, MPI_BYTE, 0, run.comm);
  if (!run.is_root()) return {};
  std::vector<T> table(static_cast<std::size_t>(run.nodes.count) * length);
  for (std::size_t rank = 0; rank < run.nodes.of.size(); ++rank) {
    const std::size_t to = static_cast<std::size_t>(run.nodes.of[rank]) * length;
    for (std::size_t k = 0; k < length; ++k) table[to + k] += rows[rank * length + k];
  }
  return table;
}

/// Of all ranks' exchanges, on rank 0. Collective.
Demand find_demand(const Run& run, const Exchange& exchange) {
  const std::vector<Crossing> all = add_rows(run, crossings(exchange, run.rank, run.nodes));
  return run.is_root() ? demand(all, run.nodes.count) : Demand{};
}

/// On rank 0; empty if not known. Collective.
std::vector<std::vector<std::int64_t>> node_matrix(const Candidate& candidate, const Run& run) {
  const std::optional<std::vector<Message>> messages = candidate.messages();
  if (!messages) return {};
  const std::vector<std::int64_t> all = add_rows(run, bytes_by_node(*messages, run.nodes));
  std::vector<std::vector<std::int64_t>> rows;
  for (auto row = all.begin(); row != all.end(); row += run.nodes.count) rows.emplace_back(row, row + run.nodes.count);
  return rows;
}

std::vector<std::string> candidate_names(const Task& task, const CandidateOptions& options) {
  std::vector<std::string> names;
  for (const OwnCandidate& own : task.own) names.push_back(own.name);
  std::ranges::copy(options.candidates(), std::back_inserter(names));
  return names;
}

bool reaches_least_bytes(const std::string& candidate) {
  try {
    const StrategyChoice choice = parse_levels(candidate).front().choice;
    if (choice.is_automatic()) return false;
    return choice.deduplicate && choice.row->traits.relays && choice.row->traits.deduplicates;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> CandidateOptions::candidates() const {
  for (const std::string& baseline : baselines) check_baseline(baseline);
  const std::vector<std::string> chosen = split_strategies(strategies);
  for (const std::string& strategy : chosen) check_strategy(strategy);
  std::vector<std::string> names = baselines;
  names.insert(names.end(), chosen.begin(), chosen.end());
  return names;
}

void add_options(CLI::App& command, CandidateOptions& options) {
  command
      .add_option("--strategy", options.strategies,
                  "Strategies of this library; separated by commas or, with levels, by spaces or semicolons")
      ->capture_default_str();
  command.add_option("--baseline", options.baselines, "mpi, mpi-again, mpi-persistent, p2p, p2p-again, mpi-advance")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--iterations", options.iterations.timed, "Samples of each candidate")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--warmup", options.iterations.warmup, "Exchanges before the first sample")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command.add_flag("--by-rank", options.by_rank, "What each rank sends, as a table for each candidate and in --json");
  command.add_option("--json", options.json, "Append one object a line for each candidate to this file");
  command.add_option("--machine", options.machine, "Nodes to assume, e.g. \"node:4 rank:4\"");
}

void add_options(CLI::App& command, CompareOptions& options) {
  add_options(command, static_cast<CandidateOptions&>(options));
  command.add_option("--matrix-json", options.matrix_json, "Append the bytes from node to node to this file");
  command.add_option("--goodput", options.goodput, "Bytes per second between nodes, or auto to measure them")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--format", [&options](const std::string& name) { options.format = formats().at(name); },
          "table, csv, json (an object a line) or md")
      ->check(CLI::IsMember(formats()))
      ->default_str("table");
  command.add_flag("--wide", options.wide, "All columns of the table");
}

std::optional<double> find_goodput(const Run& run, const CompareOptions& options) {
  if (run.nodes.count < 2) return std::nullopt;
  if (options.goodput == "auto") return measure_goodput(run);
  double value = 0;
  const char* end = options.goodput.data() + options.goodput.size();
  const auto [stop, error] = std::from_chars(options.goodput.data(), end, value);
  require(error == std::errc() && stop == end && value > 0, ErrorKind::argument,
          "--goodput " + options.goodput + ": neither auto nor a positive number of bytes per second");
  return value;
}

CaseReport compare(const Run& run, const std::string& benchmark, const Workload& workload, const Task& task,
                   const CompareOptions& options, std::optional<double> goodput, const Product* product) {
  CaseReport report;
  report.benchmark = benchmark;
  report.workload = workload;
  report.ranks = run.ranks;
  report.nodes = run.nodes;
  report.demand = find_demand(run, task.exchange);
  report.goodput = goodput;
  report.iterations = options.iterations.timed;
  if (product != nullptr) report.theory_net_bytes = product->theory_net_bytes;

  connect_all(run);
  std::vector<Entrant> entrants;
  for (const std::string& name : candidate_names(task, options)) entrants.emplace_back().result.candidate = name;
  set_up(entrants, task);
  for (Entrant& entrant : entrants) {
    entrant.result.verified =
        verify(*entrant.candidate, task, product, 1) && (simulated || verify(*entrant.candidate, task, product, 2));
    std::vector<RankTraffic> by_rank = traffic_by_rank(*entrant.candidate, run);
    entrant.result.traffic = total_traffic(by_rank);
    if (options.by_rank) entrant.result.by_rank = std::move(by_rank);
    entrant.result.memory = most_memory(*entrant.candidate, run);
    entrant.result.choice = entrant.candidate->choice();
    entrant.result.node_matrix = node_matrix(*entrant.candidate, run);
  }

  std::vector<Entrant*> timed;
  for (Entrant& entrant : entrants)
    if (entrant.result.verified) timed.push_back(&entrant);
  std::vector<std::function<void()>> exchanges;
  std::vector<std::function<void()>> products;
  for (Entrant* entrant : timed) {
    exchanges.emplace_back([candidate = entrant->candidate.get()] { candidate->run(); });
    if (product != nullptr)
      products.emplace_back([candidate = entrant->candidate.get(), product] {
        candidate->run();
        product->multiply();
      });
  }
  Samples samples = measure(run.comm, exchanges, options.iterations);
  for (std::size_t i = 0; i < timed.size(); ++i) timed[i]->result.samples = std::move(samples.seconds[i]);
  report.batch = samples.batch;
  if (product != nullptr) {
    const Samples whole = measure(run.comm, products, options.iterations);
    for (std::size_t i = 0; i < timed.size(); ++i) timed[i]->result.product_seconds = median(whole.seconds[i]);
  }
  for (Entrant* entrant : timed) entrant->result.verified = simulated || verify(*entrant->candidate, task, product, 3);
  for (Entrant& entrant : entrants) report.results.push_back(std::move(entrant.result));
  evaluate(report.results);
  return report;
}

bool publish(const Run& run, const CaseReport& report, const CompareOptions& options) {
  if (!run.is_root()) return true;
  const bool is_for_programs = options.format == Format::csv || options.format == Format::json;
  if (options.format == Format::csv)
    print_csv(report);
  else if (options.format == Format::json)
    print_json(report);
  else
    print_tables(report, options.format, options.wide);
  if (!options.json.empty()) append_json(report, options.json);
  if (!options.matrix_json.empty()) append_matrix_json(report, options.matrix_json);
  std::string wrong;
  for (const Result& result : report.results) {
    if (!result.verified) wrong += "WRONG RESULT: " + result.candidate + "\n";
    if (report.theory_net_bytes && result.traffic && reaches_least_bytes(result.candidate) &&
        result.traffic->net_bytes_total != *report.theory_net_bytes)
      wrong += "WRONG TRAFFIC: " + result.candidate + " moves " + std::to_string(result.traffic->net_bytes_total) +
               " bytes between nodes, the unique values are " + std::to_string(*report.theory_net_bytes) + "\n";
  }
  (is_for_programs ? std::cerr : std::cout) << wrong << std::flush;
  if (wrong.empty() && !is_for_programs)
    std::cout << (moves_data() ? "verified\n" : "not verified: no data was moved\n") << std::flush;
  return wrong.empty();
}

}  // namespace laneway::bench
