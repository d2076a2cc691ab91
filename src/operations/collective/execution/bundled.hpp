#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/collective/bundles.hpp"
#include "communicator/private_comm.hpp"
#include "mpi/made_type.hpp"
#include "operations/collective/execution/block_side.hpp"
#include "operations/collective/execution/bundle_memory.hpp"
#include "operations/collective/knowledge.hpp"

namespace laneway {

/// An all-to-all whose blocks differ in size, which only their two ends know, again and again. Nothing is agreed in a
/// call: both ends see whether a block is short. Short blocks are left in the memory of the node with their sizes, from
/// where one message takes all that go to another node (BundleLanes). A longer one is a message of its own. (K. Fan and
/// others: Configurable Non-uniform All-to-all Algorithms, HPDC 2025, do the same by rounds of a radix.)
class BundledAlltoall {
 public:
  /// Null on all ranks where those of some node cannot share memory, or no block is worth it. `tag` and the next one
  /// are used for nothing else. `of`: how many such share what hints allow of memory. `mean_bytes`: of this rank's
  /// blocks; on one node MPI is left what would be messages anyway. Collective.
  [[nodiscard]] static std::unique_ptr<BundledAlltoall> make(std::shared_ptr<PrivateComm> comm,
                                                             std::shared_ptr<const DenseKnowledge> known, int tag,
                                                             int of = 1, std::int64_t mean_bytes = 0);
  ~BundledAlltoall() = default;
  BundledAlltoall(const BundledAlltoall&) = delete;
  BundledAlltoall& operator=(const BundledAlltoall&) = delete;

  /// The longest block that travels in a bundle; equal on all ranks.
  [[nodiscard]] std::int64_t block_bytes() const { return block_bytes_; }

  /// @name A call that has been found good, with buffers that the host may touch
  /// One after another; all ranks in the same order. Allocate nothing but for blocks of over 2 GiB, and for those that
  /// are put aside, of which there has been less. `blocks` must outlive the call.
  /// @{
  void run(CallBlocks& blocks);
  void start(CallBlocks& blocks);
  /// True when complete.
  [[nodiscard]] bool progress();
  /// @}

 private:
  BundledAlltoall(std::shared_ptr<PrivateComm> comm, std::shared_ptr<const DenseKnowledge> known, int tag);
  [[nodiscard]] bool share(std::int64_t block_bytes);

  /// What a message is, whose request has the same number.
  struct Message {
    Rank region = -1;         ///< whose bundle is received
    Rank peer = -1;           ///< whose block is received into memory that is put aside
    std::int64_t place = 0;   ///< there
    std::int64_t bytes = -1;  ///< that must come; -1: MPI sees to it
  };
  /// Blocks for this rank that come in a bundle.
  struct Expected {
    Rank region;
    std::size_t member;    ///< who receives it
    std::int64_t skipped;  ///< bytes for others before
  };

  [[nodiscard]] bool advance();
  [[nodiscard]] const BlockSide::Block& sent_to(Rank peer) const { return blocks_->send[peer]; }
  [[nodiscard]] const BlockSide::Block& received_from(Rank peer) const { return blocks_->receive[peer]; }
  [[nodiscard]] bool is_short(std::int64_t bytes) const { return bytes <= block_bytes_; }
  void start_long();
  void put_aside();
  void receive_long(Rank from);
  void send_long(Rank to);
  void post();
  [[nodiscard]] bool have_all_posted();
  void cross();
  void receive_bundles(Rank region);
  void send_bundle(Rank region);
  void fill_bundle(Rank region, Rank first, Rank last, std::byte* to);
  void take_local();
  void take(const Expected& expected);
  void poll();
  void complete(std::size_t number, const MPI_Status& status);
  void abandon() noexcept;

  [[nodiscard]] MPI_Request* add(const Message& message);
  [[nodiscard]] std::size_t members() const { return static_cast<std::size_t>(known_->layout.size(home_)); }
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(index_); }

  const std::shared_ptr<PrivateComm> comm_;
  const std::shared_ptr<const DenseKnowledge> known_;
  const int bundle_tag_;
  const int long_tag_;
  const BundleLanes lanes_;
  const Rank home_;
  const Rank index_;               // among the members of the node
  const std::vector<Rank> ranks_;  // by place: region after region
  std::int64_t block_bytes_ = 0;
  BundleMemory memory_;

  std::uint64_t call_ = 0;  // its number
  CallBlocks* blocks_ = nullptr;
  std::vector<BundleMemory::Part> parts_;  // of the members, for this call
  std::size_t seen_ = 0;                   // members that have posted
  bool has_crossed_ = false;
  bool has_failed_ = false;

  std::vector<MPI_Request> requests_;
  std::vector<Message> messages_;
  std::vector<int> completed_;
  std::vector<MPI_Status> statuses_;
  unsigned fruitless_ = 0;  // looks at memory alone
  std::size_t under_way_ = 0;
  std::vector<Expected> expected_;
  std::vector<std::int64_t> cursors_;     // of members
  std::unique_ptr<std::byte[]> bundles_;  // that this rank sends
  std::int64_t bundled_ = 0;              // bytes of them
  std::int64_t received_ = 0;             // bytes of bundles that come to this rank
  std::vector<std::byte> aside_;          // blocks that MPI cannot move from where they are
  std::vector<std::int64_t> places_;      // there, by rank: of those that are sent, and of those that come
  std::vector<MadeType> large_types_;
};

}  // namespace laneway
