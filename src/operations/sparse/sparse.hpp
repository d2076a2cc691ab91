#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/finder.hpp"
#include "base/bytes/wire.hpp"
#include "communicator/arguments/call.hpp"
#include "communicator/communicator.hpp"
#include "operations/request/request.hpp"

namespace laneway {

/// What this rank sends in one set of a sparse exchange: as the caller has given it, nothing is checked.
struct SparseSet {
  int degree = 0;
  const int* destinations = nullptr;
  Integers counts = {};         ///< null: `count` for each
  MPI_Count count = 0;          ///< then
  Integers displacements = {};  ///< null: blocks follow each other
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const void* buffer = nullptr;
};

/// How a round was done.
struct SparseReasons {
  const FinderRow* finder = nullptr;
  bool chosen = false;  ///< by costs
  std::vector<std::pair<const FinderRow*, double>> seconds = {};
  std::string parameters = {};
  std::int64_t messages = 0;  ///< that this rank has sent
};

/// What has arrived in one set. Entries are in ascending order of sources, those of one source in the order in which it
/// gave them.
struct Arrivals {
  std::vector<int> sources;
  std::vector<MPI_Count> counts;   ///< elements
  std::vector<MPI_Count> offsets;  ///< in elements from the beginning of data
  Bytes data;                      ///< elements without gaps
  std::int64_t element_bytes = 0;

  std::vector<int> destinations;  ///< to which this rank has sent, in the order of its arguments
  SparseReasons reasons;
  std::shared_ptr<PrivateComm> comm;
  std::shared_ptr<const ErrorHandler> error_handler;
  bool single = false;  ///< all ranks are single-threaded
  bool have_helpers = false;

  [[nodiscard]] Rank rank() const { return comm->rank(); }
  void call_error_handler(int code) const { error_handler->call(*comm, code); }
};

/// What a target says to a request: appends it to `answer`. Called in the thread that waits.
using Answerer = std::function<void(Rank source, std::span<const std::byte> request, Bytes& answer)>;

/// What the caller of a sparse exchange gives. `failure`: what is wrong with it already.
struct SparseCall {
  std::vector<SparseSet> sets;
  MPI_Info info = MPI_INFO_NULL;
  bool fixed_count = false;
  Answerer answerer = {};
  std::exception_ptr failure = {};
};

/// One handle for each set; with an answerer one alone, of the answers, in the order of the requests. Collective; the
/// first call on a communicator lets all ranks meet, later ones go on as soon as this rank has heard all. Where the
/// arguments of one rank are bad, all throw, and nothing is left behind.
[[nodiscard]] std::vector<std::unique_ptr<Arrivals>> exchange_sparsely(Communicator& communicator, SparseCall call);

/// The same without waiting. `take` gets what has arrived, in the call that completes the request.
[[nodiscard]] std::unique_ptr<Request> start_sparse_exchange(
    Communicator& communicator, SparseCall call, std::function<void(std::vector<std::unique_ptr<Arrivals>>)> take);

/// What a first sparse exchange learns of a communicator. Collective where there was none.
struct NodesOfRanks {
  std::shared_ptr<PrivateComm> comm;
  NodeMap nodes;
  bool have_helpers = false;
};
[[nodiscard]] NodesOfRanks nodes_of_ranks(Communicator& communicator);

/// The number of destinations must not be negative, and ranks are those of the communicator or MPI_PROC_NULL. Throws
/// Error.
void check_destinations(int degree, const int* destinations, Rank ranks, const char* degree_name,
                        const char* ranks_name);

}  // namespace laneway
