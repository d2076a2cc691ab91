#pragma once

#include <cstdint>

namespace laneway {

/// A rank in the communicator that a pattern, view or plan belongs to.
using Rank = std::int32_t;

}  // namespace laneway
