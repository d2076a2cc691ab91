// dead_rank FAMILY WHEN: the process of rank 1 is killed. Ranks that wait for it in memory of the node are told, and do
// not hang, before the launcher ends them.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "laneway/laneway.h"

namespace {

constexpr int count = 2000;  // by copies, not in a mailbox

std::string text_of(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

[[noreturn]] void end(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  std::_Exit(0);
}

struct Program {
  int rank = 0, size = 0;
  MPI_Comm graph = MPI_COMM_NULL;
  std::vector<int> send, receive, counts, places, parts;
  LNW_Request request = LNW_REQUEST_NULL;
  int told = MPI_SUCCESS;  // to a function

  Program() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; ++i) parts.push_back(i);
    LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, parts.data(), MPI_UNWEIGHTED, size, parts.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
    parts.assign(static_cast<std::size_t>(size), 1);
    counts.assign(static_cast<std::size_t>(size), count);
    for (int i = 0; i < size; ++i) places.push_back(i * count);
    send.assign(static_cast<std::size_t>(size * count), rank);
    receive.assign(send.size(), -1);
  }
  int make(const std::string& family) {
    if (family == "allreduce")
      return LNW_Allreduce_init(send.data(), receive.data(), count, MPI_INT, MPI_SUM, graph, MPI_INFO_NULL, &request);
    if (family == "edges")
      return LNW_Neighbor_alltoallv_init_partitioned(
          send.data(), counts.data(), places.data(), MPI_INT, receive.data(), counts.data(), places.data(), MPI_INT,
          std::vector<int>(parts.size()).data(), parts.data(), graph, MPI_INFO_NULL, &request);
    return LNW_Neighbor_alltoall_init(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, graph, MPI_INFO_NULL,
                                      &request);
  }
  int start(const std::string& family) {
    if (family == "startall") return LNW_Startall(1, &request);
    return LNW_Start(&request);
  }
  int complete(const std::string& family) {
    int code = MPI_SUCCESS;
    if (family == "neighborhood_test") {
      for (int flag = 0; !flag && code == MPI_SUCCESS;) code = LNW_Test(&request, &flag, MPI_STATUS_IGNORE);
      return code;
    }
    if (family == "startall") return LNW_Waitall(1, &request, MPI_STATUSES_IGNORE);
    if (family == "edges") {
      for (int edge = 0, partition = 0; edge != MPI_UNDEFINED && code == MPI_SUCCESS;)
        code = LNW_Wait_any_edge(request, &edge, &partition);
      return code;
    }
    return LNW_Wait(&request, MPI_STATUS_IGNORE);
  }
  int exchange(const std::string& family) {
    const int code = start(family);
    return code == MPI_SUCCESS ? complete(family) : code;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  std::signal(SIGTERM, SIG_IGN);  // the launcher's first attempt
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Program program;
  const std::string family = argv[1];
  const bool is_under_way = std::strcmp(argv[2], "under_way") == 0;
  if (program.make(family) != MPI_SUCCESS) return 1;
  if (family == "continuation")
    LNW_Request_on_complete(
        program.request, [](int code, void* state) { *static_cast<int*>(state) = code; }, &program.told);
  // The second knows all others, and what they share.
  for (int i = 0; i < 2; ++i)
    if (program.exchange(family) != MPI_SUCCESS || (family == "edges" && LNW_Wait(&program.request, MPI_STATUS_IGNORE)))
      return 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (program.rank == 1) {
    if (is_under_way) (void)program.start(family);
    std::raise(SIGKILL);
  }
  // Where what the killed rank has started is enough for one, the next exchange is not.
  int code = MPI_SUCCESS;
  for (int i = 0; i < 3 && code == MPI_SUCCESS; ++i) {
    code = program.exchange(family);
    if (family == "edges" && code == MPI_SUCCESS) code = LNW_Wait(&program.request, MPI_STATUS_IGNORE);
  }
  if (family == "continuation" && program.told != code) end("wrong: the function is told something else");
  end("rank " + std::to_string(program.rank) + " is told: " + (code == MPI_SUCCESS ? "nothing" : text_of(code)));
}
