#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "communicator/background.hpp"
#include "communicator/private_comm.hpp"
#include "operations/pipeline/bound_plan.hpp"
#include "operations/request/arrival_order.hpp"
#include "operations/request/edge_partitions.hpp"
#include "operations/request/work.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// Whether null pointers would be where no memory can be.
[[nodiscard]] bool needs_buffers(const Plan& plan);

/// What an exchange is, but for its buffers.
struct ExchangeParts {
  std::shared_ptr<PrivateComm> comm;
  int tag = 0;
  ReadyPlan ready;
  Helper helper = Helper::none;
  Region node = {};
  std::optional<lnw_device_stream> stream = {};
  std::unique_ptr<const EdgePartitions> partitions = {};
};

/// A plan that is bound to buffers once it has some, and may be given others. In a user's stream if it has one.
class PersistentExchange : public Work {
 public:
  explicit PersistentExchange(ExchangeParts parts);
  /// Frees its messages before the communicator goes.
  ~PersistentExchange() override { exchange_.reset(); }

  [[nodiscard]] bool start() override {
    if (!exchange_ || exchange_->active()) return false;
    run([&] { exchange_->start(); });
    return true;
  }
  [[nodiscard]] bool test() override {
    return !exchange_ || run([&] { return exchange_->test(); });
  }
  [[nodiscard]] bool done() override {
    return !exchange_ || run([&] { return exchange_->done(); });
  }
  void wait() override {
    if (exchange_) run([&] { exchange_->wait(); });
  }
  [[nodiscard]] bool active() const override { return exchange_ && exchange_->active(); }
  [[nodiscard]] WorkState state() const override;
  [[nodiscard]] const Plan& plan() const override;
  [[nodiscard]] Statistics statistics() const override;
  [[nodiscard]] Device device() const override;
  std::string_view set_buffers(Buffers buffers) override;
  void set_stream(std::optional<lnw_device_stream> stream) override;
  [[nodiscard]] const EdgePartitions* edge_partitions() const override { return parts_.partitions.get(); }
  [[nodiscard]] bool fire_once(int event) override { return exchange_ && exchange_->fire_once(event); }
  [[nodiscard]] std::shared_ptr<const ExchangeEvents> events() const override {
    return exchange_ ? exchange_->events() : nullptr;
  }
  [[nodiscard]] bool reached(int event) const override { return !exchange_ || exchange_->reached(event); }
  [[nodiscard]] int next_arrival() override;
  [[nodiscard]] Progress advanced_by() const override { return progress_by(parts_.helper); }

  /// As set_buffers, when the request is made.
  std::string_view bind(Buffers buffers);
  /// See Executor. Of one that is bound.
  void fire(int event) { exchange_->fire(event); }
  void prepare() {
    if (exchange_) exchange_->prepare();
  }

 protected:
  [[nodiscard]] const ExchangeParts& parts() const { return parts_; }

 private:
  /// Calls `body`, which gives up the exchange where it throws.
  template <class Body>
  [[gnu::always_inline]] auto run(Body&& body) -> decltype(body()) {
    try {
      return body();
    } catch (...) {
      fail();
      throw;
    }
  }
  void fail() noexcept;
  [[nodiscard]] std::unique_ptr<Exchange> bound_to(Buffers buffers, std::optional<lnw_device_stream> stream);
  [[nodiscard]] const std::shared_ptr<const Plan>& plan_on(const BufferMemory& where, bool in_stream);

  std::unique_ptr<Exchange> exchange_;  // null: unbound, or failed
  bool failed_ = false;
  Buffers buffers_;  // if bound
  PlansByBuffers plans_;
  ExchangeParts parts_;
  std::unique_ptr<ArrivalOrder> arrivals_;  // of partitions
};

/// One whose staging memory is that of others, too, of which one is active at a time.
class SharedStagingExchange final : public PersistentExchange {
 public:
  explicit SharedStagingExchange(ExchangeParts parts)
      : PersistentExchange(std::move(parts)), arena_(*this->parts().ready.memory->arena) {}

  [[nodiscard]] bool start() override;
  [[nodiscard]] bool test() override;
  void wait() override;
  [[nodiscard]] WorkState state() const override;
  [[nodiscard]] bool claim() override;
  void unclaim() override { arena_.release(this); }
  [[nodiscard]] const StagingArena* shared_staging() const override { return &arena_; }

 private:
  struct Release;

  StagingArena& arena_;
};

/// One whose buffers stay what they are.
class ConstantExchange final : public PersistentExchange {
 public:
  using PersistentExchange::PersistentExchange;

  // NOLINTBEGIN(bugprone-parent-virtual-call): what an exchange adds is left out.
  std::string_view set_buffers(Buffers buffers) override { return Work::set_buffers(buffers); }
  void set_stream(std::optional<lnw_device_stream> stream) override { Work::set_stream(stream); }
  // NOLINTEND(bugprone-parent-virtual-call)
};

}  // namespace laneway
