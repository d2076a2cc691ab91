#include "base/log.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/nearest.hpp"

namespace laneway {

namespace {

constexpr std::array<std::string_view, 3> levels = {"warn", "info", "debug"};

struct Item {
  std::string_view level;
  std::optional<std::string_view> part;  // none: all
};

std::vector<Item> items_of(std::string_view text) {
  std::vector<Item> items;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos)
      items.push_back({item, {}});
    else
      items.push_back({item.substr(0, colon), item.substr(colon + 1)});
  }
  return items;
}

template <class Names>
std::string unknown(std::string_view what, std::string_view text, const Names& names) {
  std::string complaint = "LANEWAY_LOG names the " + std::string(what) + " '" + std::string(text) + "'";
  const std::string_view nearest = nearest_first(text, {names.begin(), names.end()}).front();
  if (is_near(text, nearest)) return complaint + ": is " + std::string(nearest) + " meant?";
  complaint += "; there are";
  const char* separator = " ";
  for (const std::string_view name : names) {
    complaint += separator + std::string(name);
    separator = ", ";
  }
  return complaint;
}

}  // namespace

LogLevel level_in(std::string_view text, std::string_view part) {
  LogLevel found = LogLevel::warn;
  for (const Item& item : items_of(text)) {
    const auto level = std::ranges::find(levels, item.level);
    if (level != levels.end() && (!item.part || *item.part == part))
      found = static_cast<LogLevel>(level - levels.begin());
  }
  return found;
}

std::string complaint_about_log(std::string_view text) {
  for (const Item& item : items_of(text)) {
    if (std::ranges::find(levels, item.level) == levels.end()) return unknown("level", item.level, levels);
    if (item.part && std::ranges::find(parts_that_log, *item.part) == parts_that_log.end())
      return unknown("part", *item.part, parts_that_log);
  }
  return "";
}

}  // namespace laneway
