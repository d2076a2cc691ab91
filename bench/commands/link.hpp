#pragma once

#include <optional>

#include "measure/run.hpp"

namespace laneway::bench {

/// What one message stream gets between two ranks.
struct LinkRates {
  double bytes_per_second = 0;
  double latency_seconds = 0;
};

/// Between the first ranks of the first two nodes. Not for one node. Collective, the same on all ranks.
[[nodiscard]] double measure_goodput(const Run& run);

/// Between the first ranks of the first two nodes; nothing if there is one. Collective.
[[nodiscard]] std::optional<LinkRates> measure_link(const Run& run);

/// Between the first two ranks of the first node that has two; nothing if none has. Collective.
[[nodiscard]] std::optional<LinkRates> measure_node(const Run& run);

}  // namespace laneway::bench
