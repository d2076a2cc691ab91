#pragma once

#include <string>

#include "plan/plan.hpp"

namespace laneway {

/// The plan as an SVG picture: one box a step, in columns by stage (gather, network, scatter, direct), time from left
/// to right, an arrow for each dependency. Of very many steps alike the last ones of a column are drawn as one box.
[[nodiscard]] std::string to_svg(const Plan& plan, const std::string& title);

}  // namespace laneway
