// Conway's Game of Life on a torus, by a queue: all generations are enqueued before the first one is computed.
#include <laneway/laneway.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

constexpr int side = 24;  // cells of a rank in each direction
constexpr int generations = 50;

/// The cells of a rank, with one row and one column of ghosts on each side.
struct Board {
  int width, height;
  std::vector<unsigned char> now, next;

  Board(int columns, int rows)
      : width(columns + 2), height(rows + 2), now(static_cast<std::size_t>(width * height)), next(now.size()) {}
  [[nodiscard]] unsigned char& at(int x, int y) { return now[static_cast<std::size_t>(y * width + x)]; }

  void live() {
    for (int y = 1; y + 1 < height; ++y)
      for (int x = 1; x + 1 < width; ++x) {
        int neighbors = -at(x, y);
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) neighbors += at(x + dx, y + dy);
        next[static_cast<std::size_t>(y * width + x)] = neighbors == 3 || (neighbors == 2 && at(x, y) == 1);
      }
    // The exchanges are of this array, so that the new cells go there.
    for (int y = 1; y + 1 < height; ++y)
      for (int x = 1; x + 1 < width; ++x) at(x, y) = next[static_cast<std::size_t>(y * width + x)];
  }
  [[nodiscard]] long alive() {
    long count = 0;
    for (int y = 1; y + 1 < height; ++y)
      for (int x = 1; x + 1 < width; ++x) count += at(x, y);
    return count;
  }
};

unsigned char first_cell(int x, int y, int columns) {
  const unsigned mixed = static_cast<unsigned>(y * columns + x) * 2654435761U;
  return (mixed >> 16) % 3 == 0 ? 1 : 0;
}

/// An exchange with both neighbours of one direction. Columns go first; rows then take the corners along.
LNW_Request ghosts(Board& board, MPI_Comm comm, int previous, int next, bool columns) {
  const std::array<int, 2> sources{previous, next}, destinations{next, previous}, counts{1, 1};
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  LNW_Topology_create(comm, 2, sources.data(), MPI_UNWEIGHTED, 2, destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                      &topology);
  MPI_Datatype line = MPI_DATATYPE_NULL;
  if (columns)
    MPI_Type_vector(board.height - 2, 1, board.width, MPI_UNSIGNED_CHAR, &line);
  else
    MPI_Type_contiguous(board.width, MPI_UNSIGNED_CHAR, &line);
  MPI_Type_commit(&line);
  const std::array<MPI_Datatype, 2> types{line, line};
  const auto place = [&](int i) { return static_cast<MPI_Aint>(columns ? board.width + i : board.width * i); };
  const int last = (columns ? board.width : board.height) - 2;
  const std::array<MPI_Aint, 2> from{place(last), place(1)}, to{place(0), place(last + 1)};
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Neighbor_alltoallw_init_topology(board.now.data(), counts.data(), from.data(), types.data(), board.now.data(),
                                       counts.data(), to.data(), types.data(), topology, MPI_INFO_NULL, &request);
  MPI_Type_free(&line);
  LNW_Topology_free(&topology);
  return request;
}

long alive_on_one_rank(int columns, int rows) {
  Board board(columns, rows);
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) board.at(x + 1, y + 1) = first_cell(x, y, columns);
  for (int generation = 0; generation < generations; ++generation) {
    for (int y = 0; y < rows + 2; ++y)
      for (int x = 0; x < columns + 2; ++x)
        board.at(x, y) = board.at((x + columns - 1) % columns + 1, (y + rows - 1) % rows + 1);
    board.live();
  }
  return board.alive();
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::array<int, 2> ranks{};
  MPI_Dims_create(size, 2, ranks.data());
  const int column = rank % ranks[0], row = rank / ranks[0];
  const auto rank_at = [&](int x, int y) { return (y + ranks[1]) % ranks[1] * ranks[0] + (x + ranks[0]) % ranks[0]; };

  Board board(side, side);
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      board.at(x + 1, y + 1) = first_cell(column * side + x, row * side + y, side * ranks[0]);
  LNW_Request across = ghosts(board, MPI_COMM_WORLD, rank_at(column - 1, row), rank_at(column + 1, row), true);
  LNW_Request down = ghosts(board, MPI_COMM_WORLD, rank_at(column, row - 1), rank_at(column, row + 1), false);

  const int by_host = level == MPI_THREAD_MULTIPLE ? 0 : LNW_QUEUE_PROGRESS_BY_HOST;
  LNW_Queue queue = LNW_QUEUE_NULL;
  LNW_Queue_init(&queue, LNW_QUEUE_HOST | by_host, nullptr);
  for (int generation = 0; generation < generations; ++generation) {
    for (LNW_Request* request : {&across, &down}) {
      LNW_Enqueue_start(queue, request);
      LNW_Enqueue_wait(queue, request);
    }
    LNW_Enqueue_call(
        queue, [](void* argument) { static_cast<Board*>(argument)->live(); }, &board);
  }
  LNW_Queue_wait(queue);

  long alive = board.alive(), all = 0;
  MPI_Reduce(&alive, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  const bool right = rank != 0 || all == alive_on_one_rank(side * ranks[0], side * ranks[1]);
  if (rank == 0) std::printf("%ld cells live after %d generations: %s\n", all, generations, right ? "right" : "WRONG");
  LNW_Queue_free(&queue);
  LNW_Request_free(&across);
  LNW_Request_free(&down);
  MPI_Finalize();
  return right ? 0 : 1;
}
