#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "operations/request/wrapped_work.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// Called when something is complete, with MPI_SUCCESS or the error code of what has failed.
struct Continuation {
  void (*function)(int code, void* state) = nullptr;
  void* state = nullptr;
};

/// While this lives, its thread calls no functions of requests: what starts several has not returned from the first.
class ContinuationsHeld {
 public:
  ContinuationsHeld();
  ~ContinuationsHeld();
  ContinuationsHeld(const ContinuationsHeld&) = delete;
  ContinuationsHeld& operator=(const ContinuationsHeld&) = delete;
};

/// Work whose end, and whose arrivals, functions are called for by whoever advances the process's exchanges. It is in a
/// list whatever its own work needs; one thread at a time advances it, and calls.
class ContinuedWork final : public WrappedWork, private Progressive {
 public:
  /// The MPI error code of the exception that is being handled, for a rank of the communicator.
  using CodeOfFailure = int (*)(int rank);

  /// `work`: inactive, or nonblocking and then active.
  ContinuedWork(std::unique_ptr<Work> work, int rank, CodeOfFailure code_of_failure);

  /// @name While it is inactive, or before its only run has got a function
  /// Function null: none.
  /// @{
  void on_complete(Continuation continuation) { on_complete_ = continuation; }
  /// Of a partition of an edge; a message between two ranks is edge 0. Throws Error(request) or Error(argument) where
  /// there is none.
  void on_arrival(EdgePartition arrival, Continuation continuation);
  [[nodiscard]] bool empty() const { return on_complete_.function == nullptr && arrivals_.empty(); }
  /// Must be inactive; this is then of no use.
  [[nodiscard]] std::unique_ptr<Work> release() { return std::move(work_); }
  /// Its work has been started, and is active.
  void begin();
  /// @}

  [[nodiscard]] ContinuedWork* continued() override { return this; }
  [[nodiscard]] bool start() override;
  [[nodiscard]] bool test() override;
  [[nodiscard]] bool done() override;
  [[nodiscard]] bool active() const override { return activity_.active() || work_->active(); }
  [[nodiscard]] WorkState state() const override;

 private:
  struct Awaited {
    EdgePartition arrival;
    int event = 0;  // of edges
    Continuation continuation;
  };

  bool progress() override;
  [[nodiscard]] bool has_come(const Awaited& awaited) const;
  void call_for_arrivals();
  void call_for_all(int code);
  void call(const Continuation& continuation, int code);
  [[nodiscard]] bool is_calling_here() const;
  void refuse_from_within() const;

  int rank_;
  CodeOfFailure code_of_failure_;
  Continuation on_complete_;
  std::vector<Awaited> arrivals_;
  std::size_t left_ = 0;                  // the first ones are still to come in this exchange
  const ContinuedWork* outer_ = nullptr;  // in one of whose functions this calls
  Activity activity_;                     // last, as in Channel
};

}  // namespace laneway
