// rebuilt FAMILY: on an MPI library that goes on without a process (ULFM), a rank is killed. The others hear of it,
// revoke the communicator, shrink it, make their topology and their requests again and go on: what they get then is, in
// all of the receive buffer, what plain messages between them bring. FAMILY: neighborhood, halo, dense.
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "laneway/laneway.h"

namespace {

constexpr int count = 1000, last_step = 6, step_of_death = 3;

struct Program {
  int world = 0, size = 0;  // as at the beginning
  std::vector<int> ranks, send, receive, expected;
  MPI_Comm comm = MPI_COMM_NULL;
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  std::string family;

  /// A ring, both ways: a neighbour on each side, all ranks where it is dense.
  [[nodiscard]] std::vector<int> neighbors() const {
    if (family == "dense") return ranks;
    return {(world + size - 1) % size, (world + 1) % size};
  }
  int make() {
    const std::vector<int> peers = neighbors();
    const int degree = static_cast<int>(peers.size());
    if (family == "dense")
      return LNW_Alltoall_init(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm, MPI_INFO_NULL,
                               &request);
    // From the left what is meant for the right.
    const std::vector<int> destinations{peers[1], peers[0]};
    if (const int code = LNW_Topology_create(comm, degree, peers.data(), MPI_UNWEIGHTED, degree, destinations.data(),
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, &topology))
      return code;
    if (family == "halo") {
      std::vector<MPI_Count> out, in;
      const std::array<int, 2> counts{count, count};
      for (int i = 0; i < 2 * count; ++i) {
        out.push_back(2 * count - 1 - i);
        in.push_back(i);
      }
      return LNW_Neighbor_alltoallv_init_indexed_topology(send.data(), 2 * count, counts.data(), out.data(), MPI_INT,
                                                          receive.data(), 2 * count, counts.data(), in.data(), MPI_INT,
                                                          topology, MPI_INFO_NULL, &request);
    }
    return LNW_Neighbor_alltoall_init_topology(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, topology,
                                               MPI_INFO_NULL, &request);
  }
  void fill(int step) {
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = world * 1000000 + step * 10000 + static_cast<int>(i);
  }
  int exchange(int step) {
    fill(step);
    if (const int code = LNW_Start(&request)) return code;
    return LNW_Wait(&request, MPI_STATUS_IGNORE);
  }
  /// What MPI's messages bring on `comm`, where `news` are the ranks that there are now.
  void by_messages(const std::vector<int>& news) {
    expected = receive;
    const std::vector<int> peers = neighbors();
    const int degree = static_cast<int>(peers.size());
    std::vector<MPI_Request> requests;
    std::vector<std::vector<int>> packed(peers.size());
    for (int i = 0; i < degree; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto to = static_cast<std::size_t>(peers[family == "dense" ? at : 1 - at]);
      for (int k = 0; k < count; ++k) {
        const int place = i * count + k;
        packed[at].push_back(send[static_cast<std::size_t>(family == "halo" ? 2 * count - 1 - place : place)]);
      }
      MPI_Irecv(&expected[at * count], count, MPI_INT, news[static_cast<std::size_t>(peers[at])], 5, comm,
                &requests.emplace_back());
      MPI_Isend(packed[at].data(), count, MPI_INT, news[to], 5, comm, &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
};

[[noreturn]] void end(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifdef LANEWAY_TEST_FAULT_TOLERANCE
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Program program;
  program.family = argc > 1 ? argv[1] : "neighborhood";
  MPI_Comm_dup(MPI_COMM_WORLD, &program.comm);
  MPI_Comm_set_errhandler(program.comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(program.comm, &program.world);
  MPI_Comm_size(program.comm, &program.size);
  for (int rank = 0; rank < program.size; ++rank) program.ranks.push_back(rank);
  program.send.resize(program.ranks.size() * count);
  program.receive.assign(program.send.size(), -1);
  const std::string me = "rank " + std::to_string(program.world);
  if (program.make() != MPI_SUCCESS) end("wrong: " + me + " makes nothing");
  int mistakes = 0, deaths = 0;
  std::vector<int> news = program.ranks;
  for (int step = 0; step < last_step;) {
    if (program.world == 1 && step == step_of_death) kill(getpid(), SIGKILL);
    int good = program.exchange(step) == MPI_SUCCESS;
    if (!good) MPIX_Comm_revoke(program.comm);
    (void)MPIX_Comm_agree(program.comm, &good);
    if (good != 0) {
      program.by_messages(news);
      if (program.receive != program.expected) ++mistakes;
      ++step;
      continue;
    }
    // All know of it: the step is made again by those that are left.
    ++deaths;
    MPIX_Comm_revoke(program.comm);
    MPI_Comm fewer = MPI_COMM_NULL;
    if (MPIX_Comm_shrink(program.comm, &fewer) != MPI_SUCCESS) end("wrong: " + me + " has no communicator");
    MPI_Comm_set_errhandler(fewer, MPI_ERRORS_RETURN);
    MPI_Group old_group = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &old_group);
    MPI_Comm_group(fewer, &group);
    MPI_Group_translate_ranks(old_group, program.size, program.ranks.data(), group, news.data());
    for (int& rank : news)
      if (rank == MPI_UNDEFINED) rank = MPI_PROC_NULL;
    MPI_Group_free(&old_group);
    MPI_Group_free(&group);
    // A request whose exchange has no end is completed with an error before it is made again.
    LNW_Wait(&program.request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&program.comm);
    program.comm = fewer;
    LNW_Request again = LNW_REQUEST_NULL;
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    int code = MPI_SUCCESS;
    if (program.family == "neighborhood") {
      code = LNW_Topology_shrink(program.topology, fewer, &topology);
      if (code == MPI_SUCCESS) code = LNW_Request_rebuild_topology(program.request, topology, &again);
    } else {
      code = LNW_Request_rebuild(program.request, fewer, &again);
    }
    if (code != MPI_SUCCESS) {
      std::string text(MPI_MAX_ERROR_STRING, '\0');
      int length = 0;
      MPI_Error_string(code, text.data(), &length);
      end("wrong: " + me + " makes nothing again: " + text.substr(0, static_cast<std::size_t>(length)));
    }
    LNW_Request_free(&program.request);
    if (program.topology != LNW_TOPOLOGY_NULL) LNW_Topology_free(&program.topology);
    program.request = again;
    program.topology = topology;
    program.receive.assign(program.receive.size(), -1);
  }
  LNW_Request_free(&program.request);
  if (program.topology != LNW_TOPOLOGY_NULL) LNW_Topology_free(&program.topology);
  int all = 1;
  (void)MPIX_Comm_agree(program.comm, &all);
  end((mistakes == 0 && deaths == 1 ? "good: " : "wrong: ") + me + " of " + program.family +
      " goes on: " + std::to_string(deaths) + " has died, " + std::to_string(mistakes) + " steps are wrong");
#else
  end("SKIP: this MPI library has no fault tolerance");
#endif
}
