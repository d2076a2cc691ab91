#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes/block_memory.hpp"
#include "base/bytes/types.hpp"

namespace laneway {

/// One end of a channel whose data goes in messages: a segment has a message there and an empty one back, which says
/// that it is free again. The receiver has posted its receive before that, so that no message waits for one.
class ChannelMessages {
 public:
  /// What its messages need, the same at both ends but for the peer.
  struct Way {
    MPI_Comm comm = MPI_COMM_NULL;
    Rank peer = 0;
    int tag = 0;       ///< of the first segment's data; those of the others follow
    int tag_back = 0;  ///< of what comes back
  };

  /// `buffer`: of a receiver, where its segments are, one after another; null: in memory of this.
  ChannelMessages(const Way& way, bool is_sender, std::int64_t bytes, std::int64_t segments,
                  std::byte* buffer = nullptr);
  /// What is under way is given up, which is only over when the other end sends nothing more.
  ~ChannelMessages();
  /// Of an end that is freed: what the other may still send comes into memory of this.
  void leave_buffer();
  ChannelMessages(const ChannelMessages&) = delete;
  ChannelMessages& operator=(const ChannelMessages&) = delete;

  /// @name Of the sender: as those of ChannelMemory
  /// @{
  [[nodiscard]] bool is_free(std::int64_t segment);
  /// `data` is read until the segment is flushed.
  [[nodiscard]] bool put(std::int64_t segment, const void* data, std::int64_t bytes);
  /// Whether what was put last may be written again.
  [[nodiscard]] bool is_flushed(std::int64_t segment);
  /// @}

  /// @name Of the receiver: as those of ChannelMemory
  /// @{
  [[nodiscard]] bool has_come(std::int64_t segment);
  [[nodiscard]] const std::byte* data(std::int64_t segment) const;
  [[nodiscard]] std::int64_t bytes(std::int64_t segment) const;
  [[nodiscard]] bool release(std::int64_t segment);
  /// @}

 private:
  /// `busy`: a thread looks after its messages.
  enum class State : std::uint8_t { empty, full, busy };
  struct alignas(64) Segment {
    std::atomic<State> state{State::empty};
    MPI_Request data = MPI_REQUEST_NULL;  // of a sender made for each put, as its size differs
    MPI_Request back = MPI_REQUEST_NULL;  // persistent; of a receiver where both are one rank
    bool has_back = false;
    std::int64_t bytes = 0;
  };
  template <class Work>
  [[nodiscard]] static bool claim(Segment& segment, State from, State failed, Work&& work);
  [[nodiscard]] Segment& at(std::int64_t segment) { return segments_[static_cast<std::size_t>(segment)]; }
  [[nodiscard]] int tag(std::int64_t segment) const { return way_.tag + static_cast<int>(segment); }
  [[nodiscard]] int tag_back(std::int64_t segment) const { return way_.tag_back + static_cast<int>(segment); }

  Way way_;
  bool is_sender_;
  std::int64_t bytes_;
  std::int64_t stride_;
  BlockMemory memory_;  // of a receiver that has no buffer
  std::byte* data_;     // of its segments
  std::vector<Segment> segments_;
};

}  // namespace laneway
