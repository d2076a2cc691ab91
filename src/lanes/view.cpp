#include "lanes/view.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"

namespace laneway {

std::int64_t Link::bytes() const {
  std::int64_t bytes = 0;
  for (const SourceBytes& source : sources) bytes += source.bytes;
  return bytes;
}

namespace {

template <class T>
void put_all(Writer& writer, const std::vector<T>& values) {
  writer.put(static_cast<std::int64_t>(values.size()));
  for (const T& value : values) writer.put(value);
}

template <class T>
void get_all(Reader& reader, std::vector<T>& values) {
  values.resize(static_cast<std::size_t>(reader.get<std::int64_t>()));
  for (T& value : values) value = reader.get<T>();
}

std::vector<Link> sorted_links(std::map<Rank, Link>&& by_region) {
  std::vector<Link> links;
  for (auto& [region, link] : by_region) {
    link.region = region;
    std::sort(link.edges.begin(), link.edges.end());
    std::sort(link.sources.begin(), link.sources.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    LANEWAY_ASSERT(1, !link.edges.empty() && !link.sources.empty());
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace

Bytes ViewPart::to_bytes() const {
  Writer writer;
  put_all(writer, leaving);
  put_all(writer, entering);
  put_all(writer, out_blocks);
  put_all(writer, in_blocks);
  writer.put(inside);
  writer.put(inner);
  writer.put(distance);
  return writer.take();
}

ViewPart ViewPart::from_bytes(const Bytes& bytes) {
  ViewPart part;
  Reader reader(bytes);
  get_all(reader, part.leaving);
  get_all(reader, part.entering);
  get_all(reader, part.out_blocks);
  get_all(reader, part.in_blocks);
  part.inside = reader.get<InsideEdges>();
  part.inner = reader.get<Rank>();
  part.distance = reader.get<std::int32_t>();
  return part;
}

RegionView make_view(Region region, const std::vector<ViewPart>& parts) {
  std::map<Rank, Link> out;
  std::map<Rank, Link> in;
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
  return {std::move(region),           std::move(inner),   std::move(inside), sorted_links(std::move(out)),
          sorted_links(std::move(in)), std::move(distance)};
}

}  // namespace laneway
