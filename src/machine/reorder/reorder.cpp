#include "machine/reorder/reorder.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "machine/reorder/partition.hpp"

namespace laneway {

namespace {

/// Exchanges the names of parts of equal size, so that many vertices are in the part they were in `before`.
void keep_names(const std::vector<Rank>& sizes, const PartOf& before, PartOf& parts) {
  struct Overlap {
    Rank part, old;
    Rank vertices;
  };
  std::vector<Overlap> overlaps;
  for (std::size_t v = 0; v < parts.size(); ++v)
    if (sizes[at(parts[v])] == sizes[at(before[v])]) overlaps.push_back({parts[v], before[v], 1});
  auto by_pair = [](const Overlap& a, const Overlap& b) { return a.part != b.part ? a.part < b.part : a.old < b.old; };
  std::sort(overlaps.begin(), overlaps.end(), by_pair);
  std::vector<Overlap> sums;
  for (const Overlap& overlap : overlaps) {
    if (sums.empty() || by_pair(sums.back(), overlap)) {
      sums.push_back(overlap);
    } else {
      ++sums.back().vertices;
    }
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Overlap& a, const Overlap& b) { return a.vertices > b.vertices; });

  constexpr Rank none = -1;
  std::vector<Rank> name(sizes.size(), none);
  std::vector<bool> taken(sizes.size(), false);
  for (const Overlap& sum : sums) {
    if (name[at(sum.part)] != none || taken[at(sum.old)]) continue;
    name[at(sum.part)] = sum.old;
    taken[at(sum.old)] = true;
  }
  std::map<Rank, std::vector<Rank>> free_by_size;
  for (std::size_t old = sizes.size(); old-- > 0;)
    if (!taken[old]) free_by_size[sizes[old]].push_back(static_cast<Rank>(old));
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    if (name[part] != none) continue;
    std::vector<Rank>& free = free_by_size[sizes[part]];
    name[part] = free.back();
    free.pop_back();
  }
  for (Rank& part : parts) part = name[at(part)];
}

/// Vertices without edges change places among themselves, to be where they were in `before`.
void keep_isolated(const Adjacency& graph, const std::vector<Rank>& sizes, const PartOf& before, PartOf& parts) {
  std::vector<Rank> room(sizes.size());
  std::vector<Rank> isolated;
  for (Rank v = 0; v < graph.vertices(); ++v) {
    if (!graph.of(v).empty()) continue;
    isolated.push_back(v);
    ++room[at(parts[at(v)])];
  }
  std::vector<Rank> elsewhere;
  for (Rank v : isolated) {
    parts[at(v)] = before[at(v)];
    if (room[at(before[at(v)])] > 0) {
      --room[at(before[at(v)])];
    } else {
      elsewhere.push_back(v);
    }
  }
  std::size_t part = 0;
  for (Rank v : elsewhere) {
    while (room[part] == 0) ++part;
    parts[at(v)] = static_cast<Rank>(part);
    --room[part];
  }
}

/// `home`: the node of each process, 0, 1, …; `parts`: of each vertex, as many on each node.
std::vector<Rank> assign_processes(const std::vector<Rank>& sizes, const PartOf& home, const PartOf& parts) {
  std::vector<Rank> process(parts.size());
  std::vector<std::vector<Rank>> vacant(sizes.size());
  for (std::size_t p = parts.size(); p-- > 0;)
    if (parts[p] != home[p]) vacant[at(home[p])].push_back(static_cast<Rank>(p));
  for (std::size_t v = 0; v < parts.size(); ++v) {
    if (parts[v] == home[v]) {
      process[v] = static_cast<Rank>(v);
      continue;
    }
    std::vector<Rank>& free = vacant[at(parts[v])];
    LANEWAY_ASSERT(!free.empty());
    process[v] = free.back();
    free.pop_back();
  }
  return process;
}

}  // namespace

RankPlacement place_ranks(const std::vector<Rank>& node, const std::vector<WeightedEdge>& edges) {
  const auto ranks = static_cast<Rank>(node.size());
  RankPlacement placement;
  placement.process.resize(node.size());
  std::iota(placement.process.begin(), placement.process.end(), 0);
  for (const WeightedEdge& edge : edges) placement.weight += edge.weight;

  std::map<Rank, Rank> index;
  for (Rank n : node) index.try_emplace(n, static_cast<Rank>(index.size()));
  PartOf home;
  std::vector<Rank> sizes(index.size());
  for (Rank n : node) {
    home.push_back(index.at(n));
    ++sizes[at(home.back())];
  }
  const Adjacency graph(ranks, edges);
  placement.cut_before = placement.cut_after = cut_of(graph, home);
  const bool can_gain = placement.cut_before > 0 && sizes.size() < node.size();
  std::optional<PartOf> parts = can_gain ? partition(graph, sizes) : std::nullopt;
  if (!parts) return placement;
  fill_exactly(graph, sizes, *parts);
  // The order as it is, first: where it is good, few ranks need to move.
  PartOf best = home;
  for (PartOf tried : {home, std::move(*parts), grow(graph, sizes)}) {
    refine(graph, tried);
    const std::int64_t cut = cut_of(graph, tried);
    if (cut >= placement.cut_after) continue;
    placement.cut_after = cut;
    best = std::move(tried);
  }
  if (placement.cut_after == placement.cut_before) return placement;

  keep_names(sizes, home, best);
  keep_isolated(graph, sizes, home, best);
  placement.process = assign_processes(sizes, home, best);
  for (Rank v = 0; v < ranks; ++v) placement.moved += placement.process[at(v)] != v;
  return placement;
}

}  // namespace laneway
