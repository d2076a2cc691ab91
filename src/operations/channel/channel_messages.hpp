#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes/block_memory.hpp"
#include "base/bytes/types.hpp"
#include "operations/channel/short_messages.hpp"

namespace laneway {

/// One end of a channel whose data goes in messages, and its credits, which say that segments are free again, with
/// other short messages or apart. Short data goes as a short message, too, and is copied at both ends. For what is
/// longer each segment has a receive of its own, posted before the sender may put, so that no message waits for one.
class ChannelMessages {
 public:
  /// What its messages need, the same at both ends but for the peer.
  struct Way {
    MPI_Comm comm = MPI_COMM_NULL;
    Rank peer = 0;
    std::int64_t number = 0;  ///< of the channel, among those from one of the two ranks to the other
    int tag = 0;              ///< of the first segment's data, if it is long; those of the others follow
    bool may_owe = false;     ///< the MPI library's progress engine sends credits where the program waits in it
  };
  [[nodiscard]] static bool is_short(std::int64_t bytes) { return bytes <= ShortMessages::most_bytes; }

  /// `buffer`: of a receiver, where its segments are, one after another; null: in memory of this.
  ChannelMessages(ShortMessages& shorts, const Way& way, bool is_sender, std::int64_t bytes, std::int64_t segments,
                  std::byte* buffer = nullptr);
  /// What is under way is given up, which is only over when the other end sends nothing more.
  ~ChannelMessages();
  /// To be freed: what the other end may still send comes into memory of this, or is dropped. Who has the turn of the
  /// short messages makes this and calls this.
  void leave();
  ChannelMessages(const ChannelMessages&) = delete;
  ChannelMessages& operator=(const ChannelMessages&) = delete;

  /// @name Of the sender: as those of ChannelMemory
  /// @{
  [[nodiscard]] bool is_free(std::int64_t segment);
  /// `data` is read until the segment is flushed.
  [[nodiscard]] bool put(std::int64_t segment, const void* data, std::int64_t bytes);
  /// Whether puts have copied their data when they return.
  [[nodiscard]] bool copies() const { return is_short(bytes_); }
  /// Whether what was put last has left.
  [[nodiscard]] bool is_flushed(std::int64_t segment);
  /// What the receiver has released.
  void credit(const Credits& credits);
  /// @}

  /// @name Of the receiver: as those of ChannelMemory
  /// @{
  [[nodiscard]] bool has_come(std::int64_t segment);
  [[nodiscard]] const std::byte* data(std::int64_t segment) const;
  [[nodiscard]] std::int64_t bytes(std::int64_t segment) const;
  [[nodiscard]] bool release(std::int64_t segment);
  /// Short data that has come.
  void take(std::int64_t segment, const std::byte* data, std::int64_t bytes);
  /// Of segments that are free: nobody else has credits for them.
  void send_credits(const Credits& credits);
  /// @}

 private:
  /// `busy`: a thread looks after its messages.
  enum class State : std::uint8_t { empty, full, busy };
  struct alignas(64) Segment {
    std::atomic<State> state{State::empty};
    std::atomic<bool> is_credited{false};  // of a sender, since its last put
    MPI_Request data = MPI_REQUEST_NULL;   // of a sender made for each put, as its size differs
    MPI_Request back = MPI_REQUEST_NULL;   // of a receiver: its last credit
    std::int64_t bytes = 0;
    ShortMessages::Header header;  // of that
  };
  template <class Work>
  [[nodiscard]] static bool claim(Segment& segment, State from, State failed, Work&& work);
  [[nodiscard]] Segment& at(std::int64_t segment) { return segments_[static_cast<std::size_t>(segment)]; }
  [[nodiscard]] int tag(std::int64_t segment) const { return way_.tag + static_cast<int>(segment); }
  [[nodiscard]] ShortMessages::Key key() const { return {way_.peer, !is_sender_, way_.number}; }
  void send_short(const void* message, std::int64_t bytes, MPI_Request& request);

  ShortMessages& shorts_;
  ShortMessages::Peer* peer_ = nullptr;
  Way way_;
  bool is_sender_;
  std::int64_t bytes_;
  std::int64_t stride_;
  BlockMemory memory_;  // of a receiver that has no buffer; of a sender, for short messages
  std::byte* data_;     // of the segments
  std::vector<Segment> segments_;
};

}  // namespace laneway
