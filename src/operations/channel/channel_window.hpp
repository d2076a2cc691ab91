#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes/types.hpp"
#include "operations/channel/channel_memory.hpp"
#include "runtime/carriers/rma/window_arena.hpp"

namespace laneway {

/// One end of a channel between ranks that share no memory, but that a window of the MPI library joins: each end has
/// the words and segments of the channel in its own part of the window, and puts what it changes into the other's.
/// Nothing is matched. A put comes back when all is there: MPI's windows order nothing but by completing it.
class ChannelWindow {
 public:
  /// `offset`: of the peer's piece, in the peer's window.
  ChannelWindow(std::shared_ptr<WindowArena> arena, Rank peer, std::int64_t offset)
      : arena_(std::move(arena)), peer_(peer), offset_(offset) {}

  /// As those of ChannelMemory, with what this end has of it.
  [[nodiscard]] bool put(ChannelMemory& own, std::int64_t segment, const void* data, std::int64_t bytes) const;
  [[nodiscard]] bool release(ChannelMemory& own, std::int64_t segment) const;
  /// Lets this end see what the other has put.
  void advance() const { arena_->advance(); }

 private:
  void put(const ChannelMemory& own, std::int64_t begin, std::int64_t end) const;
  void raise(const ChannelMemory& own, std::int64_t word) const;

  std::shared_ptr<WindowArena> arena_;
  Rank peer_;
  std::int64_t offset_;
};

}  // namespace laneway
