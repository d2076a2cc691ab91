// What lnw_device_combine is to compute, by plain loops.
#pragma once

#include <laneway/device_combine.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace laneway {

/// Numbers with their type as kernels call it.
template <class T, int name>
struct Number {
  using type = T;
  static constexpr int number = name;
};

/// Calls f(Number) for all of them.
template <class F>
void for_each_number(F&& f) {
  f(Number<std::int32_t, LNW_DEVICE_INT32>());
  f(Number<std::uint32_t, LNW_DEVICE_UINT32>());
  f(Number<std::int64_t, LNW_DEVICE_INT64>());
  f(Number<std::uint64_t, LNW_DEVICE_UINT64>());
  f(Number<float, LNW_DEVICE_FLOAT32>());
  f(Number<double, LNW_DEVICE_FLOAT64>());
  f(Number<std::int8_t, LNW_DEVICE_INT8>());
  f(Number<std::uint8_t, LNW_DEVICE_UINT8>());
  f(Number<std::int16_t, LNW_DEVICE_INT16>());
  f(Number<std::uint16_t, LNW_DEVICE_UINT16>());
}

constexpr int first_operation = LNW_DEVICE_SUM;
/// Of whole numbers; real ones have the first four.
constexpr int last_operation = LNW_DEVICE_BXOR;
template <class T>
constexpr int last_operation_of = std::is_integral_v<T> ? last_operation : LNW_DEVICE_PROD;

template <class T>
T combined_plainly(T to, T from, int operation) {
  if (operation == LNW_DEVICE_MIN) return from < to ? from : to;
  if (operation == LNW_DEVICE_MAX) return from > to ? from : to;
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<std::uint64_t>(to);
    const auto b = static_cast<std::uint64_t>(from);
    if (operation == LNW_DEVICE_LAND) return static_cast<T>(a != 0 && b != 0);
    if (operation == LNW_DEVICE_LOR) return static_cast<T>(a != 0 || b != 0);
    if (operation == LNW_DEVICE_LXOR) return static_cast<T>((a != 0) != (b != 0));
    if (operation == LNW_DEVICE_BAND) return static_cast<T>(a & b);
    if (operation == LNW_DEVICE_BOR) return static_cast<T>(a | b);
    if (operation == LNW_DEVICE_BXOR) return static_cast<T>(a ^ b);
    return static_cast<T>(operation == LNW_DEVICE_SUM ? a + b : a * b);
  } else {
    return operation == LNW_DEVICE_SUM ? to + from : to * from;
  }
}

/// From buffer 0 into buffer 1, whose runs are apart: contiguous, strided both ways, and single numbers in any order.
template <class T>
struct CombinedNumbers {
  explicit CombinedNumbers(int operation) {
    std::mt19937 random(static_cast<unsigned>(operation) + 5);
    const auto fill = [&](std::vector<T>& numbers) {
      for (T& number : numbers)
        number = std::is_integral_v<T> ? static_cast<T>(random() % 4 * random() * std::uint64_t{0x9E3779B97F4A7C15})
                                       : static_cast<T>(random()) / static_cast<T>(1 << 20) - static_cast<T>(2000);
    };
    fill(from);
    fill(to);
    expected = to;
    const auto add = [&](std::int64_t source, std::int64_t target, std::int64_t count, std::int64_t source_step,
                         std::int64_t target_step, std::int64_t rows) {
      constexpr std::int64_t size = sizeof(T);
      runs.push_back({source * size, target * size, count * size, source_step * size, target_step * size, rows, 0, 1});
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < count; ++i) {
          T& there = expected[static_cast<std::size_t>(target + row * target_step + i)];
          there = combined_plainly(there, from[static_cast<std::size_t>(source + row * source_step + i)], operation);
        }
    };
    add(3, 1, 1001, 0, 0, 1);
    add(2000, 1100, 3, 7, 5, 40);
    add(100, 2000, 1, 2, -1, 90);
    for (std::int64_t i = 0; i < 500; ++i) add((i * 37) % 500, 2100 + (i * 91) % 500, 1, 0, 0, 1);
  }

  std::vector<T> from = std::vector<T>(3000);
  std::vector<T> to = std::vector<T>(3000);
  std::vector<T> expected;
  std::vector<lnw_device_run> runs;
};

}  // namespace laneway
