// Datatypes: the bytes that type_map names, and their order, are those that MPI packs; gaps are never written.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <new>
#include <set>

#include "base/error.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "exchange.hpp"

namespace {

/// While the library reads a datatype: the derived datatypes that MPI hands out, and those that are freed.
struct Handles {
  bool counted = false;
  int handed_out = 0;
  int freed = 0;
  int read = 0;                                 ///< how often anybody asked for contents
  MPI_Datatype unheard_of = MPI_DATATYPE_NULL;  ///< made by a constructor that the library has never heard of
} handles;

constexpr int unheard_of_combiner = 54321;

bool is_derived(MPI_Datatype type) {
  int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
  MPI_Count a = 0, b = 0, c = 0, d = 0;
  PMPI_Type_get_envelope_c(type, &a, &b, &c, &d, &combiner);
#else
  int a = 0, b = 0, c = 0;
  PMPI_Type_get_envelope(type, &a, &b, &c, &combiner);
#endif
  return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_INTEGER && combiner != MPI_COMBINER_F90_REAL &&
         combiner != MPI_COMBINER_F90_COMPLEX;
}

template <class Count>
void hand_out(const MPI_Datatype* types, Count count) {
  ++handles.read;
  if (handles.counted) handles.handed_out += static_cast<int>(std::count_if(types, types + count, is_derived));
}

/// By new, in this process.
std::size_t allocated_bytes = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocated_bytes += bytes;
  void* const memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  allocated_bytes += bytes;
  return std::malloc(std::max<std::size_t>(bytes, 1));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

int MPI_Type_get_contents(MPI_Datatype type, int integers, int addresses, int types, int* integer, MPI_Aint* address,
                          MPI_Datatype* inner) {
  const int code = PMPI_Type_get_contents(type, integers, addresses, types, integer, address, inner);
  hand_out(inner, types);
  return code;
}

#if MPI_VERSION >= 4
int MPI_Type_get_contents_c(MPI_Datatype type, MPI_Count integers, MPI_Count addresses, MPI_Count large,
                            MPI_Count types, int* integer, MPI_Aint* address, MPI_Count* count, MPI_Datatype* inner) {
  const int code = PMPI_Type_get_contents_c(type, integers, addresses, large, types, integer, address, count, inner);
  hand_out(inner, types);
  return code;
}

int MPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* large,
                            MPI_Count* types, int* combiner) {
  const int code = PMPI_Type_get_envelope_c(type, integers, addresses, large, types, combiner);
  if (type == handles.unheard_of) *combiner = unheard_of_combiner;
  return code;
}
#endif

int MPI_Type_get_envelope(MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner) {
  const int code = PMPI_Type_get_envelope(type, integers, addresses, types, combiner);
  if (type == handles.unheard_of) *combiner = unheard_of_combiner;
  return code;
}

int MPI_Type_free(MPI_Datatype* type) {
  handles.freed += handles.counted;
  return PMPI_Type_free(type);
}

