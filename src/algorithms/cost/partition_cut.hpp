#pragma once

#include <cstdint>

#include "machine/parameters.hpp"

namespace laneway {

/// How the data of partitions is cut into messages: the sender's partitions are equally long, and so many of them share
/// one. Both sides know all three, whatever the receiver's partitions are.
struct PartitionCut {
  std::int64_t bytes = 0;       ///< of all
  std::int64_t partitions = 0;  ///< of the sender
  std::int64_t together = 1;    ///< at least 1

  /// Without partitions one empty message says that the exchange has begun.
  [[nodiscard]] std::int64_t messages() const { return partitions == 0 ? 1 : (partitions + together - 1) / together; }
  [[nodiscard]] std::int64_t partition_bytes() const { return partitions == 0 ? 0 : bytes / partitions; }
  /// Which message has a partition of the sender's.
  [[nodiscard]] std::int64_t message_of(std::int64_t partition) const { return partition / together; }
  [[nodiscard]] std::int64_t first_partition(std::int64_t message) const { return message * together; }
  [[nodiscard]] std::int64_t partitions_in(std::int64_t message) const;
  [[nodiscard]] std::int64_t begin(std::int64_t message) const { return first_partition(message) * partition_bytes(); }
  [[nodiscard]] std::int64_t end(std::int64_t message) const {
    return begin(message) + partitions_in(message) * partition_bytes();
  }

  /// The messages [first, last) that bring bytes [begin, end); of no bytes, all.
  struct Messages {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  [[nodiscard]] Messages messages_with(std::int64_t begin, std::int64_t end) const;
};

/// More messages than this are not made of one request.
inline constexpr std::int64_t most_partition_messages = 1024;

/// How many partitions share a message, if messages shall have up to `message_bytes`.
[[nodiscard]] std::int64_t together_up_to(std::int64_t message_bytes, std::int64_t bytes, std::int64_t partitions);

/// The same by costs. The partitions become ready over the time that all of them take as one message, so what counts is
/// what is left to do when the last one is: its own message, for which a large one takes longer, and as much of the
/// messages before it as ranks have not had the time for. More messages must make it shorter by a tenth.
/// `message_seconds`: what a rank is busy with a message.
[[nodiscard]] std::int64_t together_by_cost(const LinkCost& link, double message_seconds, std::int64_t bytes,
                                            std::int64_t partitions);

}  // namespace laneway
