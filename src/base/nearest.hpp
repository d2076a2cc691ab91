#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace laneway {

/// The number of characters that must be inserted, left out, replaced or swapped with the next to make `a` of `b`.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// `names`, those most like `text` first; names that are as near keep their order.
[[nodiscard]] std::vector<std::string_view> nearest_first(std::string_view text, std::vector<std::string_view> names);

/// Whether somebody who wrote `text` may well have meant `name`.
[[nodiscard]] bool is_near(std::string_view text, std::string_view name);

}  // namespace laneway
