#pragma once

#include <span>
#include <string_view>

namespace laneway {

/// A variable of the environment that some part of the project reads and that is no hint.
struct VariableRow {
  std::string_view name;
  std::string_view meaning;
};

/// All of them but the hints, which src/communicator/hints/hints.cpp lists with their info keys. Together these are all
/// the names with LANEWAY_ in front that mean something: tests compare both with the sources and with
/// docs/reference/hints.md.
[[nodiscard]] std::span<const VariableRow> variable_rows();

}  // namespace laneway
