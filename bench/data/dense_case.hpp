#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes/types.hpp"
#include "base/dense_kind.hpp"
#include "data/traffic.hpp"

namespace laneway::bench {

/// Those that `laneway-bench dense` measures.
[[nodiscard]] std::span<const DenseKind> dense_kinds();
/// Throws Error(argument) that lists them.
[[nodiscard]] DenseKind parse_dense_kind(std::string_view text);

/// One dense operation at one size. Any rank's part follows without communication.
struct DenseCase {
  DenseKind kind = DenseKind::barrier;
  /// Of the block that a rank has for another one (alltoall, gather, scatter) or for all (allgather); the mean of such
  /// blocks (alltoallv); of the vector (bcast and reductions). In elements of 8 bytes where they are combined.
  std::int64_t bytes = 0;
  Rank ranks = 0;
  Rank root = 0;
  std::uint64_t seed = 1;  ///< of the blocks' sizes, where they differ: drawn from 0 to twice the mean

  /// Of the block that goes from one rank to another one; 0 where the operation has none.
  [[nodiscard]] std::int64_t block(Rank from, Rank to) const;
  /// Of a vector that is combined.
  [[nodiscard]] std::int64_t elements() const { return (bytes + 7) / 8; }
  /// Of the part of a vector that a rank gets from reduce_scatter.
  [[nodiscard]] std::int64_t part(Rank rank) const;

  [[nodiscard]] std::int64_t send_bytes(Rank rank) const;
  [[nodiscard]] std::int64_t receive_bytes(Rank rank) const;

  /// Bytes into or out of the node where they are most, by any algorithm: what is combined leaves a node combined, and
  /// what several ranks of a node get arrives once. Nothing where there is one node, or nothing is moved.
  [[nodiscard]] std::optional<std::int64_t> busiest_bytes(const Nodes& nodes) const;

  /// Writes what `rank` contributes; different salts give different data. The data of bcast is in the receive buffer.
  void fill(Rank rank, std::span<std::byte> send, std::span<std::byte> receive, std::uint64_t salt) const;
  /// Whether the receive buffer has, byte by byte, what all ranks' contributions give. Sums are of small integers, so
  /// they are exact in any order.
  [[nodiscard]] bool arrived(Rank rank, std::span<const std::byte> receive, std::uint64_t salt) const;
};

/// Blocks one after the other, as calls with counts and displacements know them.
struct DenseBlocks {
  std::vector<int> send_counts;
  std::vector<int> send_displacements;
  std::vector<int> receive_counts;
  std::vector<int> receive_displacements;
};
/// Of one rank: bytes for each rank, or elements with reduce_scatter. Throws Error(count) if they are too many for int.
[[nodiscard]] DenseBlocks blocks_of(const DenseCase& dense, Rank rank);

}  // namespace laneway::bench
