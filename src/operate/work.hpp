#pragma once

#include <mpi.h>

#include "plan/plan.hpp"

namespace laneway {

/// What a request runs that is no operation of all ranks of a communicator. It becomes inactive as an exchange does.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  [[nodiscard]] virtual bool active() const = 0;
  /// Must not be active.
  virtual void start() = 0;
  /// True, and inactive, when complete.
  [[nodiscard]] virtual bool test() = 0;
  /// As test, but what is complete stays active.
  [[nodiscard]] virtual bool done() = 0;
  virtual void wait() = 0;
  /// Of what was completed last.
  virtual void fill(MPI_Status& status) const = 0;
  /// As far as it is known.
  [[nodiscard]] virtual const Plan& plan() const = 0;

  /// @name Partitions
  /// By any thread. Throw Error(request) or Error(argument).
  /// @{
  virtual void ready(int partition) = 0;
  [[nodiscard]] virtual bool arrived(int partition) = 0;
  /// @}
};

}  // namespace laneway
