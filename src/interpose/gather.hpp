#pragma once

#include <cstdint>
#include <optional>

#include "interpose/summary.hpp"

namespace laneway::interpose {

/// What this rank has counted.
[[nodiscard]] Summary own_summary();

/// Of what all ranks have counted: whether a rank wants it.
enum class Wish : std::uint8_t { never, if_any, always };

/// What all ranks of MPI_COMM_WORLD have counted: on rank 0, and nothing on the others. Of all of them, in MPI_Finalize
/// alone. Waits for nobody longer than `seconds`: where a rank does not come, rank 0 has only what was told by then.
/// Nothing anywhere if no rank wishes it.
[[nodiscard]] std::optional<Summary> gather(Summary own, Wish wish, double seconds);

}  // namespace laneway::interpose
