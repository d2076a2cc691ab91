// For programs that know nothing of Laneway: they run with and without the preloaded library.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

inline int failures = 0;

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      if (++failures <= 10) std::printf("wrong: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::fflush(stdout);                                                                     \
    }                                                                                          \
  } while (false)

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/// Says on rank 0 whether all checks of all ranks have held; the exit status.
inline int verdict() {
  int total = 0;
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank_in(MPI_COMM_WORLD) == 0) std::puts(total == 0 ? "all checks hold" : "checks have failed");
  return total == 0 ? 0 : 1;
}

/// A directed graph, the same on all ranks: the order of its edges is that of every rank's neighbours.
struct Graph {
  struct Edge {
    int source;
    int destination;
  };
  std::vector<Edge> edges;

  /// Numbers of the edges that end, or begin, at `rank`.
  [[nodiscard]] std::vector<int> in(int rank) const {
    std::vector<int> found;
    for (std::size_t e = 0; e < edges.size(); ++e)
      if (edges[e].destination == rank) found.push_back(static_cast<int>(e));
    return found;
  }
  [[nodiscard]] std::vector<int> out(int rank) const {
    std::vector<int> found;
    for (std::size_t e = 0; e < edges.size(); ++e)
      if (edges[e].source == rank) found.push_back(static_cast<int>(e));
    return found;
  }

  [[nodiscard]] MPI_Comm create_adjacent(MPI_Comm comm) const {
    std::vector<int> sources(1), destinations(1);  // never null
    const int rank = rank_in(comm);
    for (int e : in(rank)) sources.insert(sources.end() - 1, edges[static_cast<std::size_t>(e)].source);
    for (int e : out(rank)) destinations.insert(destinations.end() - 1, edges[static_cast<std::size_t>(e)].destination);
    MPI_Comm graph = MPI_COMM_NULL;
    CHECK(MPI_Dist_graph_create_adjacent(comm, static_cast<int>(sources.size()) - 1, sources.data(), MPI_UNWEIGHTED,
                                         static_cast<int>(destinations.size()) - 1, destinations.data(), MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &graph) == MPI_SUCCESS);
    return graph;
  }
};

/// What the MPI library at hand can do by itself: MPICH 4.0 delivers edges between the same two ranks in the wrong
/// order, and its alltoallw takes the number of sources for that of destinations.
enum class Shape { any, no_repeated_edges, symmetric };

/// Some ranks to some others and, maybe, to themselves; of `any` shape also some pairs twice.
inline Graph random_graph(int size, unsigned seed, Shape shape) {
  Graph graph;
  const auto next = [&seed] { return seed = seed * 1664525U + 1013904223U, seed >> 16; };
  for (int s = 0; s < size; ++s)
    for (int d = 0; d < size; ++d) {
      const unsigned draw = next() % 8;
      if (shape == Shape::symmetric && d < s) continue;
      for (unsigned copies = draw < 3 ? 0 : draw == 7 && shape == Shape::any ? 2 : 1; copies > 0; --copies) {
        graph.edges.push_back({s, d});
        if (shape == Shape::symmetric && s != d) graph.edges.push_back({d, s});
      }
    }
  return graph;
}

inline Graph ring_graph(int size) {
  Graph graph;
  for (int s = 0; s < size; ++s) {
    graph.edges.push_back({s, (s + 1) % size});
    if (size > 2) graph.edges.push_back({s, (s + size - 1) % size});
  }
  return graph;
}
