#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "data/exchange.hpp"
#include "data/traffic.hpp"

namespace laneway::bench {

/// The processes of this run and where they are. MPI errors are fatal, with MPI's own message.
struct Run {
  MPI_Comm comm = MPI_COMM_NULL;
  Rank rank = 0;
  Rank ranks = 0;
  Nodes nodes;
  std::string machine;  ///< the description that replaces the nodes that MPI finds, if any

  [[nodiscard]] bool is_root() const { return rank == 0; }
};

/// Thrown on all ranks where an exchange is empty: its times would be those of nothing.
class NothingToMeasure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The exit status of a run that cannot do what the command line asks for.
inline constexpr int exit_usage = 2;

/// Throws NothingToMeasure if no rank sends anything of `what`. Collective.
void require_edges(const Run& run, const Exchange& exchange, const std::string& what);

/// Calls `body` between MPI_Init_thread and MPI_Finalize and returns its result. Without a description, LANEWAY_MACHINE
/// is read; without that, ranks that share memory are a node. An exception of any rank ends the run, but for
/// NothingToMeasure, of which rank 0 says why; the status is exit_usage then.
int with_mpi(const std::string& machine, const std::function<int(const Run&)>& body,
             int thread_level = MPI_THREAD_SINGLE);

/// Makes the connections between all ranks, which are made on first use: no candidate should pay for all.
void connect_all(const Run& run);

/// Waits without using the processor that others are measuring with.
void quiet_barrier(MPI_Comm comm);

/// One rank of each node that shares memory loads the matrix and gives it to the others there.
[[nodiscard]] std::shared_ptr<const matrix::Csr> load_matrix(const Run& run, const std::string& spec);

}  // namespace laneway::bench