namespace laneway::test {
namespace {

/// A datatype with the words that made it; freed with its owner.
class Type {
 public:
  Type(MPI_Datatype named, std::string words) : type_(named), words_(std::move(words)) {}
  static Type made(MPI_Datatype type, std::string words) {
    Type result(type, std::move(words));
    result.owned_ = true;
    return result;
  }
  ~Type() {
    if (owned_) MPI_Type_free(&type_);
  }
  Type(Type&& other) noexcept
      : type_(other.type_), words_(std::move(other.words_)), owned_(std::exchange(other.owned_, false)) {}
  Type& operator=(Type&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(words_, other.words_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  void commit() {
    if (owned_) MPI_Type_commit(&type_);
  }
  [[nodiscard]] MPI_Datatype get() const { return type_; }
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  MPI_Datatype type_;
  std::string words_;
  bool owned_ = false;
};

struct Bounds {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t extent = 0;
  std::int64_t size = 0;
};

Bounds bounds(MPI_Datatype type, int count) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  int size_of = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  MPI_Type_size(type, &size_of);
  Bounds b{0, 0, extent, size_of};
  if (size_of == 0 || count == 0) return b;
  const std::int64_t last = static_cast<std::int64_t>(count - 1) * extent;
  b.lower = std::min<std::int64_t>(0, last) + true_lower;
  b.upper = std::max<std::int64_t>(0, last) + true_lower + true_extent;
  return b;
}

constexpr std::int64_t not_packed = -(std::int64_t{1} << 40);

/// Offsets of the bytes of `count` elements in the order in which MPI packs them; `not_packed` of bytes without a
/// value, as a long double has some, which Open MPI 5 leaves as they are.
std::vector<std::int64_t> packed_offsets(MPI_Datatype type, int count) {
  const Bounds b = bounds(type, count);
  const auto span = static_cast<std::size_t>(b.upper - b.lower);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(b.size * count), b.lower);
  for (int digit = 0; digit < 3; ++digit) {
    std::vector<unsigned char> memory(span + 1), packed(offsets.size() + 64);
    for (std::size_t i = 0; i < span; ++i) memory[i] = static_cast<unsigned char>(i >> (8 * digit));
    int position = 0;
    MPI_Pack(memory.data() - b.lower, count, type, packed.data(), static_cast<int>(packed.size()), &position,
             MPI_COMM_SELF);
    EXPECT_EQ(position, static_cast<int>(offsets.size()));
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += static_cast<std::int64_t>(packed[i]) << (8 * digit);
  }
  const std::vector<unsigned char> ones(span + 1, 1);
  std::vector<unsigned char> packed(offsets.size() + 64);
  int position = 0;
  MPI_Pack(ones.data() - b.lower, count, type, packed.data(), static_cast<int>(packed.size()), &position,
           MPI_COMM_SELF);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (packed[i] == 0) offsets[i] = not_packed;
  return offsets;
}

std::vector<std::int64_t> mapped_offsets(MPI_Datatype type, int count) {
  std::vector<std::int64_t> offsets;
  type_map(type)->elements(count, 0).for_each([&](Range range) {
    for (std::int64_t i = range.offset; i < range.end(); ++i) offsets.push_back(i);
  });
  return offsets;
}

bool overlaps(const std::vector<std::int64_t>& offsets) {
  return std::set<std::int64_t>(offsets.begin(), offsets.end()).size() < offsets.size();
}

void expect_same_map(Type& type) {
  type.commit();
  for (int count : {1, 3}) {
    const std::vector<std::int64_t> packed = packed_offsets(type.get(), count);
    std::vector<std::int64_t> mapped = mapped_offsets(type.get(), count);
    for (std::size_t i = 0; i < std::min(mapped.size(), packed.size()); ++i)
      if (packed[i] == not_packed) mapped[i] = not_packed;
    EXPECT_EQ(mapped, packed) << type.words() << " x " << count;
  }
}

template <class... Arguments>
Type make(const std::string& words, int (*constructor)(Arguments..., MPI_Datatype*), Arguments... arguments) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  EXPECT_MPI(constructor(arguments..., &type));
  return Type::made(type, words);
}

std::vector<Type> named_types() {
  std::vector<Type> types;
#define LNW_NAMED(type) types.emplace_back(type, #type)
  LNW_NAMED(MPI_CHAR);
  LNW_NAMED(MPI_BYTE);
  LNW_NAMED(MPI_SHORT);
  LNW_NAMED(MPI_INT);
  LNW_NAMED(MPI_INT64_T);
  LNW_NAMED(MPI_FLOAT);
  LNW_NAMED(MPI_DOUBLE);
  // MPICH packs a long double as a value, without the bytes that its value does not use.
  if (!is_mpich()) LNW_NAMED(MPI_LONG_DOUBLE);
  LNW_NAMED(MPI_C_BOOL);
  LNW_NAMED(MPI_C_DOUBLE_COMPLEX);
  LNW_NAMED(MPI_AINT);
  LNW_NAMED(MPI_COUNT);
  LNW_NAMED(MPI_WCHAR);
  LNW_NAMED(MPI_2INT);
  LNW_NAMED(MPI_SHORT_INT);
  LNW_NAMED(MPI_FLOAT_INT);
  LNW_NAMED(MPI_DOUBLE_INT);
  LNW_NAMED(MPI_LONG_INT);
  if (!is_mpich()) LNW_NAMED(MPI_LONG_DOUBLE_INT);
#undef LNW_NAMED
  return types;
}

class DatatypesTest : public MpiTest {};

TEST_F(DatatypesTest, Named) {
  for (Type& type : named_types()) expect_same_map(type);
}

TEST_F(DatatypesTest, EveryConstructor) {
  for (const Type& base : named_types()) {
    const MPI_Datatype t = base.get();
    auto check = [&](const char* words, auto&& constructor) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      EXPECT_MPI(constructor(&type));
      Type owner = Type::made(type, std::string(words) + " of " + base.words());
      expect_same_map(owner);
    };
    check("contiguous(3)", [&](MPI_Datatype* n) { return MPI_Type_contiguous(3, t, n); });
    check("contiguous(0)", [&](MPI_Datatype* n) { return MPI_Type_contiguous(0, t, n); });
    check("vector(3, 2, 4)", [&](MPI_Datatype* n) { return MPI_Type_vector(3, 2, 4, t, n); });
    check("vector(3, 2, 2)", [&](MPI_Datatype* n) { return MPI_Type_vector(3, 2, 2, t, n); });
    check("vector(3, 2, -4)", [&](MPI_Datatype* n) { return MPI_Type_vector(3, 2, -4, t, n); });
    check("vector(0, 2, 4)", [&](MPI_Datatype* n) { return MPI_Type_vector(0, 2, 4, t, n); });
    check("hvector(3, 2, 100)", [&](MPI_Datatype* n) { return MPI_Type_create_hvector(3, 2, 100, t, n); });
    check("hvector(3, 1, -52)", [&](MPI_Datatype* n) { return MPI_Type_create_hvector(3, 1, -52, t, n); });
    const std::array<int, 3> lengths{2, 0, 1}, places{4, 1, -3};
    const std::array<MPI_Aint, 3> bytes{100, -40, 0};
    check("indexed", [&](MPI_Datatype* n) { return MPI_Type_indexed(3, lengths.data(), places.data(), t, n); });
    check("hindexed", [&](MPI_Datatype* n) { return MPI_Type_create_hindexed(3, lengths.data(), bytes.data(), t, n); });
    check("indexed_block", [&](MPI_Datatype* n) { return MPI_Type_create_indexed_block(3, 1, places.data(), t, n); });
    check("hindexed_block", [&](MPI_Datatype* n) { return MPI_Type_create_hindexed_block(3, 2, bytes.data(), t, n); });
    const std::array<MPI_Datatype, 3> mixed{t, MPI_INT, MPI_CHAR};
    const std::array<MPI_Aint, 3> apart{96, 8, 200};
    check("struct",
          [&](MPI_Datatype* n) { return MPI_Type_create_struct(3, lengths.data(), apart.data(), mixed.data(), n); });
    check("struct of nothing",
          [&](MPI_Datatype* n) { return MPI_Type_create_struct(0, lengths.data(), apart.data(), mixed.data(), n); });
    check("dup", [&](MPI_Datatype* n) { return MPI_Type_dup(t, n); });
    check("resized(-8, 64)", [&](MPI_Datatype* n) { return MPI_Type_create_resized(t, -8, 64, n); });
    check("resized(0, 1)", [&](MPI_Datatype* n) { return MPI_Type_create_resized(t, 0, 1, n); });
    const std::array<int, 3> sizes{3, 4, 5}, subsizes{2, 1, 3}, starts{1, 2, 1};
    for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
      check("subarray", [&](MPI_Datatype* n) {
        return MPI_Type_create_subarray(3, sizes.data(), subsizes.data(), starts.data(), order, t, n);
      });
  }
}

