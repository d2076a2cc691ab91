#include "communicator/hints/hints.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/json.hpp"
#include "commands.hpp"

namespace laneway::bench {

namespace {

int print_json() {
  Json hints = Json::array();
  for (const HintRow& row : hint_rows)
    hints.push_back({{"key", row.key},
                     {"environment", row.environment},
                     {"default", row.fallback},
                     {"values", row.values()},
                     {"meaning", row.meaning}});
  Json variables = Json::array();
  for (const VariableRow& row : variable_rows()) variables.push_back({{"name", row.name}, {"meaning", row.meaning}});
  std::cout << Json{{"hints", hints}, {"variables", variables}}.dump(2) << "\n";
  return EXIT_SUCCESS;
}

std::string without_links(std::string_view markdown) {
  static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
  return std::regex_replace(std::string(markdown), link, "$1");
}

int print_text() {
  for (const HintRow& row : hint_rows) {
    std::cout << row.key;
    if (!row.environment.empty()) std::cout << ", " << row.environment;
    std::cout << "\n  " << without_links(row.meaning) << "\n  values: " << without_links(row.values())
              << "\n  default: " << (row.fallback.empty() ? "empty" : row.fallback) << "\n";
  }
  std::cout << "\nVariables of the environment that are no hints\n";
  for (const VariableRow& row : variable_rows()) std::cout << row.name << "\n  " << row.meaning << "\n";
  return EXIT_SUCCESS;
}

constexpr std::string_view table_head =
    "| info key | environment | default | values | meaning |\n| --- | --- | --- | --- | --- |\n";

std::string table() {
  const auto code = [](std::string_view text, const char* none) {
    return text.empty() ? std::string(none) : "`" + std::string(text) + "`";
  };
  std::string lines(table_head);
  for (const HintRow& row : hint_rows)
    lines += "| " + code(row.key, "") + " | " + code(row.environment, "none") + " | " + code(row.fallback, "empty") +
             " | " + row.values() + " | " + std::string(row.meaning) + " |\n";
  return lines;
}

/// Puts the table of hints into the page in place of the one that is there.
int write_page(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::string page = text.str();
  const std::size_t begin = page.find(table_head);
  if (begin == std::string::npos) throw std::runtime_error(path + ": has no table of hints");
  const std::size_t end = page.find("\n\n", begin);
  page.replace(begin, end == std::string::npos ? end : end + 1 - begin, table());
  std::ofstream(path) << page;
  return EXIT_SUCCESS;
}

void add_hints(CLI::App& command, Action& action) {
  auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "As JSON");
  auto page = std::make_shared<std::string>();
  command.add_option("--page", *page,
                     "Write the table of hints into this page, such as docs/reference/hints.md, in place of its own");
  command.callback([json, page, &action] {
    action = [json, page] { return !page->empty() ? write_page(*page) : *json ? print_json() : print_text(); };
  });
}

}  // namespace

std::vector<Command> hints_commands() {
  return {{"hints", Topic::explain, "All hints and variables: what they mean, values, defaults", add_hints}};
}

}  // namespace laneway::bench
