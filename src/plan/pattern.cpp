#include "plan/pattern.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/bytes/disjoint.hpp"
#include "base/error.hpp"

namespace laneway {

std::vector<int> ordinals(std::span<const Edge> edges) {
  std::map<Rank, int> seen;
  std::vector<int> result;
  result.reserve(edges.size());
  for (const Edge& edge : edges) result.push_back(edge.ranges.empty() ? -1 : seen[edge.peer]++);
  return result;
}

void check_matched(const Pattern& pattern) {
  std::map<std::pair<Rank, Rank>, std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> sides;
  for (std::size_t r = 0; r < pattern.size(); ++r) {
    const Rank rank = static_cast<Rank>(r);
    for (const Edge& edge : pattern[r].out) sides[{rank, edge.peer}].first.push_back(edge.ranges.bytes());
    for (const Edge& edge : pattern[r].in) sides[{edge.peer, rank}].second.push_back(edge.ranges.bytes());
  }
  for (const auto& [pair, sizes] : sides) {
    if (sizes.first == sizes.second) continue;
    const std::string edge = "edge " + std::to_string(pair.first) + " -> " + std::to_string(pair.second);
    require(sizes.first.size() == sizes.second.size(), ErrorKind::topology,
            edge + ": named " + std::to_string(sizes.first.size()) + " times by the source, " +
                std::to_string(sizes.second.size()) + " times by the destination");
    for (std::size_t i = 0; i < sizes.first.size(); ++i)
      require(sizes.first[i] == sizes.second[i], ErrorKind::topology,
              edge + ": the source sends " + std::to_string(sizes.first[i]) + " bytes, the destination expects " +
                  std::to_string(sizes.second[i]));
  }
}

void check_self_edges(Rank rank, const RankPattern& pattern) {
  const auto sizes = [rank](const std::vector<Edge>& edges) {
    std::vector<std::int64_t> found;
    for (const Edge& edge : edges)
      if (edge.peer == rank && !edge.ranges.empty()) found.push_back(edge.ranges.bytes());
    return found;
  };
  const std::vector<std::int64_t> sent = sizes(pattern.out);
  const std::vector<std::int64_t> received = sizes(pattern.in);
  for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i)
    require(sent[i] == received[i], ErrorKind::topology, [&] {
      return "an edge to this rank itself sends " + std::to_string(sent[i]) + " bytes and receives " +
             std::to_string(received[i]);
    });
  require(sent.size() == received.size(), ErrorKind::topology, [&] {
    return "this rank sends to itself along " + std::to_string(sent.size()) + " edges and receives along " +
           std::to_string(received.size());
  });
}

namespace {

/// Keeps of `edge` what is not in `covered`, and adds it there. `covered` maps offset to end, disjoint.
Landing keep_uncovered(const Edge& edge, std::map<std::int64_t, std::int64_t>& covered) {
  std::vector<std::pair<Range, std::int64_t>> blocks;
  std::int64_t position = 0;
  edge.ranges.for_each([&](Range range) {
    blocks.emplace_back(range, position);
    position += range.bytes;
  });
  std::vector<std::pair<Range, std::int64_t>> kept;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const auto& [range, at] = *block;
    std::int64_t end = range.end();
    auto it = covered.lower_bound(range.end());
    while (end > range.offset) {
      const bool has_before = it != covered.begin();
      const std::int64_t blocked_begin = has_before ? std::prev(it)->first : range.offset;
      const std::int64_t blocked_end = has_before ? std::prev(it)->second : range.offset;
      const std::int64_t free_begin = std::max(range.offset, blocked_end);
      if (free_begin < end) kept.push_back({{free_begin, end - free_begin}, at + free_begin - range.offset});
      if (!has_before || blocked_end <= range.offset) break;
      end = std::min(end, blocked_begin);
      --it;
    }
    auto first = covered.lower_bound(range.offset);
    if (first != covered.begin() && std::prev(first)->second >= range.offset) --first;
    std::int64_t begin = range.offset;
    std::int64_t merged_end = range.end();
    while (first != covered.end() && first->first <= range.end()) {
      begin = std::min(begin, first->first);
      merged_end = std::max(merged_end, first->second);
      first = covered.erase(first);
    }
    covered[begin] = merged_end;
  }
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  Landing landing;
  for (const auto& [range, at] : kept) {
    landing.stream.append(Range{at, range.bytes});
    landing.place.append(range);
  }
  return landing;
}

}  // namespace

namespace {

/// Whether the edges are known to name no byte twice by how they are written down, where that is less than their
/// blocks.
bool disjoint_at_a_glance(std::span<const Edge> in) {
  std::vector<const RangeList*> lists;
  bool has_groups = false;
  for (const Edge& edge : in) {
    lists.push_back(&edge.ranges);
    has_groups = has_groups || edge.ranges.groups() > 0;
  }
  return has_groups && surely_disjoint(lists);
}

}  // namespace

std::vector<Landing> landings(std::span<const Edge> in) {
  if (disjoint_at_a_glance(in)) {
    std::vector<Landing> result;
    for (const Edge& edge : in) result.push_back({{{0, edge.ranges.bytes()}}, edge.ranges});
    return result;
  }
  std::vector<Range> all;
  std::int64_t bytes = 0;
  for (const Edge& edge : in) {
    edge.ranges.for_each([&](Range range) { all.push_back(range); });
    bytes += edge.ranges.bytes();
  }
  std::vector<Landing> result(in.size());
  if (RangeSet(std::move(all)).bytes() == bytes) {
    for (std::size_t i = 0; i < in.size(); ++i) result[i] = {{{0, in[i].ranges.bytes()}}, in[i].ranges};
    return result;
  }
  std::map<std::int64_t, std::int64_t> covered;
  for (std::size_t i = in.size(); i-- > 0;) result[i] = keep_uncovered(in[i], covered);
  return result;
}

}  // namespace laneway
