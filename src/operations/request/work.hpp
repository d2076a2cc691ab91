#pragma once

#include <laneway/requests.h>
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "machine/machine.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/memory.hpp"
#include "runtime/device/buffers.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

class ContinuedWork;
class EdgePartitions;
class WordReadyWork;

using Statistics = LNW_Request_statistics;
/// `node`: the ranks between which nothing crosses the network. `memory`: null if the plan uses none.
[[nodiscard]] Statistics statistics_of(const Plan& plan, const Region& node, const PlanMemory* memory);

/// Why work can be started, or cannot.
enum class WorkState : std::uint8_t {
  inactive,  ///< it can
  active,
  blocked,   ///< by active work with which it shares staging memory
  in_queue,  ///< to which it belongs
  unbound,   ///< has no buffers yet
  calling,   ///< the function that the program has set for it, from which the caller comes
  failed,    ///< messages may be under way: it can only be freed
};
/// What an error says of a request whose work is not inactive.
[[nodiscard]] const char* text_of(WorkState state);

/// What a request runs. It is inactive before it is started, when it has been found complete, and when it has failed.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  /// False, and nothing is done, if its state is another than inactive; always of work that runs once, which is started
  /// where it is made.
  [[nodiscard]] virtual bool start() { return false; }
  /// True, and inactive, when complete.
  [[nodiscard]] virtual bool test() = 0;
  /// As test, but what is complete stays active.
  [[nodiscard]] virtual bool done() = 0;
  /// Advances the process's exchanges, too.
  virtual void wait();
  [[nodiscard]] virtual bool active() const = 0;
  [[nodiscard]] virtual WorkState state() const { return active() ? WorkState::active : WorkState::inactive; }

  /// True if it can be started. Nobody else then claims memory that it shares until it has been started or given back.
  [[nodiscard]] virtual bool claim() { return state() == WorkState::inactive; }
  virtual void unclaim() {}

  /// As it is run with the buffers that it has now, as far as that is known; where MPI gathers and scatters, as if this
  /// library did.
  [[nodiscard]] virtual const Plan& plan() const;
  [[nodiscard]] virtual Statistics statistics() const { return statistics_of(plan(), {}, nullptr); }
  /// Of what was completed last.
  virtual void fill(MPI_Status&) const {}
  /// Of the buffers; none if they are on none, or not known here.
  [[nodiscard]] virtual Device device() const { return {}; }
  /// The program's communicator, where nothing else has its error handler.
  [[nodiscard]] virtual MPI_Comm users() const { return MPI_COMM_WORLD; }
  /// Who may call the program's functions for it.
  [[nodiscard]] virtual Progress advanced_by() const { return Progress::in_calls; }
  /// This, if functions are called for it; else null.
  [[nodiscard]] virtual ContinuedWork* continued() { return nullptr; }
  /// What gives its partitions words; null: nothing does.
  [[nodiscard]] virtual WordReadyWork* with_words() { return nullptr; }
  /// Null if it shares none.
  [[nodiscard]] virtual const StagingArena* shared_staging() const { return nullptr; }

  /// @name Of work that is inactive
  /// Throw Error(request) where it keeps its buffers.
  /// @{
  /// Returns what goes on with it (Reasons::progress_by).
  virtual std::string_view set_buffers(Buffers buffers);
  /// For all exchanges from now on; none: without a stream again.
  virtual void set_stream(std::optional<lnw_device_stream> stream);
  /// @}

  /// @name Partitions of a message between two ranks
  /// By any thread. Throw Error(request) or Error(argument).
  /// @{
  [[nodiscard]] virtual bool has_partitions() const { return false; }
  /// How many become ready; -1 where partitions arrive.
  [[nodiscard]] virtual int sent_partitions() const { return -1; }
  /// Both only if it has some.
  virtual void ready(int) {}
  [[nodiscard]] virtual bool arrived(int) { return true; }
  /// @}

  /// @name Partitions of edges, for which events stand
  /// By any thread. See Executor.
  /// @{
  /// Null: there are none.
  [[nodiscard]] virtual const EdgePartitions* edge_partitions() const { return nullptr; }
  [[nodiscard]] virtual bool fire_once(int) { return false; }
  /// Which may live longer than this. Null: it has none.
  [[nodiscard]] virtual std::shared_ptr<const ExchangeEvents> events() const { return nullptr; }
  [[nodiscard]] virtual bool reached(int) const { return true; }
  /// Of those that go out, one that has been reached in this exchange and not been given by this before; `none_left` if
  /// all have been given, `none_yet`. By one thread at a time.
  static constexpr int none_left = -1;
  static constexpr int none_yet = -2;
  [[nodiscard]] virtual int next_arrival() { return none_left; }
  /// @}
};

}  // namespace laneway
