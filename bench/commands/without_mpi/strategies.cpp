#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/rendezvous/finder.hpp"
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

int print_finders_json() {
  Json rows = Json::array();
  for (const FinderRow& row : finders())
    rows.push_back({{"name", row.name},
                    {"description", row.description},
                    {"by_nodes", row.by_nodes},
                    {"automatic", row.chooses},
                    {"citation", row.citation}});
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
  std::cout << "\nFinders of partners, for lnw_find:\n";
  for (const FinderRow& row : finders())
    std::cout << row.name << "\n  " << row.description << "\n  " << row.citation << "\n";
  return EXIT_SUCCESS;
}

/// A section, so that there is something to link to.
void write_entry(std::ostream& page, std::string_view title, std::string_view description, std::string_view more,
                 std::string_view citation) {
  page << "\n### " << title << "\n\n" << description << "\n" << more << "\n*Source:* " << citation << "\n";
}

/// The whole page: docs/reference/algorithms.md.
int write_page(const std::string& path) {
  std::ofstream page(path);
  page << "# Strategies, rules and finders\n\n<!-- Written by ./dev strategies --page docs/reference/algorithms.md "
          "-->\n\n"
          "## Strategies of neighborhoods\n\nFor `lnw_strategy` ([hints](hints.md)); pictures of all: "
          "[strategies](../concepts/strategies.md).\n";
  for (const StrategyRow& row : strategies())
    write_entry(page, row.name, row.description,
                "\n- Operations: " + std::string(row.operations) + "\n- Levels: " + std::string(row.levels) +
                    "\n- Relays: " + (row.traits.relays ? "yes" : "no") + "\n",
                row.citation);
  page << "\n## Rules of collectives\n\nFor `lnw_collective`, as in `alltoall:bruck`. How they are chosen: "
          "[collectives](../concepts/collectives.md).\n";
  for (const DenseRule& rule : dense_rules()) {
    std::string needs;
    if (rule.traits.equal_only) needs += "\n- For blocks of one size only.";
    if (rule.traits.in_order) needs += "\n- Combines in the order of ranks, for operators that do not commute.";
    if (rule.traits.windows != Windows::none) needs += "\n- Needs windows of MPI.";
    if (rule.traits.relays) needs += "\n- Relays: needs somebody to go on while ranks wait elsewhere.";
    write_entry(page, std::string(name(rule.kind)) + ":" + std::string(rule.name), rule.description,
                needs.empty() ? needs : needs + "\n", rule.citation);
  }
  page << "\n## Finders of partners\n\nFor `lnw_find`. How a rank knows that it has received all: "
          "[partners](../concepts/partners.md).\n";
  for (const FinderRow& row : finders())
    write_entry(page, row.name, row.description, row.chooses ? "" : "\n- Never chosen by `auto`.\n", row.citation);
  return EXIT_SUCCESS;
}

void add_strategies(CLI::App& command, Action& action) {
  struct Options {
    bool json = false, collectives = false, finders = false;
    std::string page;
  };
  auto options = std::make_shared<Options>();
  command.add_flag("--json", options->json, "As JSON: the strategies");
  command.add_flag("--collectives", options->collectives, "As JSON: the rules of collectives");
  command.add_flag("--finders", options->finders, "As JSON: the finders of partners");
  command.add_option("--page", options->page, "Write the page of them all, docs/reference/algorithms.md");
  command.callback([options, &action] {
    action = [options] {
      if (!options->page.empty()) return write_page(options->page);
      if (options->finders) return print_finders_json();
      if (options->collectives) return print_rules_json();
      return options->json ? print_json() : print_text();
    };
  });
}

}  // namespace

std::vector<Command> strategies_commands() {
  return {{"strategies", Topic::explain,
           "What strategies, rules of collectives and finders there are, and where they are from", add_strategies}};
}

}  // namespace laneway::bench
