#include "machine/reorder/partition.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/error.hpp"

namespace laneway {

namespace {

/// The weight between one vertex and each part.
class Pull {
 public:
  Pull(const Adjacency& graph, const PartOf& parts, std::size_t count) : graph_(graph), parts_(parts), weight_(count) {}

  void look_at(Rank vertex) {
    for (Rank part : touched_) weight_[at(part)] = 0;
    touched_.clear();
    for (const Adjacency::Arc& arc : graph_.of(vertex)) {
      const Rank part = parts_[at(arc.vertex)];
      if (weight_[at(part)] == 0) touched_.push_back(part);
      weight_[at(part)] += arc.weight;
    }
  }
  [[nodiscard]] std::int64_t of(Rank part) const { return weight_[at(part)]; }
  [[nodiscard]] const std::vector<Rank>& parts() const { return touched_; }

 private:
  const Adjacency& graph_;
  const PartOf& parts_;
  std::vector<std::int64_t> weight_;
  std::vector<Rank> touched_;
};

struct Move {
  std::int64_t gain = 0;
  Rank vertex = 0;
  Rank to = 0;

  friend bool operator==(const Move&, const Move&) = default;
  /// The best move is the largest; among equals that of the smallest vertex.
  friend bool operator<(const Move& a, const Move& b) {
    return a.gain != b.gain ? a.gain < b.gain : a.vertex != b.vertex ? a.vertex > b.vertex : a.to > b.to;
  }
};

}  // namespace

Adjacency::Adjacency(Rank vertices, const std::vector<WeightedEdge>& edges) : begin_(at(vertices) + 1) {
  std::vector<WeightedEdge> both;
  both.reserve(2 * edges.size());
  for (const WeightedEdge& edge : edges) {
    if (edge.source == edge.destination || edge.weight == 0) continue;
    both.push_back(edge);
    both.push_back({edge.destination, edge.source, edge.weight});
  }
  std::sort(both.begin(), both.end(), [](const WeightedEdge& a, const WeightedEdge& b) {
    return a.source != b.source ? a.source < b.source : a.destination < b.destination;
  });
  for (std::size_t i = 0; i < both.size(); ++i) {
    const WeightedEdge& edge = both[i];
    if (i > 0 && both[i - 1].source == edge.source && both[i - 1].destination == edge.destination) {
      arcs_.back().weight += edge.weight;
      continue;
    }
    arcs_.push_back({edge.destination, edge.weight});
    begin_[at(edge.source) + 1] = arcs_.size();
  }
  for (std::size_t v = 1; v < begin_.size(); ++v) begin_[v] = std::max(begin_[v], begin_[v - 1]);
}

std::int64_t cut_of(const Adjacency& graph, const PartOf& parts) {
  std::int64_t cut = 0;
  for (Rank v = 0; v < graph.vertices(); ++v)
    for (const Adjacency::Arc& arc : graph.of(v))
      if (v < arc.vertex && parts[at(v)] != parts[at(arc.vertex)]) cut += arc.weight;
  return cut;
}

PartOf grow(const Adjacency& graph, const std::vector<Rank>& sizes) {
  constexpr Rank none = -1;
  PartOf parts(at(graph.vertices()), none);
  std::vector<std::int64_t> total(parts.size());
  for (Rank v = 0; v < graph.vertices(); ++v)
    for (const Adjacency::Arc& arc : graph.of(v)) total[at(v)] += arc.weight;
  std::vector<Rank> seeds(parts.size());
  std::iota(seeds.begin(), seeds.end(), 0);
  std::stable_sort(seeds.begin(), seeds.end(), [&](Rank a, Rank b) { return total[at(a)] > total[at(b)]; });
  std::vector<Rank> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Rank a, Rank b) { return sizes[at(a)] > sizes[at(b)]; });

  auto seed = seeds.begin();
  std::vector<std::int64_t> tie(parts.size());
  for (Rank part : order) {
    std::priority_queue<Move> frontier;
    std::vector<Rank> tied;
    for (Rank left = sizes[at(part)]; left > 0; --left) {
      while (!frontier.empty() && parts[at(frontier.top().vertex)] != none) frontier.pop();
      while (frontier.empty() && parts[at(*seed)] != none) ++seed;
      const Rank vertex = frontier.empty() ? *seed : frontier.top().vertex;
      parts[at(vertex)] = part;
      for (const Adjacency::Arc& arc : graph.of(vertex)) {
        if (parts[at(arc.vertex)] != none) continue;
        tie[at(arc.vertex)] += arc.weight;
        tied.push_back(arc.vertex);
        frontier.push({tie[at(arc.vertex)], arc.vertex, part});
      }
    }
    for (Rank vertex : tied) tie[at(vertex)] = 0;
  }
  return parts;
}

