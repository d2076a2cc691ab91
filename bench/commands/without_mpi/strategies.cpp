#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "algorithms/collective/rules.hpp"
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

int print_rules_json() {
  Json rows = Json::array();
  for (const DenseRule& rule : dense_rules()) {
    rows.push_back({{"operation", name(rule.kind)},
                    {"name", rule.name},
                    {"description", rule.description},
                    {"relays", rule.traits.relays},
                    {"equal_blocks_only", rule.traits.equal_only},
                    {"in_order", rule.traits.in_order},
                    {"windows", rule.traits.windows != Windows::none},
                    {"citation", rule.citation}});
  }
  std::cout << rows.dump(2) << "\n";
  return EXIT_SUCCESS;
}

int print_text() {
  for (const StrategyRow& row : strategies())
    std::cout << row.name << "\n  " << row.description << "\n  operations: " << row.operations
              << "; levels: " << row.levels << "\n  " << row.citation << "\n";
  std::cout << "\nRules of collectives, for lnw_collective:\n";
  for (const DenseRule& rule : dense_rules())
    std::cout << name(rule.kind) << ":" << rule.name << "\n  " << rule.description << "\n  " << rule.citation << "\n";
  return EXIT_SUCCESS;
}

void add_strategies(CLI::App& command, Action& action) {
  auto json = std::make_shared<bool>(false);
  auto collectives = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "As JSON: the strategies");
  command.add_flag("--collectives", *collectives, "As JSON: the rules of collectives");
  command.callback([json, collectives, &action] {
    action = [json, collectives] { return *collectives ? print_rules_json() : *json ? print_json() : print_text(); };
  });
}

}  // namespace

std::vector<Command> strategies_commands() {
  return {{"strategies", Topic::explain, "What strategies and rules of collectives there are, and where they are from",
           add_strategies}};
}

}  // namespace laneway::bench
