#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes/types.hpp"
#include "plan/pattern.hpp"

namespace laneway {

/// One rank's neighbours in a directed graph of ranks, in MPI's words: it receives from `sources` and sends to
/// `destinations`.
struct Neighborhood {
  std::vector<Rank> sources;
  std::vector<Rank> destinations;

  friend bool operator==(const Neighborhood&, const Neighborhood&) = default;
};

/// A kind of graph that can be named by a spec.
struct GraphGenerator {
  std::string_view name;
  std::string_view parameters;
  std::string_view description;
  Neighborhood (*make)(const struct Spec& spec, Rank rank, Rank ranks);
};

[[nodiscard]] std::span<const GraphGenerator> graph_generators();

/// The neighbours of `rank` among `ranks` in the graph that `spec` names, e.g. `rsg:density=0.3,seed=1`. Every rank can
/// compute its own without communication. Throws Error(argument) that lists what is valid.
[[nodiscard]] Neighborhood neighborhood(std::string_view spec, Rank rank, Rank ranks);

/// Every destination gets the same `bytes` bytes at offset 0; the k-th source's arrive at k * bytes.
[[nodiscard]] RankPattern allgather_pattern(const Neighborhood& neighborhood, std::int64_t bytes);

/// The k-th destination gets bytes [k * bytes, (k + 1) * bytes); the k-th source's arrive at k * bytes.
[[nodiscard]] RankPattern alltoall_pattern(const Neighborhood& neighborhood, std::int64_t bytes);

}  // namespace laneway
