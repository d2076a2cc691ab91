#pragma once

#include <cstdint>

namespace laneway::interpose {

/// For LANEWAY_VERBOSE=1: counts calls of neighborhood operations, by name.
void count_taken(const char* call);
/// `reason` is a constant.
void count_passed(const char* call, const char* reason);

/// `exchanges` of a persistent operation have each taken so many seconds less than direct messages would have.
void count_saved(std::int64_t exchanges, double seconds);

/// Writes what this rank has counted.
void tell_counts();

}  // namespace laneway::interpose
