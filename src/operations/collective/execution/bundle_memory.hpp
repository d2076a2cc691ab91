#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes/types.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/node/node_memory.hpp"

namespace laneway {

/// What the ranks of a node write for each other in all-to-alls whose blocks travel in bundles: how long their blocks
/// are, short blocks that leave them, and bundles that have arrived. One rank writes each word.
///
/// There are two halves, which calls use in turn: a rank that has seen all others begin call n knows that they have
/// completed call n - 1, so that nobody reads what call n + 1 writes. No rank waits for its half to become free.
class BundleMemory {
 public:
  struct Shape {
    Rank regions = 0;
    Rank ranks = 0;
    std::int64_t block_bytes = 0;   ///< of the longest block in a bundle
    std::int64_t bundle_bytes = 0;  ///< of all bundles that this rank may receive in a call
  };
  /// Bytes of this rank's part.
  [[nodiscard]] static std::int64_t bytes_of(const Shape& shape) {
    return header_bytes(shape) + 2 * (half_bytes(shape) + shape.bundle_bytes);
  }

  /// What a member has written for one call. Bundles' entries are by region, blocks' by place: the ranks of region 0 in
  /// their order, and so on.
  struct Part {
    std::int64_t* begins = nullptr;    ///< where its blocks for a region begin in `blocks`
    std::int64_t* sent = nullptr;      ///< bytes of these
    std::int64_t* received = nullptr;  ///< bytes that it gets in bundles of a region
    std::int64_t* bundles = nullptr;   ///< where a region's bundle begins in the memory of who receives it
    std::int32_t* sizes = nullptr;     ///< bytes of each block in `blocks`
    std::byte* blocks = nullptr;
  };

  BundleMemory() = default;
  /// `members`: of the node, ascending.
  BundleMemory(std::shared_ptr<NodeMemory> memory, const std::vector<Rank>& members, const Shape& shape)
      : memory_(std::move(memory)), shape_(shape) {
    for (const Rank member : members) parts_.push_back(memory_->peers.at(member).window);
  }

  [[nodiscard]] Part part(std::size_t member, std::uint64_t call) const {
    std::byte* const half = parts_[member] + header_bytes(shape_) + half_of(call) * half_bytes(shape_);
    auto* const numbers = reinterpret_cast<std::int64_t*>(half);
    const std::int64_t regions = shape_.regions;
    return {numbers,
            numbers + regions,
            numbers + 2 * regions,
            numbers + 3 * regions,
            reinterpret_cast<std::int32_t*>(numbers + 4 * regions),
            half + table_bytes(shape_)};
  }
  /// Where a member's bundles of a call are. Parts end with them, since they need not be as long on all ranks.
  [[nodiscard]] std::byte* bundles(std::size_t member, std::uint64_t call) const {
    return parts_[member] + header_bytes(shape_) + 2 * half_bytes(shape_) +
           *bundle_bytes(member) * static_cast<std::int64_t>(half_of(call));
  }
  /// Before its first call, of this rank: how far its halves for bundles are apart.
  void begin(std::size_t own) { *bundle_bytes(own) = shape_.bundle_bytes; }

  /// The part of this rank is written, for all to read.
  void post(std::size_t own, std::uint64_t call) { word(own, 0).store(call, std::memory_order_release); }
  [[nodiscard]] bool has_posted(std::size_t member, std::uint64_t call) const {
    return word(member, 0).load(std::memory_order_acquire) >= call;
  }
  /// The bundle of a region has arrived at this rank, for all to read.
  void arrive(std::size_t own, Rank region, std::uint64_t call) {
    word(own, first_arrived + region).store(call, std::memory_order_release);
  }
  [[nodiscard]] bool has_arrived(std::size_t member, Rank region, std::uint64_t call) const {
    return word(member, first_arrived + region).load(std::memory_order_acquire) >= call;
  }

  [[nodiscard]] std::size_t members() const { return parts_.size(); }
  [[nodiscard]] std::int64_t kept_bytes() const { return bytes_of(shape_); }

 private:
  using Word = std::atomic_ref<std::uint64_t>;
  static_assert(Word::is_always_lock_free);
  static constexpr std::int64_t words_of_line = cache_line / std::int64_t{sizeof(std::uint64_t)};
  static constexpr std::int64_t first_arrived = words_of_line;

  static std::int64_t lines(std::int64_t bytes) { return (bytes + cache_line - 1) / cache_line * cache_line; }
  static std::int64_t half_of(std::uint64_t call) { return static_cast<std::int64_t>(call % 2); }
  static std::int64_t header_bytes(const Shape& shape) {
    return lines((first_arrived + shape.regions) * std::int64_t{sizeof(std::uint64_t)});
  }
  static std::int64_t table_bytes(const Shape& shape) {
    return lines(4 * shape.regions * std::int64_t{sizeof(std::int64_t)} +
                 shape.ranks * std::int64_t{sizeof(std::int32_t)});
  }
  static std::int64_t half_bytes(const Shape& shape) {
    return table_bytes(shape) + lines(shape.ranks * shape.block_bytes);
  }
  [[nodiscard]] Word word(std::size_t member, std::int64_t number) const {
    return Word(reinterpret_cast<std::uint64_t*>(parts_[member])[number]);
  }
  /// Shares the line of the first word, which is written with it once.
  [[nodiscard]] std::int64_t* bundle_bytes(std::size_t member) const {
    return reinterpret_cast<std::int64_t*>(parts_[member]) + 1;
  }

  std::shared_ptr<NodeMemory> memory_;
  Shape shape_;
  std::vector<std::byte*> parts_;
};

}  // namespace laneway
