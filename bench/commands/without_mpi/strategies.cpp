#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "base/json.hpp"
#include "commands.hpp"

namespace laneway::bench {

namespace {

int print_json() {
  const std::vector<const StrategyRow*> automatic = StrategyChoice{}.rows();
  Json rows = Json::array();
  for (const StrategyRow& row : strategies()) {
    rows.push_back({{"name", row.name},
                    {"description", row.description},
                    {"operations", row.operations},
                    {"levels", row.levels},
                    {"relays", row.traits.relays},
                    {"deduplicates", row.traits.relays && row.traits.deduplicates},
                    {"automatic", std::ranges::find(automatic, &row) != automatic.end()},
                    {"citation", row.citation}});
  }
  std::cout << rows.dump(2) << "\n";
  return EXIT_SUCCESS;
}

int print_text() {
  for (const StrategyRow& row : strategies())
    std::cout << row.name << "\n  " << row.description << "\n  operations: " << row.operations
              << "; levels: " << row.levels << "\n  " << row.citation << "\n";
  return EXIT_SUCCESS;
}

void add_strategies(CLI::App& command, Action& action) {
  auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "As JSON");
  command.callback([json, &action] { action = [json] { return *json ? print_json() : print_text(); }; });
}

}  // namespace

std::vector<Command> strategies_commands() {
  return {{"strategies", Topic::explain, "What strategies there are, what they fit and where they are from",
           add_strategies}};
}

}  // namespace laneway::bench
