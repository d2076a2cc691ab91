#pragma once

namespace laneway::interpose {

/// For LANEWAY_VERBOSE=1: counts calls of neighborhood operations, by name.
void count_taken(const char* call);
/// `reason` is a constant.
void count_passed(const char* call, const char* reason);

/// Writes what this rank has counted.
void tell_counts();

}  // namespace laneway::interpose
