#include "program.hpp"

#include <algorithm>

#include "failure.hpp"

namespace laneway::gpu {

namespace {

constexpr std::int64_t smallest_tile = 2048;
constexpr std::int64_t largest_tile = 16384;
constexpr std::int64_t widest_access = 16;
/// Rows up to this size are elements, or a few of them, if there are few rows in a run: an index costs 4 bytes.
constexpr std::int64_t largest_element_row = 64;
constexpr std::int64_t rows_worth_a_tile = 32;

class Compiler {
 public:
  /// `unit`: of numbers, which stay whole and are aligned; 0: any bytes.
  Compiler(std::span<const lnw_device_run> runs, std::size_t warps, std::int64_t unit = 0) : unit_(unit) {
    std::int64_t total = 0;
    for (const lnw_device_run& run : runs) {
      if (run.bytes < 0 || run.count < 0) throw plugin::Failure(LNW_DEVICE_INVALID, "a run with a negative size");
      if (run.from_base >= LNW_DEVICE_BASES || run.to_base >= LNW_DEVICE_BASES)
        throw plugin::Failure(LNW_DEVICE_INVALID,
                              "a run without a base: there are " + std::to_string(LNW_DEVICE_BASES));
      if (unit > 0 && run.bytes % unit != 0) throw plugin::Failure(LNW_DEVICE_INVALID, "a run has a part of a number");
      total += run.bytes * run.count;
    }
    const std::int64_t share = total / static_cast<std::int64_t>(std::max<std::size_t>(warps, 1));
    tile_bytes_ = std::clamp(share, smallest_tile, largest_tile) / widest_access * widest_access;
    for (const lnw_device_run& run : runs) add(run);
    flush();
  }

  Program take() { return std::move(program_); }

 private:
  struct Element {
    std::int64_t from, to;
  };

  void add(const lnw_device_run& run) {
    if (run.bytes == 0 || run.count == 0) return;
    program_.bases = std::max({program_.bases, run.from_base + 1, run.to_base + 1});
    if (run.count > 1 && run.from_stride == run.bytes && run.to_stride == run.bytes)
      return add_row(run, run.from, run.to, run.bytes * run.count);
    if (run.count < rows_worth_a_tile && run.bytes <= largest_element_row && (unit_ > 0 || run.bytes % 4 == 0)) {
      const std::int64_t width = unit_ > 0 ? unit_ : run.bytes % 16 == 0 ? 16 : run.bytes % 8 == 0 ? 8 : 4;
      for (std::int64_t row = 0; row < run.count; ++row)
        for (std::int64_t part = 0; part < run.bytes; part += width)
          add_element(run, width, {run.from + row * run.from_stride + part, run.to + row * run.to_stride + part});
      return;
    }
    if (run.bytes >= tile_bytes_ || run.count == 1) {
      for (std::int64_t row = 0; row < run.count; ++row)
        add_row(run, run.from + row * run.from_stride, run.to + row * run.to_stride, run.bytes);
      return;
    }
    const std::int64_t rows = std::max<std::int64_t>(1, tile_bytes_ / run.bytes);
    for (std::int64_t row = 0; row < run.count; row += rows)
      add_tile(run, run.from + row * run.from_stride, run.to + row * run.to_stride, run.bytes,
               std::min(rows, run.count - row));
  }

  /// Contiguous bytes: a beginning up to the widest alignment that source and target share, the middle in pieces, and
  /// what is left.
  void add_row(const lnw_device_run& run, std::int64_t from, std::int64_t to, std::int64_t bytes) {
    const auto add_piece = [&](std::int64_t size) {
      if (size > 0) add_tile(run, from, to, size, 1);
      from += size;
      to += size;
      bytes -= size;
    };
    const auto misfit = [](std::int64_t offset) {
      const std::int64_t over = (offset % widest_access + widest_access) % widest_access;
      return over == 0 ? 0 : widest_access - over;
    };
    if (unit_ == 0 && bytes >= 4 * widest_access && misfit(from) == misfit(to)) add_piece(misfit(from));
    while (bytes >= widest_access) add_piece(std::min(bytes / widest_access * widest_access, tile_bytes_));
    add_piece(bytes);
  }

