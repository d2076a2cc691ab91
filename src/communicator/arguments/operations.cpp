#include "communicator/arguments/operations.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

std::string element(const char* array, int slot) {
  return std::string(array) + "[" + std::to_string(slot) + "]";
}

/// a * b bytes; throws if they exceed 64 bits because the argument `name` has been given as `value`.
template <class Name>
std::int64_t bytes(std::int64_t a, std::int64_t b, ErrorKind kind, Name&& name, std::int64_t value) {
  std::int64_t result = 0;
  require(!__builtin_mul_overflow(a, b, &result), kind,
          [&] { return name() + " is " + std::to_string(value) + ": more than 2^63 bytes"; });
  return result;
}

/// A count of elements of `extent` bytes.
template <class Name>
std::int64_t checked_count(std::int64_t count, std::int64_t extent, Name&& name) {
  require(count >= 0, ErrorKind::count, [&] { return name() + " is " + std::to_string(count); });
  (void)bytes(count, extent, ErrorKind::count, name, count);
  return count;
}

std::int64_t checked_count(const Integers& counts, int slot, std::int64_t extent, const char* name) {
  return checked_count(counts[slot], extent, [&] { return element(name, slot); });
}

std::shared_ptr<const TypeMap> checked_type(MPI_Datatype type, const std::string& name) {
  require(type != MPI_DATATYPE_NULL, ErrorKind::type, name + " is MPI_DATATYPE_NULL");
  return type_map(type);
}

void check_array(const Integers& array, int degree, const char* name) {
  require(!array.null() || degree == 0, ErrorKind::argument,
          std::string(name) + " is NULL with " + std::to_string(degree) + " neighbors");
}

std::vector<TypedEdge> equal_edges(const std::vector<Neighbor>& neighbors, const SideArguments& side,
                                   const SideRow& names) {
  const auto name = [&] { return std::string(names.count); };
  (void)checked_count(side.count, 0, name);
  const std::shared_ptr<const TypeMap> map = checked_type(side.type, side.name_of_type(names));
  const std::int64_t block = bytes(side.count, map->extent, ErrorKind::count, name, side.count);
  std::vector<TypedEdge> edges;
  edges.reserve(neighbors.size());
  for (const Neighbor& neighbor : neighbors) {
    const std::int64_t offset =
        names.blocks == BlockForm::same ? 0 : bytes(neighbor.slot, block, ErrorKind::count, name, side.count);
    edges.push_back({neighbor.rank, offset, side.count, side.type, map});
  }
  return edges;
}

std::vector<TypedEdge> counted_edges(const std::vector<Neighbor>& neighbors, int degree, const SideArguments& side,
                                     const SideRow& names) {
  check_array(side.counts, degree, names.counts);
  check_array(side.displacements, degree, names.displacements);
  const std::shared_ptr<const TypeMap> map = checked_type(side.type, side.name_of_type(names));
  std::vector<TypedEdge> edges;
  edges.reserve(neighbors.size());
  for (const Neighbor& neighbor : neighbors) {
    const int slot = neighbor.slot;
    const std::int64_t count = checked_count(side.counts, slot, map->extent, names.counts);
    const std::int64_t displacement = side.displacements[slot];
    const std::int64_t offset = bytes(
        displacement, map->extent, ErrorKind::argument, [&] { return element(names.displacements, slot); },
        displacement);
    edges.push_back({neighbor.rank, offset, count, side.type, map});
  }
  return edges;
}

std::vector<TypedEdge> edges_with_types(const std::vector<Neighbor>& neighbors, int degree, const SideArguments& side,
                                        const SideRow& names) {
  check_array(side.counts, degree, names.counts);
  check_array(side.displacements, degree, names.displacements);
  require(side.types != nullptr || degree == 0, ErrorKind::argument,
          std::string(names.types) + " is NULL with " + std::to_string(degree) + " neighbors");
  std::vector<std::pair<MPI_Datatype, std::shared_ptr<const TypeMap>>> maps;
  auto map_of = [&](int slot) -> const std::shared_ptr<const TypeMap>& {
    const MPI_Datatype type = side.types[slot];
    for (const auto& [known, map] : maps)
      if (known == type) return map;
    return maps.emplace_back(type, checked_type(type, element(names.types, slot))).second;
  };
  std::vector<TypedEdge> edges;
  edges.reserve(neighbors.size());
  for (const Neighbor& neighbor : neighbors) {
    const int slot = neighbor.slot;
    const std::shared_ptr<const TypeMap>& map = map_of(slot);
    const std::int64_t count = checked_count(side.counts, slot, map->extent, names.counts);
    edges.push_back({neighbor.rank, side.displacements[slot], count, side.types[slot], map});
  }
  return edges;
}

std::vector<TypedEdge> typed_edges(const std::vector<Neighbor>& neighbors, int degree, const SideArguments& side,
                                   const SideRow& names) {
  switch (names.blocks) {
    case BlockForm::same:
    case BlockForm::equal:
      return equal_edges(neighbors, side, names);
    case BlockForm::counted:
      return counted_edges(neighbors, degree, side, names);
    case BlockForm::typed:
      return edges_with_types(neighbors, degree, side, names);
    case BlockForm::indexed:
      break;
  }
  internal_error("an operation with index lists has no datatypes of edges", __FILE__, __LINE__);
}

