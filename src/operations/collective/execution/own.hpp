#pragma once

#include <mpi.h>

#include <memory>

#include "communicator/arguments/collective.hpp"
#include "operations/collective/execution/mpi.hpp"
#include "operations/plans/host_images.hpp"
#include "operations/request/work.hpp"

namespace laneway {

/// Where a call runs as MPI's own operation.
struct Place {
  MPI_Comm comm = MPI_COMM_NULL;
  bool is_inter = false;
  int rank = 0;
  int ranks = 0;
  int peers = 0;  ///< those of the other group, of an intercommunicator

  explicit Place(MPI_Comm given);
  /// `same`: has its ranks, of which MPI need not be asked.
  Place(MPI_Comm given, const PrivateComm& same)
      : comm(given), rank(same.rank()), ranks(same.size()), peers(same.size()) {}

  /// An intercommunicator's buffers are given to MPI as they are. Throws Error(unsupported) where one that this rank
  /// uses is on a device that MPI does not know, Error(communicator) where MPI has no such
  /// operation, and Error(argument) for what else is wrong with a call.
  void check_between(const CollectiveCall& call) const;
  /// `has_to_help`: on all ranks or none. What others wait for may be passed on in calls of this library alone, and
  /// this is one: a rank may wait for another operation before it comes here. Returns MPI's code.
  [[nodiscard]] int run(const CollectiveCall& call, bool has_to_help) const;
  /// For the only time.
  [[nodiscard]] std::unique_ptr<Work> start(const CollectiveCall& call) const;
  /// Again and again. Collective.
  [[nodiscard]] std::unique_ptr<Work> make(const CollectiveCall& call) const;

 private:
  [[nodiscard]] bool is_root(const CollectiveCall& call) const {
    return !has_root(call.kind) || call.root == (is_inter ? MPI_ROOT : rank);
  }
  /// Where MPI does not take the buffers as they are. The arguments of an intercommunicator are MPI's business.
  [[nodiscard]] std::unique_ptr<HostImages> images_of(const CollectiveCall& call, MemoryKind memory) const {
    return is_inter ? nullptr : images_for_mpi(call, rank, ranks, memory);
  }
  [[nodiscard]] std::unique_ptr<MpiCall> mpi(const CollectiveCall& call, const HostImages* images,
                                             MpiCall::Borrows borrows) const {
    return std::make_unique<MpiCall>(images != nullptr ? on_images(call, *images) : call, peers, ranks, is_root(call),
                                     borrows);
  }
};

}  // namespace laneway
