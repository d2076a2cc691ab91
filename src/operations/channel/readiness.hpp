#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/cost/partition_cut.hpp"

namespace laneway {

/// Which partitions of a sender are ready, and which messages have all of theirs. Any thread says what is ready; the
/// exchange may be started by another one meanwhile. No lock: of a message, one count reaches zero, and lets it go.
class Readiness {
 public:
  Readiness() = default;
  explicit Readiness(const PartitionCut& cut)
      : cut_(cut),
        ready_(static_cast<std::size_t>(cut.partitions)),
        messages_(static_cast<std::size_t>(cut.partitions == 0 ? 0 : cut.messages())) {}

  /// Nothing is ready any more. Not before all messages have gone. `runs`: the exchange will run before anything can be
  /// ready; else messages wait for `run` as for one more partition.
  void reset(bool runs) {
    ++turn_;
    for (std::size_t m = 0; m < messages_.size(); ++m)
      messages_[m].missing.store(cut_.partitions_in(static_cast<std::int64_t>(m)) + (runs ? 0 : 1),
                                 std::memory_order_relaxed);
  }

  /// False, and nothing is done, if the partition is ready already. `go(message)`: of a message that can leave.
  template <class Go>
  [[nodiscard]] bool ready(std::int64_t partition, Go&& go) {
    // Relaxed: what the thread has written before is published by the count.
    if (ready_[static_cast<std::size_t>(partition)].exchange(turn_, std::memory_order_relaxed) == turn_) return false;
    count(cut_.message_of(partition), go);
    return true;
  }

  /// From now on messages leave when they can.
  template <class Go>
  void run(Go&& go) {
    for (std::size_t m = 0; m < messages_.size(); ++m) count(static_cast<std::int64_t>(m), go);
  }

  /// Of an exchange that has run.
  [[nodiscard]] bool is_all_ready() const {
    for (const Message& message : messages_)
      if (message.missing.load(std::memory_order_acquire) > 0) return false;
    return true;
  }

 private:
  struct alignas(64) Message {
    std::atomic<std::int64_t> missing{0};  // partitions that are not ready, and the exchange that does not run
  };

  /// Who has counted looks at nothing here any more: the others may end the exchange, and the owner begin the next.
  template <class Go>
  void count(std::int64_t m, Go&& go) {
    if (messages_[static_cast<std::size_t>(m)].missing.fetch_sub(1) == 1) go(m);
  }

  PartitionCut cut_;
  std::uint32_t turn_ = 0;                         // exchanges
  std::vector<std::atomic<std::uint32_t>> ready_;  // by partition, in which exchange it has become ready last
  std::vector<Message> messages_;
};

}  // namespace laneway