std::vector<Edge> edges_of(const std::vector<TypedEdge>& typed) {
  std::vector<Edge> edges;
  edges.reserve(typed.size());
  for (const TypedEdge& edge : typed) edges.push_back({edge.peer, edge.map->elements(edge.count, edge.offset)});
  return edges;
}

std::vector<Edge> indexed_edges(const std::vector<Neighbor>& neighbors, int degree, const SideArguments& side,
                                const SideRow& names) {
  check_array(side.counts, degree, names.counts);
  require(side.count >= 0, ErrorKind::count, std::string(names.size) + " is " + std::to_string(side.count));
  std::int64_t total = 0;
  for (int slot = 0; slot < degree; ++slot)
    require(!__builtin_add_overflow(total, checked_count(side.counts, slot, 0, names.counts), &total), ErrorKind::count,
            [&] { return element(names.counts, slot) + " is " + std::to_string(side.counts[slot]); });
  require(side.indices != nullptr || total == 0, ErrorKind::argument,
          std::string(names.indices) + " is NULL with " + std::to_string(total) + " elements");
  const std::shared_ptr<const TypeMap> map = checked_type(side.type, side.name_of_type(names));
  const auto whole = map->ranges.contiguous();
  const bool is_dense = whole && whole->bytes == map->extent;
  std::vector<RangeList> lists(static_cast<std::size_t>(degree));
  std::int64_t i = 0;
  for (int slot = 0; slot < degree; ++slot) {
    RangeList& list = lists[static_cast<std::size_t>(slot)];
    std::int64_t length = 0;
    for (std::int64_t left = side.counts[slot]; left > 0; left -= length) {
      const std::int64_t first = side.indices[i];
      length = side.lengths != nullptr ? side.lengths[i] : 1;
      require(first >= 0 && first + length <= side.count, ErrorKind::argument, [&] {
        return std::string(names.indices) + "[" + std::to_string(i) + "] is " + std::to_string(first) +
               ", the buffer has " + std::to_string(side.count) + " elements";
      });
      // Elements that follow each other are one range from the start: lists of a million elements have few of them.
      const std::int64_t most =
          side.lengths == nullptr && is_dense ? std::min<std::int64_t>(left, side.count - first) : length;
      while (length < most && side.indices[i + length] == first + length) ++length;
      i += side.lengths != nullptr ? 1 : length;
      if (is_dense)
        list.append(Range{first * map->extent + whole->offset, length * whole->bytes});
      else
        for (std::int64_t element = first; element < first + length; ++element)
          list.append(map->ranges, element * map->extent);
    }
  }
  std::vector<Edge> edges;
  edges.reserve(neighbors.size());
  for (const Neighbor& neighbor : neighbors)
    edges.push_back({neighbor.rank, std::move(lists[static_cast<std::size_t>(neighbor.slot)])});
  return edges;
}

void check(const Call& call) {
  require(call.fault == nullptr, ErrorKind::argument, call.fault);
  check_buffers(call.sendbuf, call.recvbuf, call.sendbuf_name, call.recvbuf_name);
}

void check_null(const void* buffer, const std::vector<TypedEdge>& edges, const char* name) {
  if (buffer != nullptr) return;
  for (const TypedEdge& edge : edges)
    require(edge.bytes() == 0 || !lies_nowhere(edge.offset + edge.map->hull.offset), ErrorKind::buffer,
            [&] { return std::string(name) + " is NULL"; });
}

void check_null(const void* buffer, const std::vector<Edge>& edges, const char* name) {
  if (buffer != nullptr) return;
  for (const Edge& edge : edges)
    edge.ranges.for_each([&](const Range& range) {
      require(range.bytes == 0 || !lies_nowhere(range.offset), ErrorKind::buffer,
              [&] { return std::string(name) + " is NULL"; });
    });
}

template <class Pattern>
void check_null(const Call& call, const Pattern& pattern) {
  if (!call.has_any_buffer() && call.is_persistent) return;
  check_null(call.sendbuf, pattern.out, call.sendbuf_name);
  check_null(call.recvbuf, pattern.in, call.recvbuf_name);
}

}  // namespace

TypedPattern typed_pattern(const Call& call, const Topology& topology) {
  check(call);
  const KindRow& row = row_of(call.kind);
  TypedPattern pattern{typed_edges(topology.destinations, topology.outdegree, call.send, row.send),
                       typed_edges(topology.sources, topology.indegree, call.receive, row.receive)};
  check_null(call, pattern);
  return pattern;
}

void check_buffers(const Call& call, const Topology& topology) {
  check(call);
  if (call.sendbuf == nullptr || call.recvbuf == nullptr) (void)describe(call, topology);
}

RankPattern describe(const TypedPattern& pattern) {
  return {edges_of(pattern.out), edges_of(pattern.in)};
}

RankPattern describe(const Call& call, const Topology& topology) {
  const KindRow& row = row_of(call.kind);
  if (row.send.blocks != BlockForm::indexed && row.receive.blocks != BlockForm::indexed)
    return describe(typed_pattern(call, topology));
  check(call);
  const auto edges = [](const std::vector<Neighbor>& neighbors, int degree, const SideArguments& side,
                        const SideRow& names) {
    return names.blocks == BlockForm::indexed ? indexed_edges(neighbors, degree, side, names)
                                              : edges_of(typed_edges(neighbors, degree, side, names));
  };
  RankPattern pattern{edges(topology.destinations, topology.outdegree, call.send, row.send),
                      edges(topology.sources, topology.indegree, call.receive, row.receive)};
  check_null(call, pattern);
  return pattern;
}

}  // namespace laneway
