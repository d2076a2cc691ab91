#include "measure/run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <thread>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/simulated.hpp"
#include "matrix/load.hpp"
#include "measure/library.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

MPI_Comm shared_memory_comm(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  return node;
}

Nodes find_nodes(MPI_Comm comm, Rank rank, Rank ranks, const std::string& machine) {
  if (!machine.empty()) return make_nodes(Machine::parse(machine, ranks), machine);
  MPI_Comm node = shared_memory_comm(comm);
  Rank leader = rank;
  MPI_Bcast(&leader, 1, MPI_INT32_T, 0, node);
  MPI_Comm_free(&node);
  std::vector<Rank> leaders(static_cast<std::size_t>(ranks));
  MPI_Allgather(&leader, 1, MPI_INT32_T, leaders.data(), 1, MPI_INT32_T, comm);
  return make_nodes(leaders);
}

Run start(const std::string& machine) {
  Run run;
  MPI_Comm_dup(MPI_COMM_WORLD, &run.comm);
  MPI_Comm_rank(run.comm, &run.rank);
  MPI_Comm_size(run.comm, &run.ranks);
  const char* variable = std::getenv("LANEWAY_MACHINE");
  run.machine = machine.empty() && variable != nullptr ? variable : machine;
  run.nodes = find_nodes(run.comm, run.rank, run.ranks, run.machine);
  return run;
}

template <class T>
void broadcast(std::vector<T>& values, MPI_Datatype type, MPI_Comm comm) {
  auto size = static_cast<std::int64_t>(values.size());
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, comm);
  require(size <= std::numeric_limits<int>::max(), ErrorKind::count, "the matrix is too large for one broadcast");
  values.resize(static_cast<std::size_t>(size));
  MPI_Bcast(values.data(), static_cast<int>(size), type, 0, comm);
}

}  // namespace

int with_mpi(const std::string& machine, const std::function<int(const Run&)>& body, int thread_level) {
  int provided = thread_level;
  MPI_Init_thread(nullptr, nullptr, thread_level, &provided);
  int status = EXIT_FAILURE;
  try {
    Run run = start(machine);
    add_provenance(describe_mpi());
    status = body(run);
    MPI_Bcast(&status, 1, MPI_INT, 0, run.comm);
    MPI_Comm_free(&run.comm);
  } catch (const NothingToMeasure& nothing) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::cerr << std::string("laneway-bench: ") + nothing.what() + "\n" << std::flush;
    status = exit_usage;
  } catch (const std::exception& error) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    // Most errors are those of all ranks: rank 0 tells them, the others only if it does not.
    if (rank != 0) {
      if constexpr (simulated)
        pass(2);
      else
        std::this_thread::sleep_for(std::chrono::seconds(2));
    }
    std::cerr << "laneway-bench: " + (rank != 0 ? "rank " + std::to_string(rank) + ": " : "") + error.what() + "\n"
              << std::flush;
    if constexpr (simulated) {  // where MPI_Abort forgets the status
      std::cout << std::flush;
      std::quick_exit(EXIT_FAILURE);
    }
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
  return status;
}

void require_edges(const Run& run, const Exchange& exchange, const std::string& what) {
  if constexpr (simulated) return;  // a level of a hierarchy may be empty, and its time is exact
  auto edges = static_cast<std::int64_t>(exchange.send.peers.size());
  MPI_Allreduce(MPI_IN_PLACE, &edges, 1, MPI_INT64_T, MPI_SUM, run.comm);
  if (edges == 0)
    throw NothingToMeasure("no rank has a neighbour: " + std::to_string(run.ranks) +
                           (run.ranks == 1 ? " rank of " : " ranks of ") + what);
}

void connect_all(const Run& run) {
  if constexpr (simulated) return;  // there are no connections
  std::vector<char> letters(static_cast<std::size_t>(run.ranks));
  MPI_Alltoall(MPI_IN_PLACE, 1, MPI_CHAR, letters.data(), 1, MPI_CHAR, run.comm);
}

void quiet_barrier(MPI_Comm comm) {
  if constexpr (simulated) return;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  int done = 0;
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

std::shared_ptr<const matrix::Csr> load_matrix(const Run& run, const std::string& spec) {
  MPI_Comm node = shared_memory_comm(run.comm);
  int node_rank = 0;
  MPI_Comm_rank(node, &node_rank);
  auto matrix = std::make_shared<matrix::Csr>();
  if (node_rank == 0) *matrix = matrix::load(spec);
  quiet_barrier(node);
  MPI_Bcast(&matrix->rows, 1, MPI_INT64_T, 0, node);
  MPI_Bcast(&matrix->columns, 1, MPI_INT64_T, 0, node);
  broadcast(matrix->row_begin, MPI_INT64_T, node);
  broadcast(matrix->column, MPI_INT64_T, node);
  broadcast(matrix->value, MPI_DOUBLE, node);
  MPI_Comm_free(&node);
  return matrix;
}

}  // namespace laneway::bench
