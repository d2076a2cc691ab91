// Kernels: lists of runs, and those of programs. They reach memory of devices and pinned memory, within one allocation.
#include "kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim.hpp"

struct lnw_device_moves_s {
  struct Extent {
    std::int64_t begin = 0, end = 0;  ///< nothing if they are equal
  };
  int device = 0;
  std::vector<lnw_device_run> runs;
  std::array<Extent, LNW_DEVICE_BASES> read, written;
  std::size_t bytes = 0;
  /// Of rows that are combined: to = to op from, of so many bytes. Null: they are copied.
  void (*combine)(std::byte* to, const std::byte* from, std::size_t bytes) = nullptr;
  std::size_t number_bytes = 1;
};

namespace laneway::sim {

namespace {

void extend(lnw_device_moves_s::Extent& extent, std::int64_t at, const lnw_device_run& run, std::int64_t stride) {
  const std::int64_t last = at + (run.count - 1) * stride;
  const std::int64_t begin = std::min(at, last);
  const std::int64_t end = std::max(at, last) + run.bytes;
  if (extent.begin == extent.end)
    extent = {begin, end};
  else
    extent = {std::min(extent.begin, begin), std::max(extent.end, end)};
}

void check_targets(const std::vector<lnw_device_run>& runs) {
  struct Target {
    std::uint32_t base;
    std::int64_t begin, end;
  };
  std::vector<Target> targets;
  for (const lnw_device_run& run : runs)
    for (std::int64_t row = 0; row < run.count; ++row) {
      if (targets.size() == std::size_t{1} << 22) return;  // large lists are not worth the memory
      const std::int64_t at = run.to + row * run.to_stride;
      targets.push_back({run.to_base, at, at + run.bytes});
    }
  std::sort(targets.begin(), targets.end(),
            [](const Target& a, const Target& b) { return std::tie(a.base, a.begin) < std::tie(b.base, b.begin); });
  for (std::size_t i = 1; i < targets.size(); ++i)
    if (targets[i].base == targets[i - 1].base && targets[i].begin < targets[i - 1].end)
      throw Failure(LNW_DEVICE_INVALID, "two runs write byte " + std::to_string(targets[i].begin) + " of base " +
                                            std::to_string(targets[i].base));
}

/// Where the host can touch what a kernel of `device` addresses relative to a base.
std::byte* kernel_base(int device, void* base, const lnw_device_moves_s::Extent& extent) {
  if (extent.begin == extent.end) return nullptr;
  std::byte* const begin = static_cast<std::byte*>(base) + extent.begin;
  const auto found = sim().memory.find(begin);
  if (!found)
    throw Failure(LNW_DEVICE_FAILED, "a kernel of sim device " + std::to_string(device) +
                                         " addresses memory that is neither the device's nor pinned");
  const auto bytes = static_cast<std::size_t>(extent.end - extent.begin);
  if (begin + bytes > found->base + found->bytes)
    throw Failure(LNW_DEVICE_FAILED, "a kernel of sim device " + std::to_string(device) + " leaves the " +
                                         std::to_string(found->bytes) + " bytes that are allocated there");
  return sim().memory.accessible(begin, bytes) - extent.begin;
}

bool reads_what_it_writes(const lnw_device_moves_s& moves, const std::vector<void*>& bases) {
  const auto at = [&](std::size_t base, std::int64_t offset) { return static_cast<std::byte*>(bases[base]) + offset; };
  for (std::size_t w = 0; w < bases.size(); ++w)
    for (std::size_t r = 0; r < bases.size(); ++r) {
      const auto& written = moves.written[w];
      const auto& read = moves.read[r];
      if (at(w, written.begin) < at(r, read.end) && at(r, read.begin) < at(w, written.end)) return true;
    }
  return false;
}

void run_moves(Stream& stream, const lnw_device_moves_s& moves, const std::vector<void*>& bases) {
  std::array<std::byte*, LNW_DEVICE_BASES> to{}, from{};
  for (std::size_t base = 0; base < bases.size(); ++base) {
    from[base] = kernel_base(moves.device, bases[base], moves.read[base]);
    to[base] = kernel_base(moves.device, bases[base], moves.written[base]);
  }
  std::vector<std::size_t> order(moves.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const lnw_device_run& run : moves.runs)
    for (const void* const first :
         {static_cast<void*>(to[run.to_base] + run.to), static_cast<void*>(from[run.from_base] + run.from)})
      if (reinterpret_cast<std::uintptr_t>(first) % moves.number_bytes != 0)
        throw Failure(LNW_DEVICE_FAILED, "a kernel combines numbers that are not aligned");
  const bool spoils = stream.reorders() && stream.random()() % 2 == 0;
  if (stream.reorders()) std::shuffle(order.begin(), order.end(), stream.random());
  const auto for_each = [&](auto&& body) {
    for (const std::size_t index : order) {
      const lnw_device_run& run = moves.runs[index];
      for (std::int64_t row = 0; row < run.count; ++row)
        body(to[run.to_base] + run.to + row * run.to_stride, from[run.from_base] + run.from + row * run.from_stride,
             static_cast<std::size_t>(run.bytes));
    }
  };
  if (moves.combine != nullptr) return for_each(moves.combine);
  if (spoils && !reads_what_it_writes(moves, bases)) {
    for_each([](std::byte* target, const std::byte*, std::size_t bytes) { std::memset(target, 0xDB, bytes); });
    stream.hesitate();
  }
  for_each([](std::byte* target, const std::byte* source, std::size_t bytes) { std::memcpy(target, source, bytes); });
}

/// Where the host can touch an array that a kernel addresses.
template <class T>
T* kernel_array(int device, T* array, std::int64_t count) {
  using Plain = std::remove_const_t<T>;
  void* const address = const_cast<Plain*>(array);
  return reinterpret_cast<T*>(kernel_base(device, address, {0, count * static_cast<std::int64_t>(sizeof(T))}));
}

/// At addresses that the host can touch.
void multiply(const lnw_device_csr& a, const double* x, double* y, int width) {
  for (std::int64_t row = 0; row < a.rows; ++row)
    for (int i = 0; i < width; ++i) {
      double sum = 0;
      for (std::int64_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
        sum += a.value[k] * x[std::int64_t{a.column[k]} * width + i];
      y[row * width + i] = sum;
    }
}

int multiply(int device, lnw_device_stream stream, const lnw_device_csr* matrix, const double* x, double* y,
             int width) {
  return attempt([&] {
    if (matrix->rows < 0 || width < 1) throw Failure(LNW_DEVICE_INVALID, "a product of a negative size");
    if (matrix->rows == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(matrix->rows * width) * sizeof *y;
    put_kernel(device, stream, bytes, [=, a = *matrix](Stream& in) mutable {
      a.row_begin = kernel_array(device, a.row_begin, a.rows + 1);
      a.column = kernel_array(device, a.column, a.row_begin[a.rows]);
      a.value = kernel_array(device, a.value, a.row_begin[a.rows]);
      double* const to = kernel_array(device, y, a.rows * width);
      spoil(in, reinterpret_cast<std::byte*>(to), bytes);
      multiply(a, kernel_array(device, x, a.columns * width), to, width);
    });
  });
}

/// Where elements are: by an index of a device's, or one after the other.
class Places {
 public:
  Places(int device, const std::uint32_t* index, std::int64_t count)
      : index_(index != nullptr ? kernel_array(device, index, count) : nullptr), count_(count) {}

  std::int64_t operator[](std::int64_t i) const { return index_ != nullptr ? index_[i] : i; }
  /// How many elements there must be.
  [[nodiscard]] std::int64_t reach() const {
    return index_ != nullptr ? std::int64_t{*std::max_element(index_, index_ + count_)} + 1 : count_;
  }

 private:
  const std::uint32_t* index_;
  std::int64_t count_;
};

int move_elements(int device, lnw_device_stream stream, std::uint64_t* to, const std::uint32_t* to_index,
                  const std::uint64_t* from, const std::uint32_t* from_index, std::size_t count) {
  return attempt([&] {
    if (count == 0) return;
    put_kernel(device, stream, count * sizeof *to, [=, elements = static_cast<std::int64_t>(count)](Stream&) {
      const Places targets(device, to_index, elements);
      const Places sources(device, from_index, elements);
      std::uint64_t* const target = kernel_array(device, to, targets.reach());
      const std::uint64_t* const source = kernel_array(device, from, sources.reach());
      for (std::int64_t i = 0; i < elements; ++i) target[targets[i]] = source[sources[i]];
    });
  });
}

}  // namespace

namespace {

std::unique_ptr<lnw_device_moves_s> make_moves(int device, const lnw_device_run* runs, std::size_t count) {
  check_device(device);
  auto made = std::make_unique<lnw_device_moves_s>();
  made->device = device;
  for (const lnw_device_run& run : std::vector<lnw_device_run>(runs, runs + count)) {
    if (run.bytes < 0 || run.count < 0 || run.from_base >= LNW_DEVICE_BASES || run.to_base >= LNW_DEVICE_BASES)
      throw Failure(LNW_DEVICE_INVALID, "a run with a negative size or without a base");
    if (run.bytes == 0 || run.count == 0) continue;
    made->runs.push_back(run);
    made->bytes += static_cast<std::size_t>(run.bytes * run.count);
    extend(made->read[run.from_base], run.from, run, run.from_stride);
    extend(made->written[run.to_base], run.to, run, run.to_stride);
  }
  check_targets(made->runs);
  return made;
}

/// Sums and products of whole numbers wrap around as those of unsigned ones do, which short ones are made to be wide.
template <class T, int operation>
void combine_row(std::byte* to, const std::byte* from, std::size_t bytes) {
  using Wrapping =
      std::conditional_t<std::is_integral_v<T>, std::type_identity<std::uint64_t>, std::type_identity<T>>::type;
  for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
    T a;
    T b;
    std::memcpy(&a, to + at, sizeof a);
    std::memcpy(&b, from + at, sizeof b);
    if constexpr (operation == LNW_DEVICE_SUM) a = static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    if constexpr (operation == LNW_DEVICE_PROD) a = static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
    if constexpr (operation == LNW_DEVICE_MIN) a = b < a ? b : a;
    if constexpr (operation == LNW_DEVICE_MAX) a = b > a ? b : a;
    if constexpr (operation == LNW_DEVICE_LAND) a = a != 0 && b != 0;
    if constexpr (operation == LNW_DEVICE_LOR) a = a != 0 || b != 0;
    if constexpr (operation == LNW_DEVICE_LXOR) a = (a != 0) != (b != 0);
    if constexpr (operation == LNW_DEVICE_BAND) a = static_cast<T>(a & b);
    if constexpr (operation == LNW_DEVICE_BOR) a = static_cast<T>(a | b);
    if constexpr (operation == LNW_DEVICE_BXOR) a = static_cast<T>(a ^ b);
    std::memcpy(to + at, &a, sizeof a);
  }
}

using CombineRow = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

template <class T, int... operations>
constexpr std::array<CombineRow, sizeof...(operations)> combine_rows(std::integer_sequence<int, operations...>) {
  return {combine_row<T, operations>...};
}

/// Real numbers have the first four operators.
template <class T>
CombineRow combine_function(int operation) {
  constexpr int operations = (std::is_integral_v<T> ? LNW_DEVICE_BXOR : LNW_DEVICE_PROD) + 1;
  static constexpr auto rows = combine_rows<T>(std::make_integer_sequence<int, operations>());
  return operation >= 0 && static_cast<std::size_t>(operation) < rows.size() ? rows[static_cast<std::size_t>(operation)]
                                                                             : nullptr;
}

template <class T>
void set_number(lnw_device_moves_s& moves, int operation) {
  moves.combine = combine_function<T>(operation);
  moves.number_bytes = sizeof(T);
}

int combine_create(int device, int operation, int number, const lnw_device_run* runs, std::size_t count,
                   lnw_device_moves* moves) {
  return attempt([&] {
    std::unique_ptr<lnw_device_moves_s> made = make_moves(device, runs, count);
    if (number == LNW_DEVICE_INT32) set_number<std::int32_t>(*made, operation);
    if (number == LNW_DEVICE_UINT32) set_number<std::uint32_t>(*made, operation);
    if (number == LNW_DEVICE_INT64) set_number<std::int64_t>(*made, operation);
    if (number == LNW_DEVICE_UINT64) set_number<std::uint64_t>(*made, operation);
    if (number == LNW_DEVICE_FLOAT32) set_number<float>(*made, operation);
    if (number == LNW_DEVICE_FLOAT64) set_number<double>(*made, operation);
    if (number == LNW_DEVICE_INT8) set_number<std::int8_t>(*made, operation);
    if (number == LNW_DEVICE_UINT8) set_number<std::uint8_t>(*made, operation);
    if (number == LNW_DEVICE_INT16) set_number<std::int16_t>(*made, operation);
    if (number == LNW_DEVICE_UINT16) set_number<std::uint16_t>(*made, operation);
    if (made->combine == nullptr) throw Failure(LNW_DEVICE_UNSUPPORTED, "no kernel combines such numbers");
    for (const lnw_device_run& run : made->runs)
      if (run.bytes % static_cast<std::int64_t>(made->number_bytes) != 0)
        throw Failure(LNW_DEVICE_INVALID, "a run has a part of a number");
    *moves = made.release();
  });
}

}  // namespace

int moves_create(int device, const lnw_device_run* runs, std::size_t count, lnw_device_moves* moves) {
  return attempt([&] { *moves = make_moves(device, runs, count).release(); });
}

int moves_launch(lnw_device_moves moves, lnw_device_stream stream, void* const* bases, std::size_t base_count) {
  return attempt([&] {
    if (moves->runs.empty()) return;
    const std::vector<void*> given(bases, bases + base_count);
    for (const lnw_device_run& run : moves->runs)
      if (run.from_base >= base_count || run.to_base >= base_count)
        throw Failure(LNW_DEVICE_INVALID, "runs are relative to more bases than are given");
    for (std::size_t base = 0; base < base_count; ++base) {
      (void)kernel_base(moves->device, bases[base], moves->read[base]);
      (void)kernel_base(moves->device, bases[base], moves->written[base]);
    }
    put_kernel(moves->device, stream, moves->bytes, [moves, given](Stream& in) { run_moves(in, *moves, given); });
  });
}

int moves_destroy(lnw_device_moves moves) {
  return try_anyway([&] { delete moves; });
}

const lnw_device_kernels program_kernels = {.multiply = multiply, .move_elements = move_elements};
const lnw_device_combine combine_kernels = {.create = combine_create};

}  // namespace laneway::sim
