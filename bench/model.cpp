#include "model/closed_forms.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "core/readable.hpp"
#include "format.hpp"
#include "machine/parameters.hpp"

namespace laneway::bench {

namespace {

struct Options {
  std::string paper;
  double duplicates = 0;
  bool json = false;
};

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

void print_json(const Parameters& machine, const ClosedForms& model, const Options& options) {
  const std::vector<std::int64_t> sizes = message_sizes();
  nlohmann::ordered_json scenarios = nlohmann::ordered_json::array();
  for (const Scenario& scenario : figure(options.duplicates)) {
    nlohmann::ordered_json times;
    for (const ClosedForm& form : closed_forms())
      for (const std::int64_t bytes : sizes)
        times[std::string(form.name)].push_back(seconds(model, form, scenario, bytes));
    scenarios.push_back({{"nodes", scenario.nodes}, {"messages", scenario.messages}, {"seconds", times}});
  }
  const nlohmann::ordered_json result = {{"machine", machine.name},
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

void print_text(const Parameters& machine, const ClosedForms& model, const Options& options) {
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

int run(const Options& options) {
  const Parameters machine = Parameters::read(options.paper);
  const ClosedForms model(machine);
  (options.json ? print_json : print_text)(machine, model, options);
  return EXIT_SUCCESS;
}

}  // namespace

void add_model(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("model", "What published closed forms say about strategies; see docs/models.md");
  command->add_option("--paper", options->paper, "Whose figure to compute: lassen is Figure 4.3 of Lockhart et al.")
      ->required()
      ->check(CLI::IsMember({"lassen"}));
  command
      ->add_option("--duplicates", options->duplicates, "Share of the bytes that aggregating strategies need not send")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "All times, as JSON");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace laneway::bench
