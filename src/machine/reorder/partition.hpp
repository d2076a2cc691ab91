#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "machine/reorder/reorder.hpp"

namespace laneway {

/// The edges of an undirected graph by vertex; both directions of all edges between two vertices are one, with the sum
/// of their weights. Self edges and edges of weight 0 are left out.
class Adjacency {
 public:
  struct Arc {
    Rank vertex = 0;
    std::int64_t weight = 0;
  };

  Adjacency(Rank vertices, const std::vector<WeightedEdge>& edges);

  [[nodiscard]] Rank vertices() const { return static_cast<Rank>(begin_.size()) - 1; }
  [[nodiscard]] std::size_t arcs() const { return arcs_.size(); }  ///< two for each edge
  [[nodiscard]] std::span<const Arc> of(Rank vertex) const {
    const auto v = static_cast<std::size_t>(vertex);
    return std::span(arcs_).subspan(begin_[v], begin_[v + 1] - begin_[v]);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<Arc> arcs_;
};

/// Where a vertex or a part has its entry.
[[nodiscard]] inline std::size_t at(Rank index) {
  return static_cast<std::size_t>(index);
}

/// A part for each vertex.
using PartOf = std::vector<Rank>;

[[nodiscard]] std::int64_t cut_of(const Adjacency& graph, const PartOf& parts);

/// Whether the library was built with a partitioner and loads the one that it was built for.
[[nodiscard]] bool has_partitioner();

/// Parts of about the given sizes with little weight between them, by Scotch. Nothing where it is missing or fails, or
/// the graph is too large for its integers. Repeatable; does not touch Scotch's global state.
[[nodiscard]] std::optional<PartOf> partition(const Adjacency& graph, const std::vector<Rank>& sizes);

/// Parts of exactly the given sizes, the largest first: each begins with the free vertex of the largest weight and
/// takes in the one that it has the largest weight with, again and again (greedy graph growing: Karypis and Kumar, A
/// fast and high quality multilevel scheme for partitioning irregular graphs, 1998, section 3.2). Good where nodes and
/// clusters of the graph are small and uneven, where Scotch is not.
[[nodiscard]] PartOf grow(const Adjacency& graph, const std::vector<Rank>& sizes);

/// Moves as few vertices as are needed for each part to have its size, those first that add least to the cut. The sizes
/// add up to the number of vertices.
void fill_exactly(const Adjacency& graph, const std::vector<Rank>& sizes, PartOf& parts);

/// Swaps pairs of vertices as long as that lowers the cut, or until a bound of work is reached. Sizes stay.
void refine(const Adjacency& graph, PartOf& parts);

}  // namespace laneway
