#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes/wire.hpp"

namespace laneway {

/// What the ranks of a node write for each other in rounds of discovery, in memory that all of them see: each to the
/// first of them what it says, and the first to each what it is told. Who reads looks at words that one rank writes: no
/// lock, no message, no system call. What does not fit is said by message, and a word says so.
///
/// Each rank has a part of the memory, with words for each of `rounds_at_once` rounds and `areas` areas for data, which
/// rounds use in turn. A rank begins round n when it has completed round n - rounds_at_once / 2; then all ranks have
/// begun that one, and so completed round n - rounds_at_once, whose words are free. An area is free when its owner has
/// completed all rounds that use it, which may be in another order. Calls for different rounds may be made by different
/// threads.
class NodeBoard {
 public:
  static constexpr std::int64_t rounds_at_once = 16;
  static constexpr std::int64_t areas = 4;
  static constexpr std::int64_t most_bytes = 16384;  ///< that a rank says, or is told, in memory

  /// Bytes of each rank's part.
  [[nodiscard]] static std::int64_t bytes_of_rank();

  /// `parts`: of the ranks of the node, ascending, aligned to 64 bytes; all were zero when the first rank got them, and
  /// outlive this. `own`: which of them is this rank's.
  NodeBoard(std::vector<std::byte*> parts, std::size_t own) : parts_(std::move(parts)), own_(own) {}

  /// The round is over on this rank, also where nothing of it was here: it reads nothing any more, and what it has said
  /// has been read.
  void complete(std::int64_t round);

  enum class Form : std::uint8_t { none, memory, message };
  struct Posted {
    Form form = Form::none;           ///< none: not yet
    std::span<const std::byte> data;  ///< Form::memory: until the round is completed
  };

  /// @name Of all ranks but the first
  /// @{
  /// Once in a round. False: it has to be said by message.
  [[nodiscard]] bool say(std::int64_t round, const Bytes& data);
  [[nodiscard]] Posted scattered(std::int64_t round) const;
  /// @}

  /// @name Of the first rank
  /// @{
  [[nodiscard]] Posted said(std::size_t member, std::int64_t round) const;
  /// Once in a round. False: `member` has to be told by message.
  [[nodiscard]] bool put(std::size_t member, std::int64_t round, const Bytes& data);
  /// @}

 private:
  /// What one rank writes and another reads: first the data and its size, then the word.
  struct Word {
    std::uint64_t word = 0;  ///< twice the number of the round, from 1, and 1 more where it goes by message
    std::uint64_t bytes = 0;
  };
  struct alignas(64) ByOwner {
    Word said;
    std::uint64_t completed = 0;  ///< the number of the round, from 1
  };
  struct alignas(64) ByFirst {
    Word scattered;
  };
  struct Slot {
    ByOwner by_owner;
    ByFirst by_first;
  };

  [[nodiscard]] Slot& slot(std::size_t member, std::int64_t round) const;
  [[nodiscard]] std::byte* area(std::size_t member, std::int64_t round, bool of_first) const;
  [[nodiscard]] bool is_free(std::size_t member, std::int64_t round) const;
  [[nodiscard]] bool write(Word& word, std::size_t member, std::int64_t round, bool of_first, const Bytes& data);
  [[nodiscard]] Posted read(Word& word, std::size_t member, std::int64_t round, bool of_first) const;

  std::vector<std::byte*> parts_;
  std::size_t own_;
};

}  // namespace laneway
