#include "arguments/hints.hpp"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "core/environment.hpp"

namespace laneway::bench {

namespace {

int print_json() {
  nlohmann::ordered_json hints = nlohmann::ordered_json::array();
  for (const HintRow& row : hint_rows())
    hints.push_back({{"key", row.key},
                     {"environment", row.environment},
                     {"default", row.fallback},
                     {"values", row.values},
                     {"description", row.description}});
  nlohmann::ordered_json variables = nlohmann::ordered_json::array();
  for (const VariableRow& row : variable_rows()) variables.push_back({{"name", row.name}, {"meaning", row.meaning}});
  std::cout << nlohmann::ordered_json{{"hints", hints}, {"variables", variables}}.dump(2) << "\n";
  return EXIT_SUCCESS;
}

int print_text() {
  for (const HintRow& row : hint_rows()) {
    std::cout << row.key;
    if (!row.environment.empty()) std::cout << ", " << row.environment;
    std::cout << "\n  " << row.description << "\n  values: " << row.values
              << "\n  default: " << (row.fallback.empty() ? "empty" : row.fallback) << "\n";
  }
  std::cout << "\nVariables of the environment that are no hints\n";
  for (const VariableRow& row : variable_rows()) std::cout << row.name << "\n  " << row.meaning << "\n";
  return EXIT_SUCCESS;
}

}  // namespace

void add_hints(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("hints", "All hints and variables: what they mean, values, defaults");
  command->add_flag("--json", *json, "As JSON");
  command->callback([json, &action] { action = [json] { return *json ? print_json() : print_text(); }; });
}

}  // namespace laneway::bench
