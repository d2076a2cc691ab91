#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes/types.hpp"
#include "matrix/csr.hpp"
#include "plan/pattern.hpp"

namespace laneway::matrix {

/// The contiguous blocks of `rows` rows on `ranks` ranks, the first ranks one row more where it does not divide: rank r
/// has rows [blocks[r], blocks[r + 1]).
[[nodiscard]] std::vector<std::int64_t> row_blocks(std::int64_t rows, int ranks);

struct HaloNeighbor {
  Rank peer = 0;
  std::vector<std::int64_t> indices;

  friend bool operator==(const HaloNeighbor&, const HaloNeighbor&) = default;
};

/// What one rank has, needs and gives in y = A x, with the rows of A and y and the columns of A (so x) each in
/// contiguous blocks by row_blocks. Neighbours are in rank order.
struct Halo {
  Rank rank = 0;
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;
  std::int64_t owned = 0;            ///< elements of x on this rank: columns [first_column, first_column + owned)
  std::vector<std::int64_t> ghosts;  ///< global columns needed from others, sorted, so by (owner, column)
  std::vector<HaloNeighbor> in;      ///< from whom: positions in `ghosts`
  std::vector<HaloNeighbor> out;     ///< to whom: positions in the owned part of x
  Csr local;                         ///< this rank's rows; columns: owned first, then ghosts

  friend bool operator==(const Halo&, const Halo&) = default;
};

/// The halo of one rank, from the whole matrix. The structure need not be symmetric, nor the matrix square.
[[nodiscard]] Halo halo(const Csr& matrix, Rank rank, int ranks);

/// The halos of all ranks: for tests and tools.
[[nodiscard]] std::vector<Halo> halos(const Csr& matrix, int ranks);
/// The same with other contiguous blocks of a square matrix: rank r has rows and columns [blocks[r], blocks[r + 1]).
[[nodiscard]] std::vector<Halo> halos(const Csr& matrix, const std::vector<std::int64_t>& blocks);

/// Sends are offsets in the owned part of x, receives offsets in an array of ghosts alone, in elements of
/// `element_bytes` bytes.
[[nodiscard]] RankPattern to_pattern(const Halo& halo, std::int64_t element_bytes);

/// For each ordered pair of different regions (from, to) with any: the elements of x owned in `from` that some rank in
/// `to` needs, each counted once. `regions[r]` is the region of rank r. No exchange can move fewer.
[[nodiscard]] std::map<std::pair<int, int>, std::int64_t> unique_values_by_pair(std::span<const Halo> halos,
                                                                                std::span<const int> regions);

/// The sum over all pairs.
[[nodiscard]] std::int64_t unique_values_between(std::span<const Halo> halos, std::span<const int> regions);

}  // namespace laneway::matrix
