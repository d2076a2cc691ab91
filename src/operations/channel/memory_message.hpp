#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "operations/channel/channel_memory.hpp"
#include "operations/channel/other_process.hpp"
#include "operations/channel/pair_comm.hpp"
#include "runtime/carriers/transport.hpp"

namespace laneway {

/// One message, again and again, through memory that both ends see: the sender copies it there, the receiver from
/// there. The sender is complete when there is room for its next message, too: it may be a message ahead, and never has
/// one that waits for room while this rank is in calls of others. Who has started the receive has made that room.
class MemoryMessage final : public Endpoint {
 public:
  /// Longer ones go in messages of MPI, where one copy may do.
  static constexpr std::int64_t most_bytes = 64 << 10;
  /// What the receiver has for messages of so many bytes.
  [[nodiscard]] static std::int64_t size(std::int64_t bytes) { return ChannelMemory::size(bytes, segments); }
  /// Of a receiver that is freed, before it has met the sender or after.
  static void close(std::byte* memory, std::int64_t bytes) { ChannelMemory(memory, bytes, segments).close(false); }

  MemoryMessage(std::shared_ptr<PairComm> pairs, std::shared_ptr<std::byte> mapping, const Message& message,
                const OwnProcess& other);

  void start(int first, int count) override;
  int poll(std::span<int> completed) override;
  bool test_all() override;
  void wait_all() override;

 private:
  static constexpr std::int64_t segments = 2;
  /// Words come without MPI, but the other end may wait for a message of this rank before it writes them.
  static constexpr unsigned turns_before_messages = 1024;

  [[nodiscard]] bool has_room() { return memory_.is_free(segment_) || memory_.is_closed(false); }
  [[nodiscard]] bool take();
  void look_for_other_end();

  std::shared_ptr<PairComm> pairs_;
  std::shared_ptr<std::byte> mapping_;
  Message message_;
  ChannelMemory memory_;
  OtherProcess other_;
  std::int64_t segment_ = 0;  // of the receiver's message, or the sender's next
  bool is_under_way_ = false;
  unsigned fruitless_ = 0;
};

}  // namespace laneway