void fill_exactly(const Adjacency& graph, const std::vector<Rank>& sizes, PartOf& parts) {
  std::vector<Rank> excess(sizes.size());
  for (std::size_t part = 0; part < sizes.size(); ++part) excess[part] = -sizes[part];
  for (Rank part : parts) ++excess[at(part)];
  Rank open = 0;  // the first part with room

  Pull pull(graph, parts, sizes.size());
  auto best_move = [&](Rank vertex) {
    pull.look_at(vertex);
    while (excess[at(open)] >= 0) ++open;
    Move best{pull.of(open), vertex, open};
    for (Rank part : pull.parts())
      if (excess[at(part)] < 0) best = std::max(best, Move{pull.of(part), vertex, part});
    best.gain -= pull.of(parts[at(vertex)]);
    return best;
  };

  std::int64_t left = 0;
  for (Rank e : excess) left += std::max(e, 0);
  std::priority_queue<Move> moves;
  auto propose = [&](Rank vertex) {
    if (left > 0 && excess[at(parts[at(vertex)])] > 0) moves.push(best_move(vertex));
  };
  for (Rank v = 0; v < graph.vertices(); ++v) propose(v);
  while (left > 0) {
    LANEWAY_ASSERT(!moves.empty());
    const Move move = moves.top();
    moves.pop();
    Rank& part = parts[at(move.vertex)];
    if (excess[at(part)] <= 0) continue;
    // Proposals grow stale as neighbours move and parts fill.
    if (best_move(move.vertex) != move) {
      propose(move.vertex);
      continue;
    }
    --excess[at(part)];
    ++excess[at(move.to)];
    --left;
    part = move.to;
    for (const Adjacency::Arc& arc : graph.of(move.vertex)) propose(arc.vertex);
  }
}

namespace {

std::int64_t weight_between(const Adjacency& graph, Rank a, Rank b) {
  const std::span<const Adjacency::Arc> arcs = graph.of(a);
  const auto it = std::lower_bound(arcs.begin(), arcs.end(), b,
                                   [](const Adjacency::Arc& arc, Rank vertex) { return arc.vertex < vertex; });
  return it != arcs.end() && it->vertex == b ? it->weight : 0;
}

/// Arcs looked at; some tenths of a second.
constexpr std::int64_t most_arcs = std::int64_t{1} << 25;

}  // namespace

void refine(const Adjacency& graph, PartOf& parts) {
  if (parts.empty()) return;
  const std::size_t count = at(*std::max_element(parts.begin(), parts.end())) + 1;
  std::vector<std::vector<Rank>> members(count);
  for (Rank v = 0; v < graph.vertices(); ++v) members[at(parts[at(v)])].push_back(v);
  Pull own(graph, parts, count);
  Pull other(graph, parts, count);
  std::int64_t seen = 0;

  auto improve = [&](Rank v) {
    const Rank from = parts[at(v)];
    own.look_at(v);
    std::int64_t best_gain = 0;
    Rank best = v;
    for (Rank to : own.parts()) {
      if (to == from) continue;
      for (Rank u : members[at(to)]) {
        other.look_at(u);
        seen += 1 + static_cast<std::int64_t>(graph.of(u).size());
        const std::int64_t gain =
            own.of(to) - own.of(from) + other.of(from) - other.of(to) - 2 * weight_between(graph, u, v);
        if (gain <= best_gain) continue;
        best_gain = gain;
        best = u;
      }
    }
    if (best == v) return false;
    const Rank to = parts[at(best)];
    std::swap(parts[at(v)], parts[at(best)]);
    *std::find(members[at(from)].begin(), members[at(from)].end(), v) = best;
    *std::find(members[at(to)].begin(), members[at(to)].end(), best) = v;
    return true;
  };

  for (bool improved = true; improved;) {
    improved = false;
    for (Rank v = 0; v < graph.vertices(); ++v) {
      if (seen > most_arcs) return;
      improved = improve(v) || improved;
    }
  }
}

}  // namespace laneway
