#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "communicator/communicator.hpp"
#include "communicator/rank_translation.hpp"
#include "operations/request/edge_partitions.hpp"
#include "runtime/device/buffers.hpp"

namespace laneway {

class Request;

/// The call that has made a persistent request, with copies of its arguments, to be made again among other ranks.
class Origin {
 public:
  /// Makes it: collective over the communicator that it gets.
  using Remake = std::function<std::unique_ptr<Request>(MPI_Comm comm)>;

  Origin() = default;
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  virtual ~Origin() = default;

  /// What must be the same on all ranks of a communicator, for people.
  [[nodiscard]] virtual std::string text() const = 0;
  /// Of the copies.
  [[nodiscard]] virtual std::int64_t bytes() const = 0;
  virtual void set_buffers(Buffers buffers) = 0;

  /// Among those of the communicator that it was made on which `ranks` keeps. `partitions`: of the request, or
  /// null. Local. Throws Error where it cannot be.
  [[nodiscard]] virtual Remake among(const RankTranslation& ranks, const EdgePartitions* partitions) const = 0;
  /// On a topology that is there. Collective over it, once `check_fits` has not thrown on any rank.
  virtual void check_fits(Communicator& topology) const = 0;
  [[nodiscard]] virtual std::unique_ptr<Request> on(Communicator& topology, const EdgePartitions* partitions) const = 0;
};

}  // namespace laneway
