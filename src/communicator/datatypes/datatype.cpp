#include "communicator/datatypes/datatype.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes/disjoint.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "mpi/attribute_key.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

/// How a datatype was made. The plain function refuses types that were made with large counts.
struct Envelope {
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count large = 0;
  MPI_Count types = 0;
  int combiner = MPI_COMBINER_NAMED;

  explicit Envelope(MPI_Datatype type) {
#ifdef LANEWAY_HAS_LARGE_COUNT_TYPES
    check_mpi(MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner),
              "MPI_Type_get_envelope_c");
#else
    int integer_count = 0, address_count = 0, type_count = 0;
    check_mpi(MPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner),
              "MPI_Type_get_envelope");
    integers = integer_count;
    addresses = address_count;
    types = type_count;
#endif
  }

  [[nodiscard]] bool is_predefined() const {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  }
};

/// The handles that MPI_Type_get_contents returns.
class InnerTypes {
 public:
  explicit InnerTypes(MPI_Count count) : types_(static_cast<std::size_t>(count), MPI_DATATYPE_NULL) {}
  ~InnerTypes() {
    for (MPI_Datatype& type : types_) {
      if (type == MPI_DATATYPE_NULL) continue;
      try {
        if (!is_predefined(type)) MPI_Type_free(&type);
      } catch (const Error&) {  // a handle that cannot be asked cannot be freed
      }
    }
  }
  InnerTypes(const InnerTypes&) = delete;
  InnerTypes& operator=(const InnerTypes&) = delete;

  [[nodiscard]] MPI_Datatype* data() { return types_.data(); }
  [[nodiscard]] MPI_Datatype operator[](std::size_t i) const { return types_[i]; }

 private:
  std::vector<MPI_Datatype> types_;
};

/// What MPI_Type_get_contents returns, with counts and displacements widened.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> integers;
  std::vector<std::int64_t> addresses;
  InnerTypes types;

  Contents(MPI_Datatype type, const Envelope& envelope);
};

#ifdef LANEWAY_HAS_LARGE_COUNT_TYPES
/// Types made by the _c functions keep counts and displacements in one array (MPI 4.0, section 5.1.13): how many of
/// these the plain functions have among the integers. The rest are addresses.
std::ptrdiff_t leading_counts(int combiner, const std::vector<MPI_Count>& large) {
  switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
      return std::ssize(large);
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return 2;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      return 1 + large[0];
    case MPI_COMBINER_RESIZED:
      return 0;
    default:
      throw Error(ErrorKind::type, "a datatype with an unknown large-count combiner " + std::to_string(combiner));
  }
}
#endif

Contents::Contents(MPI_Datatype type, const Envelope& envelope) : combiner(envelope.combiner), types(envelope.types) {
  std::vector<int> raw_integers(static_cast<std::size_t>(envelope.integers));
  std::vector<MPI_Aint> raw_addresses(static_cast<std::size_t>(envelope.addresses));
#ifdef LANEWAY_HAS_LARGE_COUNT_TYPES
  std::vector<MPI_Count> large(static_cast<std::size_t>(envelope.large));
  check_mpi(MPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large, envelope.types,
                                    raw_integers.data(), raw_addresses.data(), large.data(), types.data()),
            "MPI_Type_get_contents_c");
  integers.assign(raw_integers.begin(), raw_integers.end());
  addresses.assign(raw_addresses.begin(), raw_addresses.end());
  if (large.empty()) return;
  const std::size_t before = combiner == MPI_COMBINER_SUBARRAY ? 1 : combiner == MPI_COMBINER_DARRAY ? 3 : 0;
  const auto counts = large.begin() + leading_counts(combiner, large);
  integers.insert(integers.begin() + before, large.begin(), counts);
  addresses.insert(addresses.end(), counts, large.end());
