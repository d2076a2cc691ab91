#include "runtime/executor/copy.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bytes/address.hpp"
#include "base/simulated.hpp"

namespace laneway {

namespace {

/// A run of this many elements is an operation of its own, which takes no more memory than their offsets.
constexpr std::int64_t long_run = 16;
/// Blocks of up to this size on average are copied word by word, longer ones by memcpy, which is faster from there on.
constexpr std::int64_t short_block_bytes = 96;
/// Contiguous bytes from this number on are stored past the caches (docs/results/copies.md).
constexpr std::int64_t large_bytes = std::int64_t{16} << 20;

using Table = std::vector<std::byte>;

template <class T>
T read(const std::byte* table) {
  T value;
  std::memcpy(&value, table, sizeof value);
  return value;
}

template <class T>
void append(Table& table, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  table.insert(table.end(), bytes, bytes + sizeof value);
}

/// How words lie on one side: one after the other, at a constant stride, or at listed offsets.
template <std::int64_t bytes>
struct Dense {
  std::byte* base;
  Dense(std::byte* buffer, const CopySide& side, const std::byte*) : base(at(buffer, side.base)) {}
  std::byte* operator[](std::int64_t i) const { return base + i * bytes; }
};

template <std::int64_t>
struct Strided {
  std::byte* base;
  std::int64_t stride;
  Strided(std::byte* buffer, const CopySide& side, const std::byte*) : base(at(buffer, side.base)), stride(side.step) {}
  std::byte* operator[](std::int64_t i) const { return base + i * stride; }
};

template <class Offset>
struct Listed {
  std::byte* base;
  const std::byte* offsets;
  Listed(std::byte* buffer, const CopySide& side, const std::byte* table)
      : base(at(buffer, side.base)), offsets(table + side.step) {}
  std::byte* operator[](std::int64_t i) const {
    return base + read<Offset>(offsets + i * static_cast<std::int64_t>(sizeof(Offset)));
  }
};
template <std::int64_t>
using Near = Listed<std::uint32_t>;
template <std::int64_t>
using Far = Listed<std::int64_t>;

/// Copies words that are written one after the other as vectors; returns how many.
template <class Word, class From, class To>
std::int64_t copy_vectors(const From& from, const To& to, std::int64_t count) {
  using Vector [[gnu::vector_size(16)]] = Word;
  constexpr std::int64_t width = sizeof(Vector) / sizeof(Word);
  std::int64_t i = 0;
#pragma GCC unroll 2
  for (; i + width <= count; i += width) {
    const Vector words = [&]<std::int64_t... k>(std::integer_sequence<std::int64_t, k...>) {
      return Vector{read<Word>(from[i + k])...};
    }
    (std::make_integer_sequence<std::int64_t, width>());
    std::memcpy(to[i], &words, sizeof words);
  }
  return i;
}

template <std::int64_t bytes, template <std::int64_t> class From, template <std::int64_t> class To>
void copy_words(const CopyOperation& operation, std::byte* from_base, std::byte* to_base, const std::byte* table) {
  const From<bytes> from(from_base, operation.from, table);
  const To<bytes> to(to_base, operation.to, table);
  const std::int64_t count = operation.count;
  std::int64_t i = 0;
  if constexpr (std::is_same_v<To<bytes>, Dense<4>>) i = copy_vectors<std::uint32_t>(from, to, count);
  if constexpr (std::is_same_v<To<bytes>, Dense<8>>) i = copy_vectors<std::uint64_t>(from, to, count);
#pragma GCC unroll 4
  for (; i < count; ++i) std::memcpy(to[i], from[i], bytes);
}

/// Elements of any size at constant strides.
void copy_strided(const CopyOperation& operation, std::byte* from_base, std::byte* to_base, const std::byte* table) {
  const Strided<0> from(from_base, operation.from, table);
  const Strided<0> to(to_base, operation.to, table);
  for (std::int64_t i = 0; i < operation.count; ++i)
    std::memcpy(to[i], from[i], static_cast<std::size_t>(operation.bytes));
}

/// The same for sizes that words do not fit.
constexpr std::int64_t most_small_bytes = 32;
template <std::int64_t... bytes>
constexpr auto small_kernels(std::integer_sequence<std::int64_t, bytes...>) {
  return std::array<decltype(CopyOperation::kernel), sizeof...(bytes)>{copy_words<bytes + 1, Strided, Strided>...};
}
constexpr auto copy_small = small_kernels(std::make_integer_sequence<std::int64_t, most_small_bytes>());

/// Several operations of equally many elements, so many of these at a time that all are still in the nearest cache when
/// the next operation comes to them. Listed from `operation.from.step` on; `operation.bytes`: how many.
void copy_together(const CopyOperation& operation, std::byte* from, std::byte* to, const std::byte* table) {
  const std::int64_t at_a_time = operation.to.step;
  for (std::int64_t begin = 0; begin < operation.count; begin += at_a_time) {
    const std::byte* entry = table + operation.from.step;
    for (std::int64_t n = 0; n < operation.bytes; ++n, entry += sizeof(CopyOperation)) {
      auto part = read<CopyOperation>(entry);
      part.count = std::min(at_a_time, operation.count - begin);
      part.from.base += begin * part.from.step;
      part.to.base += begin * part.to.step;
      part.kernel(part, from, to, table);
    }
  }
}

struct CopiedBlock {
  std::int64_t from;
  std::int64_t to;
  std::int64_t bytes;
};

/// Blocks of any sizes that are listed from `operation.from.step` on.
void copy_blocks(const CopyOperation& operation, std::byte* from, std::byte* to, const std::byte* table) {
  const std::byte* blocks = table + operation.from.step;
  for (std::int64_t i = 0; i < operation.count; ++i) {
    const auto block = read<CopiedBlock>(blocks + i * static_cast<std::int64_t>(sizeof(CopiedBlock)));
    std::memcpy(at(to, block.to), at(from, block.from), static_cast<std::size_t>(block.bytes));
  }
}

/// Contiguous bytes, past the caches where there are such stores.
void copy_large(const CopyOperation& operation, std::byte* from_base, std::byte* to_base, const std::byte*) {
  const std::byte* from = at(from_base, operation.from.base);
  std::byte* to = at(to_base, operation.to.base);
  auto left = static_cast<std::size_t>(operation.bytes);
#ifdef __SSE2__
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i);
  std::memcpy(to, from, head);
  from += head;
  to += head;
  left -= head;
#pragma GCC unroll 4
  for (; left >= sizeof(__m128i); left -= sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    from += sizeof(__m128i);
    to += sizeof(__m128i);
  }
  _mm_sfence();
#endif
  std::memcpy(to, from, left);
}

enum Layout : std::size_t { dense, strided, near, far };
using Kernel = decltype(CopyOperation::kernel);
using KernelsFrom = std::array<Kernel, 4>;

template <std::int64_t bytes, template <std::int64_t> class From>
constexpr KernelsFrom kernels_from = {copy_words<bytes, From, Dense>, copy_words<bytes, From, Strided>,
                                      copy_words<bytes, From, Near>, copy_words<bytes, From, Far>};
template <std::int64_t bytes>
constexpr std::array<KernelsFrom, 4> kernels = {kernels_from<bytes, Dense>, kernels_from<bytes, Strided>,
                                                kernels_from<bytes, Near>, kernels_from<bytes, Far>};

/// What copies words, by their size and by how they lie on both sides.
struct WordKernels {
  std::int64_t bytes;
  std::array<KernelsFrom, 4> kernels;
};
constexpr std::array word_kernels = {WordKernels{16, kernels<16>}, WordKernels{8, kernels<8>},
                                     WordKernels{4, kernels<4>}};

/// The kernels for the largest words that blocks of a multiple of `bytes` bytes consist of; null if there are none.
const WordKernels* find_word_kernels(std::int64_t bytes) {
  for (const WordKernels& row : word_kernels)
    if (bytes % row.bytes == 0) return &row;
  return nullptr;
}

Layout regular_layout(std::int64_t step, std::int64_t bytes) {
  return step == bytes ? dense : strided;
}

/// One side of runs that consist of words.
struct Words {
  std::span<const CopyRun> runs;
  std::int64_t CopyRun::*begin;
  std::int64_t CopyRun::*stride;
  std::int64_t bytes;

