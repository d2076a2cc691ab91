#pragma once

#include <laneway/partitioned.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "operations/request/wrapped_work.hpp"
#include "runtime/device/device.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// Work with partitions that become ready, of which each also has a word in memory that host and devices reach. Whoever
/// writes 1 there, a kernel for example, makes the partition ready. Who advances the process's exchanges looks at the
/// words of those that are not ready yet, and sets a word back when it has seen it: so that nobody has to count
/// exchanges, and a word that is written before the exchange starts counts for it.
class WordReadyWork final : public WrappedWork, private Progressive {
 public:
  /// Takes `work`, which is inactive. `device`: which reaches the words; none: the host alone. Throws Error(request) if
  /// nothing of it becomes ready, and then leaves it where it is.
  WordReadyWork(std::unique_ptr<Work>& work, const Device& device);

  /// Of a partition of an edge; a message between two ranks is edge 0. Throws Error(argument) where there is none.
  [[nodiscard]] std::uint64_t* word(EdgePartition partition) const;

  [[nodiscard]] WordReadyWork* with_words() override { return this; }
  [[nodiscard]] bool start() override;
  [[nodiscard]] bool test() override { return activity_.test(nullptr) && work_->test(); }
  [[nodiscard]] bool done() override { return activity_.done(nullptr); }
  [[nodiscard]] bool active() const override { return activity_.active() || work_->active(); }
  [[nodiscard]] WorkState state() const override { return activity_.active() ? WorkState::active : work_->state(); }
  void ready(int partition) override;
  [[nodiscard]] bool fire_once(int event) override;

 private:
  bool progress() override;
  void make_ready(std::size_t partition);
  [[nodiscard]] std::uint64_t* word_at(std::size_t partition) const;
  [[nodiscard]] bool is_ready(std::size_t partition) const {
    return marks_[partition].load(std::memory_order_relaxed) == exchange_;
  }
  /// In this exchange; false if it had been before.
  bool mark(std::size_t partition) {
    return marks_[partition].exchange(exchange_, std::memory_order_relaxed) != exchange_;
  }

  /// As far apart as those of a device.
  struct alignas(LNW_PREADY_STRIDE * sizeof(std::uint64_t)) HostWord {
    std::uint64_t value = 0;
  };

  std::vector<std::atomic<std::uint64_t>> marks_;  // by partition: the exchange in which it has become ready last
  DeviceFlags flags_;                              // or, where no device reaches them:
  std::vector<HostWord> host_words_;
  std::uint64_t exchange_ = 0;  // the last one that has been started
  std::size_t first_ = 0;       // those before are ready
  Activity activity_;           // last, as in Channel
};

}  // namespace laneway