#else
  if (envelope.integers + envelope.addresses + envelope.types > 0)
    check_mpi(MPI_Type_get_contents(type, static_cast<int>(raw_integers.size()), static_cast<int>(raw_addresses.size()),
                                    static_cast<int>(envelope.types), raw_integers.data(), raw_addresses.data(),
                                    types.data()),
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

/// Indices of one dimension of an array that belong to the type.
struct Interval {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
using Indices = std::vector<Interval>;

/// All combinations of indices, last (C) or first (Fortran) dimension fastest.
RangeList array_ranges(const TypeMap& element, const std::vector<std::int64_t>& sizes,
                       const std::vector<Indices>& chosen, bool fortran) {
  RangeList ranges = element.ranges;
  std::int64_t stride = element.extent;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    const std::size_t d = fortran ? n : sizes.size() - 1 - n;
    RangeList wider;
    for (const Interval& interval : chosen[d])
      wider.append_repeated(ranges, interval.count, stride, interval.first * stride);
    ranges = std::move(wider);
    stride *= sizes[d];
  }
  return ranges;
}

RangeList subarray_ranges(const Contents& c, const TypeMap& element) {
  const auto n = static_cast<std::size_t>(c.integers[0]);
  const std::int64_t* sizes = c.integers.data() + 1;
  std::vector<Indices> chosen(n);
  for (std::size_t d = 0; d < n; ++d) chosen[d] = {{sizes[2 * n + d], sizes[n + d]}};
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
      chosen[d].push_back({begin, std::min(block, size - begin)});
  }
  return array_ranges(element, {gsizes, gsizes + n}, chosen, c.integers[3 + 4 * n] == MPI_ORDER_FORTRAN);
}

RangeList contiguous_ranges(const Contents& c, const TypeMap& element) {
  return element.elements(c.integers[0], 0);
}

RangeList vector_ranges(const Contents& c, const TypeMap& element) {
  const std::vector<std::int64_t>& i = c.integers;
  const std::int64_t stride = c.combiner == MPI_COMBINER_VECTOR ? i[2] * element.extent : c.addresses[0];
  RangeList ranges;
  ranges.append_repeated(element.elements(i[1], 0), i[0], stride, 0);
  return ranges;
}

/// Displacements are counted in elements among the integers after `begin`, or in bytes.
RangeList blocks(const Contents& c, const TypeMap& element, bool counts_elements, std::size_t begin, auto&& length) {
  RangeList ranges;
  for (std::size_t b = 0; b < static_cast<std::size_t>(c.integers[0]); ++b)
    ranges.append_repeated(element.ranges, length(b), element.extent,
                           counts_elements ? c.integers[begin + b] * element.extent : c.addresses[b]);
  return ranges;
}

RangeList indexed_ranges(const Contents& c, const TypeMap& element) {
  return blocks(c, element, c.combiner == MPI_COMBINER_INDEXED, 1 + static_cast<std::size_t>(c.integers[0]),
                [&](std::size_t block) { return c.integers[1 + block]; });
}

RangeList indexed_block_ranges(const Contents& c, const TypeMap& element) {
  return blocks(c, element, c.combiner == MPI_COMBINER_INDEXED_BLOCK, 2, [&](std::size_t) { return c.integers[1]; });
}

TypeMap read_type_map(MPI_Datatype type);

RangeList struct_ranges(const Contents& c) {
  RangeList ranges;
  for (std::size_t b = 0; b < static_cast<std::size_t>(c.integers[0]); ++b) {
    const std::int64_t length = c.integers[1 + b];
    if (length <= 0) continue;
    const TypeMap element = read_type_map(c.types[b]);
    ranges.append_repeated(element.ranges, length, element.extent, c.addresses[b]);
  }
  return ranges;
}

/// What types of one inner type make of it.
struct CombinerRow {
  int combiner;
  RangeList (*ranges)(const Contents&, const TypeMap&);
};

RangeList same_ranges(const Contents&, const TypeMap& element) {
  return element.ranges;
}