TEST_F(DatatypesTest, Darray) {
  const std::array<int, 3> sizes{7, 5, 4};
  const std::vector<std::array<int, 3>> grids{{2, 1, 3}, {1, 2, 2}, {3, 1, 1}};
  const std::array<int, 4> kinds{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, -1, MPI_DISTRIBUTE_NONE};
  for (const std::array<int, 3>& grid : grids)
    for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
      for (int first : kinds)
        for (int second : kinds) {
          std::array<int, 3> distributions{}, arguments{}, processes = grid;
          auto set = [&](std::size_t d, int kind, int block) {
            distributions[d] = kind == -1 ? MPI_DISTRIBUTE_CYCLIC : kind;
            arguments[d] = kind == -1 ? block : MPI_DISTRIBUTE_DFLT_DARG;
            if (kind == MPI_DISTRIBUTE_NONE) processes[d] = 1;
          };
          set(0, first, 2);
          set(1, second, 3);
          set(2, MPI_DISTRIBUTE_BLOCK, 0);
          const int ranks = processes[0] * processes[1] * processes[2];
          for (int r = 0; r < ranks; ++r) {
            MPI_Datatype type = MPI_DATATYPE_NULL;
            EXPECT_MPI(MPI_Type_create_darray(ranks, r, 3, sizes.data(), distributions.data(), arguments.data(),
                                              processes.data(), order, MPI_INT, &type));
            Type owner = Type::made(type, "darray of kinds " + std::to_string(first) + ", " + std::to_string(second) +
                                              ", rank " + std::to_string(r) + " of " + std::to_string(ranks) +
                                              (order == MPI_ORDER_C ? ", C" : ", Fortran"));
            expect_same_map(owner);
          }
        }
}

/// A random datatype over all constructors, up to `depth` levels, of at most about `bytes` bytes.
Type random_type(Random& random, int depth) {
  static std::vector<Type> named = named_types();
  const Type& chosen = named[static_cast<std::size_t>(pick(random, 0, static_cast<int>(named.size()) - 1))];
  if (depth == 0) return {chosen.get(), chosen.words()};
  const Type inner = random_type(random, depth - 1);
  const MPI_Datatype t = inner.get();
  const Bounds b = bounds(t, 1);
  // Nothing is built on empty types: Open MPI 4.1 and MPICH 4.0 get some of these wrong.
  if (b.size == 0 || b.size > 1500 || b.upper - b.lower > 20000) {
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    MPI_Type_dup(t, &copy);
    return Type::made(copy, "dup(" + inner.words() + ")");
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::string words;
  auto list = [&](int n, int least, int most) {
    std::vector<int> values(static_cast<std::size_t>(n) + 1);
    for (int& value : values) value = pick(random, least, most);
    return values;
  };
  // Open MPI 4.1 packs some vectors of negative stride in ascending order.
  const int least_stride = is_mpich() ? -4 : 0;
  const int n = pick(random, 0, 12) == 0 ? 0 : pick(random, 1, 4);
  const int length = pick(random, 0, 12) == 0 ? 0 : pick(random, 1, 3);
  const std::vector<int> lengths = list(n, 0, 3), places = list(n, -3, 6), bytes = list(n, -90, 90);
  const std::vector<MPI_Aint> displacements(bytes.begin(), bytes.end());
  auto text = [](const std::vector<int>& values) {
    std::string joined;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) joined += (i > 0 ? " " : "") + std::to_string(values[i]);
    return "{" + joined + "}";
  };
  const int stride = pick(random, least_stride, 5);
  switch (pick(random, 0, 11)) {
    case 0:
      words = "contiguous " + std::to_string(n);
      MPI_Type_contiguous(n, t, &type);
      break;
    case 1:
      words = "vector " + text({n, length, stride, 0});
      MPI_Type_vector(n, length, stride, t, &type);
      break;
    case 2:
      words = "hvector " + text({n, length, 14 * stride, 0});
      MPI_Type_create_hvector(n, length, 14 * stride, t, &type);
      break;
    case 3:
      words = "indexed " + text(lengths) + text(places);
      MPI_Type_indexed(n, lengths.data(), places.data(), t, &type);
      break;
    case 4:
      words = "hindexed " + text(lengths) + text(bytes);
      MPI_Type_create_hindexed(n, lengths.data(), displacements.data(), t, &type);
      break;
    case 5:
      words = "indexed_block " + std::to_string(length) + text(places);
      MPI_Type_create_indexed_block(n, length, places.data(), t, &type);
      break;
    case 6:
      words = "hindexed_block " + std::to_string(length) + text(bytes);
      MPI_Type_create_hindexed_block(n, length, displacements.data(), t, &type);
      break;
    case 7: {
      const Type other = random_type(random, depth - 1);
      std::vector<MPI_Datatype> types;
      std::vector<int> which = list(n, 0, 1);
      const bool empty = bounds(other.get(), 1).size == 0;
      for (int w : which) types.push_back(w || empty ? t : other.get());
      words = "struct " + text(lengths) + text(bytes) + text(which) + " of " + other.words() + " and ";
      MPI_Type_create_struct(n, lengths.data(), displacements.data(), types.data(), &type);
      break;
    }
    case 8:
      words = "dup";
      MPI_Type_dup(t, &type);
      break;
    case 9: {
      const int lower = pick(random, -20, 20), extent = pick(random, 1, 2 * static_cast<int>(b.upper - b.lower) + 8);
      words = "resized " + text({lower, extent, 0});
      MPI_Type_create_resized(t, lower, extent, &type);
      break;
    }
    case 10: {
      if (b.extent <= 0) break;
      const std::vector<int> sizes = list(2, 1, 4);
      std::vector<int> subsizes, starts;
      for (int size : sizes) {
        subsizes.push_back(pick(random, 1, size));
        starts.push_back(pick(random, 0, size - subsizes.back()));
      }
      const bool c = pick(random, 0, 1);
      words = (c ? "subarray C " : "subarray Fortran ") + text(sizes) + text(subsizes) + text(starts);
      MPI_Type_create_subarray(2, sizes.data(), subsizes.data(), starts.data(), c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, t,
                               &type);
      break;
    }
    default: {
      // MPICH 4.0 divides by the extent.
      if (b.extent <= 0) break;
      const std::vector<int> sizes = list(2, 1, 6);
      const std::vector<int> grid = list(2, 1, 2);
      const std::array<int, 2> distributions{pick(random, 0, 1) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC,
                                             MPI_DISTRIBUTE_CYCLIC};
      const std::array<int, 2> arguments{MPI_DISTRIBUTE_DFLT_DARG, pick(random, 1, 3)};
      const bool c = pick(random, 0, 1);
      const int place = pick(random, 0, grid[0] * grid[1] - 1);
      words = (c ? "darray C " : "darray Fortran ") + text(sizes) + text(grid) + text({place, arguments[1], 0});
      MPI_Type_create_darray(grid[0] * grid[1], place, 2, sizes.data(), distributions.data(), arguments.data(),
                             grid.data(), c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, t, &type);
      break;
    }
  }
  if (type == MPI_DATATYPE_NULL) {
    // Empty, or refused by the MPI library, as Open MPI does with some arrays of resized types.
    words = "dup";
    MPI_Type_dup(t, &type);
  }
  return Type::made(type, words + "(" + inner.words() + ")");
}

