#pragma once

#include <optional>
#include <span>
#include <vector>

#include "algorithms/cost/cost_model.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/planner/overview.hpp"
#include "algorithms/planner/planner.hpp"
#include "base/bytes/wire.hpp"

namespace laneway {

// What planners write to each other. The one that reads knows from its phase what comes.

void put_lanes(Writer& writer, std::span<const Lane> lanes);
void get_lanes(Reader& reader, std::vector<Lane>& lanes);
void put_selection(Writer& writer, const Selection& selection);
[[nodiscard]] Selection get_selection(Reader& reader);
/// The edges say what else is needed of a block that was cut, where their places do not.
void put_traffic(Writer& writer, const std::vector<Traffic>& links, bool with_edges);
[[nodiscard]] std::vector<Traffic> get_traffic(Reader& reader);
void put_edge_ranges(Writer& writer, const std::optional<EdgeRanges>& places);
[[nodiscard]] std::optional<EdgeRanges> get_edge_ranges(Reader& reader);
/// The lanes of all control messages, by strategy.
[[nodiscard]] std::vector<std::vector<Lane>> lanes_in(const std::vector<Bytes>& inbox, std::size_t strategies);

}  // namespace laneway