constexpr std::array combiners = {
    CombinerRow{MPI_COMBINER_DUP, same_ranges},
    CombinerRow{MPI_COMBINER_RESIZED, same_ranges},
    CombinerRow{MPI_COMBINER_CONTIGUOUS, contiguous_ranges},
    CombinerRow{MPI_COMBINER_VECTOR, vector_ranges},
    CombinerRow{MPI_COMBINER_HVECTOR, vector_ranges},
    CombinerRow{MPI_COMBINER_INDEXED, indexed_ranges},
    CombinerRow{MPI_COMBINER_HINDEXED, indexed_ranges},
    CombinerRow{MPI_COMBINER_INDEXED_BLOCK, indexed_block_ranges},
    CombinerRow{MPI_COMBINER_HINDEXED_BLOCK, indexed_block_ranges},
    CombinerRow{MPI_COMBINER_SUBARRAY, subarray_ranges},
    CombinerRow{MPI_COMBINER_DARRAY, darray_ranges},
};

RangeList ranges_of(MPI_Datatype type) {
  const Envelope envelope(type);
  if (envelope.is_predefined()) return named_ranges(type);
  const Contents contents(type, envelope);
  if (contents.combiner == MPI_COMBINER_STRUCT) return struct_ranges(contents);
  const auto row = std::ranges::find(combiners, contents.combiner, &CombinerRow::combiner);
  if (row == combiners.end())
    throw Error(ErrorKind::type, "a datatype with the unsupported combiner " + std::to_string(contents.combiner));
  return row->ranges(contents, read_type_map(contents.types[0]));
}

TypeMap read_type_map(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check_mpi(MPI_Type_get_extent(type, &lower, &extent), "MPI_Type_get_extent");
  return {ranges_of(type), extent, {}, true, false};
}

bool has_negative_strides(const RangeList& ranges) {
  bool found = false;
  ranges.for_each_repeat([&](const Repeat& repeat) {
    found = found || (repeat.count > 1 && repeat.stride < 0);
    for (const Run& run : repeat.runs) found = found || (run.count > 1 && run.stride < 0);
  });
  return found;
}

TypeMap read_whole_type_map(MPI_Datatype type) {
  TypeMap map = read_type_map(type);
  map.hull = hull(map.ranges);
  const RangeList* const only = &map.ranges;
  map.names_no_byte_twice = surely_disjoint({&only, 1});
  map.goes_backward = map.extent < 0 || has_negative_strides(map.ranges);
  return map;
}

/// The type maps of derived datatypes, as attributes of these: they go with their datatypes, so a handle that is used
/// again finds nothing of what it named before.
class TypeMaps {
 public:
  struct Known {
    std::shared_ptr<const TypeMap> map;
    std::shared_ptr<const bool> life = std::make_shared<const bool>(true);  // held by nobody else
  };

  Known find(MPI_Datatype type) {
    const int key = attribute_key();
    if (const Known* const known = attribute_of(type, key)) return *known;
    const Known made{std::make_shared<const TypeMap>(read_whole_type_map(type))};
    // Setting an attribute deletes what another thread may be reading.
    const std::lock_guard lock(making_);
    if (const Known* const known = attribute_of(type, key)) return *known;
    auto* const kept = new Known(made);
    keep(kept);
    check_mpi(MPI_Type_set_attr(type, key, kept), "MPI_Type_set_attr");
    return made;
  }

 private:
  static const Known* attribute_of(MPI_Datatype type, int key) {
    void* attribute = nullptr;
    int found = 0;
    check_mpi(MPI_Type_get_attr(type, key, static_cast<void*>(&attribute), &found), "MPI_Type_get_attr");
    return found ? static_cast<const Known*>(attribute) : nullptr;
  }

  int attribute_key();
  void keep(Known* known) {
    const std::lock_guard lock(kept_mutex_);
    kept_.insert(known);
  }
  void drop(Known* known) {
    {
      const std::lock_guard lock(kept_mutex_);
      kept_.erase(known);
    }
    delete known;
  }
  friend int delete_type_map(MPI_Datatype, int, void* attribute, void*);

