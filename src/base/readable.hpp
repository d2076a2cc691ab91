#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace laneway {

/// Three significant digits and a binary unit, for people: `1023 B`, `256 KiB`, `1.50 MiB`.
[[nodiscard]] inline std::string readable_bytes(std::int64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array<const char*, 4> units = {"KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < units.size(); ++unit) value /= 1024;
  const bool whole = value == static_cast<double>(static_cast<std::int64_t>(value));
  const int digits = whole || value >= 99.5 ? 0 : value >= 9.95 ? 1 : 2;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, value, units[unit]);
  return text.data();
}

/// Three significant digits and a unit: `3.20 us`.
[[nodiscard]] inline std::string readable_seconds(double seconds) {
  constexpr std::array<const char*, 4> units = {"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  std::size_t unit = 0;
  for (; std::fabs(value) >= 1000 && unit + 1 < units.size(); ++unit) value /= 1000;
  const int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, value, units[unit]);
  return text.data();
}

}  // namespace laneway
