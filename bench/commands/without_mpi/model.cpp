#include "base/json.hpp"
#include "offline/closed_forms.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/readable.hpp"
#include "commands.hpp"
#include "data/specs.hpp"
#include "data/traffic.hpp"
#include "machine/parameters.hpp"
#include "output/format.hpp"

namespace laneway::bench {

namespace {

struct ModelOptions {
  std::string paper;
  std::string machine;
  double duplicates = 0;
  bool json = false;
  std::vector<std::string> patterns;  ///< of GPUs; none: the scenarios of the figure
  std::string op = "alltoallv";
  std::int64_t bytes = sizeof(double);
  Rank gpus = 0;
};

/// Machines whose files have what the equations need, and their nodes.
struct Shaped {
  std::string_view machine;
  NodeShape node;
};
constexpr Shaped shaped[] = {{"lassen", {2, 20, 2}},
                             {"frontier-cxi-like", {8, 64, 1}},
                             {"delta-like", {2, 64, 2}},
                             {"elcapitan-like", {1, 24, 4}}};

std::vector<std::string> machines() {
  std::vector<std::string> names;
  for (const Shaped& one : shaped) names.emplace_back(one.machine);
  return names;
}

NodeShape shape_of(std::string_view machine) {
  return std::ranges::find(shaped, machine, &Shaped::machine)->node;
}

/// The scenarios of Figure 4.3.
constexpr int figure_nodes[] = {4, 16};
constexpr int figure_messages[] = {32, 256};
constexpr std::int64_t largest_message = std::int64_t{1} << 20;

std::vector<Scenario> figure(double duplicates) {
  std::vector<Scenario> scenarios;
  for (const int nodes : figure_nodes)
    for (const int messages : figure_messages) scenarios.push_back({nodes, messages, 0, duplicates});
  return scenarios;
}

std::vector<std::int64_t> message_sizes() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 1; bytes <= largest_message; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

double seconds(const ClosedForms& model, const ClosedForm& form, Scenario scenario, std::int64_t bytes) {
  scenario.bytes = static_cast<double>(bytes);
  return model.seconds(form, scenario);
}

void print_json(const Parameters& machine, const ClosedForms& model, const ModelOptions& options) {
  const std::vector<std::int64_t> sizes = message_sizes();
  Json scenarios = Json::array();
  for (const Scenario& scenario : figure(options.duplicates)) {
    Json times;
    for (const ClosedForm& form : closed_forms())
      for (const std::int64_t bytes : sizes)
        times[std::string(form.name)].push_back(seconds(model, form, scenario, bytes));
    scenarios.push_back({{"nodes", scenario.nodes}, {"messages", scenario.messages}, {"seconds", times}});
  }
  const Json result = {{"machine", machine.name},
                       {"provenance", machine.provenance},
                       {"duplicates", options.duplicates},
                       {"message_cap", model.message_cap()},
                       {"bytes", sizes},
                       {"scenarios", scenarios}};
  std::cout << result.dump(2) << "\n";
}

/// As the paper: 2-Step with all data for a node in one GPU is left out.
std::string fastest(const ClosedForms& model, const Scenario& scenario, std::int64_t bytes) {
  const ClosedForm* best = nullptr;
  for (const ClosedForm& form : closed_forms())
    if (form.rule != Rule::two_step_one &&
        (best == nullptr || seconds(model, form, scenario, bytes) < seconds(model, *best, scenario, bytes)))
      best = &form;
  return std::string(best->name) + "  " + format_seconds(seconds(model, *best, scenario, bytes));
}

void print_text(const Parameters& machine, const ClosedForms& model, const ModelOptions& options) {
  const std::vector<Scenario> scenarios = figure(options.duplicates);
  std::vector<std::string> heading = {"message"};
  for (const Scenario& scenario : scenarios)
    heading.push_back(std::to_string(scenario.messages) + " to " + std::to_string(scenario.nodes) + " nodes");
  Table table(heading);
  for (const std::int64_t bytes : message_sizes()) {
    std::vector<std::string> row = {readable_bytes(bytes)};
    for (const Scenario& scenario : scenarios) row.push_back(fastest(model, scenario, bytes));
    table.add(std::move(row));
  }
  std::cout << "fastest by the closed forms, " << machine.name << ", messages of one node by their size\n"
            << table.text();
}

/// What the ranks of a node have for each other node.
Crossings crossings_of(const Workload& workload, int gpus_of_node) {
  const Nodes nodes = make_nodes(Machine::parse("node:* rank:" + std::to_string(gpus_of_node), workload.ranks), "");
  const auto count = static_cast<std::size_t>(nodes.count);
  std::vector<Crossing> between(count * count);
  Crossings most{0, 0, 0, {}, {}};
  const auto raise = [](double& value, auto other) { value = std::max(value, static_cast<double>(other)); };
  const std::vector<Exchange> exchanges = workload.exchanges();
  for (Rank rank = 0; rank < workload.ranks; ++rank) {
    const auto own = static_cast<std::size_t>(rank);
    const std::vector<Crossing> row = crossings(exchanges[own], rank, nodes);
    Crossing sum;
    for (std::size_t to = 0; to < count; ++to) {
      sum += row[to];
      between[static_cast<std::size_t>(nodes.of[own]) * count + to] += row[to];
    }
    raise(most.messages, sum.messages);
    raise(most.proc_nodes, std::ranges::count_if(row, [](const Crossing& one) { return one.messages > 0; }));
    raise(most.standard.proc, sum.bytes);
    raise(most.unique.proc, sum.unique_bytes);
  }
  for (std::size_t from = 0; from < count; ++from) {
    const std::span<const Crossing> row = std::span(between).subspan(from * count, count);
    Crossing sum;
    for (const Crossing& one : row) {
      sum += one;
      raise(most.standard.node_pair, one.bytes);
      raise(most.unique.node_pair, one.unique_bytes);
    }
    raise(most.nodes, std::ranges::count_if(row, [](const Crossing& one) { return one.messages > 0; }));
    raise(most.standard.node, sum.bytes);
    raise(most.unique.node, sum.unique_bytes);
  }
  return most;
}

/// Table 6 for what the GPUs exchange.
void print_pattern(const Workload& workload, const ClosedForms& model, int gpus_of_node, bool json) {
  const Crossings most = crossings_of(workload, gpus_of_node);
  require(most.messages > 0, ErrorKind::argument, workload.description() + ": nothing goes between nodes");
  Json times;
  Table table({"strategy", "seconds"});
  for (const ClosedForm& form : closed_forms()) {
    times[std::string(form.name)] = model.seconds(form, most);
    table.add({std::string(form.name), format_seconds(model.seconds(form, most))});
  }
  const auto bytes = [](const MostBytes& own) {
    return Json{{"proc", own.proc}, {"node", own.node}, {"node_pair", own.node_pair}};
  };
  const Json result = {
      {"pattern", workload.pattern},      {"bytes", workload.bytes},      {"gpus", workload.ranks},
      {"messages", most.messages},        {"nodes", most.nodes},          {"proc_nodes", most.proc_nodes},
      {"standard", bytes(most.standard)}, {"unique", bytes(most.unique)}, {"seconds", times}};
  if (json)
    std::cout << result.dump() << "\n";
  else
    std::cout << workload.description() << ", " << workload.ranks << " GPUs\n" << table.text();
}

int run(const ModelOptions& options) {
  const std::string name = options.machine.empty() ? options.paper : options.machine;
  const Parameters machine = Parameters::read(name);
  const ClosedForms model(machine, shape_of(name));
  for (const std::string& pattern : split_specs(options.patterns))
    print_pattern(load_workload(pattern, parse_op(options.op), options.bytes, options.gpus, {}), model,
                  shape_of(name).gpus(), options.json);
  if (!options.patterns.empty()) return EXIT_SUCCESS;
  (options.json ? print_json : print_text)(machine, model, options);
  return EXIT_SUCCESS;
}

void add_model(CLI::App& command, Action& action) {
  auto options = std::make_shared<ModelOptions>();
  command.add_option("--paper", options->paper, "Whose figure to compute: lassen is Figure 4.3 of Lockhart et al.")
      ->required()
      ->check(CLI::IsMember({"lassen"}));
  command
      .add_option("--machine", options->machine,
                  "On the nodes of another machine: " + CLI::detail::join(machines(), ", "))
      ->check(CLI::IsMember(machines()));
  command
      .add_option("--duplicates", options->duplicates, "Share of the bytes that aggregating strategies need not send")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_flag("--json", options->json, "All times, as JSON");
  CLI::Option* pattern =
      command.add_option("--pattern", options->patterns,
                         "What GPUs exchange, as many a node as it has, instead of the figure's scenarios");
  command.add_option("--op", options->op, "Of the pattern: allgather, allgatherv or alltoallv")
      ->needs(pattern)
      ->capture_default_str();
  command.add_option("--bytes", options->bytes, "Of the block for an edge, or of a matrix halo's element")
      ->needs(pattern)
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  CLI::Option* gpus = command.add_option("--gpus", options->gpus, "Number of GPUs")
                          ->needs(pattern)
                          ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  pattern->needs(gpus);
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace

std::vector<Command> model_commands() {
  return {{"model", Topic::explain,
           "What published closed forms say about strategies; see docs/results/closed-forms.md", add_model}};
}

}  // namespace laneway::bench
