#include "offline/random_graphs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "base/bytes/mix.hpp"
#include "base/bytes/sort_unique.hpp"
#include "base/error.hpp"
#include "offline/grid.hpp"
#include "offline/spec.hpp"

namespace laneway {

namespace {

/// The ranks at all offsets within `radius` (Chebyshev) for which `keep` holds, without the rank itself and without
/// repetition. The offsets are symmetric, so sources and destinations agree.
template <class Keep>
Neighborhood offsets_within(const Grid& grid, Rank rank, std::int64_t radius, Keep&& keep) {
  const std::vector<std::int64_t> here = grid.coordinates(rank);
  std::vector<std::int64_t> step(grid.dims.size(), -radius);
  std::vector<Rank> found;
  while (true) {
    if (keep(step)) {
      const std::int64_t other = grid.at(here, step);
      if (other >= 0 && other != rank) found.push_back(static_cast<Rank>(other));
    }
    std::size_t i = step.size();
    while (i > 0 && step[i - 1] == radius) step[--i] = -radius;
    if (i == 0) break;
    ++step[i - 1];
  }
  sort_unique(found);
  return {found, found};
}

Neighborhood stencil(const Spec& spec, Rank rank, Rank ranks) {
  constexpr std::array<std::string_view, 3> keys = {"points", "dims", "periodic"};
  spec.allow_only(keys);
  const std::int64_t points = spec.integer("points", 9);
  const bool planar = points == 5 || points == 9;
  require(planar || points == 7 || points == 27, ErrorKind::argument,
          "stencil: points must be 5, 9 (2-D), 7 or 27 (3-D)");
  const bool star = points == 5 || points == 7;
  return offsets_within(
      grid_of(spec, ranks, planar ? 2 : 3, false), rank, 1, [&](const std::vector<std::int64_t>& step) {
        return !star || std::count(step.begin(), step.end(), 0) + 1 >= static_cast<std::ptrdiff_t>(step.size());
      });
}

/// Dimensions and radius.
std::pair<std::int64_t, std::int64_t> box_of(const Spec& spec, std::int64_t dimensions, std::int64_t radius) {
  const std::int64_t d = spec.integer("d", dimensions);
  const std::int64_t r = spec.integer("r", radius);
  require(d >= 1 && d <= 8 && r >= 1 && r <= 64, ErrorKind::argument, spec.name + ": d must be 1 to 8 and r 1 to 64");
  return {d, r};
}

Neighborhood moore(const Spec& spec, Rank rank, Rank ranks) {
  constexpr std::array<std::string_view, 4> keys = {"d", "r", "dims", "periodic"};
  spec.allow_only(keys);
  const auto [d, r] = box_of(spec, 2, 1);
  return offsets_within(grid_of(spec, ranks, d, true), rank, r, [](const auto&) { return true; });
}

/// Directed edges, each there with a probability, by itself: both of its ranks know it without any list.
struct RandomEdges {
  std::uint64_t seed;
  double probability;

