#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "algorithms/cost/load.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/readable.hpp"
#include "commands.hpp"
#include "data/exchange.hpp"
#include "data/sample.hpp"
#include "data/specs.hpp"
#include "data/traffic.hpp"
#include "data/way_back.hpp"
#include "machine/machine.hpp"
#include "machine/parameters.hpp"
#include "offline/limit.hpp"
#include "offline/virtual_ranks.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

struct PredictOptions {
  std::vector<std::string> patterns;
  std::string op = "allgather";
  std::int64_t bytes = 1024;
  Rank ranks = 0;
  std::string machine;
  std::string parameters = "default-hpc";
  std::string grid;
  std::vector<std::string> strategies{"direct", "three_step", "auto"};
  ModelKind model = ModelKind::overlap;
  int sample = 0;
  std::uint64_t seed = 1;
  bool back = false;
  std::string json;
};

/// Of whom there are plans.
struct Planned {
  PatternOf pattern;
  std::vector<Rank> ranks;
  int nodes = 0;
};

/// The most that any rank has.
struct SetupMost {
  std::int64_t control_messages = 0;
  std::int64_t control_bytes = 0;
  std::int64_t gather_bytes = 0;
  std::int64_t staging_bytes = 0;
  std::int64_t metadata_bytes = 0;
  double mean_seconds = 0;  ///< of processor time for a rank's planner
};

/// What no plan can beat, by two models; known where all nodes are planned.
struct Least {
  std::optional<double> overlap;
  std::optional<double> max_rate;
};

/// What a strategy does for an exchange, by the plans of all ranks or of those of some nodes.
struct Forecast {
  std::string strategy;
  std::string chosen;  ///< of `auto`
  Prediction prediction;
  double max_rate = 0;  ///< seconds, by the max-rate model
  TotalTraffic traffic;
  SetupMost setup;
  double planning_seconds = 0;  ///< of all of them, and what that takes of others, in this process
};

SetupMost most_of(const VirtualSetup& setup) {
  SetupMost most;
  for (const SetupCost& cost : setup.costs) {
    most.control_messages = std::max(most.control_messages, cost.control_messages_sent);
    most.control_bytes = std::max(most.control_bytes, cost.control_bytes_sent);
    most.gather_bytes = std::max(most.gather_bytes, cost.region_gather_bytes);
    most.mean_seconds += cost.processor_seconds / static_cast<double>(setup.costs.size());
  }
  for (const Plan& plan : setup.plans) {
    most.staging_bytes = std::max(most.staging_bytes, plan.staging_bytes);
    most.metadata_bytes = std::max(most.metadata_bytes, metadata_bytes(plan));
  }
  return most;
}

/// Of a larger region, what each of its ranks gathers does not fit into this process.
constexpr std::size_t most_region_ranks = 4096;

void check_regions(const std::string& strategy, const Machine& machine, const Levels& levels) {
  const std::size_t ranks = machine.region(machine.find_levels(levels.names()).front(), 0).members.size();
  require(ranks <= most_region_ranks, ErrorKind::argument,
          strategy + ": its regions have " + std::to_string(ranks) +
              " ranks, each of which gathers what all of them send; at most " + std::to_string(most_region_ranks) +
              " are planned");
}

/// Of an exchange, or of the reduction that is its way back: then a byte of what is planned stands for a number.
VirtualSetup plan_strategy(const Planned& planned, bool back, const Machine& machine, const Levels& levels,
                           const Parameters& parameters, ModelKind model) {
  if (!back)
    return plan_some_virtual_ranks(planned.pattern, machine, levels, planned.ranks, {}, {}, &parameters, model);
  const Combination how = sums();
  const auto turned = [&](Rank rank) { return turn_round(backwards(planned.pattern(rank)), how.element_bytes); };
  StrategySettings settings;
  settings.message_cap = in_elements(settings.message_cap);
  const Parameters of_numbers = parameters.of_units(how.element_bytes);
  VirtualSetup setup = plan_some_virtual_ranks([&](Rank rank) { return turned(rank).forward; }, machine, levels,
                                               planned.ranks, settings, lowering_in_elements(), &of_numbers, model);
  for (Plan& plan : setup.plans) plan = transpose(plan, turned(plan.rank), how);
  return setup;
}

