#include <array>
#include <string>

#include "core/error.hpp"
#include "lanes/strategy.hpp"

namespace laneway {

namespace {

constexpr std::array<StrategyRow, 2> rows = {{
    {"direct", "each edge is one message from its source to its destination",
     "MPI: A Message-Passing Interface Standard 4.0, section 8.6", "all", "any", make_direct},
    {"three_step", "gather at one rank, one message for each pair of regions, scatter from one rank",
     "Collom, Li, Bienz: Optimizing Irregular Communication with Neighborhood Collectives and Locality-Aware "
     "Parallelism, section 3.2",
     "all", "any", make_three_step},
}};

constexpr std::string_view no_deduplication = "_nodedup";

}  // namespace

std::int64_t Lane::bytes() const {
  std::int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes();
  return bytes;
}

std::span<const StrategyRow> strategies() {
  return rows;
}

const StrategyRow& find_strategy(std::string_view name) {
  std::string names;
  for (const StrategyRow& row : rows) {
    if (row.name == name) return row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorKind::info, "unknown strategy '" + std::string(name) + "'; valid are " + names);
}

StrategyChoice parse_strategy(std::string_view text) {
  StrategyChoice choice;
  if (text.ends_with(no_deduplication)) {
    choice.deduplicate = false;
    text.remove_suffix(no_deduplication.size());
  }
  choice.row = &find_strategy(text);
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

}  // namespace laneway