  void add_tile(const lnw_device_run& run, std::int64_t from, std::int64_t to, std::int64_t row_bytes,
                std::int64_t rows) {
    program_.tiles.push_back({from, to, rows > 1 ? run.from_stride : 0, rows > 1 ? run.to_stride : 0,
                              static_cast<std::uint32_t>(row_bytes), static_cast<std::uint32_t>(rows), not_indexed,
                              not_indexed, static_cast<std::uint16_t>(run.from_base),
                              static_cast<std::uint16_t>(run.to_base), 0});
  }

  void add_element(const lnw_device_run& run, std::int64_t width, Element element) {
    const bool fits = !elements_.empty() && width == width_ && run.from_base == from_base_ && run.to_base == to_base_ &&
                      (element.from - elements_.front().from) % width == 0 &&
                      (element.to - elements_.front().to) % width == 0 &&
                      static_cast<std::int64_t>(elements_.size()) < tile_bytes_ / width;
    if (!fits) flush();
    width_ = width;
    from_base_ = run.from_base;
    to_base_ = run.to_base;
    elements_.push_back(element);
  }

  /// Appends the places, in elements from the first of them, or nothing if they are next to each other.
  std::uint32_t add_index(std::int64_t Element::*place, std::int64_t first) {
    bool contiguous = true;
    for (std::size_t i = 0; i < elements_.size(); ++i)
      contiguous = contiguous && elements_[i].*place == first + static_cast<std::int64_t>(i) * width_;
    if (contiguous) return not_indexed;
    const auto begin = static_cast<std::uint32_t>(program_.index.size());
    for (const Element& element : elements_)
      program_.index.push_back(static_cast<std::uint32_t>((element.*place - first) / width_));
    return begin;
  }

  void flush() {
    if (elements_.empty()) return;
    const auto span = [&](std::int64_t Element::*place) {
      const auto [least, most] = std::minmax_element(
          elements_.begin(), elements_.end(), [&](const Element& a, const Element& b) { return a.*place < b.*place; });
      return std::pair((*least).*place, ((*most).*place - (*least).*place) / width_);
    };
    const auto [from, from_reach] = span(&Element::from);
    const auto [to, to_reach] = span(&Element::to);
    constexpr std::int64_t index_limit = not_indexed;
    if (std::max(from_reach, to_reach) >= index_limit || program_.index.size() + 2 * elements_.size() >= not_indexed) {
      for (const Element& element : elements_) add_elements(element.from, element.to, 1, not_indexed, not_indexed);
    } else {
      const std::uint32_t from_index = add_index(&Element::from, from);
      const std::uint32_t to_index = add_index(&Element::to, to);
      add_elements(from, to, elements_.size(), from_index, to_index);
    }
    elements_.clear();
  }

  void add_elements(std::int64_t from, std::int64_t to, std::size_t count, std::uint32_t from_index,
                    std::uint32_t to_index) {
    program_.tiles.push_back({from, to, width_, width_, static_cast<std::uint32_t>(width_),
                              static_cast<std::uint32_t>(count), from_index, to_index,
                              static_cast<std::uint16_t>(from_base_), static_cast<std::uint16_t>(to_base_), 0});
  }

  Program program_;
  const std::int64_t unit_;
  std::int64_t tile_bytes_ = largest_tile;
  std::vector<Element> elements_;  // of one size and of two bases, not yet a tile
  std::int64_t width_ = 0;
  std::uint32_t from_base_ = 0, to_base_ = 0;
};

}  // namespace

Program compile(std::span<const lnw_device_run> runs, std::size_t warps) {
  return Compiler(runs, warps).take();
}

Program compile_numbers(std::span<const lnw_device_run> runs, std::size_t warps, std::int64_t unit) {
  return Compiler(runs, warps, unit).take();
}

}  // namespace laneway::gpu
