#include "operations/neighborhood/neighbor_mpi.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/arguments/operations.hpp"
#include "communicator/communicator.hpp"
#include "mpi/check.hpp"
#include "mpi/made_type.hpp"
#include "mpi/quirks.hpp"
#include "mpi/running.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/plans/host_images.hpp"
#include "operations/request/mpi_exchange.hpp"
#include "operations/request/packed_call.hpp"

namespace laneway {

namespace {

/// Whether what MPI's own nonblocking function sends from the first of two places to one rank arrives in the first of
/// the two there. On Cartesian communicators it should not, since what is sent in the negative direction comes from the
/// positive one; with Open MPI 4.1 and 5.0 it does.
bool arrives_in_order() {
  static const bool in_order = [] {
    if (!has_world()) return true;
    const int whole = 1;
    const int periodic = 1;
    MPI_Comm itself = MPI_COMM_NULL;
    check_mpi(MPI_Cart_create(MPI_COMM_SELF, 1, &whole, &periodic, 0, &itself), "MPI_Cart_create");
    const int sent[] = {1, 2};
    int received[] = {0, 0};
    const int counts[] = {1, 1};
    const MPI_Aint places[] = {0, sizeof(int)};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ineighbor_alltoallw(sent, counts, places, types, received, counts, places, types, itself, &request),
              "MPI_Ineighbor_alltoallw");
    check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    MPI_Comm_free(&itself);
    return received[0] == 1;
  }();
  return in_order;
}

/// Any operation but those that combine, as MPI_Ineighbor_alltoallw: whatever form another rank has called, both
/// call one function of MPI, and it takes counts and displacements of any size.
class NeighborCall final : public MpiOperation {
 public:
  NeighborCall(const TypedPattern& pattern, const Topology& topology, Buffers buffers)
      : buffers_(buffers),
        send_(pattern.out, slots_of(topology.destinations), topology.outdegree),
        receive_(pattern.in, slots_of(topology.sources), topology.indegree) {}

  int start(MPI_Comm comm, MPI_Request* request) override {
    return MPI_Ineighbor_alltoallw(buffers_.send, send_.counts.data(), send_.places.data(), send_.types.data(),
                                   buffers_.receive, receive_.counts.data(), receive_.places.data(),
                                   receive_.types.data(), comm, request);
  }

 private:
  struct Side {
    Side(const std::vector<TypedEdge>& edges, const std::vector<int>& slots, int degree)
        // One element more: some MPI libraries refuse null arrays.
        : counts(static_cast<std::size_t>(degree) + 1), places(counts.size()), types(counts.size(), MPI_BYTE) {
      for (std::size_t i = 0; i < edges.size(); ++i) {
        const auto slot = static_cast<std::size_t>(slots[i]);
        const bool fits = edges[i].count <= std::numeric_limits<int>::max();
        const bool is_misplaced = quirks.misplaces_backward_types && edges[i].map->goes_backward;
        places[slot] = edges[i].offset;
        counts[slot] = fits && !is_misplaced ? static_cast<int>(edges[i].count) : 1;
        if (is_misplaced)
          types[slot] = made.emplace_back(type_of_places(edges[i].map->elements(edges[i].count, 0))).get();
        else
          types[slot] = fits ? edges[i].type : made.emplace_back(as_one(edges[i].count, edges[i].type)).get();
      }
    }

    std::vector<int> counts;
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> types;
    std::vector<MadeType> made;
  };

  /// Where MPI must be told of each edge, for the k-th to a rank to match the k-th from there.
  static std::vector<int> slots_of(const std::vector<Neighbor>& neighbors) {
    std::vector<int> slots;
    slots.reserve(neighbors.size());
    for (const Neighbor& neighbor : neighbors) slots.push_back(neighbor.slot);
    if (!std::ranges::is_sorted(slots) && arrives_in_order()) std::ranges::sort(slots);
    return slots;
  }

  Buffers buffers_;
  Side send_;
  Side receive_;
};

}  // namespace

bool is_left_to_mpi(MPI_Comm comm, const Call& call) {
  return !simulated && !duplicates_apart() && !reduces(call.kind) && Communicator::find(comm) == nullptr;
}

std::unique_ptr<Request> start_by_mpi(MPI_Comm comm, const Call& call) {
  const Topology topology = read_topology(comm);
  const TypedPattern pattern = typed_pattern(call, topology);
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  std::unique_ptr<HostImages> images = images_for_mpi(
      buffers_of(call), [&] { return touched_by(plan_direct(rank, describe(pattern))); }, MemoryKind::host);
  auto own = std::make_unique<NeighborCall>(pattern, topology, images ? images->images() : buffers_of(call));
  auto exchange = std::make_unique<MpiExchange>(std::move(own), rank, comm, std::move(images));
  exchange->start_once();
  return std::make_unique<Request>(
      nullptr, nullptr, std::move(exchange),
      mpi_reasons("the private duplicate of the communicator is made in a call that may wait for other ranks"),
      Request::Life::nonblocking);
}

}  // namespace laneway
