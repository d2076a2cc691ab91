#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>

#include "data/exchange.hpp"

namespace laneway::bench {

/// The file of `halo:PATH`.
[[nodiscard]] std::optional<std::string> halo_file(const std::string& pattern);

/// Writes the halo exchanges of all ranks: indexed ones, in which a rank sends elements that it has and receives others
/// into an array of their own, one peer's after another's. The elements that a rank has are numbered from the end of
/// those of the rank before it. docs/reference/benchmarks.md describes the file. Throws Error(io).
void write_halos(const std::string& path, std::span<const Exchange> exchanges);

/// One rank's part. Throws Error(io) if this is no such file, or one for another number of ranks.
[[nodiscard]] Exchange read_halo(const std::string& path, Rank rank, Rank ranks, std::int64_t element_bytes);
/// The same of an open file; `path` is what errors name.
[[nodiscard]] Exchange read_halo(std::istream& file, const std::string& path, Rank rank, Rank ranks,
                                 std::int64_t element_bytes);

}  // namespace laneway::bench
