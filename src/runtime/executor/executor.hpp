#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes/block_memory.hpp"
#include "base/process/ended.hpp"
#include "base/simulated.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/bound_carrier.hpp"
#include "runtime/carriers/memory.hpp"
#include "runtime/carriers/transport.hpp"
#include "runtime/device/buffers.hpp"
#include "runtime/executor/combine.hpp"
#include "runtime/executor/exchange_events.hpp"
#include "runtime/executor/memory_steps.hpp"
#include "runtime/executor/step_order.hpp"
#include "runtime/executor/trace.hpp"

namespace laneway {

/// Started work that is advanced by calling `progress` until it returns true.
class Progressive {
 public:
  virtual bool progress() = 0;

 protected:
  ~Progressive() = default;
};

/// Whether all that other ranks may wait for has begun when what waits for nothing, and the copies that follow from it
/// at once, have been done; buffers are not on devices.
[[nodiscard]] bool starts_all_messages(const Plan& plan);

/// A plan bound to buffers, a transport and, where it has words, the memory that carriers have made for it. To be run
/// again and again. A step starts as soon as the steps it depends on are complete; there are no phases. What moves
/// bytes of this rank, or of memory that it reaches, the executor runs itself, with the words there; all else is left
/// to carriers. All memory is allocated here, none in start, progress and wait.
///
/// Buffers may be on devices. The plan must be one for them (PlansByBuffers), so that messages go through the host,
/// unless the transport takes addresses on devices; staging memory is then on one, too. What touches a device is put
/// into its streams.
class Executor final : public Progressive {
 public:
  Executor(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport,
           std::shared_ptr<PlanMemory> memory = nullptr);
  /// `combiners`: of a plan that combines.
  Executor(std::shared_ptr<const Plan> plan, Buffers buffers, const BufferMemory& places, Transport& transport,
           std::shared_ptr<PlanMemory> memory, Combiners combiners = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// What is in the user's stream at each start comes before the exchange, and what is put into it after the end comes
  /// after it. The plan must be one for streams if one is given, and else must not be. Must not be active. Throws
  /// Error(argument) if the stream is of another device than the buffers.
  void set_stream(std::optional<lnw_device_stream> stream);

  /// Opens the memory of peers that this rank takes from, as far as they have said where it is; otherwise that is done
  /// in the first exchange that needs it, and allocates.
  void prepare() {
    for (const std::unique_ptr<BoundCarrier>& carrier : carriers_) carrier->prepare();
  }

  /// The `event`-th event has come in, once more: in the n-th exchange, what the plan has after it waits until it has
  /// come n times. reached: whether the `event`-th event that goes out has done so in the exchange started last. Both
  /// may be called by any thread at any time, take no lock, allocate nothing, and advance nothing.
  void fire(int event) { events_->fire(event); }
  /// The same unless it has come in for the exchange started last already: then false, and nothing is done.
  [[nodiscard]] bool fire_once(int event) { return events_->fire_once(event); }
  [[nodiscard]] bool reached(int event) const { return events_->reached(event); }
  /// How many have been started, of a plan with events.
  [[nodiscard]] std::uint64_t exchanges() const { return events_->exchanges(); }
  /// For who looks at them when the exchange may be complete, and this destroyed.
  [[nodiscard]] std::shared_ptr<const ExchangeEvents> events() const { return events_; }

  /// Starts what can start, runs the moves that wait for nothing, and returns.
  ///
  /// Where this, progress or wait throws, nothing is written into the receive buffer or the memory of this rank any
  /// more, and the executor can only be destroyed. What peers have not received yet may be read from the send buffer.
  void start() {
    try {
      if (!mode_.only_carrier_runs) return start_steps();
      mode_.together->start(0, mode_.steps_together);
      remaining_ = left_together_ = mode_.steps_together;
    } catch (...) {
      fail();
    }
  }
  /// Advances without blocking; true when the exchange is complete.
  bool progress() override;
  /// Returns when the exchange is complete; blocks in a carrier where its steps alone are to be waited for.
  void wait() {
    if (remaining_ == 0) return;
    try {
      if (!mode_.only_carrier_waits) return wait_for_steps();
      mode_.together->wait_all();
      remaining_ = 0;
    } catch (...) {
      fail();
    }
  }
  /// Whether no step depends on another that has to be waited for: completion then needs no progress by this executor.
  [[nodiscard]] bool independent() const { return mode_.together != nullptr; }
  /// Whether `start` has started every message when it returns: then no other rank depends on progress by this
  /// executor. Walks through the plan.
  [[nodiscard]] bool starts_all_messages() const {
    return mode_.together != nullptr || (!uses_device() && laneway::starts_all_messages(*plan_));
  }

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] bool uses_device() const {
    return std::ranges::any_of(carriers_, [](const auto& carrier) { return carrier->uses_device(); });
  }
  [[nodiscard]] const BufferMemory& where() const { return where_; }
  /// The memory that the executor takes besides the plan and staging memory.
  [[nodiscard]] std::int64_t metadata_bytes() const;