TEST_F(DatatypesTest, Random) {
  // The types are local; each rank tries others.
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Random random(static_cast<unsigned>(1000 + rank()));
  const int cases = long_tests() ? 20000 : 1500;
  for (int n = 0; n < cases && !HasFailure(); ++n) {
    Type type = random_type(random, pick(random, 1, 4));
    const Bounds b = bounds(type.get(), 3);
    if (b.upper - b.lower >= 1 << 24) continue;
    expect_same_map(type);
  }
}

#if MPI_VERSION >= 4
TEST_F(DatatypesTest, LargeCountConstructors) {
  const std::array<MPI_Count, 3> lengths{2, 0, 1}, places{4, 1, -3}, bytes{100, -40, 0}, apart{96, 8, 200};
  const std::array<MPI_Count, 2> sizes{4, 5}, subsizes{2, 3}, starts{1, 1};
  const std::array<MPI_Datatype, 3> mixed{MPI_DOUBLE, MPI_INT, MPI_CHAR};
  auto check = [&](const char* words, auto&& constructor) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_MPI(constructor(&type));
    Type owner = Type::made(type, words);
    expect_same_map(owner);
  };
  check("contiguous_c", [&](MPI_Datatype* n) { return MPI_Type_contiguous_c(3, MPI_INT, n); });
  check("vector_c", [&](MPI_Datatype* n) { return MPI_Type_vector_c(3, 2, 4, MPI_INT, n); });
  check("hvector_c", [&](MPI_Datatype* n) { return MPI_Type_create_hvector_c(3, 2, 28, MPI_INT, n); });
  check("indexed_c", [&](MPI_Datatype* n) { return MPI_Type_indexed_c(3, lengths.data(), places.data(), MPI_INT, n); });
  check("hindexed_c",
        [&](MPI_Datatype* n) { return MPI_Type_create_hindexed_c(3, lengths.data(), bytes.data(), MPI_INT, n); });
  check("indexed_block_c",
        [&](MPI_Datatype* n) { return MPI_Type_create_indexed_block_c(3, 1, places.data(), MPI_INT, n); });
  check("hindexed_block_c",
        [&](MPI_Datatype* n) { return MPI_Type_create_hindexed_block_c(3, 2, bytes.data(), MPI_INT, n); });
  check("struct_c",
        [&](MPI_Datatype* n) { return MPI_Type_create_struct_c(3, lengths.data(), apart.data(), mixed.data(), n); });
  check("resized_c", [&](MPI_Datatype* n) { return MPI_Type_create_resized_c(MPI_INT, -8, 64, n); });
  for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
    check("subarray_c", [&](MPI_Datatype* n) {
      return MPI_Type_create_subarray_c(2, sizes.data(), subsizes.data(), starts.data(), order, MPI_INT, n);
    });
  const std::array<int, 2> distributions{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
      arguments{MPI_DISTRIBUTE_DFLT_DARG, 2}, grid{2, 2};
  for (int r = 0; r < 4; ++r)
    check("darray_c", [&](MPI_Datatype* n) {
      return MPI_Type_create_darray_c(4, r, 2, sizes.data(), distributions.data(), arguments.data(), grid.data(),
                                      MPI_ORDER_C, MPI_INT, n);
    });
  MPI_Datatype huge = MPI_DATATYPE_NULL;
  EXPECT_MPI(MPI_Type_vector_c(MPI_Count{1} << 33, 1, 2, MPI_INT, &huge));
  const Type owner = Type::made(huge, "a vector of 2^33");
  EXPECT_EQ(type_map(huge)->ranges.bytes(), std::int64_t{1} << 35);
}
#else
TEST_F(DatatypesTest, LargeCountConstructors) {
  GTEST_SKIP() << "SKIP: this MPI library has no functions with large counts";
}
#endif

