#include "arguments/operations.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "arguments/datatype.hpp"
#include "core/error.hpp"
#include "laneway/laneway.h"

namespace laneway {

namespace {

/// Names of the arguments of one side, as the user wrote them.
struct Names {
  const char* size;
  const char* count;
  const char* counts;
  const char* displacements;
  const char* indices;
  const char* type;
  const char* types;
};

constexpr Names send_names = {"sendsize", "sendcount", "sendcounts", "sdispls", "sendindices", "sendtype", "sendtypes"};
constexpr Names receive_names = {"recvsize",    "recvcount", "recvcounts", "rdispls",
                                 "recvindices", "recvtype",  "recvtypes"};

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

std::vector<TypedEdge> uniform_edges(const std::vector<Neighbor>& neighbors, const UniformSide& side, bool same_block,
                                     const Names& names) {
  const auto name = [&] { return std::string(names.count); };
  (void)checked_count(side.count, 0, name);
  const std::shared_ptr<const TypeMap> map = checked_type(side.type, names.type);
  const std::int64_t block = bytes(side.count, map->extent, ErrorKind::count, name, side.count);
  std::vector<TypedEdge> edges;
  edges.reserve(neighbors.size());
  for (const Neighbor& neighbor : neighbors) {
    const std::int64_t offset = same_block ? 0 : bytes(neighbor.slot, block, ErrorKind::count, name, side.count);
    edges.push_back({neighbor.rank, offset, side.count, side.type, map});
  }
  return edges;
}

std::vector<TypedEdge> counted_edges(const std::vector<Neighbor>& neighbors, int degree, const CountsSide& side,
                                     const Names& names) {
  check_array(side.counts, degree, names.counts);
  check_array(side.displacements, degree, names.displacements);
  const std::shared_ptr<const TypeMap> map = checked_type(side.type, names.type);
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

std::vector<TypedEdge> typed_edges(const std::vector<Neighbor>& neighbors, int degree, const TypesSide& side,
                                   const Names& names) {
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

std::vector<Edge> edges_of(const std::vector<TypedEdge>& typed) {
  std::vector<Edge> edges;
  edges.reserve(typed.size());
  for (const TypedEdge& edge : typed) edges.push_back({edge.peer, edge.map->elements(edge.count, edge.offset)});
  return edges;
}

std::vector<Edge> indexed_edges(const std::vector<Neighbor>& neighbors, int degree, const IndexedSide& side,
                                const Names& names) {
  check_array(side.counts, degree, names.counts);
  require(side.size >= 0, ErrorKind::count, std::string(names.size) + " is " + std::to_string(side.size));
  std::int64_t total = 0;
  std::vector<std::int64_t> begin(static_cast<std::size_t>(degree) + 1);
  for (int slot = 0; slot < degree; ++slot) {
    require(!__builtin_add_overflow(total, checked_count(side.counts, slot, 0, names.counts), &total), ErrorKind::count,
            [&] { return element(names.counts, slot) + " is " + std::to_string(side.counts[slot]); });
    begin[static_cast<std::size_t>(slot) + 1] = total;
  }
  require(side.indices != nullptr || total == 0, ErrorKind::argument,
          std::string(names.indices) + " is NULL with " + std::to_string(total) + " elements");
  for (std::int64_t i = 0; i < total; ++i)
    require(side.indices[i] >= 0 && side.indices[i] < side.size, ErrorKind::argument, [&] {
      return std::string(names.indices) + "[" + std::to_string(i) + "] is " + std::to_string(side.indices[i]) +
             ", the buffer has " + std::to_string(side.size) + " elements";
    });
  const std::shared_ptr<const TypeMap> map = checked_type(side.type, names.type);
  const auto whole = map->ranges.contiguous();
  std::vector<Edge> edges;
  edges.reserve(neighbors.size());
  for (const Neighbor& neighbor : neighbors) {
    Edge edge{neighbor.rank, {}};
    const auto slot = static_cast<std::size_t>(neighbor.slot);
    for (std::int64_t i = begin[slot]; i < begin[slot + 1]; ++i) {
      const std::int64_t offset = side.indices[i] * map->extent;
      if (whole)
        edge.ranges.append(Range{offset + whole->offset, whole->bytes});
      else
        edge.ranges.append(map->ranges, offset);
    }
    edges.push_back(std::move(edge));
  }
  return edges;
}

}  // namespace

KnownArguments::KnownArguments(const ArgumentLists& given, const Topology& topology)
    : form_(given.form), counts_(given.counts) {
  const auto copy = [](const std::array<Integers, 2>& from, int degree, std::array<std::vector<std::int64_t>, 2>& to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      for (int slot = 0; slot < degree && !from[i].null(); ++slot) to[i].push_back(from[i][slot]);
  };
  copy(given.of_destinations, topology.outdegree, of_destinations_);
  copy(given.of_sources, topology.indegree, of_sources_);
  const auto add = [](std::vector<Type>& types, int slot, MPI_Datatype type) {
    if (!types.empty() && types.back().handle == type)
      types.push_back({slot, type, types.back().map});
    else
      types.push_back({slot, type, is_predefined(type) ? nullptr : type_map(type)});
  };
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (form_ != Form::alltoallw) {
      add(types_[i], 0, given.types[i]);
      continue;
    }
    for (const Neighbor& neighbor : i == 0 ? topology.destinations : topology.sources)
      add(types_[i], neighbor.slot, given.each_type[i][neighbor.slot]);
  }
}

bool KnownArguments::equal(const ArgumentLists& given) const {
  if (form_ == Form::none || form_ != given.form || counts_ != given.counts) return false;
  const auto same = [](const std::array<std::vector<std::int64_t>, 2>& known, const std::array<Integers, 2>& lists) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].empty()) continue;
      if (lists[i].null()) return false;
      for (std::size_t slot = 0; slot < known[i].size(); ++slot)
        if (known[i][slot] != lists[i][static_cast<std::int64_t>(slot)]) return false;
    }
    return true;
  };
  const auto same_types = [&](std::size_t i) {
    if (form_ == Form::alltoallw && given.each_type[i] == nullptr) return types_[i].empty();
    const Type* before = nullptr;
    return std::all_of(types_[i].begin(), types_[i].end(), [&](const Type& type) {
      if (type.handle != (form_ == Form::alltoallw ? given.each_type[i][type.slot] : given.types[i])) return false;
      const bool was_looked_at = before != nullptr && before->handle == type.handle;
      before = &type;
      return was_looked_at || !type.map || type.map == type_map(type.handle);
    });
  };
  return same(of_destinations_, given.of_destinations) && same(of_sources_, given.of_sources) && same_types(0) &&
         same_types(1);
}

