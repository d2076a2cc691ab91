#include "mpi/datatype.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

void append_repeated(RangeList& into, const RangeList& list, std::int64_t count, std::int64_t stride,
                     std::int64_t offset) {
  if (list.runs().size() == 1 && list.runs()[0].count == 1) {
    into.append(Run{offset + list.runs()[0].offset, list.runs()[0].bytes, stride, count});
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) into.append(list, offset + i * stride);
}

/// What MPI_Type_get_contents returns, with counts and displacements widened.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> integers;
  std::vector<std::int64_t> addresses;
  std::vector<MPI_Datatype> types;

  explicit Contents(MPI_Datatype type);
  ~Contents() {
    for (MPI_Datatype& inner : types) {
      int a = 0, b = 0, c = 0, inner_combiner = MPI_COMBINER_NAMED;
      MPI_Type_get_envelope(inner, &a, &b, &c, &inner_combiner);
      const bool predefined = inner_combiner == MPI_COMBINER_NAMED || inner_combiner == MPI_COMBINER_F90_INTEGER ||
                              inner_combiner == MPI_COMBINER_F90_REAL || inner_combiner == MPI_COMBINER_F90_COMPLEX;
      if (!predefined) MPI_Type_free(&inner);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
};

Contents::Contents(MPI_Datatype type) {
#ifdef LANEWAY_HAS_LARGE_COUNT_TYPES
  MPI_Count integer_count = 0, address_count = 0, large_count = 0, type_count = 0;
  check_mpi(MPI_Type_get_envelope_c(type, &integer_count, &address_count, &large_count, &type_count, &combiner),
            "MPI_Type_get_envelope_c");
  if (combiner == MPI_COMBINER_NAMED) return;
  std::vector<int> raw_integers(static_cast<std::size_t>(integer_count));
  std::vector<MPI_Aint> raw_addresses(static_cast<std::size_t>(address_count));
  std::vector<MPI_Count> large(static_cast<std::size_t>(large_count));
  types.resize(static_cast<std::size_t>(type_count));
  check_mpi(MPI_Type_get_contents_c(type, integer_count, address_count, large_count, type_count, raw_integers.data(),
                                    raw_addresses.data(), large.data(), types.data()),
            "MPI_Type_get_contents_c");
  integers.assign(raw_integers.begin(), raw_integers.end());
  addresses.assign(raw_addresses.begin(), raw_addresses.end());
  if (large_count == 0) return;
  // Types made by the _c functions keep counts and displacements in one array (MPI 4.0, section 5.1.13): put them where
  // the plain functions have them.
  switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
      integers.assign(large.begin(), large.end());
      break;
    case MPI_COMBINER_HVECTOR:
      integers.assign(large.begin(), large.begin() + 2);
      addresses.assign(large.begin() + 2, large.end());
      break;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      integers.assign(large.begin(), large.begin() + 1 + large[0]);
      addresses.assign(large.begin() + 1 + large[0], large.end());
      break;
    case MPI_COMBINER_HINDEXED_BLOCK:
      integers.assign(large.begin(), large.begin() + 2);
      addresses.assign(large.begin() + 2, large.end());
      break;
    case MPI_COMBINER_RESIZED:
      addresses.assign(large.begin(), large.end());
      break;
    case MPI_COMBINER_SUBARRAY:
      integers.insert(integers.begin() + 1, large.begin(), large.end());
      break;
    case MPI_COMBINER_DARRAY:
      integers.insert(integers.begin() + 3, large.begin(), large.end());
      break;
    default:
      throw Error(ErrorKind::type, "a datatype with an unknown large-count combiner " + std::to_string(combiner));
  }
#else
  int integer_count = 0, address_count = 0, type_count = 0;
  check_mpi(MPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner),
            "MPI_Type_get_envelope");
  if (combiner == MPI_COMBINER_NAMED) return;
  std::vector<int> raw_integers(static_cast<std::size_t>(integer_count));
  std::vector<MPI_Aint> raw_addresses(static_cast<std::size_t>(address_count));
  types.resize(static_cast<std::size_t>(type_count));
  if (integer_count + address_count + type_count > 0)
    check_mpi(MPI_Type_get_contents(type, integer_count, address_count, type_count, raw_integers.data(),
                                    raw_addresses.data(), types.data()),
              "MPI_Type_get_contents");
  integers.assign(raw_integers.begin(), raw_integers.end());
  addresses.assign(raw_addresses.begin(), raw_addresses.end());
#endif
}

/// Pairs of MPI_MINLOC: the only predefined types with a gap inside.
template <class First, class Second>
RangeList pair_ranges() {
  struct Pair {
    First first;
    Second second;
  };
  return {{offsetof(Pair, first), sizeof(First)}, {offsetof(Pair, second), sizeof(Second)}};
}

RangeList named_ranges(MPI_Datatype type) {
  if (type == MPI_SHORT_INT) return pair_ranges<short, int>();
  if (type == MPI_DOUBLE_INT) return pair_ranges<double, int>();
  if (type == MPI_LONG_INT) return pair_ranges<long, int>();
  if (type == MPI_FLOAT_INT) return pair_ranges<float, int>();
  if (type == MPI_LONG_DOUBLE_INT) return pair_ranges<long double, int>();
  int size = 0;
  check_mpi(MPI_Type_size(type, &size), "MPI_Type_size");
  return {{0, size}};
}

/// One dimension of an array: the indices that belong to the type.
using Indices = std::vector<std::int64_t>;

