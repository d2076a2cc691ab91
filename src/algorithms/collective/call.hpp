#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "base/bytes/types.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// What a dense operation does; forms that differ only in how blocks are described are one.
enum class Dense : std::uint8_t {
  alltoall,
  allgather,
  gather,
  scatter,
  bcast,
  reduce,
  allreduce,
  reduce_scatter,
  scan,
  exscan,
  barrier
};

[[nodiscard]] const char* name(Dense kind);
[[nodiscard]] constexpr bool reduces(Dense kind) {
  return kind >= Dense::reduce && kind <= Dense::exscan;
}
[[nodiscard]] constexpr bool has_root(Dense kind) {
  return kind >= Dense::gather && kind <= Dense::reduce;
}

/// Where blocks lie in a buffer: in closed form as far as the arguments are. A block is `count` elements; an element is
/// the ranges of one item of the datatype, the next one `extent` bytes further.
class Blocks {
 public:
  Blocks() = default;
  /// Block i has `count` elements, the first at first + i * stride bytes.
  static Blocks equal(RangeList element, std::int64_t extent, std::int64_t count, std::int64_t first,
                      std::int64_t stride);
  /// The same for blocks of so many contiguous bytes, one after the other.
  static Blocks contiguous(std::int64_t bytes, std::int64_t first = 0);
  /// One block for all.
  static Blocks one(RangeList ranges);
  /// Block i has counts[i] elements, the first at offsets[i] bytes.
  static Blocks table(RangeList element, std::int64_t extent, std::vector<std::int64_t> counts,
                      std::vector<std::int64_t> offsets);
  /// A list for each block: for datatypes of their own.
  static Blocks lists(std::vector<RangeList> blocks);

  [[nodiscard]] RangeList of(Rank i) const;
  [[nodiscard]] std::int64_t bytes(Rank i) const;

 private:
  RangeList element_;
  std::int64_t extent_ = 0;
  std::int64_t count_ = 0;
  std::int64_t first_ = 0;
  std::int64_t stride_ = 0;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> offsets_;
  std::vector<RangeList> lists_;
};

/// Sizes that a relay asks a member of its region for: how many bytes `member` sends to each of `others`, or receives
/// from each of them.
struct Want {
  Rank member = 0;
  bool sent = true;
  std::vector<Rank> others;

  friend bool operator==(const Want&, const Want&) = default;
};

/// Blocks that hop together, and whose bytes each rank must know that passes them on. `item`: a number that all ranks
/// have for it.
struct Passed {
  std::uint64_t item = 0;
  bool begins = false;                        ///< here; else this rank has heard of it
  std::vector<std::pair<Rank, Rank>> blocks;  ///< (from, to), where it begins
};
/// The first phase of a hop, in which sizes go the way of the data: what this rank tells one other, and what it hears
/// of another one. Items whose hop is the last are not among them: their receivers know the size.
struct SizeHop {
  Rank to = 0;
  Rank from = 0;
  std::vector<Passed> told;
  std::vector<std::uint64_t> heard;
};

/// What a rank knows of the sizes of others' blocks.
class Sizes {
 public:
  /// All blocks have so many bytes.
  static Sizes equal(std::int64_t bytes);
  /// What the members answered, in the order of the wants and their `others`. Throws Error(argument) if the number
  /// differs.
  static Sizes answered(const std::vector<Want>& wants, const std::vector<std::int64_t>& bytes);

  [[nodiscard]] bool are_equal() const { return equal_ >= 0; }
  /// Throws Error(internal) where nobody was asked.
  [[nodiscard]] std::int64_t bytes(Rank from, Rank to) const;

  /// Of items that this rank passes on. Throws Error(argument) if the numbers differ.
  void hear(const std::vector<std::uint64_t>& items, const std::vector<std::int64_t>& bytes);
  /// Throws Error(internal) where nothing was heard of it.
  [[nodiscard]] std::int64_t passed(std::uint64_t item) const;

 private:
  using Known = std::vector<std::pair<std::uint64_t, std::int64_t>>;  // ascending

  std::int64_t equal_ = -1;
  Known known_;   // by (from, to)
  Known passed_;  // by item
};

/// One rank's call of a dense operation. A plain value. Blocks are those of the arguments, offsets in bytes:
///
/// | kind           | send                               | receive                                |
/// | alltoall       | by destination                     | by source                              |
/// | allgather      | one                                | by source                              |
/// | gather         | one                                | by source, at the root                 |
/// | scatter        | by destination, at the root        | one                                    |
/// | bcast          | none                               | one: at the root what is sent          |
/// | reduce         | one                                | one, at the root                       |
/// | allreduce, scan, exscan | one                       | one                                    |
/// | reduce_scatter | by destination: parts of one vector | one                                   |
/// | barrier        | one byte, whatever it holds        | none                                   |
///
/// In place, what the rank contributes is in the receive buffer: with alltoall, allgather and gather the blocks there
/// (of this rank alone but with alltoall), with reductions the one block, with reduce_scatter a vector whose parts
/// `send` says. With scatter the root leaves its own block where it is. Of gather, scatter and reduce only the root may
/// be in place.
///
/// Vectors that are reduced are contiguous elements of `combination.element_bytes` bytes.
struct DenseCall {
  Dense kind = Dense::barrier;
  Rank rank = 0;
  Rank root = 0;
  bool in_place = false;
  Blocks send;
  Blocks receive;
  Combination combination{};
  /// Of alltoall, gather and scatter: what this rank does not find in its own blocks.
  Sizes sizes;

  /// Of the block from one rank to another one: from own arguments where they say it. alltoall, gather, scatter.
  [[nodiscard]] std::int64_t bytes(Rank from, Rank to) const;
  /// What is told of items.
  [[nodiscard]] std::vector<std::int64_t> bytes_of(const std::vector<Passed>& told) const;
};

}  // namespace laneway