/// Constructors with counts of both kinds, of datatypes without overlapping bytes and with a positive extent.
std::vector<Type> constructed(const Type& base) {
  std::vector<Type> types;
  const MPI_Datatype t = base.get();
  const auto add = [&](const char* words, auto&& constructor) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_MPI(constructor(&type));
    types.push_back(Type::made(type, std::string(words) + " of " + base.words()));
  };
  // Far apart for every base that is used.
  const auto make = [&]<class Count, class Place>(auto& functions, const std::string& kind, Count, Place) {
    const std::array<Count, 3> lengths{2, 0, 1}, sizes{4, 5, 2}, subsizes{2, 3, 1}, starts{1, 1, 0};
    const std::array<Count, 3> places{1, 7, 9};
    const std::array<Place, 3> bytes{0, 4000, 9000};
    const std::array<MPI_Datatype, 3> mixed{t, MPI_DOUBLE, t};
    const std::array<int, 2> distributions{MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
        arguments{MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid{2, 2};
    const auto words = [&](const char* name) { return name + kind; };
    add(words("contiguous").c_str(), [&](MPI_Datatype* n) { return functions.contiguous(3, t, n); });
    add(words("vector").c_str(), [&](MPI_Datatype* n) { return functions.vector(3, 2, 4, t, n); });
    add(words("hvector").c_str(), [&](MPI_Datatype* n) { return functions.hvector(3, 2, 5000, t, n); });
    add(words("indexed").c_str(),
        [&](MPI_Datatype* n) { return functions.indexed(3, lengths.data(), places.data(), t, n); });
    add(words("hindexed").c_str(),
        [&](MPI_Datatype* n) { return functions.hindexed(3, lengths.data(), bytes.data(), t, n); });
    add(words("indexed_block").c_str(),
        [&](MPI_Datatype* n) { return functions.indexed_block(3, 2, places.data(), t, n); });
    add(words("hindexed_block").c_str(),
        [&](MPI_Datatype* n) { return functions.hindexed_block(3, 2, bytes.data(), t, n); });
    add(words("struct").c_str(),
        [&](MPI_Datatype* n) { return functions.structure(3, lengths.data(), bytes.data(), mixed.data(), n); });
    add(words("subarray").c_str(), [&](MPI_Datatype* n) {
      return functions.subarray(2, sizes.data(), subsizes.data(), starts.data(), MPI_ORDER_C, t, n);
    });
    add(words("darray").c_str(), [&](MPI_Datatype* n) {
      return functions.darray(4, 1, 2, sizes.data(), distributions.data(), arguments.data(), grid.data(),
                              MPI_ORDER_FORTRAN, t, n);
    });
    add(words("resized").c_str(), [&](MPI_Datatype* n) { return functions.resized(t, 0, 9000, n); });
  };
  struct {
    decltype(&MPI_Type_contiguous) contiguous = MPI_Type_contiguous;
    decltype(&MPI_Type_vector) vector = MPI_Type_vector;
    decltype(&MPI_Type_create_hvector) hvector = MPI_Type_create_hvector;
    decltype(&MPI_Type_indexed) indexed = MPI_Type_indexed;
    decltype(&MPI_Type_create_hindexed) hindexed = MPI_Type_create_hindexed;
    decltype(&MPI_Type_create_indexed_block) indexed_block = MPI_Type_create_indexed_block;
    decltype(&MPI_Type_create_hindexed_block) hindexed_block = MPI_Type_create_hindexed_block;
    decltype(&MPI_Type_create_struct) structure = MPI_Type_create_struct;
    decltype(&MPI_Type_create_subarray) subarray = MPI_Type_create_subarray;
    decltype(&MPI_Type_create_darray) darray = MPI_Type_create_darray;
    decltype(&MPI_Type_create_resized) resized = MPI_Type_create_resized;
  } plain;
  make(plain, "", 0, MPI_Aint{});
#if MPI_VERSION >= 4
  struct {
    decltype(&MPI_Type_contiguous_c) contiguous = MPI_Type_contiguous_c;
    decltype(&MPI_Type_vector_c) vector = MPI_Type_vector_c;
    decltype(&MPI_Type_create_hvector_c) hvector = MPI_Type_create_hvector_c;
    decltype(&MPI_Type_indexed_c) indexed = MPI_Type_indexed_c;
    decltype(&MPI_Type_create_hindexed_c) hindexed = MPI_Type_create_hindexed_c;
    decltype(&MPI_Type_create_indexed_block_c) indexed_block = MPI_Type_create_indexed_block_c;
    decltype(&MPI_Type_create_hindexed_block_c) hindexed_block = MPI_Type_create_hindexed_block_c;
    decltype(&MPI_Type_create_struct_c) structure = MPI_Type_create_struct_c;
    decltype(&MPI_Type_create_subarray_c) subarray = MPI_Type_create_subarray_c;
    decltype(&MPI_Type_create_darray_c) darray = MPI_Type_create_darray_c;
    decltype(&MPI_Type_create_resized_c) resized = MPI_Type_create_resized_c;
  } large;
  make(large, "_c", MPI_Count{}, MPI_Count{});
#endif
  add("dup", [&](MPI_Datatype* n) { return MPI_Type_dup(t, n); });
  for (Type& type : types) type.commit();
  return types;
}

/// What datatypes are made of in the tests below: named, made by each kind of constructor, and Fortran's.
std::vector<Type> bases() {
  std::vector<Type> types;
  types.emplace_back(MPI_INT, "int");
  std::vector<Type> made = constructed(types.front());
  for (Type& type : made)
    for (const char* wanted : {"vector of", "vector_c of", "struct of", "struct_c of", "subarray_c of", "dup of"})
      if (type.words().starts_with(wanted)) {
        types.push_back(std::move(type));
        break;
      }
  MPI_Datatype real = MPI_DATATYPE_NULL;
  EXPECT_MPI(MPI_Type_create_f90_real(12, 30, &real));
  types.emplace_back(real, "selected_real");
  return types;
}

/// The same bytes on both edges of a ring, by every operation that takes the datatype, against MPI_Isend and MPI_Irecv.
class EveryOperation {
 public:
  EveryOperation(const Type& type, const Comm& ring) : type_(type), ring_(ring), bounds_(bounds(type.get(), count)) {
    places_[1] = static_cast<int>((bounds_.upper - bounds_.lower) / bounds_.extent) + 1;
    const std::int64_t bytes = places_[1] * bounds_.extent;
    bytes_[1] = bytes;
    send_ = Memory(bounds_.lower - 32, bounds_.upper + bytes + 32);
    received_ = send_;
    Random random(static_cast<unsigned>(rank() + 9));
    for (unsigned char& byte : send_.bytes()) byte = static_cast<unsigned char>(random() % 200);
    std::array<MPI_Request, 4> requests{};
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    expected_ = cleared();
    const MPI_Datatype t = type.get();
    EXPECT_MPI(MPI_Irecv(expected_.base(), count, t, left, 0, MPI_COMM_WORLD, &requests[0]));
    EXPECT_MPI(MPI_Irecv(expected_.base() + bytes, count, t, right, 1, MPI_COMM_WORLD, &requests[1]));
    EXPECT_MPI(MPI_Isend(send_.base(), count, t, right, 0, MPI_COMM_WORLD, &requests[2]));
    EXPECT_MPI(MPI_Isend(send_.base() + bytes, count, t, left, 1, MPI_COMM_WORLD, &requests[3]));
    EXPECT_MPI(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE));
  }

  void blocking() {
    check("alltoallw", [&] {
      return LNW_Neighbor_alltoallw(send_.base(), counts_.data(), bytes_.data(), types_.data(), received_.base(),
                                    counts_.data(), bytes_.data(), types_.data(), ring_.get());
    });
    check("alltoallv", [&] {
      return LNW_Neighbor_alltoallv(send_.base(), counts_.data(), places_.data(), type_.get(), received_.base(),
                                    counts_.data(), places_.data(), type_.get(), ring_.get());
    });
    check("alltoallv_c", [&] {
      const std::array<MPI_Count, 2> counts{count, count};
      const std::array<MPI_Aint, 2> places{0, places_[1]};
      return LNW_Neighbor_alltoallv_c(send_.base(), counts.data(), places.data(), type_.get(), received_.base(),
                                      counts.data(), places.data(), type_.get(), ring_.get());
    });
  }

  void nonblocking() {
    LNW_Request request = LNW_REQUEST_NULL;
    check("ialltoallw", [&] {
      EXPECT_MPI(LNW_Ineighbor_alltoallw(send_.base(), counts_.data(), bytes_.data(), types_.data(), received_.base(),
                                         counts_.data(), bytes_.data(), types_.data(), ring_.get(), &request));
      return LNW_Wait(&request, MPI_STATUS_IGNORE);
    });
    check("ialltoallv", [&] {
      EXPECT_MPI(LNW_Ineighbor_alltoallv(send_.base(), counts_.data(), places_.data(), type_.get(), received_.base(),
                                         counts_.data(), places_.data(), type_.get(), ring_.get(), &request));
      return LNW_Wait(&request, MPI_STATUS_IGNORE);
    });
  }

  void persistent(const Choice& choice) {
    const Info info(choice.hints());
    LNW_Request request = LNW_REQUEST_NULL;
    check("alltoallv_init", [&] {
      EXPECT_MPI(LNW_Neighbor_alltoallv_init(send_.base(), counts_.data(), places_.data(), type_.get(),
                                             received_.base(), counts_.data(), places_.data(), type_.get(), ring_.get(),
                                             info.get(), &request));
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      return LNW_Request_free(&request);
    });
  }

 private:
  static constexpr int count = 3;

  [[nodiscard]] Memory cleared() const {
    Memory memory = send_;
    std::fill(memory.bytes().begin(), memory.bytes().end(), static_cast<unsigned char>(0xee));
    return memory;
  }

  template <class Run>
  void check(const char* what, Run&& run) {
    received_ = cleared();
    EXPECT_MPI(run());
    EXPECT_EQ(received_.bytes(), expected_.bytes()) << what << " of " << type_.words();
  }

  const Type& type_;
  const Comm& ring_;
  Bounds bounds_;
  Memory send_{0, 0};
  Memory received_{0, 0};
  Memory expected_{0, 0};
  const std::array<int, 2> counts_{count, count};
  std::array<int, 2> places_{};
  std::array<MPI_Aint, 2> bytes_{};
  const std::array<MPI_Datatype, 2> types_{type_.get(), type_.get()};
};

