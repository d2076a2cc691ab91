#include <cstdlib>
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "core/json.hpp"
#include "lanes/strategy.hpp"

namespace laneway::bench {

namespace {

int print_json() {
  Json rows = Json::array();
  for (const StrategyRow& row : strategies()) {
    rows.push_back({{"name", row.name},
                    {"description", row.description},
                    {"operations", row.operations},
                    {"levels", row.levels},
                    {"relays", row.traits.relays},
                    {"deduplicates", row.traits.relays && row.traits.deduplicates},
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

}  // namespace

void add_strategies(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("strategies", "What strategies there are, what they fit and where they are from");
  command->add_flag("--json", *json, "As JSON");
  command->callback([json, &action] { action = [json] { return *json ? print_json() : print_text(); }; });
}

}  // namespace laneway::bench
