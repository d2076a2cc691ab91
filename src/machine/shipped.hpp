#pragma once

#include <span>
#include <string_view>

namespace laneway {

/// One of the files in machines/.
struct ShippedMachine {
  std::string_view name;  ///< of the file, without its ending
  std::string_view text;
};

/// Ascending by name. The build makes them part of the library.
[[nodiscard]] std::span<const ShippedMachine> shipped_machines();

}  // namespace laneway