Forecast forecast(const std::string& strategy, const Planned& planned, const Machine& machine, const Nodes& nodes,
                  const Parameters& parameters, const PredictOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Levels levels = choose_levels(strategy, options.grid);
  const Machine planned_for = levels.grid.empty() ? machine : Machine::parse(levels.grid, machine.ranks());
  check_regions(strategy, planned_for, levels);
  const VirtualSetup setup = plan_strategy(planned, options.back, planned_for, levels, parameters, options.model);
  Forecast result;
  result.planning_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.strategy = strategy;
  if (!setup.selection.predictions.empty()) result.chosen = setup.strategies[setup.selection.chosen]->name;
  result.prediction = predict(setup.plans, machine, parameters, ModelKind::overlap);
  result.max_rate = predict(setup.plans, machine, parameters, ModelKind::max_rate).seconds;
  for (const Plan& plan : setup.plans) result.traffic.add(traffic(messages(plan), plan.rank, nodes));
  result.setup = most_of(setup);
  return result;
}

Json to_json(const Forecast& forecast, const Workload& workload, const Planned& planned, const Nodes& nodes,
             const Least& least, bool back) {
  const auto or_null = [](const std::optional<double>& x) { return x ? Json(*x) : Json(); };
  const TotalTraffic& traffic = forecast.traffic;
  const SetupMost& setup = forecast.setup;
  return {{"benchmark", "predict"},
          {"op", name(workload.op)},
          {"pattern", workload.pattern},
          {"bytes", workload.bytes},
          {"back", back},
          {"ranks", workload.ranks},
          {"nodes", nodes.count},
          {"planned_nodes", planned.nodes},
          {"candidate", forecast.strategy},
          {"chosen", forecast.chosen},
          {"predicted_s", forecast.prediction.seconds},
          {"max_rate_s", forecast.max_rate},
          {"least_s", or_null(least.overlap)},
          {"least_max_rate_s", or_null(least.max_rate)},
          {"net_messages_max", traffic.net_messages_max},
          {"net_messages_total", traffic.net_messages_total},
          {"net_bytes_max", traffic.net_bytes_max},
          {"net_bytes_total", traffic.net_bytes_total},
          {"node_messages_max", traffic.node_messages_max},
          {"node_bytes_total", traffic.node_bytes_total},
          {"setup_letters_max", setup.control_messages},
          {"setup_letter_bytes_max", setup.control_bytes},
          {"setup_gather_bytes_max", setup.gather_bytes},
          {"staging_bytes_max", setup.staging_bytes},
          {"metadata_bytes_max", setup.metadata_bytes},
          {"rank_planning_s", setup.mean_seconds},
          {"planning_s", forecast.planning_seconds}};
}

Planned plan_what(const PredictOptions& options, const Workload& workload, const Nodes& nodes) {
  Planned planned;
  // A halo of a matrix is made from all of it.
  if (options.sample == 0 || workload.matrix != nullptr) {
    planned.pattern = [all = to_pattern(workload.exchanges())](Rank rank) {
      return all[static_cast<std::size_t>(rank)];
    };
  } else {
    planned.pattern = [workload](Rank rank) { return to_pattern(workload.exchange(rank)); };
  }
  planned.nodes = options.sample == 0 ? nodes.count : std::min(options.sample, nodes.count);
  planned.ranks = ranks_of_nodes(sample_nodes(workload, nodes, planned.nodes, options.seed), nodes);
  return planned;
}

