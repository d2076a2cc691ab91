#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes/address.hpp"
#include "base/bytes/block_memory.hpp"
#include "base/simulated.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/device/lending.hpp"
#include "runtime/carriers/node/node_memory.hpp"
#include "runtime/carriers/transport.hpp"
#include "runtime/executor/combine.hpp"
#include "runtime/executor/copy.hpp"
#include "runtime/executor/device_copies.hpp"
#include "runtime/executor/exchange_events.hpp"
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

/// A plan bound to buffers, a transport and, where it has words, the memory of the node. To be run again and
/// again. A step starts as soon as the steps it depends on are complete; there are no phases. All memory is allocated
/// here, none in start, progress and wait.
///
/// Buffers may be on devices. The plan must be one for them (PlansByBuffers), so that messages go through the host,
/// unless the transport takes addresses on devices; staging memory is then on one, too. What touches a device is put
/// into its streams.
class Executor final : public Progressive {
 public:
  Executor(std::shared_ptr<const Plan> plan, Buffers buffers, Transport& transport,
           std::shared_ptr<NodeMemory> memory = nullptr);
  /// `combiners`: of a plan that combines.
  Executor(std::shared_ptr<const Plan> plan, Buffers buffers, const BufferMemory& places, Transport& transport,
           std::shared_ptr<NodeMemory> memory, Combiners combiners = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// What is in the user's stream at each start comes before the exchange, and what is put into it after the end comes
  /// after it. The plan must be one for streams if one is given, and else must not be. Must not be active. Throws
  /// Error(argument) if the stream is of another device than the buffers.
  void set_stream(std::optional<lnw_device_stream> stream);

  /// Opens the devices' memory that this rank takes from, as far as peers have said where it is; otherwise that is done
  /// in the first exchange that needs it, and allocates.
  void open_lent();

  /// The `event`-th event has come in, once more: in the n-th exchange, what the plan has after it waits until it has
  /// come n times. reached: whether the `event`-th event that goes out has done so in the exchange started last. Both
  /// may be called by any thread at any time, take no lock, allocate nothing, and advance nothing.
  void fire(int event) { events_.fire(event); }
  /// The same unless it has come in for the exchange started last already: then false, and nothing is done.
  [[nodiscard]] bool fire_once(int event) { return events_.fire_once(event); }
  [[nodiscard]] bool reached(int event) const { return events_.reached(event); }

  /// Starts what can start, runs the moves that wait for nothing, and returns.
  ///
  /// Where this, progress or wait throws, nothing is written into the receive buffer or the memory of this rank any
  /// more, and the executor can only be destroyed. What peers have not received yet may be read from the send buffer.
  void start() {
    try {
      if (memory_) begin_exchange();
      if (mode_.begins_otherwise) [[unlikely]]
        return start_otherwise();
      start_steps();
    } catch (...) {
      fail();
    }
  }
  /// Advances without blocking; true when the exchange is complete.
  bool progress() override;
  /// Returns when the exchange is complete; blocks in the transport where only its messages are to be waited for.
  void wait() {
    if (remaining_ == 0) return;
    try {
      if (!mode_.only_messages_wait) return wait_for_steps();
      messages_.endpoint->wait_all();
      remaining_ = 0;
    } catch (...) {
      fail();
    }
  }
  /// Whether no step depends on another that has to be waited for: completion then needs no progress by this executor.
  [[nodiscard]] bool independent() const { return mode_.independent; }
  /// Whether `start` has started every message when it returns: then no other rank depends on progress by this
  /// executor. Walks through the plan.
  [[nodiscard]] bool starts_all_messages() const {
    return mode_.independent || (!uses_device() && laneway::starts_all_messages(*plan_));
  }

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] bool uses_device() const { return device_ != nullptr; }
  [[nodiscard]] const BufferMemory& where() const { return buffers_.where; }
  /// The memory that the executor takes besides the plan and staging memory.
  [[nodiscard]] std::int64_t metadata_bytes() const;

 private:
  /// Places that exchanges use in turn, evenly apart; a power of two of them.
  struct Places {
    std::byte* first = nullptr;
    std::int64_t distance = 0;
  };
  /// The number of the last one, apart from where they are, because together they take a third more memory.
  using LastPlace = std::uint8_t;

  /// What a step waits for: the word `await`, the readers of the own staging memory, after which it raises that word,
  /// an event, or the user's stream.
  enum class WaitsFor : std::uint8_t { nothing, word, readers, event, stream };

  static constexpr int none = -1;
  static constexpr int of_stream = -2;
  static constexpr int of_puts = -3;  // no event: the word raised is that of a far rank
  /// Where a step moves from and to, and what it waits for and raises.
  struct BoundStep {
    Places from;
    Places to;
    Places await;
    Places raise;  // or null
    std::uint64_t lag = 0;
    int event = none;
    WaitsFor waits_for = WaitsFor::nothing;
    LastPlace last_from = 0;
    LastPlace last_to = 0;
    LastPlace last_await = 0;
    LastPlace last_raise = 0;
  };
  static_assert(sizeof(BoundStep) == 88);

