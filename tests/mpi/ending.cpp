// Ends in the middle of exchanges: MPI_Finalize, MPI_Abort, or one rank that is killed. Rank 0 writes to a file what
// the node's memory and that of the MPI library are called: inodes and paths.
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "laneway/laneway.h"

namespace {

void describe(const char* path) {
  std::set<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string addresses, permissions, offset, device, inode, file;
    words >> addresses >> permissions >> offset >> device >> inode >> file;
    if (file == "/memfd:laneway") found.insert("inode " + inode);
    if (file.rfind("/dev/shm/", 0) == 0) found.insert("file " + file);
  }
  std::ofstream out(path);
  for (const std::string& entry : found) out << entry << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string ending = argv[1];
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Comm graph = MPI_COMM_NULL;
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  const std::vector<double> send(1000, rank);
  std::vector<double> receive(send.size());
  const int count = static_cast<int>(send.size());
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Neighbor_allgather_init(send.data(), count, MPI_DOUBLE, receive.data(), count, MPI_DOUBLE, graph, MPI_INFO_NULL,
                              &request);
  if (rank == 0) describe(argv[2]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 1000; ++i) {
    LNW_Start(&request);
    if (i == 500 && rank == size - 1 && ending == "kill") raise(SIGKILL);
    if (i == 500 && rank == size - 1 && ending == "abort") MPI_Abort(MPI_COMM_WORLD, 7);
    LNW_Wait(&request, MPI_STATUS_IGNORE);
  }
  LNW_Request_free(&request);
  MPI_Comm_free(&graph);
  MPI_Finalize();
  return 0;
}
