#pragma once

#include <span>

#include "base/bytes/ranges.hpp"

namespace laneway {

/// The smallest range that all of the list's are in; of an empty list {0, 0}.
[[nodiscard]] Range hull(const RangeList& list);

/// True only if no byte is named twice, by one of the lists or by two. Takes time in proportion to how the lists are
/// written down, not to their blocks; false where that does not tell.
[[nodiscard]] bool surely_disjoint(std::span<const RangeList* const> lists);

}  // namespace laneway
