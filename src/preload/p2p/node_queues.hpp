#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"
#include "base/process/spin_lock.hpp"
#include "runtime/carriers/node/shared_segment.hpp"

namespace laneway::interpose {

/// What a message is on its way from node to node. Its bytes follow, up to the next multiple of 8.
struct Item {
  std::uint64_t comm;    ///< the same number on all ranks of the communicator
  std::uint64_t number;  ///< of the message in its stream
  std::uint64_t from;    ///< of the first one in the stream that is an entry
  std::int32_t source;   ///< in the communicator
  std::int32_t tag;
  std::int32_t destination;  ///< in MPI_COMM_WORLD
  std::int32_t bytes;
  std::int32_t own_way;  ///< the tag by which the message, which is long, comes by MPI; 0: it is here
  std::int32_t padding;

  [[nodiscard]] std::size_t size() const { return sizeof(Item) + (static_cast<std::size_t>(bytes) + 7) / 8 * 8; }
};

/// Of bundles that leave: entries one after another, all of them for ranks of one other node.
class Bundles {
 public:
  /// Copies it; others wait meanwhile. `to` is the rank that its first entry is for.
  virtual void leave(std::span<const std::byte> bundle, Rank to) = 0;

 protected:
  ~Bundles() = default;
};

/// The memory in which ranks of a node gather entries for other nodes, and find those for themselves.
class NodeQueues {
 public:
  static constexpr std::size_t most_of_entry = 8 << 10;  ///< bytes of its message
  /// What a bundle leaves with: it is handed on in the other node while the next one is on the wire.
  static constexpr std::size_t full_bytes = 8 << 10;
  static constexpr std::size_t bundle_bytes = full_bytes + sizeof(Item) + most_of_entry;
  static constexpr std::size_t mailbox_bytes = 256 << 10;
  /// Where an entry has been put.
  struct Place {
    int node = 0;
    std::uint64_t position = 0;  ///< how many have been put for that node
  };

  /// `segment` is of one rank of the node. Throws std::system_error.
  NodeQueues(const SharedSegment& segment, int ranks, int nodes);
  NodeQueues(const NodeQueues&) = delete;
  NodeQueues& operator=(const NodeQueues&) = delete;

  /// @name For other nodes
  /// @{
  /// Puts an entry whose stream's last one was put at `last`, 0 if there was none. What must leave now does: a bundle
  /// without room for more, or one that has what streams put between their turns.
  Place put(int node, const Item& item, const std::byte* data, std::uint64_t last, Bundles& bundles);
  [[nodiscard]] bool has_left(const Place& place) const;
  /// What is there for a node leaves, unless another rank is at it.
  void flush(int node, Bundles& bundles);
  /// How many entries have been put for a node.
  [[nodiscard]] std::uint64_t put_for(int node) const;
  /// Calls `visit` with each node for which the oldest entry was put before `then`, in seconds of `now`.
  void for_each_older(double then, const std::function<void(int)>& visit) const;
  [[nodiscard]] bool any_put() const;
  [[nodiscard]] static double now();
  /// @}

  /// @name For ranks of this node, by their number in it
  /// @{
  /// False where there is no room, or another rank is at it.
  [[nodiscard]] bool give(int rank, const std::byte* item, std::size_t bytes);
  /// Calls `visit` with each entry that has come for `rank`, the calling one.
  void take_own(int rank, const std::function<void(const std::byte*)>& visit);
  /// The calling rank waits for messages from other nodes from now on, or no more.
  void set_receiving(bool receives) { receiving_->fetch_add(receives ? 1 : -1, std::memory_order_relaxed); }
  /// Whether any does.
  [[nodiscard]] bool any_receiving() const { return receiving_->load(std::memory_order_relaxed) != 0; }
  /// @}

 private:
  struct Mailbox {
    SpinLock giving;
    alignas(64) std::atomic<std::uint64_t> given;
    alignas(64) std::atomic<std::uint64_t> taken;
    alignas(64) std::byte ring[mailbox_bytes];
  };
  struct Outbox {
    SpinLock held;
    std::atomic<std::uint64_t> left;  ///< how many entries have
    std::atomic<std::uint64_t> put;
    std::uint64_t turn;    ///< how many entries streams put between their turns; 0: not known
    std::uint64_t begun;   ///< how many had been put when the turn began
    std::uint64_t lower;   ///< how often that has been fewer, one after another
    double since;          ///< when the first entry was put that is still here
    std::uint64_t filled;  ///< bytes
    std::byte data[bundle_bytes];
  };
  /// Must be held.
  void leave(Outbox& outbox, int node, Bundles& bundles);
  std::atomic<std::uint64_t>& bits(int node) const { return nonempty_[static_cast<std::size_t>(node) / 64]; }

  int nodes_;
  std::shared_ptr<std::byte> memory_;
  Mailbox* mailboxes_;
  Outbox* outboxes_;
  std::atomic<std::uint64_t>* nonempty_;
  std::atomic<int>* receiving_;
  Bytes entry_;
};

}  // namespace laneway::interpose
