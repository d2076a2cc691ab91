#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "operations/request/edge_partitions.hpp"
#include "operations/request/work.hpp"

namespace laneway {

/// Work that adds something to that of another, and hands on what it does not do itself.
class WrappedWork : public Work {
 public:
  [[nodiscard]] WordReadyWork* with_words() override { return work_->with_words(); }
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
  [[nodiscard]] int sent_partitions() const override { return work_->sent_partitions(); }
  void ready(int partition) override { work_->ready(partition); }
  [[nodiscard]] bool arrived(int partition) override { return work_->arrived(partition); }
  [[nodiscard]] const EdgePartitions* edge_partitions() const override { return work_->edge_partitions(); }
  [[nodiscard]] bool fire_once(int event) override { return work_->fire_once(event); }
  [[nodiscard]] std::shared_ptr<const ExchangeEvents> events() const override { return work_->events(); }
  [[nodiscard]] bool reached(int event) const override { return work_->reached(event); }
  [[nodiscard]] int next_arrival() override { return work_->next_arrival(); }

 protected:
  explicit WrappedWork(std::unique_ptr<Work> work) : work_(std::move(work)) {}

  /// The list in which what wraps it is: whoever advances the process's exchanges advances both.
  [[nodiscard]] static Progress list_of(const Work& work) {
    return work.advanced_by() == Progress::by_thread ? Progress::by_thread : Progress::in_calls;
  }

  std::unique_ptr<Work> work_;
};

}  // namespace laneway