TypedPattern typed_allgather(const Topology& topology, const UniformSide& send, const UniformSide& receive) {
  return {uniform_edges(topology.destinations, send, true, send_names),
          uniform_edges(topology.sources, receive, false, receive_names)};
}

TypedPattern typed_allgatherv(const Topology& topology, const UniformSide& send, const CountsSide& receive) {
  Names names = receive_names;
  names.displacements = "displs";
  return {uniform_edges(topology.destinations, send, true, send_names),
          counted_edges(topology.sources, topology.indegree, receive, names)};
}

TypedPattern typed_alltoall(const Topology& topology, const UniformSide& send, const UniformSide& receive) {
  return {uniform_edges(topology.destinations, send, false, send_names),
          uniform_edges(topology.sources, receive, false, receive_names)};
}

TypedPattern typed_alltoallv(const Topology& topology, const CountsSide& send, const CountsSide& receive) {
  return {counted_edges(topology.destinations, topology.outdegree, send, send_names),
          counted_edges(topology.sources, topology.indegree, receive, receive_names)};
}

TypedPattern typed_alltoallw(const Topology& topology, const TypesSide& send, const TypesSide& receive) {
  return {typed_edges(topology.destinations, topology.outdegree, send, send_names),
          typed_edges(topology.sources, topology.indegree, receive, receive_names)};
}

RankPattern describe(const TypedPattern& pattern) {
  return {edges_of(pattern.out), edges_of(pattern.in)};
}

RankPattern describe_indexed(const Topology& topology, const IndexedSide& send, const IndexedSide& receive) {
  return {indexed_edges(topology.destinations, topology.outdegree, send, send_names),
          indexed_edges(topology.sources, topology.indegree, receive, receive_names)};
}

void check_buffers(const void* sendbuf, const void* recvbuf) {
  require(sendbuf != MPI_IN_PLACE, ErrorKind::buffer,
          "sendbuf is MPI_IN_PLACE, which neighborhood operations do not take");
  require(recvbuf != MPI_IN_PLACE, ErrorKind::buffer,
          "recvbuf is MPI_IN_PLACE, which neighborhood operations do not take");
  require(sendbuf != LNW_NOT_CONTIGUOUS, ErrorKind::buffer, "sendbuf is not contiguous");
  require(recvbuf != LNW_NOT_CONTIGUOUS, ErrorKind::buffer, "recvbuf is not contiguous");
}

}  // namespace laneway
