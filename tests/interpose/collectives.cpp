// A graph in which the last rank has no neighbours. All ranks make all calls, other collective operations on the graph
// communicator among them: whatever is taken over, the MPI library must see its own from all of its ranks or from none.
#include <algorithm>

#include "check.hpp"

namespace {

/// What one rank exchanges with the neighbours that a graph gives it: its own rank.
class Exchange {
 public:
  Exchange(const Graph& graph, MPI_Comm comm) : comm_(comm), rank_(rank_in(comm)) {
    for (int e : graph.in(rank_)) sources_.push_back(graph.edges[static_cast<std::size_t>(e)].source);
    const std::size_t most = std::max(sources_.size(), graph.out(rank_).size());
    send_.assign(most + 1, rank_);
    receive_.assign(most + 1, -1);
    counts_.assign(most + 1, 1);
    types_.assign(most + 1, MPI_INT);
    for (std::size_t i = 0; i <= most; ++i) {
      places_.push_back(static_cast<int>(i));
      bytes_.push_back(static_cast<MPI_Aint>(i * sizeof(int)));
    }
  }

  static constexpr int forms = 8;

  /// In the form of that number; null if it was blocking.
  MPI_Request begin(int form) {
    MPI_Request request = MPI_REQUEST_NULL;
    std::fill(receive_.begin(), receive_.end(), -1);
    int code = MPI_SUCCESS;
    switch (form) {
      case 0:
        code = MPI_Neighbor_alltoallv(send_.data(), counts_.data(), places_.data(), MPI_INT, receive_.data(),
                                      counts_.data(), places_.data(), MPI_INT, comm_);
        break;
      case 1:
        code = MPI_Ineighbor_alltoallv(send_.data(), counts_.data(), places_.data(), MPI_INT, receive_.data(),
                                       counts_.data(), places_.data(), MPI_INT, comm_, &request);
        break;
      case 2:
        code = MPI_Neighbor_alltoallw(send_.data(), counts_.data(), bytes_.data(), types_.data(), receive_.data(),
                                      counts_.data(), bytes_.data(), types_.data(), comm_);
        break;
      case 3:
        code = MPI_Ineighbor_alltoallw(send_.data(), counts_.data(), bytes_.data(), types_.data(), receive_.data(),
                                       counts_.data(), bytes_.data(), types_.data(), comm_, &request);
        break;
      case 4:
        code = MPI_Neighbor_allgatherv(send_.data(), 1, MPI_INT, receive_.data(), counts_.data(), places_.data(),
                                       MPI_INT, comm_);
        break;
      case 5:
        code = MPI_Ineighbor_allgatherv(send_.data(), 1, MPI_INT, receive_.data(), counts_.data(), places_.data(),
                                        MPI_INT, comm_, &request);
        break;
      case 6:
        code = MPI_Neighbor_allgather(send_.data(), 1, MPI_INT, receive_.data(), 1, MPI_INT, comm_);
        break;
      case 7:
        code = MPI_Ineighbor_alltoall(send_.data(), 1, MPI_INT, receive_.data(), 1, MPI_INT, comm_, &request);
        break;
    }
    CHECK(code == MPI_SUCCESS);
    return request;
  }

  void check() const {
    for (std::size_t i = 0; i < sources_.size(); ++i) CHECK(receive_[i] == sources_[i]);
  }

 private:
  MPI_Comm comm_;
  int rank_;
  std::vector<int> sources_;
  std::vector<int> send_, receive_, counts_, places_;
  std::vector<MPI_Aint> bytes_;
  std::vector<MPI_Datatype> types_;
};

/// Other operations on the same communicator, one after another and at the same time.
void run_collectives(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int sums[2] = {-1, -1};
  int first = rank == 0 ? 42 : -1;
  MPI_Request requests[4];
  MPI_Iallreduce(&rank, &sums[0], 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Ibarrier(comm, &requests[1]);
  MPI_Ibcast(&first, 1, MPI_INT, 0, comm, &requests[2]);
  MPI_Iallreduce(&size, &sums[1], 1, MPI_INT, MPI_SUM, comm, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  CHECK(sums[0] == size * (size - 1) / 2);
  CHECK(sums[1] == size * size);
  CHECK(first == 42);
  MPI_Bcast(&first, 1, MPI_INT, size - 1, comm);
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT, MPI_MAX, comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Graph graph = ring_graph(size_of(MPI_COMM_WORLD) - 1);
  MPI_Comm comm = graph.create_adjacent(MPI_COMM_WORLD);
  Exchange exchange(graph, comm);
  // As many as it takes to plan, to try and to decide; other operations come after each, after a few, and beside them.
  for (int round = 0; round < 25; ++round)
    for (int form = 0; form < Exchange::forms; ++form) {
      MPI_Request request = exchange.begin(form);
      if (round % 12 == 1) run_collectives(comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      exchange.check();
      if (round % 12 < 2 && (form + round) % 3 == 0) run_collectives(comm);
    }
  run_collectives(comm);

  // A duplicate, a graph that is made from this one, and one that is freed with an operation under way.
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm next = graph.create_adjacent(comm);
  for (MPI_Comm* made : {&copy, &next}) {
    Exchange other(graph, *made);
    for (int round = 0; round < 3; ++round)
      for (int form = 0; form < Exchange::forms; ++form) {
        MPI_Request request = other.begin(form);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        other.check();
        run_collectives(*made);
      }
    MPI_Request pending = other.begin(1);
    MPI_Comm_free(made);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    other.check();
  }
  run_collectives(comm);

  // Errors of the second communicator are the first one's business.
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request request = exchange.begin(1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(comm, &handler);
  CHECK(handler == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
