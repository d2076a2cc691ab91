#include "mpi/engine.hpp"

#include <mpi.h>

#include <cstdlib>
#include <mutex>

#include "mpi/quirks/engine.hpp"
#include "mpi/running.hpp"

namespace laneway {

namespace {

MPI_Comm tried = MPI_COMM_NULL;
int turns = 0;
bool counting = false;

int count_turn() {
  if (counting) return 0;
  counting = true;
  int flag = 0;
  MPI_Iprobe(0, 0, tried, &flag, MPI_STATUS_IGNORE);
  counting = false;
  return ++turns;
}

}  // namespace

/// A test of a message that has not been sent is a turn.
bool engine::is_tried() {
  int level = MPI_THREAD_SINGLE;
  if (!has_world() || MPI_Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE ||
      MPI_Comm_split(MPI_COMM_SELF, 0, 0, &tried) != MPI_SUCCESS)
    return false;
  int flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 0, tried, &request);
  call_in_engine(count_turn);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  call_in_engine(nullptr);
  MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, tried);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&tried);
  return turns > 0;
}

bool has_engine() {
  static const bool has = engine::can_be_entered(std::getenv("LANEWAY_ENGINE"));
  return has;
}

void call_in_engine(int (*function)()) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  int (*const before)() = engine::called.load(std::memory_order_relaxed);
  if (before == function) return;
  engine::called.store(function, std::memory_order_release);
  engine::enter(function, before);
}

int (*function_in_engine())() {
  return engine::called.load(std::memory_order_acquire);
}

}  // namespace laneway
