#include "matrix/halo.hpp"

#include <algorithm>
#include <set>

#include "base/bytes/sort_unique.hpp"
#include "base/error.hpp"

namespace laneway::matrix {

namespace {

Rank owner_of(const std::vector<std::int64_t>& blocks, std::int64_t index) {
  return static_cast<Rank>(std::ranges::upper_bound(blocks, index) - blocks.begin()) - 1;
}

/// All of a halo but `out`.
Halo receive_side(const Csr& matrix, Rank rank, const std::vector<std::int64_t>& row_block,
                  const std::vector<std::int64_t>& column_block) {
  Halo result;
  result.rank = rank;
  result.first_row = row_block[rank];
  result.first_column = column_block[rank];
  result.owned = column_block[rank + 1] - column_block[rank];
  const std::int64_t end_row = row_block[rank + 1];
  const std::int64_t end_column = result.first_column + result.owned;
  const auto column = matrix.column.begin();
  const std::int64_t first_entry = matrix.row_begin[result.first_row];
  const std::int64_t end_entry = matrix.row_begin[end_row];

  std::copy_if(column + first_entry, column + end_entry, std::back_inserter(result.ghosts),
               [&](std::int64_t c) { return c < result.first_column || c >= end_column; });
  sort_unique(result.ghosts);
  for (std::int64_t slot = 0; slot < static_cast<std::int64_t>(result.ghosts.size()); ++slot) {
    const bool same = !result.in.empty() && result.ghosts[slot] < column_block[result.in.back().peer + 1];
    if (!same) result.in.push_back({owner_of(column_block, result.ghosts[slot]), {}});
    result.in.back().indices.push_back(slot);
  }

  Csr& local = result.local;
  local.rows = end_row - result.first_row;
  local.columns = result.owned + static_cast<std::int64_t>(result.ghosts.size());
  local.column.reserve(static_cast<std::size_t>(end_entry - first_entry));
  local.value.reserve(static_cast<std::size_t>(end_entry - first_entry));
  for (std::int64_t row = result.first_row; row < end_row; ++row) {
    const auto begin = column + matrix.row_begin[row];
    const auto end = column + matrix.row_begin[row + 1];
    const auto low = std::lower_bound(begin, end, result.first_column);
    const auto high = std::lower_bound(low, end, end_column);
    const auto take = [&](auto from, auto to, auto local_column) {
      for (auto k = from; k != to; ++k) {
        local.column.push_back(local_column(*k));
        local.value.push_back(matrix.value[k - column]);
      }
    };
    const auto ghost_column = [&](std::int64_t c) {
      return result.owned + (std::ranges::lower_bound(result.ghosts, c) - result.ghosts.begin());
    };
    take(low, high, [&](std::int64_t c) { return c - result.first_column; });
    take(begin, low, ghost_column);
    take(high, end, ghost_column);
    local.row_begin.push_back(local.nonzeros());
  }
  return result;
}

std::vector<Halo> halos_of(const Csr& matrix, const std::vector<std::int64_t>& row_block,
                           const std::vector<std::int64_t>& column_block) {
  std::vector<Halo> result;
  const auto ranks = static_cast<Rank>(row_block.size()) - 1;
  result.reserve(static_cast<std::size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) result.push_back(receive_side(matrix, rank, row_block, column_block));
  for (const Halo& receiver : result)
    for (const HaloNeighbor& source : receiver.in) {
      HaloNeighbor neighbor{receiver.rank, {}};
      for (std::int64_t slot : source.indices)
        neighbor.indices.push_back(receiver.ghosts[slot] - result[source.peer].first_column);
      result[source.peer].out.push_back(std::move(neighbor));
    }
  return result;
}

}  // namespace

std::vector<std::int64_t> row_blocks(std::int64_t rows, int ranks) {
  require(ranks > 0, ErrorKind::argument, "row_blocks: " + std::to_string(ranks) + " ranks");
  require(rows >= 0, ErrorKind::argument, "row_blocks: " + std::to_string(rows) + " rows");
  std::vector<std::int64_t> blocks{0};
  blocks.reserve(static_cast<std::size_t>(ranks) + 1);
  for (int rank = 0; rank < ranks; ++rank)
    blocks.push_back(blocks.back() + rows / ranks + (rank < rows % ranks ? 1 : 0));
  return blocks;
}

Halo halo(const Csr& matrix, Rank rank, int ranks) {
  require(rank >= 0 && rank < ranks, ErrorKind::rank,
          "halo: rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  const std::vector<std::int64_t> row_block = row_blocks(matrix.rows, ranks);
  const std::vector<std::int64_t> column_block = row_blocks(matrix.columns, ranks);
  Halo result = receive_side(matrix, rank, row_block, column_block);

  const std::int64_t end_column = result.first_column + result.owned;
  std::vector<Rank> last_taker(static_cast<std::size_t>(result.owned), rank);
  const auto column = matrix.column.begin();
  for (Rank peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    HaloNeighbor neighbor{peer, {}};
    for (std::int64_t row = row_block[peer]; row < row_block[peer + 1]; ++row) {
      const auto end = column + matrix.row_begin[row + 1];
      auto k = std::lower_bound(column + matrix.row_begin[row], end, result.first_column);
      for (; k != end && *k < end_column; ++k) {
        Rank& taker = last_taker[*k - result.first_column];
        if (taker == peer) continue;
        taker = peer;
        neighbor.indices.push_back(*k - result.first_column);
      }
    }
    if (neighbor.indices.empty()) continue;
    std::ranges::sort(neighbor.indices);
    result.out.push_back(std::move(neighbor));
  }
  return result;
}

std::vector<Halo> halos(const Csr& matrix, int ranks) {
  return halos_of(matrix, row_blocks(matrix.rows, ranks), row_blocks(matrix.columns, ranks));
}

std::vector<Halo> halos(const Csr& matrix, const std::vector<std::int64_t>& blocks) {
  require(matrix.rows == matrix.columns && blocks.size() > 1 && blocks.front() == 0 && blocks.back() == matrix.rows &&
              std::ranges::is_sorted(blocks),
          ErrorKind::argument, "halos: these are no blocks of " + std::to_string(matrix.rows) + " rows");
  return halos_of(matrix, blocks, blocks);
}

RankPattern to_pattern(const Halo& halo, std::int64_t element_bytes) {
  RankPattern pattern;
  for (const HaloNeighbor& neighbor : halo.out)
    pattern.out.push_back({neighbor.peer, RangeList::from_indices(neighbor.indices, element_bytes)});
  for (const HaloNeighbor& neighbor : halo.in)
    pattern.in.push_back({neighbor.peer, RangeList::from_indices(neighbor.indices, element_bytes)});
  return pattern;
}

std::map<std::pair<int, int>, std::int64_t> unique_values_by_pair(std::span<const Halo> halos,
                                                                  std::span<const int> regions) {
  require(halos.size() == regions.size(), ErrorKind::argument,
          "unique_values_by_pair: " + std::to_string(halos.size()) + " halos but regions of " +
              std::to_string(regions.size()) + " ranks");
  // From the ghosts alone, by an ordinary set: this is what planned traffic is checked against.
  std::map<std::pair<int, int>, std::set<std::int64_t>> needed;
  for (const Halo& halo : halos)
    for (const HaloNeighbor& source : halo.in) {
      const std::pair<int, int> pair{regions[source.peer], regions[halo.rank]};
      if (pair.first == pair.second) continue;
      for (std::int64_t slot : source.indices) needed[pair].insert(halo.ghosts[slot]);
    }
  std::map<std::pair<int, int>, std::int64_t> counts;
  for (const auto& [pair, columns] : needed) counts[pair] = static_cast<std::int64_t>(columns.size());
  return counts;
}

std::int64_t unique_values_between(std::span<const Halo> halos, std::span<const int> regions) {
  std::int64_t sum = 0;
  for (const auto& [pair, count] : unique_values_by_pair(halos, regions)) sum += count;
  return sum;
}

}  // namespace laneway::matrix