int forecast_all(const PredictOptions& options) {
  const Machine machine = Machine::parse(options.machine, options.ranks);
  const Nodes nodes = make_nodes(machine, options.machine);
  const Parameters parameters = Parameters::read(options.parameters);
  for (const std::string& spec : split_specs(options.patterns)) {
    const Workload workload = load_workload(spec, parse_op(options.op), options.bytes, options.ranks);
    if (options.back) check_back(workload.bytes);
    const Planned planned = plan_what(options, workload, nodes);
    Least least;
    if (options.sample == 0) {
      const Pattern all = to_pattern(workload.exchanges());
      least = {least_seconds(all, machine, parameters, ModelKind::overlap),
               least_seconds(all, machine, parameters, ModelKind::max_rate)};
    }
    Table table({"strategy", "predicted", "net msgs max/all", "net bytes max/all", "node msgs max", "node bytes",
                 "setup letters", "gathered", "staging", "metadata", "a rank's planner", "planned in"});
    for (const std::string& strategy : split_strategies(options.strategies)) {
      const Forecast f = forecast(strategy, planned, machine, nodes, parameters, options);
      table.add({f.chosen.empty() ? f.strategy : f.strategy + " (" + f.chosen + ")",
                 format_seconds(f.prediction.seconds),
                 std::to_string(f.traffic.net_messages_max) + " / " + std::to_string(f.traffic.net_messages_total),
                 readable_bytes(f.traffic.net_bytes_max) + " / " + readable_bytes(f.traffic.net_bytes_total),
                 std::to_string(f.traffic.node_messages_max), readable_bytes(f.traffic.node_bytes_total),
                 std::to_string(f.setup.control_messages) + ", " + readable_bytes(f.setup.control_bytes),
                 readable_bytes(f.setup.gather_bytes), readable_bytes(f.setup.staging_bytes),
                 readable_bytes(f.setup.metadata_bytes), format_seconds(f.setup.mean_seconds),
                 format_seconds(f.planning_seconds)});
      if (!options.json.empty()) append_record(options.json, to_json(f, workload, planned, nodes, least, options.back));
    }
    std::cout << workload.description() << (options.back ? ", backwards, " : ", ") << options.ranks << " ranks, "
              << nodes.description << ", parameters " << parameters.name << "; planned: " << planned.nodes << " of "
              << nodes.count << " nodes\n"
              << (least.overlap ? "no plan is predicted to take less than " + format_seconds(*least.overlap) + "\n"
                                : "")
              << table.text() << "\n"
              << std::flush;
  }
  return EXIT_SUCCESS;
}

void add_predict(CLI::App& command, Action& action) {
  auto options = std::make_shared<PredictOptions>();
  command
      .add_option("--pattern", options->patterns, "Graphs, matrix:SPEC or halo:FILE; separated by spaces or semicolons")
      ->required();
  command.add_option("--op", options->op, "allgather, allgatherv or alltoallv")->capture_default_str();
  command.add_option("--bytes", options->bytes, "Of the block for an edge, or of a matrix halo's element")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command.add_option("--ranks", options->ranks, "Number of ranks")
      ->required()
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  command.add_option("--machine", options->machine, "e.g. \"node:128 rank:16\"")->required();
  command.add_option("--parameters", options->parameters, "What messages cost: a name or PATH.toml")
      ->capture_default_str();
  command.add_option("--strategy", options->strategies, "Strategies, auto among them")->capture_default_str();
  // Its own description would have the values of ModelKind, as characters.
  command.add_option("--model", options->model, "By which auto chooses: overlap, max-rate or postal")
      ->type_name("TEXT")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ModelKind>{{"overlap", ModelKind::overlap},
                                                                           {"max-rate", ModelKind::max_rate},
                                                                           {"postal", ModelKind::postal}})
                      .description("{max-rate,overlap,postal}"));
  command.add_option("--grid", options->grid, "For cartesian_combining: the grid of ranks, e.g. 4x4");
  command
      .add_option(
          "--sample", options->sample,
          "Plan the ranks of so many nodes only: the one that most bytes leave or enter, the one of the rank with most "
          "peers on other nodes, the first, the last, and others at random. Totals are theirs")
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", options->seed, "Of --sample")->capture_default_str();
  command.add_flag("--back", options->back,
                   "The way back, a reduction: what receivers hold is added to what they have copies of");
  command.add_option("--json", options->json, "Append one object a line for each strategy to this file");
  command.callback([options, &action] { action = [options] { return forecast_all(*options); }; });
}

}  // namespace

std::vector<Command> predict_commands() {
  return {{"predict", Topic::explain,
           "Messages, bytes and modelled times of strategies at any scale, by planning all ranks or some",
           add_predict}};
}

}  // namespace laneway::bench
