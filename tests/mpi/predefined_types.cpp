#include "predefined_types.hpp"

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace laneway::test {

namespace {

using Kind = PredefinedType::Kind;

/// Of what a `long double` has in x86's memory; elsewhere it uses all of it.
constexpr std::size_t used_of_long_double = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

template <class T>
void put(std::byte* at, T value) {
  std::memset(at, 0, sizeof value);
  std::memcpy(at, &value, std::is_same_v<T, long double> ? used_of_long_double : sizeof value);
}

template <class T>
void fill_number(Random& random, std::byte* element) {
  put(element, static_cast<T>(pick(random, 1, 3)));
}
/// 128 bits; no compiler need have such a type.
void fill_wide(Random& random, std::byte* element) {
  std::memset(element, 0, 16);
  put(element, std::int32_t{pick(random, 1, 3)});
}
/// Of products with other imaginary parts, zeros have signs that depend on the order.
template <class T>
void fill_complex(Random& random, std::byte* element) {
  put(element, static_cast<T>(pick(random, 1, 3)));
  put(element + sizeof(T), T{0});
}
template <class T>
void fill_logical(Random& random, std::byte* element) {
  put(element, static_cast<T>(pick(random, 0, 1)));
}
template <class T>
void fill_pair(Random& random, std::byte* element) {
  struct Pair {
    T value;
    int index;
  };
  std::memset(element, 0, sizeof(Pair));
  put(element, static_cast<T>(pick(random, 1, 9)));
  put(element + offsetof(Pair, index), pick(random, 0, 99));
}
template <class T>
void fill_two(Random& random, std::byte* element) {
  put(element, static_cast<T>(pick(random, 1, 9)));
  put(element + sizeof(T), static_cast<T>(pick(random, 0, 99)));
}

using Fill = void (*)(Random&, std::byte*);

/// By size, as Fortran's types are what its compiler makes of them.
Fill fill_of(Kind kind, int bytes) {
  if (kind == Kind::real)
    return bytes == 4 ? fill_number<float> : bytes == 8 ? fill_number<double> : fill_number<long double>;
  if (kind == Kind::complex)
    return bytes == 8 ? fill_complex<float> : bytes == 16 ? fill_complex<double> : fill_complex<long double>;
  if (kind == Kind::logical)
    return bytes == 1 ? fill_logical<std::uint8_t> : bytes == 4 ? fill_logical<std::int32_t> : nullptr;
  return bytes == 1    ? fill_number<std::uint8_t>
         : bytes == 2  ? fill_number<std::int16_t>
         : bytes == 4  ? fill_number<std::int32_t>
         : bytes == 8  ? fill_number<std::int64_t>
         : bytes == 16 ? fill_wide
                       : nullptr;
}

std::vector<PredefinedType> make_types() {
  std::vector<PredefinedType> all;
  const auto add_pair = [&](const char* name, MPI_Datatype type, Fill fill) {
    if (type == MPI_DATATYPE_NULL) return;
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    all.push_back({name, type, Kind::pair, static_cast<std::size_t>(extent), fill});
  };
  const auto add = [&](const char* name, MPI_Datatype type, Kind kind) {
    if (type == MPI_DATATYPE_NULL) return;
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    if (bytes > 0 && fill_of(kind, bytes) != nullptr)
      all.push_back({name, type, kind, static_cast<std::size_t>(bytes), fill_of(kind, bytes)});
  };
#define ADD(KIND, TYPE) add(#TYPE, TYPE, Kind::KIND)
  ADD(integer, MPI_INT);
  ADD(integer, MPI_LONG);
  ADD(integer, MPI_SHORT);
  ADD(integer, MPI_UNSIGNED_SHORT);
  ADD(integer, MPI_UNSIGNED);
  ADD(integer, MPI_UNSIGNED_LONG);
  ADD(integer, MPI_LONG_LONG_INT);
  ADD(integer, MPI_LONG_LONG);
  ADD(integer, MPI_UNSIGNED_LONG_LONG);
  ADD(integer, MPI_SIGNED_CHAR);
  ADD(integer, MPI_UNSIGNED_CHAR);
  ADD(integer, MPI_INT8_T);
  ADD(integer, MPI_INT16_T);
  ADD(integer, MPI_INT32_T);
  ADD(integer, MPI_INT64_T);
  ADD(integer, MPI_UINT8_T);
  ADD(integer, MPI_UINT16_T);
  ADD(integer, MPI_UINT32_T);
  ADD(integer, MPI_UINT64_T);
  ADD(integer, MPI_AINT);
  ADD(integer, MPI_OFFSET);
  ADD(integer, MPI_COUNT);
  ADD(integer, MPI_INTEGER);
  ADD(integer, MPI_INTEGER1);
  ADD(integer, MPI_INTEGER2);
  ADD(integer, MPI_INTEGER4);
  ADD(integer, MPI_INTEGER8);
#ifdef MPI_INTEGER16
  ADD(integer, MPI_INTEGER16);
#endif
  ADD(real, MPI_FLOAT);
  ADD(real, MPI_DOUBLE);
  ADD(real, MPI_LONG_DOUBLE);
  ADD(real, MPI_REAL);
  ADD(real, MPI_DOUBLE_PRECISION);
  ADD(real, MPI_REAL4);
  ADD(real, MPI_REAL8);
  ADD(real, MPI_REAL16);
  ADD(complex, MPI_C_COMPLEX);
  ADD(complex, MPI_C_FLOAT_COMPLEX);
  ADD(complex, MPI_C_DOUBLE_COMPLEX);
  ADD(complex, MPI_C_LONG_DOUBLE_COMPLEX);
  ADD(complex, MPI_COMPLEX);
  ADD(complex, MPI_DOUBLE_COMPLEX);
  ADD(complex, MPI_COMPLEX8);
  ADD(complex, MPI_COMPLEX16);
  ADD(complex, MPI_COMPLEX32);
#ifdef MPI_CXX_FLOAT_COMPLEX
  ADD(complex, MPI_CXX_FLOAT_COMPLEX);
  ADD(complex, MPI_CXX_DOUBLE_COMPLEX);
  ADD(complex, MPI_CXX_LONG_DOUBLE_COMPLEX);
#endif
  ADD(logical, MPI_C_BOOL);
  ADD(logical, MPI_LOGICAL);
#ifdef MPI_CXX_BOOL
  ADD(logical, MPI_CXX_BOOL);
#endif
  ADD(byte, MPI_BYTE);
#undef ADD
  add_pair("MPI_FLOAT_INT", MPI_FLOAT_INT, fill_pair<float>);
  add_pair("MPI_DOUBLE_INT", MPI_DOUBLE_INT, fill_pair<double>);
  add_pair("MPI_LONG_INT", MPI_LONG_INT, fill_pair<long>);
  add_pair("MPI_2INT", MPI_2INT, fill_pair<int>);
  add_pair("MPI_SHORT_INT", MPI_SHORT_INT, fill_pair<short>);
  add_pair("MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, fill_pair<long double>);
  add_pair("MPI_2REAL", MPI_2REAL, fill_two<float>);
  add_pair("MPI_2DOUBLE_PRECISION", MPI_2DOUBLE_PRECISION, fill_two<double>);
  add_pair("MPI_2INTEGER", MPI_2INTEGER, fill_two<int>);
  return all;
}

/// The standard's list is one thing, what a library was built with another.
bool is_applied(const PredefinedType& type, MPI_Op op) {
  alignas(64) std::byte a[64] = {};
  alignas(64) std::byte b[64] = {};
  const Handler world(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Handler self(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  return MPI_Reduce_local(a, b, 1, type.type, op) == MPI_SUCCESS;
}

}  // namespace

const std::vector<PredefinedType>& predefined_types() {
  static const std::vector<PredefinedType> all = make_types();
  return all;
}

const PredefinedType* find_predefined_type(MPI_Datatype type) {
  const std::vector<PredefinedType>& all = predefined_types();
  const auto found = std::ranges::find(all, type, &PredefinedType::type);
  return found != all.end() ? &*found : nullptr;
}

std::vector<PredefinedOperator> operators_of(const PredefinedType& type) {
  struct Row {
    PredefinedOperator op;
    std::vector<Kind> kinds;
  };
  static const std::vector<Row> rows = {{{"MPI_MAX", MPI_MAX}, {Kind::integer, Kind::real}},
                                        {{"MPI_MIN", MPI_MIN}, {Kind::integer, Kind::real}},
                                        {{"MPI_SUM", MPI_SUM}, {Kind::integer, Kind::real, Kind::complex}},
                                        {{"MPI_PROD", MPI_PROD}, {Kind::integer, Kind::real, Kind::complex}},
                                        {{"MPI_LAND", MPI_LAND}, {Kind::integer, Kind::logical}},
                                        {{"MPI_LOR", MPI_LOR}, {Kind::integer, Kind::logical}},
                                        {{"MPI_LXOR", MPI_LXOR}, {Kind::integer, Kind::logical}},
                                        {{"MPI_BAND", MPI_BAND}, {Kind::integer, Kind::byte}},
                                        {{"MPI_BOR", MPI_BOR}, {Kind::integer, Kind::byte}},
                                        {{"MPI_BXOR", MPI_BXOR}, {Kind::integer, Kind::byte}},
                                        {{"MPI_MAXLOC", MPI_MAXLOC}, {Kind::pair}},
                                        {{"MPI_MINLOC", MPI_MINLOC}, {Kind::pair}}};
  std::vector<PredefinedOperator> found;
  for (const Row& row : rows)
    if (std::ranges::find(row.kinds, type.kind) != row.kinds.end() && is_applied(type, row.op.op))
      found.push_back(row.op);
  return found;
}

void clear_unused(const PredefinedType& type, std::vector<std::byte>& elements) {
  const bool wide = (type.kind == Kind::real && type.bytes == sizeof(long double) && type.type != MPI_REAL16) ||
                    (type.kind == Kind::complex && type.bytes == 2 * sizeof(long double) && type.type != MPI_COMPLEX32);
  const bool with_index = type.type == MPI_LONG_DOUBLE_INT;
  if (!wide && !with_index && type.kind != Kind::pair) return;
  std::vector<bool> is_used(type.bytes, true);
  const auto leave = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, type.bytes); ++i) is_used[i] = false;
  };
  if (wide || with_index) leave(used_of_long_double, sizeof(long double));
  if (wide && type.kind == Kind::complex) leave(sizeof(long double) + used_of_long_double, type.bytes);
  if (with_index) leave(sizeof(long double) + sizeof(int), type.bytes);
  if (type.type == MPI_DOUBLE_INT) leave(sizeof(double) + sizeof(int), type.bytes);
  if (type.type == MPI_LONG_INT) leave(sizeof(long) + sizeof(int), type.bytes);
  if (type.type == MPI_SHORT_INT) leave(sizeof(short), alignof(int));
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (!is_used[i % type.bytes]) elements[i] = std::byte{0};
}

}  // namespace laneway::test
