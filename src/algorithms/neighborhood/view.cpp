#include "algorithms/neighborhood/view.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"

namespace laneway {

std::int64_t Traffic::bytes() const {
  std::int64_t bytes = 0;
  for (const SourceBytes& source : sources) bytes += source.bytes;
  return bytes;
}

std::span<const CrossEdge> Traffic::edges_of(Rank source) const {
  return std::ranges::equal_range(edges, source, {}, &CrossEdge::source);
}

std::int64_t bytes_of(std::span<const CrossEdge> edges) {
  return std::accumulate(edges.begin(), edges.end(), std::int64_t{0},
                         [](std::int64_t sum, const CrossEdge& edge) { return sum + edge.bytes; });
}

namespace {

template <class T>
void put_all(Writer& writer, const std::vector<T>& values) {
  writer.put_compact(static_cast<std::int64_t>(values.size()));
  for (const auto& [first, second, bytes] : values) {
    writer.put_compact(first);
    writer.put_compact(second);
    writer.put_compact(bytes);
  }
}

template <class T>
void get_all(Reader& reader, std::vector<T>& values) {
  values.resize(static_cast<std::size_t>(reader.get_compact()));
  for (auto& [first, second, bytes] : values) {
    first = static_cast<Rank>(reader.get_compact());
    second = static_cast<Rank>(reader.get_compact());
    bytes = reader.get_compact();
  }
}

std::vector<Traffic> sorted_traffic(std::map<Rank, Traffic>&& by_region) {
  std::vector<Traffic> all;
  for (auto& [region, traffic] : by_region) {
    traffic.region = region;
    std::sort(traffic.edges.begin(), traffic.edges.end());
    std::sort(traffic.sources.begin(), traffic.sources.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
    LANEWAY_ASSERT(!traffic.edges.empty() && !traffic.sources.empty());
    all.push_back(std::move(traffic));
  }
  return all;
}

}  // namespace

void InsideEdges::put(Writer& writer) const {
  for (std::int64_t number : {messages_out, bytes_out, messages_in, bytes_in}) writer.put_compact(number);
}

InsideEdges InsideEdges::get(Reader& reader) {
  InsideEdges inside;
  for (std::int64_t* number : {&inside.messages_out, &inside.bytes_out, &inside.messages_in, &inside.bytes_in})
    *number = reader.get_compact();
  return inside;
}

Bytes ViewPart::to_bytes() const {
  Writer writer;
  put_all(writer, leaving);
  put_all(writer, entering);
  put_all(writer, out_blocks);
  put_all(writer, in_blocks);
  inside.put(writer);
  writer.put_compact(inner);
  writer.put_compact(distance);
  return writer.take();
}

ViewPart ViewPart::from_bytes(const Bytes& bytes) {
  ViewPart part;
  Reader reader(bytes);
  get_all(reader, part.leaving);
  get_all(reader, part.entering);
  get_all(reader, part.out_blocks);
  get_all(reader, part.in_blocks);
  part.inside = InsideEdges::get(reader);
  part.inner = static_cast<Rank>(reader.get_compact());
  part.distance = static_cast<int>(reader.get_compact());
  return part;
}

RegionView make_view(Region region, const std::vector<ViewPart>& parts) {
  std::map<Rank, Traffic> out;
  std::map<Rank, Traffic> in;
  std::vector<Rank> inner;
  std::vector<InsideEdges> inside;
  std::vector<int> distance;
  for (const ViewPart& part : parts) {
    inner.push_back(part.inner);
    inside.push_back(part.inside);
    distance.push_back(part.distance);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Rank member = region.members[i];
    for (const auto& edge : parts[i].leaving) out[edge.region].edges.push_back({member, edge.destination, edge.bytes});
    for (const auto& edge : parts[i].entering) in[edge.region].edges.push_back({edge.source, member, edge.bytes});
    for (const auto& block : parts[i].out_blocks) out[block.region].sources.push_back({block.source, block.bytes});
    for (const auto& block : parts[i].in_blocks) in[block.region].sources.push_back({block.source, block.bytes});
  }
  return {std::move(region),
          std::move(inner),
          std::move(inside),
          sorted_traffic(std::move(out)),
          sorted_traffic(std::move(in)),
          std::move(distance)};
}

RegionView without_merging(RegionView view) {
  view.merged = false;
  for (std::vector<Traffic>* all : {&view.out, &view.in})
    for (Traffic& traffic : *all) {
      auto edge = traffic.edges.begin();
      for (SourceBytes& source : traffic.sources) {
        source.bytes = 0;
        for (; edge != traffic.edges.end() && edge->source == source.rank; ++edge) source.bytes += edge->bytes;
      }
    }
  return view;
}

}  // namespace laneway
