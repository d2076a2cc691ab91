/// The part of the stand-in for Cabana's grids: see Cabana_Core.hpp beside it.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "Cabana_Core.hpp"

namespace Cabana::Grid {

/// The whole grid is periodic in all dimensions. Each block has `width` cells of halo on all its sides.
template <std::size_t Dimensions>
struct Block {
  MPI_Comm comm = MPI_COMM_NULL;  // of MPI_Cart_create
  std::array<int, Dimensions> cells{};
  int width = 1;

  [[nodiscard]] int neighborRank(const std::array<int, Dimensions>& direction) const {
    std::array<int, Dimensions> sizes{}, periods{}, at{};
    MPI_Cart_get(comm, static_cast<int>(Dimensions), sizes.data(), periods.data(), at.data());
    for (std::size_t d = 0; d < Dimensions; ++d) at[d] = (at[d] + direction[d] + sizes[d]) % sizes[d];
    int rank = 0;
    MPI_Cart_rank(comm, at.data(), &rank);
    return rank;
  }
};

/// An array of the cells of a block in two dimensions, with some values a cell.
template <class T, class MemorySpace>
class Array {
 public:
  using value_type = T;
  using memory_space = MemorySpace;
  using view_type = Kokkos::View<T***, MemorySpace>;

  Array(const std::string& label, const Block<2>& block, int values)
      : block_(block),
        view_(label, static_cast<std::size_t>(block.cells[0] + 2 * block.width),
              static_cast<std::size_t>(block.cells[1] + 2 * block.width), static_cast<std::size_t>(values)) {}
  [[nodiscard]] view_type view() const { return view_; }
  [[nodiscard]] const Block<2>& block() const { return block_; }

 private:
  Block<2> block_;
  view_type view_;
};

template <std::size_t Dimensions>
struct HaloPattern {
  static constexpr std::size_t num_space_dim = Dimensions;
  std::vector<std::array<int, Dimensions>> neighbors;
  [[nodiscard]] std::vector<std::array<int, Dimensions>> getNeighbors() const { return neighbors; }
};

namespace ScatterReduce {
struct Sum {};
struct Min {};
struct Max {};
struct Replace {};
}  // namespace ScatterReduce

template <class MemorySpace>
class HaloBase {
 public:
  using memory_space = MemorySpace;

  template <class First, class... More>
  MPI_Comm getComm(const First& first, const More&...) const {
    return first.block().comm;
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static void unpackOp(ScatterReduce::Sum, const T& arrived, T& value) {
    value += arrived;
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static void unpackOp(ScatterReduce::Min, const T& arrived, T& value) {
    if (arrived < value) value = arrived;
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static void unpackOp(ScatterReduce::Max, const T& arrived, T& value) {
    if (arrived > value) value = arrived;
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION static void unpackOp(ScatterReduce::Replace, const T& arrived, T& value) {
    value = arrived;
  }

 protected:
  template <class Pattern, class... Arrays>
  HaloBase(const Pattern& pattern, int width, const Arrays&... arrays) {
    const Block<2> block = std::get<0>(std::tie(arrays...)).block();
    const auto number = [](const std::array<int, 2>& d) { return 3 * d[0] + d[1]; };
    for (const std::array<int, 2>& direction : pattern.getNeighbors()) {
      _neighbor_ranks.push_back(block.neighborRank(direction));
      _send_tags.push_back(number(direction));
      _receive_tags.push_back(-number(direction));
      for (const bool ghosts : {false, true}) {
        std::vector<std::array<int, 5>> rows;
        int bytes = 0, number_of_array = 0;
        (list(block, direction, width, ghosts, arrays, number_of_array++, bytes, rows), ...);
        auto& buffers = ghosts ? _ghosted_buffers : _owned_buffers;
        auto& steerings = ghosts ? _ghosted_steering : _owned_steering;
        buffers.emplace_back("halo_buffer", static_cast<std::size_t>(bytes));
        steerings.emplace_back("steering", rows.size(), 5);
        for (std::size_t i = 0; i < rows.size(); ++i)
          for (std::size_t c = 0; c < 5; ++c) steerings.back()(i, c) = rows[i][c];
      }
    }
  }

  std::vector<int> _neighbor_ranks, _send_tags, _receive_tags;
  std::vector<Kokkos::View<char*, memory_space>> _owned_buffers, _ghosted_buffers;
  std::vector<Kokkos::View<int**, memory_space>> _owned_steering, _ghosted_steering;

 private:
  template <class A>
  static void list(const Block<2>& block, const std::array<int, 2>& direction, int width, bool ghosts, const A& array,
                   int number, int& bytes, std::vector<std::array<int, 5>>& rows) {
    std::array<int, 2> begin{}, end{};
    for (std::size_t d = 0; d < 2; ++d) {
      const int first = block.width, last = block.width + block.cells[d];
      begin[d] = direction[d] == 0  ? first
                 : direction[d] > 0 ? (ghosts ? last : last - width)
                                    : (ghosts ? first - width : first);
      end[d] = direction[d] == 0 ? last : begin[d] + width;
    }
    for (int i = begin[0]; i < end[0]; ++i)
      for (int j = begin[1]; j < end[1]; ++j)
        for (int l = 0; l < static_cast<int>(array.view().extent(2)); ++l) {
          rows.push_back({bytes, number, i, j, l});
          bytes += static_cast<int>(sizeof(typename A::value_type));
        }
  }
};

template <class MemorySpace, class CommSpaceType = Mpi>
class Halo;

template <class CommSpaceType = Mpi, class Pattern, class First, class... More>
auto createHalo(const Pattern& pattern, int width, const First& first, const More&... more) {
  return std::make_shared<Halo<typename First::memory_space, CommSpaceType>>(pattern, width, first, more...);
}

}  // namespace Cabana::Grid
