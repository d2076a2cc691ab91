#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes/address.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/memory.hpp"
#include "runtime/carriers/transport.hpp"
#include "runtime/device/buffers.hpp"
#include "runtime/executor/combine.hpp"

namespace laneway {

/// Where something is in each exchange: in places that exchanges use in turn, evenly apart, a power of two of them.
struct RingPlaces {
  std::byte* first = nullptr;
  std::int64_t distance = 0;
  std::uint8_t last = 0;

  [[nodiscard]] std::byte* in(std::uint64_t turn) const {
    return at(first, distance * static_cast<std::int64_t>(turn & last));
  }
};

/// Who runs a step, and what there is to it besides.
struct StepRun {
  static constexpr std::uint8_t executor = 0xff;  // that runs the step itself

  std::uint8_t carrier = executor;     ///< its number among those that are bound
  bool waits : 1 = false;              ///< before it runs: for a word, an event, or until its carrier lets it pass
  bool passes_by_carrier : 1 = false;  ///< the last of these
  bool starts_at_once : 1 = false;     ///< by its carrier, when the exchange begins
  bool raises : 1 = false;             ///< the executor raises its word, or announces its event, after it
};

/// What a carrier's part of a step is.
enum class TakenPart : std::uint8_t {
  run,           ///< all but its words and events: it moves what is to be moved
  run_at_once,   ///< the same for a step that depends on nothing: it starts in `begin`
  run_and_raise  ///< also its word or event, or what it does in place of that
};

/// A plan that is being bound, for carriers to take steps of.
class PlanBinding {
 public:
  const Plan& plan;
  const BufferMemory& where;
  const Combiners& combiners;
  PlanMemory* memory = nullptr;    ///< null: no step reaches any but the rank's own buffers
  Transport* transport = nullptr;  ///< for messages
  const std::uint64_t& turn;       ///< the number of the exchange under way, as places count it
  /// Where the rank's buffers begin. What is still null when a carrier is made, it may give.
  std::array<std::byte*, buffer_kinds> bases{};

  [[nodiscard]] const Step& step(int index) const { return plan.steps[static_cast<std::size_t>(index)]; }
  [[nodiscard]] RingPlaces find(const Operand& operand, Rank peer) const;
  [[nodiscard]] RingPlaces find(const Word& word, Rank peer) const;

  /// For the carrier that is being bound.
  void take(int step, TakenPart part);
  /// A step that must not run before its `passes` says so, in place of the step's word or event.
  void let_pass(int step);

  bool begins = false;  ///< for it to set: it has something to do when an exchange begins
  /// No step depends on another, and no other carrier has any. Where it is an endpoint's, its messages are the steps,
  /// `together` becomes that: then neither `begin` nor `poll` is called.
  bool may_be_together = false;
  Endpoint* together = nullptr;

  std::uint8_t carrier = 0;     ///< which that is
  std::vector<StepRun> runs{};  ///< by step
};

/// A carrier's part of a plan that is bound, to be run again and again. Allocates when it is made and bound; nothing
/// else of it allocates, takes a lock, or does what grows with the communicator. What its functions throw ends the
/// exchange: then only `explain` and `abandon` are called.
class BoundCarrier {
 public:
  virtual ~BoundCarrier() = default;

  /// Takes steps. All buffers are known.
  virtual void bind(PlanBinding& binding) = 0;

  /// An exchange begins, if `bind` has asked for it.
  virtual void begin() {}
  /// Whether a step may go on for which it has asked by `let_pass`.
  [[nodiscard]] virtual bool passes(int) { return true; }
  /// All that a step depends on is complete. Returns the steps that are complete with that.
  virtual std::span<const int> start(int step) = 0;
  /// The steps that have been completed since. Valid until the next call, and other than what `start` returns.
  virtual std::span<const int> poll() = 0;
  /// As poll, but may wait until a step is complete.
  virtual std::span<const int> wait_some() { return poll(); }
  /// Nothing has been completed for some time. What is under way elsewhere may need a hand.
  virtual void advance() {}

  /// Gives up what is under way: to be called again while something is left.
  [[nodiscard]] virtual Left abandon() noexcept { return Left::nothing; }
  /// A better error in place of one that it has thrown.
  [[nodiscard]] virtual std::exception_ptr explain(std::exception_ptr error) const { return error; }

  /// Whether steps are put into streams of devices, which no host sees.
  [[nodiscard]] virtual bool uses_device() const { return false; }
  /// Exchanges come after what is in the user's stream when they begin, and before what is put into it after their end.
  /// False: it has nothing to do with streams.
  virtual bool set_stream(std::optional<lnw_device_stream>) { return false; }
  /// Does now, as far as peers have come, what would otherwise be done in the first exchange and allocate there.
  virtual void prepare() {}
  [[nodiscard]] virtual std::int64_t metadata_bytes() const = 0;
};

}  // namespace laneway
