#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

namespace laneway::bench {

/// What was chosen, and the seconds that were predicted of an exchange by each that could have been: first its time,
/// then those of `predicted_parts`.
struct Choice {
  std::string strategy;
  std::map<std::string, std::vector<double>> predicted;
};
inline constexpr std::array predicted_parts = {"latency", "injection", "link", "processor"};

}  // namespace laneway::bench