  std::mutex making_;  // never taken by delete_type_map, which MPI may call under locks of its own
  std::atomic<int> key_{MPI_KEYVAL_INVALID};
  std::atomic<int> instance_{0};     // that the key is of
  std::mutex kept_mutex_;            // nothing of MPI is called under it
  std::unordered_set<Known*> kept_;  // MPI deletes no attributes of datatypes that are never freed
};

/// Never destroyed: datatypes may be freed later than any object of static lifetime.
TypeMaps& type_maps() {
  static auto* const maps = new TypeMaps;
  return *maps;
}

int delete_type_map(MPI_Datatype, int, void* attribute, void*) {
  type_maps().drop(static_cast<TypeMaps::Known*>(attribute));
  return MPI_SUCCESS;
}

int TypeMaps::attribute_key() {
  const int instance = mpi_instance();
  if (const int key = key_.load(std::memory_order_acquire); key != MPI_KEYVAL_INVALID && instance == instance_)
    return key;
  const std::lock_guard lock(making_);
  int key = key_.load(std::memory_order_relaxed);
  if (key == MPI_KEYVAL_INVALID || instance != instance_) {
    check_mpi(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_type_map, &key, nullptr), "MPI_Type_create_keyval");
    key_.store(key, std::memory_order_release);
    instance_ = instance;
  }
  return key;
}

}  // namespace

RangeList TypeMap::elements(std::int64_t count, std::int64_t offset) const {
  RangeList list;
  list.append_repeated(ranges, count, extent, offset);
  return list;
}

std::optional<Range> TypeMap::contiguous(std::int64_t count, std::int64_t offset) const {
  const std::optional<Range> one = ranges.contiguous();
  if (!one || (count > 1 && one->bytes != extent)) return std::nullopt;
  return Range{offset + one->offset, one->bytes * count};
}

Range TypeMap::hull_of(std::int64_t count, std::int64_t offset) const {
  const std::int64_t last = (count - 1) * extent;
  return {offset + hull.offset + std::min<std::int64_t>(last, 0), hull.bytes + std::abs(last)};
}

bool is_predefined(MPI_Datatype type) {
  return Envelope(type).is_predefined();
}

bool lie_nowhere(std::int64_t count, MPI_Datatype type, std::int64_t displacement, bool is_in_bytes) {
  if (count <= 0) return false;
  MPI_Count first = 0;
  MPI_Count length = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check_mpi(MPI_Type_get_true_extent_x(type, &first, &length), "MPI_Type_get_true_extent_x");
  check_mpi(MPI_Type_get_extent(type, &lower, &extent), "MPI_Type_get_extent");
  std::int64_t offset = 0;
  if (length <= 0 || __builtin_mul_overflow(displacement, is_in_bytes ? 1 : extent, &offset)) return false;
  return !__builtin_add_overflow(offset, first, &offset) && lies_nowhere(offset);
}

std::shared_ptr<const TypeMap> type_map(MPI_Datatype type) {
  require(type != MPI_DATATYPE_NULL, ErrorKind::type, "MPI_DATATYPE_NULL");
  if (simulated || is_predefined(type)) return std::make_shared<const TypeMap>(read_whole_type_map(type));
  return type_maps().find(type).map;
}

std::weak_ptr<const void> life_of(MPI_Datatype type) {
  return type_maps().find(type).life;
}

MPI_Datatype base_type(MPI_Datatype type) {
  const Envelope envelope(type);
  if (envelope.is_predefined()) return type;
  const Contents contents(type, envelope);
  MPI_Datatype base = MPI_DATATYPE_NULL;
  for (std::size_t i = 0; i < static_cast<std::size_t>(envelope.types); ++i) {
    const MPI_Datatype inner = base_type(contents.types[i]);
    if (inner == MPI_DATATYPE_NULL || (i > 0 && inner != base)) return MPI_DATATYPE_NULL;
    base = inner;
  }
  return base;
}

}  // namespace laneway
