#include "mpi/reduce_local.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace laneway {

namespace {

/// Operands are as MPI has them: what is in `a` was there before what is in `b`.
template <class T, class F>
void combine(const void* in, void* inout, int count, F f) {
  const auto* const a = static_cast<const T*>(in);
  auto* const b = static_cast<T*>(inout);
  for (int i = 0; i < count; ++i) b[i] = static_cast<T>(f(a[i], b[i]));
}

/// Of integers, sums and products are those of unsigned ones: they may run over.
template <class T>
bool reduce(const void* in, void* inout, int count, MPI_Op op) {
  const auto by = [&](auto f) { return combine<T>(in, inout, count, f), true; };
  if (op == MPI_MAX) return by([](T a, T b) { return a > b ? a : b; });
  if (op == MPI_MIN) return by([](T a, T b) { return a < b ? a : b; });
  if constexpr (std::is_floating_point_v<T>) {
    if (op == MPI_SUM) return by([](T a, T b) { return a + b; });
    if (op == MPI_PROD) return by([](T a, T b) { return a * b; });
  } else {
    if (op == MPI_SUM) return by([](T a, T b) { return std::uint64_t(a) + std::uint64_t(b); });
    if (op == MPI_PROD) return by([](T a, T b) { return std::uint64_t(a) * std::uint64_t(b); });
    if (op == MPI_LAND) return by([](T a, T b) { return a != 0 && b != 0; });
    if (op == MPI_LOR) return by([](T a, T b) { return a != 0 || b != 0; });
    if (op == MPI_LXOR) return by([](T a, T b) { return (a != 0) != (b != 0); });
    if (op == MPI_BAND) return by([](T a, T b) { return a & b; });
    if (op == MPI_BOR) return by([](T a, T b) { return a | b; });
    if (op == MPI_BXOR) return by([](T a, T b) { return a ^ b; });
  }
  return false;
}

using Loop = bool (*)(const void*, void*, int, MPI_Op);

Loop loop_of(MPI_Datatype type) {
  struct Row {
    MPI_Datatype type;
    Loop loop;
  };
  const Row rows[] = {{MPI_INT, reduce<int>},
                      {MPI_DOUBLE, reduce<double>},
                      {MPI_FLOAT, reduce<float>},
                      {MPI_LONG_DOUBLE, reduce<long double>},
                      {MPI_SIGNED_CHAR, reduce<signed char>},
                      {MPI_UNSIGNED_CHAR, reduce<unsigned char>},
                      {MPI_SHORT, reduce<short>},
                      {MPI_UNSIGNED_SHORT, reduce<unsigned short>},
                      {MPI_UNSIGNED, reduce<unsigned>},
                      {MPI_LONG, reduce<long>},
                      {MPI_UNSIGNED_LONG, reduce<unsigned long>},
                      {MPI_LONG_LONG_INT, reduce<long long>},
                      {MPI_UNSIGNED_LONG_LONG, reduce<unsigned long long>},
                      {MPI_INT8_T, reduce<std::int8_t>},
                      {MPI_INT16_T, reduce<std::int16_t>},
                      {MPI_INT32_T, reduce<std::int32_t>},
                      {MPI_INT64_T, reduce<std::int64_t>},
                      {MPI_UINT8_T, reduce<std::uint8_t>},
                      {MPI_UINT16_T, reduce<std::uint16_t>},
                      {MPI_UINT32_T, reduce<std::uint32_t>},
                      {MPI_UINT64_T, reduce<std::uint64_t>},
                      {MPI_AINT, reduce<MPI_Aint>},
                      {MPI_OFFSET, reduce<MPI_Offset>},
                      {MPI_COUNT, reduce<MPI_Count>}};
  const auto* const row = std::ranges::find(rows, type, &Row::type);
  return row != std::end(rows) ? row->loop : nullptr;
}

}  // namespace

bool reduce_by_loops(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  const Loop loop = loop_of(type);
  return loop != nullptr && loop(in, inout, count, op);
}

}  // namespace laneway
