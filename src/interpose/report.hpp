#pragma once

#include <cstdint>
#include <optional>

namespace laneway::interpose {

/// For LANEWAY_VERBOSE=1: counts calls of neighborhood operations, by name.
void count_taken(const char* call);
/// `reason` is a constant.
void count_passed(const char* call, const char* reason);

/// Exchanges that were taken over have each saved so many seconds against direct messages; nothing: not measured.
void count_exchanges(std::int64_t exchanges, std::optional<double> seconds_saved);

/// Writes what this rank has counted.
void tell_counts();

}  // namespace laneway::interpose
