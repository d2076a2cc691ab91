#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/wire.hpp"
#include "lanes/strategy.hpp"
#include "model/cost_model.hpp"
#include "setup/overview.hpp"
#include "setup/planner.hpp"

namespace laneway {

// What planners write to each other. The one that reads knows from its phase what comes.

void put_lanes(Writer& writer, std::span<const Lane> lanes);
void get_lanes(Reader& reader, std::vector<Lane>& lanes);
void put_selection(Writer& writer, const Selection& selection);
[[nodiscard]] Selection get_selection(Reader& reader);
/// The edges say what else is needed of a block that was cut, where their places do not.
void put_links(Writer& writer, const std::vector<Link>& links, bool with_edges);
[[nodiscard]] std::vector<Link> get_links(Reader& reader);
void put_places(Writer& writer, const std::optional<Places>& places);
[[nodiscard]] std::optional<Places> get_places(Reader& reader);
/// The lanes of all letters, by candidate.
[[nodiscard]] std::vector<std::vector<Lane>> lanes_in(const std::vector<Bytes>& inbox, std::size_t candidates);

}  // namespace laneway