 private:
  enum class Patience : std::uint8_t { none, some };

  void bind(Buffers buffers, Transport& transport);
  void order(const PlanBinding& binding);
  void start_steps();
  void start_otherwise();
  void begin_carriers() {
    if (mode_.carriers_begin)
      for (const std::unique_ptr<BoundCarrier>& carrier : carriers_) carrier->begin();
    if (mode_.steps_together > 0) mode_.together->start(0, mode_.steps_together);
    remaining_ = left_together_ = mode_.steps_together;
  }
  void wait_for_steps();
  void wait_for_words_first();
  void wait_in_virtual_time();
  [[nodiscard]] bool passes(int step) const {
    if (steps_.awaits_word(step)) [[likely]]
      return steps_.word_has_come(step, memory_->exchange);
    return passes_otherwise(step);
  }
  [[nodiscard]] bool passes_otherwise(int step) const;
  bool poll_together(Patience patience = Patience::none);

  // What runs an exchange, once without and once with a trace, so that there is nothing to ask for without.
  template <bool traced>
  void start_rest();
  template <bool traced>
  void begin(int step);
  template <bool traced>
  void start_by_carrier(int step, std::uint8_t carrier);
  template <bool traced>
  void end(int step);
  template <bool traced>
  void drain();
  template <bool traced>
  void poll_waiting();
  template <bool traced>
  void poll_carriers(Patience patience = Patience::none);
  template <bool traced>
  bool advance();
  template <bool traced>
  void finish();
  [[noreturn]] void fail();
  void give_up();

  /// What need not be looked at in each exchange.
  struct Mode {
    Endpoint* together = nullptr;  // of an independent plan: completes all steps that are not the executor's
    int steps_together = 0;
    bool only_carrier_runs = false;   // all there is
    bool only_carrier_waits = false;  // its own completion of all is enough
    bool has_own_steps = false;
    bool carriers_begin = false;
    bool begins_otherwise = false;  // with events, or traced
  };

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<PlanMemory> memory_;
  BlockMemory staging_;
  std::vector<std::unique_ptr<BoundCarrier>> carriers_;  // the one that takes what no other does is the last
  Mode mode_;
  int remaining_ = 0;      // steps
  int left_together_ = 0;  // those of mode_.together that are under way: all or none
  unsigned fruitless_ = 0;
  Questions questions_;
  std::vector<StepRun> runs_;  // by step
  MemorySteps steps_;          // if any is the executor's own
  StepOrder order_;
  std::vector<int> initial_steps_;  // that no carrier starts by itself
  std::vector<int> ready_;          // stack of steps that wait for nothing
  std::vector<int> waiting_;        // for words, events and carriers
  SimulatedWait simulated_wait_;
  std::shared_ptr<ExchangeEvents> events_;
  BufferMemory where_;
  std::unique_ptr<Trace> trace_;
};

}  // namespace laneway
