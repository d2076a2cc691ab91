// Graph communicators are the MPI library's own, with plans attached.
#include <mpi.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>

#include "base/failure.hpp"
#include "base/log_line.hpp"
#include "operations/neighborhood/graph.hpp"
#include "preload/adopted.hpp"
#include "preload/more_hints.hpp"
#include "preload/next.hpp"
#include "preload/p2p/point_to_point.hpp"
#include "preload/report/rows.hpp"
#include "preload/settings.hpp"

namespace laneway::interpose {

namespace {

std::atomic<bool> any_adopted{false};

/// What this library reads from the environment by itself.
std::string settings() {
  std::string all;
  for (const char* const variable : {"LANEWAY_PRELOAD_AFTER", "LANEWAY_PRELOAD_TRIAL", "LANEWAY_REPORT"}) {
    const char* const value = std::getenv(variable);
    all += value == nullptr ? "\n" : std::string(value) + "\n";
  }
  return all;
}

/// `comm` has just been made from `comm_old`; collective. Where that fails (bad hints) it does so on all ranks, and
/// `comm` is left to the MPI library.
void adopt(MPI_Comm comm_old, MPI_Comm comm, MPI_Info info, const char* call) noexcept {
  p2p::enter(comm);
  if (!enabled() || comm == MPI_COMM_NULL || !has_world()) return;
  Adopter adopter{};
  adopter.graph = comm;
  adopter.failure = failure_of([&] {
    adopter.progresses = split_phase() != SplitPhase::unsafe;
    adopter.settings = settings();
  });
  try {
    adopt_graph(comm_old, comm, MoreHints(info).get(), adopter);
    number_communicator(Communicator::of(comm), comm);
    any_adopted.store(true, std::memory_order_relaxed);
  } catch (const std::exception& error) {
    log_line(std::string(call) + ": the new communicator is left to the MPI library: " + error.what());
  }
}

}  // namespace

Communicator* find_adopted(MPI_Comm comm) noexcept {
  if (!any_adopted.load(std::memory_order_relaxed) || comm == MPI_COMM_NULL) return nullptr;
  try {
    return Communicator::find(comm);
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace laneway::interpose

using namespace laneway::interpose;

INTERPOSE(MPI_Dist_graph_create_adjacent,
          (MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[], int outdegree,
           const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm* comm_dist_graph),
          (comm_old, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder,
           comm_dist_graph)) {
  const int code = laneway_pass_MPI_Dist_graph_create_adjacent(
      comm_old, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, comm_dist_graph);
  if (code == MPI_SUCCESS) adopt(comm_old, *comm_dist_graph, info, "MPI_Dist_graph_create_adjacent");
  return code;
}

INTERPOSE(MPI_Dist_graph_create,
          (MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
           const int weights[], MPI_Info info, int reorder, MPI_Comm* comm_dist_graph),
          (comm_old, n, sources, degrees, destinations, weights, info, reorder, comm_dist_graph)) {
  const int code = laneway_pass_MPI_Dist_graph_create(comm_old, n, sources, degrees, destinations, weights, info,
                                                      reorder, comm_dist_graph);
  if (code == MPI_SUCCESS) adopt(comm_old, *comm_dist_graph, info, "MPI_Dist_graph_create");
  return code;
}