  template <class F>
  void for_each_offset(F&& f) const {
    for (const CopyRun& run : runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        for (std::int64_t byte = 0; byte < run.bytes; byte += bytes) f(run.*begin + i * run.*stride + byte);
  }
};

template <class Offset>
CopySide list(const Words& words, std::int64_t base, std::int64_t count, Table& table) {
  const std::size_t begin = table.size();
  table.resize(begin + static_cast<std::size_t>(count) * sizeof(Offset));
  std::byte* entry = table.data() + begin;
  words.for_each_offset([&](std::int64_t offset) {
    const auto relative = static_cast<Offset>(offset - base);
    std::memcpy(entry, &relative, sizeof relative);
    entry += sizeof relative;
  });
  return {base, static_cast<std::int64_t>(begin)};
}

/// Where `count` words are.
std::pair<Layout, CopySide> place(const Words& words, std::int64_t count, Table& table) {
  const std::int64_t first = words.runs.front().*words.begin;
  std::int64_t low = first;
  std::int64_t high = first;
  std::int64_t last = first;
  std::int64_t step = 0;
  bool regular = true;
  std::int64_t i = 0;
  words.for_each_offset([&](std::int64_t offset) {
    if (i == 1) step = offset - first;
    regular = regular && offset == last + step;
    last = offset;
    low = std::min(low, offset);
    high = std::max(high, offset);
    ++i;
  });
  if (regular) return {regular_layout(step, words.bytes), {first, step}};
  if (high - low <= std::numeric_limits<std::uint32_t>::max())
    return {near, list<std::uint32_t>(words, low, count, table)};
  return {far, list<std::int64_t>(words, low, count, table)};
}

/// The runs without those that are empty; those that continue each other are one.
std::vector<CopyRun> join(std::span<const CopyRun> runs) {
  std::vector<CopyRun> joined;
  joined.reserve(runs.size());
  for (CopyRun run : runs) {
    if (run.bytes <= 0 || run.count <= 0) continue;
    if (run.from_stride == run.bytes && run.to_stride == run.bytes)
      run = {run.from, run.to, run.bytes * run.count, 0, 0, 1};
    if (run.count == 1 && !joined.empty()) {
      CopyRun& last = joined.back();
      if (last.count == 1 && run.from == last.from + last.bytes && run.to == last.to + last.bytes) {
        last.bytes += run.bytes;
        continue;
      }
    }
    joined.push_back(run);
  }
  return joined;
}

CopyOperation regular(const CopyRun& run) {
  CopyOperation operation = {copy_strided, run.bytes, run.count, {run.from, run.from_stride}, {run.to, run.to_stride}};
  const WordKernels* words = find_word_kernels(run.bytes);
  if (run.count == 1 && run.bytes >= large_bytes)
    operation.kernel = copy_large;
  else if (words != nullptr && words->bytes == run.bytes)
    operation.kernel =
        words->kernels[regular_layout(run.from_stride, run.bytes)][regular_layout(run.to_stride, run.bytes)];
  else if (run.bytes <= most_small_bytes)
    operation.kernel = copy_small[static_cast<std::size_t>(run.bytes - 1)];
  return operation;
}

/// Whether the runs of a bundle can be copied a few elements of each at a time: what one of them writes before another
/// is not written by that for other elements.
bool stays_in_step(std::span<const CopyRun> bundle) {
  if (bundle.size() < 2 || bundle.front().count < long_run) return false;
  std::int64_t begin = bundle.front().to;
  std::int64_t end = begin;
  for (const CopyRun& run : bundle) {
    begin = std::min(begin, run.to);
    end = std::max(end, run.to + run.bytes);
    if (run.bytes >= large_bytes) return false;
  }
  return end - begin <= std::abs(bundle.front().to_stride);
}

/// Whether the run shares an operation with its neighbours.
bool shares_operation(const CopyRun& run) {
  return run.count < long_run && run.bytes < large_bytes;
}

}  // namespace

CopyProgram::CopyProgram(std::span<const CopyRun> runs) {
  const std::vector<CopyRun> joined = join(runs);
  for (auto begin = joined.begin(); begin != joined.end();) {
    auto end = std::next(begin);
    while (begin->count >= long_run && end != joined.end() && end->count == begin->count &&
           end->from_stride == begin->from_stride && end->to_stride == begin->to_stride)
      ++end;
    if (stays_in_step({begin, end})) {
      add_together({begin, end});
      begin = end;
      continue;
    }
    end = std::next(begin);
    if (shares_operation(*begin)) end = std::find_if_not(end, joined.end(), shares_operation);
    if (end == std::next(begin))
      add_regular(*begin);
    else
      add_irregular({begin, end});
    begin = end;
  }
}

void CopyProgram::add_together(std::span<const CopyRun> bundle) {
  constexpr std::int64_t cached_bytes = 8192;
  const CopyRun& first = bundle.front();
  const std::int64_t step = std::max(std::abs(first.from_stride), std::abs(first.to_stride));
  const std::int64_t at_a_time =
      std::clamp(cached_bytes / std::max<std::int64_t>(step, 1), long_run, std::int64_t{1024});
  const auto begin = static_cast<std::int64_t>(table_.size());
  for (const CopyRun& run : bundle) {
    append(table_, regular(run));
    bytes_ += run.bytes * run.count;
  }
  operations_.push_back(
      {copy_together, static_cast<std::int64_t>(bundle.size()), first.count, {0, begin}, {0, at_a_time}});
}

void CopyProgram::add_regular(const CopyRun& run) {
  operations_.push_back(regular(run));
  bytes_ += run.bytes * run.count;
}

void CopyProgram::add_irregular(std::span<const CopyRun> runs) {
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;
  std::int64_t bits = 0;  // a power of two divides it if it divides the size of each block
  for (const CopyRun& run : runs) {
    bytes += run.bytes * run.count;
    blocks += run.count;
    bits |= run.bytes;
  }
  bytes_ += bytes;
  const WordKernels* words = find_word_kernels(bits);
  if (words != nullptr && bytes <= short_block_bytes * blocks) {
    const std::int64_t count = bytes / words->bytes;
    const auto [from_layout, from] = place({runs, &CopyRun::from, &CopyRun::from_stride, words->bytes}, count, table_);
    const auto [to_layout, to] = place({runs, &CopyRun::to, &CopyRun::to_stride, words->bytes}, count, table_);
    operations_.push_back({words->kernels[from_layout][to_layout], words->bytes, count, from, to});
    return;
  }
  operations_.push_back({copy_blocks, 0, blocks, {0, static_cast<std::int64_t>(table_.size())}, {}});
  for (const CopyRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      append(table_, CopiedBlock{run.from + i * run.from_stride, run.to + i * run.to_stride, run.bytes});
}

std::int64_t CopyProgram::metadata_bytes() const {
  return static_cast<std::int64_t>(operations_.size() * sizeof(CopyOperation) + table_.size());
}

double simulated_seconds(std::span<const CopyRun> runs, double per_byte) {
  const double pack = simulated_costs().pack;
  constexpr std::int64_t small = 256;
  double seconds = 0;
  for (const CopyRun& run : runs)
    seconds += static_cast<double>(run.bytes * run.count) * (run.bytes < small ? pack : per_byte);
  return seconds;
}

}  // namespace laneway