  void bind(Buffers buffers, Transport& transport);
  void order();
  void find_ways() {
    mode_.advances_otherwise = device_ != nullptr || trace_ != nullptr;
    mode_.begins_otherwise = mode_.advances_otherwise || events_.any();
  }
  [[nodiscard]] Places find(const Operand& operand, Rank peer, LastPlace& last) const;
  [[nodiscard]] Places find(const Word& word, Rank peer, LastPlace& last) const;
  void allocate(Buffers buffers);
  void lend();
  void add_device_copies();
  [[nodiscard]] int stream_step() const;
  [[nodiscard]] bool trails(int step) const;
  void bind_step(std::size_t step);
  void begin_exchange();
  [[nodiscard]] bool in_second_place() const { return (turn_ & 1) != 0; }
  /// The place of staging memory that this exchange uses.
  [[nodiscard]] std::byte* staging() const {
    return at(buffers_.bases[static_cast<std::size_t>(Buffer::staging)],
              in_second_place() ? plan_->staging_alternate : 0);
  }
  void start_steps() {
    if (messages_.initial > 0) messages_.endpoint->start(0, messages_.initial);
    remaining_ = messages_.initial;
    messages_.complete = remaining_ == 0;
    if (mode_.has_more_than_messages) start_rest<false>();
  }
  void start_otherwise();
  void announce(const BoundStep& bound);
  void wait_for_steps();
  void wait_for_words_first();
  void wait_in_virtual_time();
  void move(int step);
  [[nodiscard]] std::byte* now(const Places& places, LastPlace last) const {
    return at(places.first, places.distance * static_cast<std::int64_t>(turn_ & last));
  }
  [[nodiscard]] bool passes(int step) const;
  enum class Patience : std::uint8_t { none, some };

  // What runs an exchange, once without and once with a trace, so that there is nothing to ask for without.
  template <bool traced>
  void start_rest();
  template <bool traced>
  void begin_on_device(int step);
  template <bool traced>
  void end(int step);
  void put(int step);
  template <bool traced>
  void end_puts();
  template <bool traced>
  void poll_words();
  template <bool traced>
  bool poll_messages(Patience patience = Patience::none);
  template <bool traced>
  void begin(int step);
  template <bool traced>
  void complete(int step);
  template <bool traced>
  void drain();
  template <bool traced>
  bool advance();
  template <bool traced>
  void finish();
  bool advance_otherwise();
  bool progress_steps();
  [[noreturn]] void fail();
  [[noreturn]] void explain(const MessageError& error) const;
  void give_up();

  /// The messages, numbered as the endpoints know them: those that can start at once come first.
  struct BoundMessages {
    std::array<std::unique_ptr<Endpoint>, 2> endpoints;  // for every second exchange, if staging memory has two places
    Endpoint* endpoint = nullptr;
    int initial = 0;
    bool complete = false;       // of an independent plan
    std::vector<int> steps;      // message -> step
    std::vector<int> of_step;    // step -> message, or -1
    std::vector<int> completed;  // in the last look
  };
  /// What steps move from and to.
  struct BoundBuffers {
    BufferMemory where;
    bool device_aware = false;  // messages begin and end on devices
    BlockMemory staging;
    DeviceMemory device_staging;  // pinned, or on the device
    DeviceMemory shadow;
    Device worker;  // copies what is borrowed, and pins
    Lent lent;
    BorrowedBuffers borrowed;
    std::array<std::byte*, buffer_kinds> bases{};
  };
  /// What need not be looked at in each exchange.
  struct Mode {
    bool independent = false;
    bool only_messages_wait = false;  // MPI's own completion of all is enough
    bool has_more_than_messages = false;
    bool begins_otherwise = false;    // with a device, with events, or traced
    bool advances_otherwise = false;  // with a device, or traced
    bool uses_device = false;
  };

  BoundMessages messages_;
  Puts* puts_ = nullptr;  // if words of far ranks are raised or awaited
  Mode mode_;
  int remaining_ = 0;
  unsigned fruitless_ = 0;
  std::uint64_t turn_ = 0;
  SimulatedWait simulated_wait_;
  std::shared_ptr<const Plan> plan_;
  Combiners combiners_;
  std::shared_ptr<NodeMemory> memory_;
  BoundBuffers buffers_;
  std::unique_ptr<DeviceCopies> device_;  // if a buffer is on one, or a stream was given
  ExchangeEvents events_;
  StepOrder order_;
  std::vector<BoundStep> bound_;       // by step, if any is no message
  std::vector<CopyProgram> programs_;  // the same
  std::vector<int> initial_steps_;     // that are no messages
  std::vector<int> ready_;             // stack of steps that wait for nothing
  std::vector<int> waiting_;           // for words and events
  std::vector<int> put_;               // steps under way whose words far ranks do not have yet
  std::unique_ptr<Trace> trace_;
};

}  // namespace laneway
