#pragma once

#include <string>

#include "machine/machine.hpp"

namespace laneway::cases {

/// The machine of a file of `machines/`.
inline Machine described(const std::string& file, Rank ranks) {
  return Machine::parse("file:" LANEWAY_MACHINES "/" + file + ".toml", ranks);
}

}  // namespace laneway::cases
