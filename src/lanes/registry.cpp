#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "core/error.hpp"
#include "lanes/strategy.hpp"

namespace laneway {

// In rules/, one a file.
using Factory = std::unique_ptr<Strategy>(const StrategySettings&);
Factory make_direct, make_spread, make_three_step, make_two_step, make_split, make_load_aware, make_grouped,
    make_common_neighborhood, make_leader_scatter, make_cartesian_combining, make_multi_path;

namespace {

constexpr std::array<StrategyRow, 11> rows = {{
    {"direct", "each edge is one message from its source to its destination",
     "MPI: A Message-Passing Interface Standard 4.0, section 8.6", "all", "any", Traits{.relays = false}, make_direct},
    {"spread", "as direct, but each rank starts with the destinations after itself",
     "after Khorassani, Chen, Subramoni, Panda: Designing and Optimizing GPU-aware Nonblocking MPI Neighborhood "
     "Collective Communication, 2023 (known by title)",
     "all", "any", Traits{.relays = false, .spreads = true}, make_spread},
    {"three_step", "gather at one rank, one message for each pair of regions, scatter from one rank",
     "Collom, Li, Bienz: Optimizing Irregular Communication with Neighborhood Collectives and Locality-Aware "
     "Parallelism, section 3.2",
     "all", "any", Traits{}, make_three_step},
    {"two_step", "each source sends what a region needs of it to its paired rank there, which scatters it",
     "Lockhart, Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies for irregular "
     "point-to-point communication on heterogeneous architectures, section 2.3.2",
     "all", "any", Traits{}, make_two_step},
    {"split", "what a region receives is cut to messages of a capped size, dealt over all ranks of both regions",
     "Lockhart, Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies for irregular "
     "point-to-point communication on heterogeneous architectures, section 2.3.3, Algorithm 1",
     "all", "any", Traits{.scales = false}, make_split},
    {"load_aware", "what a region receives is dealt to its members in equal quotas, cut only where a quota ends",
     "after Ghazimirsaeed, Ruhela, Ramesh, Bayatpour, Subramoni, Panda: A Hierarchical and Load-Aware Design for Large "
     "Message Neighborhood Collectives, SC 2020 (known by title)",
     "all, large messages", "any", Traits{.scales = false}, make_load_aware},
    {"grouped",
     "sources in small groups: gathered at one of them, received by a rank that needs it, which hands the others "
     "theirs",
     "a design of our own, between two_step and three_step", "all, small messages", "any", Traits{.scales = false},
     make_grouped},
    {"common_neighborhood", "ranks of a region with a common destination combine their messages for it at one of them",
     "after Mirsadeghi, Träff, Balaji, Afsahi: Exploiting Common Neighborhoods to Optimize MPI Neighborhood "
     "Collectives, HiPC 2017; Ghazimirsaeed, Mirsadeghi, Afsahi: An Efficient Collaborative Communication Mechanism "
     "for "
     "MPI Neighborhood Collectives, IPDPS 2019 (known by title)",
     "all, small messages", "any", Traits{.deduplicates = false}, make_common_neighborhood},
    {"leader_scatter",
     "each source cuts its data over the destination's GPUs, one rank each, by the links inside a node",
     "Temuçin, Gazimirsaeed, Grant, Afsahi: ROCM-Aware Leader-based Designs for MPI Neighbourhood Collectives, section "
     "V",
     "all, large messages", "node with gpu inside, or gpu",
     Traits{.scales = false, .needs = Traits::Needs::fabric, .levels = 2}, make_leader_scatter},
    {"cartesian_combining", "data travels along one dimension of a grid of ranks after the other, combined in each",
     "after Träff, Carpen-Amarie, Hunold, Rougier: Message-Combining Algorithms for Isomorphic, Sparse Collective "
     "Communication, 2016; Träff, Hunold: Cartesian Collective Communication, 2019 (known by title)",
     "all, small messages", "the dimensions of a grid (lnw_grid)", Traits{.needs = Traits::Needs::grid},
     make_cartesian_combining},
    {"multi_path",
     "inside a node messages are cut over other devices, so that all links between devices are busy; else as two_step",
     "after Sojoodi, Temuçin, Barati Sedeh, Sharifian, Afsahi: Accelerating Intra-Node GPU-to-GPU Communication "
     "Through "
     "Multi-Path Transfers with CUDA Graphs, 2026 (arXiv:2604.22228, abstract)",
     "all, large messages", "node with described links between its devices",
     Traits{.scales = false, .relays_inside = true, .needs = Traits::Needs::fabric}, make_multi_path},
}};

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
  return rows;
}

const StrategyRow& find_strategy(std::string_view name) {
  std::string names;
  for (const StrategyRow& row : rows) {
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
    if (traits.levels > 1 || traits.needs == Traits::Needs::grid || traits.spreads) continue;
    const bool needs_fabric = traits.needs == Traits::Needs::fabric;
    if (by_fabric ? needs_fabric || !traits.relays : !needs_fabric) all.push_back(&known);
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
