#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "preload/report/summary.hpp"

namespace laneway::interpose {

/// What this rank has counted.
[[nodiscard]] Summary own_summary();

/// Of what all ranks have counted: whether a rank wants it.
enum class Wish : std::uint8_t { never, if_any, always };

/// What all ranks of MPI_COMM_WORLD have counted: on rank 0, and nothing on the others. Of all of them, in MPI_Finalize
/// alone, which waits for all ranks. Where not all have come in so many seconds rank 0 calls `meanwhile` with what it
/// has counted itself, so that this is said whatever becomes of the others. Nothing anywhere if no rank wishes it.
[[nodiscard]] std::optional<Summary> gather(Summary own, Wish wish, double seconds,
                                            const std::function<void(const Summary&)>& meanwhile);

}  // namespace laneway::interpose