TEST_F(DatatypesTest, EveryConstructorOfEveryKindTravels) {
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const Info promise({{"lnw_fixed_counts", "true"}, {"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}});
  const std::vector<Choice> all = choices("node:* rank:2");
  std::size_t next = 0;
  std::size_t turn = 0;
  for (const Type& base : bases())
    for (const Type& type : constructed(base)) {
      const bool nested = is_derived(base.get());
      if (bounds(type.get(), 1).upper > 1 << 18 || (nested && turn++ % 5 != 0 && !long_tests())) continue;
      EveryOperation on_ring(type, ring);
      on_ring.blocking();
      on_ring.nonblocking();
      on_ring.persistent(all[next++ % all.size()]);
      if (next % 4 != 0) continue;
      // The promise is of one datatype, so each has its own communicator.
      const Shape shape = ring_shape(rank(), size());
      MPI_Comm fixed = MPI_COMM_NULL;
      EXPECT_MPI(LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(shape.sources.size()),
                                                shape.sources.data(), MPI_UNWEIGHTED,
                                                static_cast<int>(shape.destinations.size()), shape.destinations.data(),
                                                MPI_UNWEIGHTED, promise.get(), 0, &fixed));
      const Comm owner(fixed);
      EveryOperation on_fixed(type, owner);
      for (int call = 0; call < 2; ++call) on_fixed.blocking();
      on_fixed.nonblocking();
    }
}

/// What reading a datatype hands out and frees; the library may not have read it before.
void expect_no_leak(const Type& type) {
  handles = {.counted = true, .unheard_of = handles.unheard_of};
  if (handles.unheard_of == MPI_DATATYPE_NULL)
    (void)type_map(type.get());
  else
    EXPECT_THROW((void)type_map(type.get()), Error);
  handles.counted = false;
  EXPECT_EQ(handles.handed_out, handles.freed) << type.words();
}

TEST_F(DatatypesTest, InnerTypesAreFreed) {
  int handed_out = 0;
  for (const Type& base : bases())
    for (const Type& type : constructed(base)) {
      expect_no_leak(type);
      handed_out += handles.handed_out;
      // The same of a constructor that the library has never heard of, which has been given inner datatypes, too.
      MPI_Datatype unheard_of = MPI_DATATYPE_NULL;
      EXPECT_MPI(MPI_Type_contiguous(2, type.get(), &unheard_of));
      const Type outer = Type::made(unheard_of, "unheard of, of " + type.words());
      handles.unheard_of = outer.get();
      expect_no_leak(outer);
      handles.unheard_of = MPI_DATATYPE_NULL;
    }
  EXPECT_GT(handed_out, 20);
}

/// {int; double; char} with gaps: two blocks each.
Type spaced_struct() {
  const std::array<int, 3> lengths{1, 1, 1};
  const std::array<MPI_Aint, 3> places{0, 8, 16};
  const std::array<MPI_Datatype, 3> types{MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype inner = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  EXPECT_MPI(MPI_Type_create_struct(3, lengths.data(), places.data(), types.data(), &inner));
  EXPECT_MPI(MPI_Type_create_resized(inner, 0, 24, &type));
  EXPECT_MPI(MPI_Type_free(&inner));
  Type owner = Type::made(type, "{int; double; char}");
  owner.commit();
  return owner;
}

TEST_F(DatatypesTest, CallsThatRunOnceAllocateNothingForElements) {
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const Type type = spaced_struct();
  const auto allocated_for = [&](int elements, bool blocking) {
    std::vector<std::byte> send(static_cast<std::size_t>(48 * elements)), receive(send.size());
    const std::size_t before = allocated_bytes;
    if (blocking) {
      EXPECT_MPI(
          LNW_Neighbor_alltoall(send.data(), elements, type.get(), receive.data(), elements, type.get(), ring.get()));
    } else {
      LNW_Request request = LNW_REQUEST_NULL;
      EXPECT_MPI(LNW_Ineighbor_alltoall(send.data(), elements, type.get(), receive.data(), elements, type.get(),
                                        ring.get(), &request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    }
    return allocated_bytes - before;
  };
  for (const bool blocking : {true, false}) {
    (void)allocated_for(1, blocking);
    const std::size_t for_few = allocated_for(10, blocking);
    EXPECT_LT(allocated_for(20000, blocking), for_few + 16384) << (blocking ? "blocking" : "nonblocking");
  }
}

TEST_F(DatatypesTest, PlansTakeMemoryForOneElement) {
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const Type type = spaced_struct();
  constexpr int elements = 30000;
  std::vector<unsigned char> send(2 * 24 * elements), receive(send.size()), expected(send.size(), 0xee);
  Random random(static_cast<unsigned>(rank() + 11));
  for (unsigned char& byte : send) byte = static_cast<unsigned char>(random() % 200);
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  for (int edge = 0; edge < 2; ++edge)
    MPI_Sendrecv(send.data() + 24 * elements * edge, elements, type.get(), edge == 0 ? right : left, edge,
                 expected.data() + 24 * elements * edge, elements, type.get(), edge == 0 ? left : right, edge,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const std::int64_t bytes = std::int64_t{2} * 13 * elements;
  for (const char* machine : {"node:* rank:1", "node:* rank:2"})
    for (const Choice& choice : choices(machine)) {
      std::fill(receive.begin(), receive.end(), static_cast<unsigned char>(0xee));
      Hints hints = choice.hints();
      hints.emplace_back("lnw_network_message", "57344");
      const Info info(hints);
      LNW_Request request = LNW_REQUEST_NULL;
      const std::size_t before = allocated_bytes;
      EXPECT_MPI(LNW_Neighbor_alltoall_init(send.data(), elements, type.get(), receive.data(), elements, type.get(),
                                            ring.get(), info.get(), &request));
      const auto allocated = static_cast<std::int64_t>(allocated_bytes - before);
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(receive == expected) << choice.text();
      LNW_Request_statistics statistics;
      EXPECT_MPI(LNW_Request_get_statistics(request, &statistics));
      // Each message of 56 KiB has steps; each element would take more than its bytes.
      EXPECT_LT(statistics.metadata_bytes, bytes / 10) << choice.text();
      // All that setup ever takes, besides staging memory. The first rank plans for all where there are few.
      EXPECT_LT(allocated - statistics.staging_bytes, bytes / 2 + 10240 * size()) << choice.text();
      EXPECT_MPI(LNW_Request_free(&request));
    }
}

TEST_F(DatatypesTest, TypesMayBeFreedBeforeTheMessagesStart) {
  // The first call on a communicator begins to duplicate it, and nothing starts before that is done.
  for (int n = 0; n < 3; ++n) {
    const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
    std::vector<int> send(24), receive(24, -1), expected(24, -1);
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    for (int i = 0; i < 24; ++i) send[static_cast<std::size_t>(i)] = 100 * rank() + i;
    for (int i = 0; i < 4; ++i) {
      expected[static_cast<std::size_t>(3 * i)] = 100 * left + 3 * i;
      expected[static_cast<std::size_t>(12 + 3 * i)] = 100 * right + 12 + 3 * i;
    }
    MPI_Datatype vector = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    EXPECT_MPI(MPI_Type_vector(4, 1, 3, MPI_INT, &vector));
    EXPECT_MPI(MPI_Type_create_resized(vector, 0, 48, &type));
    EXPECT_MPI(MPI_Type_commit(&type));
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Ineighbor_alltoall(send.data(), 1, type, receive.data(), 1, type, ring.get(), &request));
    EXPECT_MPI(MPI_Type_free(&vector));
    EXPECT_MPI(MPI_Type_free(&type));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    // Two edges between two ranks are paired in order, so what goes right arrives from the left.
    EXPECT_EQ(receive, size() == 1 ? receive : expected);
  }
}

TEST_F(DatatypesTest, OneSideByBytesTheOtherByDatatype) {
  // Receive places that overlap need bytes, so some ranks here use them, with partners that do not.
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const Type type = spaced_struct();
  constexpr int elements = 50;
  std::vector<unsigned char> send(2 * 24 * elements);
  Random random(static_cast<unsigned>(rank() + 3));
  for (unsigned char& byte : send) byte = static_cast<unsigned char>(random() % 200);
  const bool overlaps = rank() % 2 == 0;
  const std::array<int, 2> counts{elements, elements};
  const std::array<int, 2> send_places{0, elements}, places{0, overlaps ? 1 : elements};
  std::vector<unsigned char> receive(send.size(), 0xee), expected = receive;
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  for (int edge = 0; edge < 2; ++edge) {
    const int to = edge == 0 ? right : left, from = edge == 0 ? left : right;
    MPI_Sendrecv(send.data() + 24 * send_places[static_cast<std::size_t>(edge)], elements, type.get(), to, edge,
                 expected.data() + 24 * places[static_cast<std::size_t>(edge)], elements, type.get(), from, edge,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  const auto check = [&](const char* what) {
    EXPECT_EQ(receive, expected) << what;
    std::fill(receive.begin(), receive.end(), static_cast<unsigned char>(0xee));
  };
  EXPECT_MPI(LNW_Neighbor_alltoallv(send.data(), counts.data(), send_places.data(), type.get(), receive.data(),
                                    counts.data(), places.data(), type.get(), ring.get()));
  check("blocking");
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Ineighbor_alltoallv(send.data(), counts.data(), send_places.data(), type.get(), receive.data(),
                                     counts.data(), places.data(), type.get(), ring.get(), &request));
  EXPECT_FALSE(plan_text(request).empty());
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  check("nonblocking");
}

TEST_F(DatatypesTest, ADerivedTypeIsReadOnce) {
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  for (const int gap : {1, 3}) {  // the second one often has the handle of the first
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_MPI(MPI_Type_vector(3, 1, 1 + gap, MPI_INT, &type));
    Type owner = Type::made(type, "vector with gaps of " + std::to_string(gap));
    owner.commit();
    for (int call = 0; call < 4; ++call) {
      handles.read = 0;
      EveryOperation(owner, ring).blocking();
      EXPECT_EQ(handles.read, call == 0 ? 1 : 0);
    }
    EXPECT_EQ(type_map(type), type_map(type));
  }
}

TEST_F(DatatypesTest, ZeroSizeTypesTravel) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  MPI_Datatype nothing = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  int send = 1, receive = 2;
  EXPECT_MPI(LNW_Neighbor_allgather(&send, 5, nothing, &receive, 7, nothing, graph.get()));
  for (const Choice& choice : choices("node:* rank:1")) {
    const Info info(choice.hints());
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_alltoall_init(&send, 5, nothing, &receive, 7, nothing, graph.get(), info.get(), &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Request_free(&request));
  }
  EXPECT_EQ(receive, 2);
  MPI_Type_free(&nothing);
}

/// `type` on both sides of a ring, from and to memory with canaries, against MPI_Sendrecv.
void travels(const Type& type, const Comm& ring, const Choice& choice) {
  constexpr int count = 2;
  const Bounds b = bounds(type.get(), count);
  const std::int64_t stride = b.upper - b.lower + 16;
  Memory send(b.lower - 32, b.upper + stride + 32), receive = send;
  Random random(static_cast<unsigned>(rank() + 5));
  for (unsigned char& byte : send.bytes()) byte = static_cast<unsigned char>(random() % 200);
  std::fill(receive.bytes().begin(), receive.bytes().end(), static_cast<unsigned char>(0xee));
  Memory expected = receive;
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  // Destinations: right, left; sources: left, right.
  MPI_Sendrecv(send.base(), count, type.get(), right, 0, expected.base(), count, type.get(), left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(send.base() + stride, count, type.get(), left, 0, expected.base() + stride, count, type.get(), right, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const std::array<int, 2> counts{count, count};
  const std::array<MPI_Aint, 2> places{0, stride};
  const std::array<MPI_Datatype, 2> types{type.get(), type.get()};
  const Info info(choice.hints());
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_alltoallw_init(send.base(), counts.data(), places.data(), types.data(), receive.base(),
                                         counts.data(), places.data(), types.data(), ring.get(), info.get(), &request));
  EXPECT_MPI(LNW_Start(&request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(receive.bytes(), expected.bytes()) << type.words() << ", " << choice.text();
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(DatatypesTest, RandomTypesTravelAndGapsStay) {
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  // The same types on all ranks.
  Random random(77);
  for (int n = 0; n < effort(150); ++n) {
    Type type = random_type(random, pick(random, 1, 3));
    type.commit();
    const Bounds b = bounds(type.get(), 2);
    // A receive type must not name a byte twice.
    if (b.upper - b.lower > 1 << 16 || overlaps(mapped_offsets(type.get(), 2))) continue;
    for (const Choice& choice : choices(n % 2 ? "node:* rank:1" : "node:* rank:2")) travels(type, ring, choice);
  }
}

TEST_F(DatatypesTest, InterleavedBlocks) {
  // Receive blocks lie in each other's gaps.
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  MPI_Type_vector(8, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  const std::vector<int> counts{1, 1};
  const std::vector<MPI_Aint> places{0, 4};
  const std::vector<MPI_Datatype> types{every_other, every_other};
  std::vector<int> send(16), receive(16, -1), expected(16);
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  for (int i = 0; i < 16; ++i) {
    send[static_cast<std::size_t>(i)] = 100 * rank() + i;
    // Even places come from the left, which sent its even elements to its first destination, the right.
    expected[static_cast<std::size_t>(i)] = 100 * (i % 2 == 0 ? left : right) + i;
  }
  for (const Choice& choice : choices("node:* rank:2")) {
    const Info info(choice.hints());
    LNW_Request request = LNW_REQUEST_NULL;
    std::fill(receive.begin(), receive.end(), -1);
    EXPECT_MPI(LNW_Neighbor_alltoallw_init(send.data(), counts.data(), places.data(), types.data(), receive.data(),
                                           counts.data(), places.data(), types.data(), ring.get(), info.get(),
                                           &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive, expected) << choice.text();
    EXPECT_MPI(LNW_Request_free(&request));
  }
  MPI_Type_free(&every_other);
}

TEST_F(DatatypesTest, FreedAfterInit) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  for (const Choice& choice : choices("node:* rank:1")) {
    const Info info(choice.hints());
    MPI_Datatype inner = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, 16, &type);
    MPI_Type_commit(&type);
    const std::vector<int> send{rank(), -1, rank() + 100, -1};
    std::vector<int> receive(8, -1);
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(
        LNW_Neighbor_allgather_init(send.data(), 1, type, receive.data(), 1, type, graph.get(), info.get(), &request));
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    EXPECT_EQ(receive, (std::vector<int>{left, -1, left + 100, -1, right, -1, right + 100, -1})) << choice.text();
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

}  // namespace
}  // namespace laneway::test
