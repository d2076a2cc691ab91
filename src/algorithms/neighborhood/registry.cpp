#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "base/error.hpp"

namespace laneway {

namespace {

constexpr std::string_view no_deduplication = "_nodedup";
constexpr std::string_view automatic = "auto";

}  // namespace

std::int64_t Lane::bytes() const {
  std::int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes();
  return bytes;
}

bool Lane::carries_for(Rank destination) const {
  return destinations.empty() || std::binary_search(destinations.begin(), destinations.end(), destination);
}

std::unique_ptr<Strategy> StrategyRow::make(const StrategySettings& settings) const {
  std::unique_ptr<Strategy> strategy = factory(settings);
  strategy->traits_ = traits;
  strategy->traits_.relays_inside = traits.relays_inside && settings.fabric != nullptr;
  return strategy;
}

std::span<const StrategyRow> strategies() {
  // Never freed, since what runs at the end of a program may still have a strategy.
  static const auto* const all = [] {
    auto* const rows = new std::vector<StrategyRow>(strategy_rows());
    std::ranges::stable_sort(*rows, {}, &StrategyRow::place);
    return rows;
  }();
  return *all;
}

const StrategyRow& find_strategy(std::string_view name) {
  std::string names;
  for (const StrategyRow& row : strategies()) {
    if (row.name == name) return row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorKind::info,
              "unknown strategy '" + std::string(name) + "'; valid are " + std::string(automatic) + ", " + names);
}

std::string_view StrategyChoice::name() const {
  return is_automatic() ? automatic : row->name;
}

std::vector<const StrategyRow*> StrategyChoice::rows() const {
  if (!is_automatic()) return {row};
  std::vector<const StrategyRow*> all;
  for (const StrategyRow& known : strategies()) {
    const Traits& traits = known.traits;
    if (traits.needs == Traits::Needs::grid || traits.spreads) continue;
    const bool needs_fabric = traits.needs == Traits::Needs::fabric;
    const bool is_candidate = traits.levels > 1 ? by_gpus : by_fabric ? needs_fabric || !traits.relays : !needs_fabric;
    if (is_candidate) all.push_back(&known);
  }
  return all;
}

StrategyChoice parse_strategy(std::string_view text) {
  StrategyChoice choice;
  if (text.ends_with(no_deduplication)) {
    choice.deduplicate = false;
    text.remove_suffix(no_deduplication.size());
  }
  if (text != automatic) choice.row = &find_strategy(text);
  return choice;
}

std::vector<LevelChoice> parse_levels(std::string_view text) {
  std::vector<LevelChoice> levels;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t colon = part.find(':');
    require(colon != std::string_view::npos || (levels.empty() && comma == std::string_view::npos), ErrorKind::info,
            "strategy '" + std::string(text) + "': with several levels each is written level:strategy");
    levels.push_back(colon == std::string_view::npos
                         ? LevelChoice{"", parse_strategy(part)}
                         : LevelChoice{std::string(part.substr(0, colon)), parse_strategy(part.substr(colon + 1))});
    if (comma == std::string_view::npos) return levels;
    text.remove_prefix(comma + 1);
  }
}

namespace {

/// `4x4` as a machine whose levels are the grid's dimensions.
std::string grid_machine(const std::string& text, std::string_view strategy) {
  require(!text.empty(), ErrorKind::info, std::string(strategy) + " needs a grid (hint lnw_grid), such as 4x4");
  std::string machine;
  int dimension = 0;
  std::istringstream sizes(text);
  for (std::string size; std::getline(sizes, size, 'x'); ++dimension) {
    require(!size.empty() && size.find_first_not_of("0123456789") == std::string::npos, ErrorKind::info,
            "grid '" + text + "': expected sizes of dimensions such as 4x4");
    machine += (machine.empty() ? "dimension" : " dimension") + std::to_string(dimension) + ":" + size;
  }
  return machine;
}

}  // namespace

std::vector<std::string> Levels::names() const {
  std::vector<std::string> names;
  for (const LevelChoice& choice : choices) names.push_back(choice.level);
  return names;
}

Levels choose_levels(std::string_view text, const std::string& grid, bool deduplicate) {
  Levels levels{parse_levels(text), {}};
  for (LevelChoice& level : levels.choices) level.choice.deduplicate = level.choice.deduplicate && deduplicate;
  const StrategyChoice outermost = levels.choices.front().choice;
  const Traits& traits = outermost.rows().front()->traits;
  const LevelChoice direct{"", {&find_strategy("direct"), deduplicate}};
  while (static_cast<int>(levels.choices.size()) < traits.levels) levels.choices.push_back(direct);
  if (traits.needs == Traits::Needs::grid) {
    require(levels.choices.size() == 1 && levels.choices.front().level.empty(), ErrorKind::info,
            std::string(outermost.name()) + " works on a grid, not on levels of the machine");
    levels.grid = grid_machine(grid, outermost.name());
    const auto dimensions = std::count(levels.grid.begin(), levels.grid.end(), ':');
    for (auto d = dimensions; d > 2; --d) levels.choices.push_back({"", outermost});
    if (dimensions > 1) levels.choices.push_back(direct);
  }
  require(levels.choices.size() <= most_levels, ErrorKind::info,
          "strategy '" + std::string(text) + "': at most " + std::to_string(most_levels) + " levels");
  return levels;
}

}  // namespace laneway
