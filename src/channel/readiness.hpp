#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/partition_cut.hpp"

namespace laneway {

/// Which partitions of a sender are ready, and which messages have all of theirs. Any thread says what is ready; the
/// exchange may be started by another one meanwhile. No lock: of those who find that a message can go, one lets it go.
class Readiness {
 public:
  Readiness() = default;
  explicit Readiness(const PartitionCut& cut)
      : cut_(cut),
        ready_(static_cast<std::size_t>(cut.partitions)),
        messages_(static_cast<std::size_t>(cut.partitions == 0 ? 0 : cut.messages())) {}

  /// Nothing is ready any more. Nobody else may be here, nor come before the owner has said that it is done.
  /// `runs`: the exchange will run before that, so that messages leave when they can; else from `run` on.
  void reset(bool runs) {
    ++turn_;
    runs_.store(runs, std::memory_order_relaxed);
    ran_at_first_ = runs;
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      messages_[m].missing.store(cut_.partitions_in(static_cast<std::int64_t>(m)), std::memory_order_relaxed);
      messages_[m].has_gone.store(false, std::memory_order_relaxed);
    }
  }

  /// False, and nothing is done, if the partition is ready already. `go(message)`: of a message that can leave.
  template <class Go>
  [[nodiscard]] bool ready(std::int64_t partition, Go&& go) {
    // Relaxed: what the thread has written before is published by the count.
    if (ready_[static_cast<std::size_t>(partition)].exchange(turn_, std::memory_order_relaxed) == turn_) return false;
    const std::int64_t m = cut_.message_of(partition);
    if (messages_[static_cast<std::size_t>(m)].missing.fetch_sub(1) != 1) return true;
    if (ran_at_first_)
      go(m);  // nobody else finds that it can
    else if (runs_.load())
      let_go(m, go);
    return true;
  }

  /// From now on messages leave when they can. Who makes the last partition ready looks whether the exchange runs after
  /// having counted; this counts after having said so: one of the two sees the other.
  template <class Go>
  void run(Go&& go) {
    runs_.store(true);
    for (std::size_t m = 0; m < messages_.size(); ++m)
      if (messages_[m].missing.load() == 0) let_go(static_cast<std::int64_t>(m), go);
  }

  [[nodiscard]] bool is_all_ready() const {
    for (const Message& message : messages_)
      if (message.missing.load(std::memory_order_acquire) > 0) return false;
    return true;
  }

 private:
  struct alignas(64) Message {
    std::atomic<std::int64_t> missing{0};  // partitions that are not ready
    std::atomic<bool> has_gone{false};
  };

  template <class Go>
  void let_go(std::int64_t m, Go&& go) {
    if (!messages_[static_cast<std::size_t>(m)].has_gone.exchange(true)) go(m);
  }

  PartitionCut cut_;
  std::uint32_t turn_ = 0;  // exchanges
  std::atomic<bool> runs_{false};
  bool ran_at_first_ = false;
  std::vector<std::atomic<std::uint32_t>> ready_;  // by partition, in which exchange it has become ready last
  std::vector<Message> messages_;
};

}  // namespace laneway