/// All combinations of indices, last (C) or first (Fortran) dimension fastest.
RangeList array_ranges(const TypeMap& element, const std::vector<std::int64_t>& sizes,
                       const std::vector<Indices>& chosen, bool fortran) {
  RangeList ranges = element.ranges;
  std::int64_t stride = element.extent;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    const std::size_t d = fortran ? n : sizes.size() - 1 - n;
    RangeList wider;
    for (std::int64_t index : chosen[d]) wider.append(ranges, index * stride);
    ranges = std::move(wider);
    stride *= sizes[d];
  }
  return ranges;
}

RangeList subarray_ranges(const Contents& c, const TypeMap& element) {
  const auto n = static_cast<std::size_t>(c.integers[0]);
  const std::int64_t* sizes = c.integers.data() + 1;
  std::vector<Indices> chosen(n);
  for (std::size_t d = 0; d < n; ++d)
    for (std::int64_t i = 0; i < sizes[n + d]; ++i) chosen[d].push_back(sizes[2 * n + d] + i);
  return array_ranges(element, {sizes, sizes + n}, chosen, c.integers[1 + 3 * n] == MPI_ORDER_FORTRAN);
}

RangeList darray_ranges(const Contents& c, const TypeMap& element) {
  const std::int64_t rank = c.integers[1];
  const auto n = static_cast<std::size_t>(c.integers[2]);
  const std::int64_t* gsizes = c.integers.data() + 3;
  const std::int64_t* distribs = gsizes + n;
  const std::int64_t* dargs = distribs + n;
  const std::int64_t* psizes = dargs + n;
  // The process grid is row-major whatever the order of the array (MPI 4.0, section 5.1.4).
  std::vector<std::int64_t> coordinate(n);
  std::int64_t rest = rank;
  for (std::size_t d = n; d-- > 0;) {
    coordinate[d] = rest % psizes[d];
    rest /= psizes[d];
  }
  std::vector<Indices> chosen(n);
  for (std::size_t d = 0; d < n; ++d) {
    const std::int64_t size = gsizes[d];
    std::int64_t block = dargs[d];
    if (distribs[d] == MPI_DISTRIBUTE_NONE)
      block = size;
    else if (block == MPI_DISTRIBUTE_DFLT_DARG)
      block = distribs[d] == MPI_DISTRIBUTE_CYCLIC ? 1 : (size + psizes[d] - 1) / psizes[d];
    const std::int64_t processes = distribs[d] == MPI_DISTRIBUTE_NONE ? 1 : psizes[d];
    const std::int64_t first = distribs[d] == MPI_DISTRIBUTE_NONE ? 0 : coordinate[d] * block;
    for (std::int64_t begin = first; begin < size; begin += processes * block)
      for (std::int64_t i = begin; i < std::min(begin + block, size); ++i) chosen[d].push_back(i);
  }
  return array_ranges(element, {gsizes, gsizes + n}, chosen, c.integers[3 + 4 * n] == MPI_ORDER_FORTRAN);
}

RangeList ranges_of(MPI_Datatype type) {
  const Contents c(type);
  if (c.combiner == MPI_COMBINER_NAMED) return named_ranges(type);
  const std::vector<std::int64_t>& i = c.integers;
  const std::vector<std::int64_t>& a = c.addresses;
  RangeList ranges;
  auto inner = [&](std::size_t t) { return type_map(c.types[t]); };
  auto block = [&](const TypeMap& map, std::int64_t length, std::int64_t offset) {
    append_repeated(ranges, map.ranges, length, map.extent, offset);
  };
  switch (c.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return inner(0).ranges;
    case MPI_COMBINER_F90_INTEGER:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
      return named_ranges(type);
    case MPI_COMBINER_CONTIGUOUS:
      block(inner(0), i[0], 0);
      return ranges;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: {
      const TypeMap map = inner(0);
      const std::int64_t stride = c.combiner == MPI_COMBINER_VECTOR ? i[2] * map.extent : a[0];
      const RangeList one = map.elements(i[1], 0);
      append_repeated(ranges, one, i[0], stride, 0);
      return ranges;
    }
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED: {
      const TypeMap map = inner(0);
      for (std::int64_t b = 0; b < i[0]; ++b) {
        const auto at = static_cast<std::size_t>(b);
        block(map, i[1 + at],
              c.combiner == MPI_COMBINER_INDEXED ? i[1 + static_cast<std::size_t>(i[0]) + at] * map.extent : a[at]);
      }
      return ranges;
    }
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const TypeMap map = inner(0);
      for (std::int64_t b = 0; b < i[0]; ++b) {
        const auto at = static_cast<std::size_t>(b);
        block(map, i[1], c.combiner == MPI_COMBINER_INDEXED_BLOCK ? i[2 + at] * map.extent : a[at]);
      }
      return ranges;
    }
    case MPI_COMBINER_STRUCT:
      for (std::int64_t b = 0; b < i[0]; ++b) {
        const auto at = static_cast<std::size_t>(b);
        if (i[1 + at] > 0) block(inner(at), i[1 + at], a[at]);
      }
      return ranges;
    case MPI_COMBINER_SUBARRAY:
      return subarray_ranges(c, inner(0));
    case MPI_COMBINER_DARRAY:
      return darray_ranges(c, inner(0));
    default:
      throw Error(ErrorKind::type, "a datatype with the unsupported combiner " + std::to_string(c.combiner));
  }
}

}  // namespace

RangeList TypeMap::elements(std::int64_t count, std::int64_t offset) const {
  RangeList list;
  append_repeated(list, ranges, count, extent, offset);
  return list;
}

TypeMap type_map(MPI_Datatype type) {
  require(type != MPI_DATATYPE_NULL, ErrorKind::type, "MPI_DATATYPE_NULL");
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check_mpi(MPI_Type_get_extent(type, &lower, &extent), "MPI_Type_get_extent");
  return {ranges_of(type), extent};
}

}  // namespace laneway
