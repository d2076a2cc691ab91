#pragma once

#include <laneway/partitioned.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "operations/request/edge_partitions.hpp"
#include "operations/request/work.hpp"
#include "runtime/device/device.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// Work with partitions that become ready, of which each also has a word in memory that host and devices reach. Whoever
/// writes 1 there, a kernel for example, makes the partition ready. Who advances the process's exchanges looks at the
/// words of those that are not ready yet, and sets a word back when it has seen it: so that nobody has to count
/// exchanges, and a word that is written before the exchange starts counts for it.
class WordReadyWork final : public Work, private Progressive {
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
  [[nodiscard]] bool claim() override { return state() == WorkState::inactive && work_->claim(); }
  void unclaim() override { work_->unclaim(); }
  [[nodiscard]] const Plan& plan() const override { return work_->plan(); }
  [[nodiscard]] Statistics statistics() const override { return work_->statistics(); }
  void fill(MPI_Status& status) const override { work_->fill(status); }
  [[nodiscard]] Device device() const override { return work_->device(); }
  [[nodiscard]] MPI_Comm users() const override { return work_->users(); }
  [[nodiscard]] const StagingArena* shared_staging() const override { return work_->shared_staging(); }
  [[nodiscard]] Progress advanced_by() const override { return work_->advanced_by(); }
  std::string_view set_buffers(Buffers buffers) override { return work_->set_buffers(buffers); }
  void set_stream(std::optional<lnw_device_stream> stream) override { work_->set_stream(stream); }
  [[nodiscard]] bool has_partitions() const override { return work_->has_partitions(); }
  void ready(int partition) override;
  [[nodiscard]] bool arrived(int partition) override { return work_->arrived(partition); }
  [[nodiscard]] const EdgePartitions* edge_partitions() const override { return work_->edge_partitions(); }
  [[nodiscard]] bool fire_once(int event) override;
  [[nodiscard]] std::shared_ptr<const ExchangeEvents> events() const override { return work_->events(); }
  [[nodiscard]] bool reached(int event) const override { return work_->reached(event); }
  [[nodiscard]] int next_arrival() override { return work_->next_arrival(); }

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

  std::unique_ptr<Work> work_;
  std::vector<std::atomic<std::uint64_t>> marks_;  // by partition: the exchange in which it has become ready last
  DeviceFlags flags_;                              // or, where no device reaches them:
  std::vector<HostWord> host_words_;
  std::uint64_t exchange_ = 0;  // the last one that has been started
  std::size_t first_ = 0;       // those before are ready
  Activity activity_;           // last, as in Channel
};

}  // namespace laneway
