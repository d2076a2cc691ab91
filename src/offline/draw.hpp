#pragma once

#include <span>
#include <string>

#include "plan/plan.hpp"

namespace laneway {

/// The plan as an SVG picture: one box a step, in columns by stage (gather, network, scatter, direct), time from left
/// to right, an arrow for each dependency. Of very many steps alike the last ones of a column are drawn as one box.
[[nodiscard]] std::string to_svg(const Plan& plan, const std::string& title);

/// Two such pictures as one, the second below the first.
[[nodiscard]] std::string stacked(const std::string& upper, const std::string& lower);

/// The messages between all ranks as an SVG picture, `plans[r]` being rank r's and `node_of[r]` its node: a row for
/// each rank, a column before and after each stage, time from left to right. Messages of one stage between two ranks
/// are one line, wider for more bytes. Without relays, the message that a rank starts first is drawn dark.
[[nodiscard]] std::string to_svg(std::span<const Plan> plans, std::span<const int> node_of, const std::string& title);

}  // namespace laneway