  [[nodiscard]] bool contain(Rank source, Rank destination) const {
    const std::uint64_t pair = static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint32_t>(destination);
    return source != destination && static_cast<double>(mix(mix(seed) ^ mix(pair)) >> 11) * 0x1p-53 < probability;
  }
};

Neighborhood random_sparse(const Spec& spec, Rank rank, Rank ranks) {
  constexpr std::array<std::string_view, 2> keys = {"density", "seed"};
  spec.allow_only(keys);
  const double density = spec.real("density", 0.3);
  require(density >= 0 && density <= 1, ErrorKind::argument, "rsg: density must be between 0 and 1");
  const RandomEdges edges{static_cast<std::uint64_t>(spec.integer("seed", 1)), density};
  Neighborhood result;
  for (Rank other = 0; other < ranks; ++other) {
    if (edges.contain(other, rank)) result.sources.push_back(other);
    if (edges.contain(rank, other)) result.destinations.push_back(other);
  }
  return result;
}

Neighborhood local(const Spec& spec, Rank rank, Rank ranks) {
  constexpr std::array<std::string_view, 6> keys = {"degree", "d", "r", "dims", "periodic", "seed"};
  spec.allow_only(keys);
  const auto [d, r] = box_of(spec, 3, 2);
  const double degree = spec.real("degree", 24);
  const double others = std::pow(2 * r + 1, d) - 1;
  require(degree >= 0 && degree <= others, ErrorKind::argument,
          "local: degree must be between 0 and (2r + 1)^d - 1, which is " + std::to_string(std::llround(others)));
  const RandomEdges edges{static_cast<std::uint64_t>(spec.integer("seed", 1)), degree / others};
  const Neighborhood near = offsets_within(grid_of(spec, ranks, d, false), rank, r, [](const auto&) { return true; });
  Neighborhood result;
  for (Rank other : near.sources) {
    if (edges.contain(other, rank)) result.sources.push_back(other);
    if (edges.contain(rank, other)) result.destinations.push_back(other);
  }
  return result;
}

/// Lockhart, Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies for irregular point-to-point
/// communication on heterogeneous architectures, section 4.6. A node's messages go to the nodes after it in turn; those
/// for one node go from each of its ranks to each there in turn, starting with another pair for each node.
Neighborhood between_nodes(const Spec& spec, Rank rank, Rank ranks) {
  constexpr std::array<std::string_view, 4> keys = {"size", "to", "messages", "single"};
  spec.allow_only(keys);
  const std::int64_t size = spec.integer("size", 4);
  require(size >= 1 && ranks % size == 0, ErrorKind::argument,
          "nodes: size is " + std::to_string(size) + ", which does not divide the " + std::to_string(ranks) + " ranks");
  const std::int64_t nodes = ranks / size;
  const std::int64_t to = spec.integer("to", nodes - 1);
  const std::int64_t messages = spec.integer("messages", size * to);
  require(to >= 0 && to < nodes, ErrorKind::argument,
          "nodes: to is " + std::to_string(to) + ", there are " + std::to_string(nodes - 1) + " other nodes");
  require(messages >= 0 && messages <= std::numeric_limits<Rank>::max(), ErrorKind::argument,
          "nodes: messages is " + std::to_string(messages));
  const bool single = spec.integer("single", 0) != 0;
  const std::int64_t node = rank / size;
  Neighborhood result;
  for (std::int64_t k = 0; k < to; ++k)
    for (std::int64_t j = 0; j * to + k < messages; ++j) {
      const std::int64_t sender = (single ? k : j + k) % size;
      const std::int64_t receiver = (j + j / size + k) % size;
      if (sender == rank % size)
        result.destinations.push_back(static_cast<Rank>((node + 1 + k) % nodes * size + receiver));
      if (receiver == rank % size)
        result.sources.push_back(static_cast<Rank>((node + nodes - 1 - k) % nodes * size + sender));
    }
  return result;
}

constexpr std::array<GraphGenerator, 5> generators = {{
    {"rsg", "density=0.3,seed=1", "Erdos-Renyi random sparse graph: each directed edge with probability density",
     random_sparse},
    {"local", "degree=24,d=3,r=2,dims=4x4x4,periodic=0,seed=1",
     "random graph of near ranks, as of coarse multigrid levels: of all within distance r in a d-dimensional grid, "
     "degree "
     "on average",
     local},
    {"moore", "d=2,r=1,dims=4x4,periodic=1", "Moore neighborhood: all ranks of a d-dimensional grid within distance r",
     moore},
    {"stencil", "points=9,dims=4x4,periodic=0", "halo of a 5- or 9-point (2-D), 7- or 27-point (3-D) stencil", stencil},
    {"nodes", "size=4,to=4,messages=32,single=0",
     "each node of size ranks sends so many messages to the nodes after it, evenly from and to their ranks (single=1: "
     "all "
     "for a node from one rank); several between two ranks are edges of their own",
     between_nodes},
}};

}  // namespace

std::span<const GraphGenerator> graph_generators() {
  return generators;
}

Neighborhood neighborhood(std::string_view text, Rank rank, Rank ranks) {
  const Spec spec = parse_spec(text);
  std::string names;
  for (const GraphGenerator& generator : generators) {
    if (generator.name == spec.name) return generator.make(spec, rank, ranks);
    names += (names.empty() ? "" : ", ") + std::string(generator.name);
  }
  throw Error(ErrorKind::argument, "unknown graph '" + spec.name + "'; valid are " + names);
}

namespace {

RankPattern uniform_pattern(const Neighborhood& neighborhood, std::int64_t bytes, std::int64_t send_stride) {
  RankPattern pattern;
  std::int64_t at = 0;
  for (Rank destination : neighborhood.destinations) {
    pattern.out.push_back({destination, {{at, bytes}}});
    at += send_stride;
  }
  at = 0;
  for (Rank source : neighborhood.sources) {
    pattern.in.push_back({source, {{at, bytes}}});
    at += bytes;
  }
  return pattern;
}

}  // namespace

RankPattern allgather_pattern(const Neighborhood& neighborhood, std::int64_t bytes) {
  return uniform_pattern(neighborhood, bytes, 0);
}

RankPattern alltoall_pattern(const Neighborhood& neighborhood, std::int64_t bytes) {
  return uniform_pattern(neighborhood, bytes, bytes);
}

}  // namespace laneway
