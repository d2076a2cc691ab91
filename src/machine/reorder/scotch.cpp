#include "machine/reorder/partition.hpp"

#ifdef LANEWAY_HAS_SCOTCH

#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>

#include <scotch.h>

namespace laneway {

namespace {

struct ScotchGraph {
  SCOTCH_Graph handle;
  bool made = SCOTCH_graphInit(&handle) == 0;
  ScotchGraph() = default;
  ~ScotchGraph() {
    if (made) SCOTCH_graphExit(&handle);
  }
  ScotchGraph(const ScotchGraph&) = delete;
  ScotchGraph& operator=(const ScotchGraph&) = delete;
};

struct Context {
  SCOTCH_Context handle;
  bool made = SCOTCH_contextInit(&handle) == 0;
  Context() = default;
  ~Context() {
    if (made) SCOTCH_contextExit(&handle);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

struct Architecture {
  SCOTCH_Arch handle;
  bool made = SCOTCH_archInit(&handle) == 0;
  Architecture() = default;
  ~Architecture() {
    if (made) SCOTCH_archExit(&handle);
  }
  Architecture(const Architecture&) = delete;
  Architecture& operator=(const Architecture&) = delete;
};

struct MappingStrategy {
  SCOTCH_Strat handle;
  bool made = SCOTCH_stratInit(&handle) == 0;
  MappingStrategy() = default;
  ~MappingStrategy() {
    if (made) SCOTCH_stratExit(&handle);
  }
  MappingStrategy(const MappingStrategy&) = delete;
  MappingStrategy& operator=(const MappingStrategy&) = delete;
};

constexpr double imbalance = 0.01;

/// Scotch adds up edge weights in its own integers.
constexpr std::int64_t most = std::numeric_limits<SCOTCH_Num>::max() / 4;

}  // namespace

bool has_partitioner() {
  // The program may have loaded a Scotch with other integers first.
  return SCOTCH_numSizeof() == static_cast<int>(sizeof(SCOTCH_Num));
}

std::optional<PartOf> partition(const Adjacency& graph, const std::vector<Rank>& sizes) {
  if (!has_partitioner() || static_cast<std::int64_t>(graph.arcs()) > most) return std::nullopt;

  // In doubles: the sum may be more than 64 bits hold.
  double weight = 0;
  for (Rank v = 0; v < graph.vertices(); ++v)
    for (const Adjacency::Arc& arc : graph.of(v)) weight += static_cast<double>(arc.weight);
  const double scale = weight > static_cast<double>(most) ? static_cast<double>(most) / weight : 1.0;

  std::vector<SCOTCH_Num> begin{0};
  std::vector<SCOTCH_Num> neighbours;
  std::vector<SCOTCH_Num> weights;
  for (Rank v = 0; v < graph.vertices(); ++v) {
    for (const Adjacency::Arc& arc : graph.of(v)) {
      neighbours.push_back(arc.vertex);
      weights.push_back(scale < 1.0 ? 1 + static_cast<SCOTCH_Num>(scale * static_cast<double>(arc.weight))
                                    : static_cast<SCOTCH_Num>(arc.weight));
    }
    begin.push_back(static_cast<SCOTCH_Num>(neighbours.size()));
  }
  const std::vector<SCOTCH_Num> capacity(sizes.begin(), sizes.end());
  std::vector<SCOTCH_Num> result(static_cast<std::size_t>(graph.vertices()));

  // Scotch's functions are not promised to be safe for several threads.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  ScotchGraph whole;
  ScotchGraph bound;
  Context context;
  Architecture nodes;
  MappingStrategy strategy;
  const bool done =
      whole.made && bound.made && context.made && nodes.made && strategy.made &&
      SCOTCH_graphBuild(&whole.handle, 0, graph.vertices(), begin.data(), nullptr, nullptr, nullptr,
                        static_cast<SCOTCH_Num>(neighbours.size()), neighbours.data(), weights.data()) == 0 &&
      SCOTCH_contextOptionSetNum(&context.handle, SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
      SCOTCH_contextRandomClone(&context.handle) == 0 && SCOTCH_contextThreadSpawn(&context.handle, 1, nullptr) == 0 &&
      (SCOTCH_contextRandomSeed(&context.handle, 1), SCOTCH_contextRandomReset(&context.handle), true) &&
      SCOTCH_contextBindGraph(&context.handle, &whole.handle, &bound.handle) == 0 &&
      SCOTCH_archCmpltw(&nodes.handle, static_cast<SCOTCH_Num>(capacity.size()), capacity.data()) == 0 &&
      SCOTCH_stratGraphMapBuild(&strategy.handle, SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE,
                                static_cast<SCOTCH_Num>(capacity.size()), imbalance) == 0 &&
      SCOTCH_graphMap(&bound.handle, &nodes.handle, &strategy.handle, result.data()) == 0;
  if (!done) return std::nullopt;
  return PartOf(result.begin(), result.end());
}

}  // namespace laneway

#else

namespace laneway {

bool has_partitioner() {
  return false;
}

std::optional<PartOf> partition(const Adjacency&, const std::vector<Rank>&) {
  return std::nullopt;
}

}  // namespace laneway

#endif
