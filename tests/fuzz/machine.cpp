// Descriptions of machines, strategies for their levels, and names with parameters, on a line each.
#include "machine/machine.hpp"

#include <algorithm>
#include <string>

#include "algorithms/neighborhood/strategy.hpp"
#include "fuzz.hpp"
#include "offline/spec.hpp"

namespace {

using namespace laneway;

void check_regions(const Machine& machine) {
  for (int level = 0; level <= machine.levels(); ++level)
    for (Rank rank = 0; rank < machine.ranks(); ++rank) {
      const Region region = machine.region(level, rank);
      fuzz::expect(std::ranges::is_sorted(region.members), "a region is not in order");
      fuzz::expect(std::ranges::binary_search(region.members, rank), "a rank is not in its region");
      fuzz::expect(region.members.front() == region.id, "a region is not named after its first rank");
      if (level == 0) continue;
      const Region around = machine.region(level - 1, rank);
      fuzz::expect(std::ranges::includes(around.members, region.members), "a region is not inside the one around it");
    }
}

std::string take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string line(rest.substr(0, end));
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  const std::string description = take_line(rest);
  const std::string levels = take_line(rest);
  const std::string grid = take_line(rest);
  const std::string spec = take_line(rest);
  Levels chosen;
  const bool known = fuzz::accepts([&] { chosen = choose_levels(levels, grid, true); });
  if (description.find("file:") == std::string::npos)
    for (const Rank ranks : {1, 4, 12}) {
      fuzz::accepts([&] {
        const Machine machine = Machine::parse(description, ranks);
        check_regions(machine);
        if (known) (void)machine.find_levels(chosen.names());
      });
      if (known && !chosen.grid.empty()) fuzz::accepts([&] { check_regions(Machine::parse(chosen.grid, ranks)); });
    }
  fuzz::accepts([&] {
    const Spec found = parse_spec(spec);
    std::string text = found.name + ":";
    for (const auto& [key, value] : found.parameters) text += key + "=" + value + ",";
    fuzz::expect(parse_spec(text).parameters == found.parameters, "parameters change when they are written and read");
    for (const auto& [key, value] : found.parameters) {
      fuzz::accepts([&, &name = key] { (void)found.integer(name, 0); });
      fuzz::accepts([&, &name = key] { (void)found.real(name, 0); });
      fuzz::accepts([&, &name = key] { (void)found.integers(name); });
    }
  });
  std::vector<std::string> paths;
  while (!rest.empty() && paths.size() < 64) paths.push_back(take_line(rest));
  fuzz::accepts([&] { check_regions(Machine::from_paths(paths)); });
  return 0;
}
